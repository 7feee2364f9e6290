//! Faults at times that the command line names: `--fault 'LAB.PAUSE n1 500 at 5s'`.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::order::{self, Order};
use crate::served::Served;

/// A command, and how long after the start it is carried out.
#[derive(Clone, Debug)]
pub struct Scheduled {
    words: Vec<String>,
    at: Duration,
}

impl Scheduled {
    /// Parses a command, followed by `at` and a time; without that it is carried out at the start.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (words, at) = match &*words {
            [words @ .., word, at] if word.eq_ignore_ascii_case("at") => {
                (words, order::duration(at)?)
            }
            words => (words, Duration::ZERO),
        };
        Order::parse(words)?;
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Ok(Scheduled { words, at })
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(|word| &**word).collect()
    }
}

/// Carries out each command at its time after now, on a thread.
///
/// # Errors
///
/// If the machine cannot start another thread.
pub fn run(mut schedule: Vec<Scheduled>, served: Served) -> io::Result<()> {
    let start = Instant::now();
    // Stable: those of one time are in the order of the command line.
    schedule.sort_by_key(|scheduled| scheduled.at);
    let run = move || {
        for scheduled in schedule {
            thread::sleep(scheduled.at.saturating_sub(start.elapsed()));
            if let Err(problem) = served.execute(&scheduled.words()) {
                served.tell(&format!("--fault: {problem}"));
            }
        }
    };
    thread::Builder::new().name("faults".into()).spawn(run)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_follows_the_command() {
        let parsed = Scheduled::parse("LAB.PAUSE n1 500 at 5s").unwrap();
        assert_eq!(parsed.words(), ["LAB.PAUSE", "n1", "500"]);
        assert_eq!(parsed.at, Duration::from_secs(5));
        assert_eq!(Scheduled::parse("LAB.CRASH n1").unwrap().at, Duration::ZERO);
    }

    #[test]
    fn a_command_is_checked_before_its_time() {
        let problem = Scheduled::parse("LAB.PAUSE n1 at 5s").unwrap_err();
        assert_eq!(
            problem,
            "LAB.PAUSE: wrong arguments; write LAB.PAUSE server duration"
        );
    }
}
