//! Orders as lines on standard input, for a program that has started this one.

use std::io::{self, BufRead as _};
use std::sync::mpsc::Sender;
use std::thread;

use locklab_lab::output;
use locklab_serve::servers::Event;
use locklab_serve::{Outcome, Served};

/// Says that the servers are ready, and answers orders on a thread until standard input ends. Then serving ends, so that
/// nothing is left behind if the other program is killed.
///
/// # Errors
///
/// If the machine cannot start another thread.
pub(super) fn take(served: Served, events: Sender<Event>) -> io::Result<()> {
    let answer = move || {
        let mut answer = "OK\n".to_owned();
        let mut lines = io::stdin().lock().lines();
        while output::print(&answer).is_ok()
            && let Some(Ok(line)) = lines.next()
        {
            let words: Vec<&str> = line.split(' ').collect();
            answer = match served.execute(&words) {
                Ok(Outcome::Done) => "OK\n".to_owned(),
                Ok(Outcome::Lines(lines)) => {
                    let lines = lines.iter().map(|line| format!("{line}\n"));
                    lines.chain(["OK\n".to_owned()]).collect()
                }
                Err(problem) => format!("ERR {}\n", problem.replace('\n', " ")),
            };
        }
        // If nobody waits for it, the program is about to end.
        let _ = events.send(Event::Interrupted);
    };
    thread::Builder::new().name("orders".into()).spawn(answer)?;
    Ok(())
}
