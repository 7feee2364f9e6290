//! The words after `cargo xtask mutants`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{SUBJECTS, Subject};

/// What `cargo xtask mutants` is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// Try all mutants.
    All,
    /// Try so many of each subject, drawn at random.
    Sample(usize),
    /// Try those again that nothing noticed when the samples were published.
    Survivors,
    /// Try a few that were noticed when the samples were published.
    Compare,
    /// Try nothing, and publish the reasons why mutants survive.
    Reasons,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub mode: Mode,
    /// The seed of a random choice; without one it is fresh.
    pub seed: Option<u64>,
    /// No trial begins after so long.
    pub within: Option<Duration>,
    /// None: all.
    subjects: Vec<String>,
}

impl Options {
    /// Reads the words after `cargo xtask mutants`.
    ///
    /// # Errors
    ///
    /// If one is unknown, or a number is missing.
    pub fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options {
            mode: Mode::All,
            seed: None,
            within: None,
            subjects: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<u64> {
                let value = words
                    .next()
                    .with_context(|| format!("{word} needs a number"))?;
                value
                    .parse()
                    .with_context(|| format!("invalid number `{value}` of {word}"))
            };
            match *word {
                "--sample" => options.mode = Mode::Sample(usize::try_from(number()?)?),
                "--survivors" => options.mode = Mode::Survivors,
                "--compare" => options.mode = Mode::Compare,
                "--reasons" => options.mode = Mode::Reasons,
                "--seed" => options.seed = Some(number()?),
                "--minutes" => options.within = Some(Duration::from_secs(60 * number()?)),
                name => {
                    let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
                    ensure!(
                        known.contains(&name),
                        "unknown subject or option `{name}`; the subjects are {}",
                        known.join(", ")
                    );
                    options.subjects.push(name.to_owned());
                }
            }
        }
        Ok(options)
    }

    /// The subjects that are asked for.
    pub fn subjects(&self) -> Vec<&'static Subject> {
        let is_chosen = |subject: &&Subject| {
            self.subjects.is_empty() || self.subjects.iter().any(|name| name == subject.name)
        };
        SUBJECTS.iter().filter(is_chosen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_to_try() {
        let options = Options::parse(&["--sample", "60", "--seed", "7", "world"]).expect("sound");
        assert_eq!((options.mode, options.seed), (Mode::Sample(60), Some(7)));
        assert_eq!(options.subjects, ["world"]);
        assert_eq!(
            Options::parse(&[]).expect("sound").subjects().len(),
            SUBJECTS.len()
        );
        for wrong in [
            &["--sample"][..],
            &["--seed", "x"],
            &["nothing"],
            &["--most"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
