//! What is asked, and the answers: given as options, or in a short dialogue.

use std::io::BufRead;

use anyhow::{bail, ensure};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use locklab_lab::output::status;
use locklab_values::dist::Dist;
use serde::{Deserialize, Serialize};

use crate::risk::model::{Environment, Time};
use crate::risk::options::{ENVIRONMENT, EVERY, work};

/// What a second holder would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protects {
    /// Work that is done twice costs time or money, and no data
    Efficiency,
    /// Work that is done twice, or late, corrupts data
    Correctness,
}

/// A server that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Server {
    /// One Redis, without replicas
    Redis,
    /// Redis with replicas, of which Sentinel promotes one
    Sentinel,
    /// Redis Cluster: each key has a master with replicas
    Cluster,
    /// Several Redis that know nothing of each other
    Nodes,
    /// A relational database
    Database,
    /// ZooKeeper, etcd or the like
    #[value(aliases = ["zookeeper", "etcd", "consul"])]
    Consensus,
}

/// The answers, as they were given; `None` what nobody has said.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub protects: Option<Protects>,
    pub tokens: Option<bool>,
    pub servers: Vec<Server>,
    pub work: Option<String>,
    pub every: Option<String>,
    pub environment: Option<String>,
}

/// All that is asked.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    /// What the lock protects.
    pub protects: Protects,
    /// Whether the resource can compare tokens.
    pub tokens: bool,
    /// Which servers there are.
    pub servers: Vec<Server>,
    /// How long the work takes.
    pub work: Dist,
    /// How often the lock is asked for.
    pub every: Time,
    /// On what machines.
    pub environment: Environment,
    /// Work, frequency and environment, as options of `locklab study risk` have them.
    pub written: [String; 3],
}

impl Given {
    /// Asks for what is missing, if there is somebody to ask.
    ///
    /// # Errors
    ///
    /// If there is nobody, the names of the options; or if an answer cannot be used.
    pub fn complete(mut self, person: Option<impl BufRead>) -> anyhow::Result<Answers> {
        match person {
            Some(lines) => self.ask(&mut Dialogue { lines })?,
            None => self.refuse_if_incomplete()?,
        }
        let is_missing = || anyhow::anyhow!("an answer is missing");
        let [work_text, every, environment] = [self.work, self.every, self.environment];
        let work_text = work_text.ok_or_else(is_missing)?;
        let every = every.unwrap_or_else(|| EVERY.into());
        let environment = environment.unwrap_or_else(|| ENVIRONMENT.into());
        Ok(Answers {
            protects: self.protects.ok_or_else(is_missing)?,
            tokens: self.tokens.unwrap_or(false),
            servers: self.servers,
            work: work(&work_text).map_err(anyhow::Error::msg)?,
            every: Time::parse(&every).map_err(anyhow::Error::msg)?,
            environment: Environment::load(&environment, &[])?,
            written: [work_text, every, environment],
        })
    }

    /// Whether tokens matter, and nobody has said whether there are any.
    fn lacks_tokens(&self) -> bool {
        self.tokens.is_none() && self.protects == Some(Protects::Correctness)
    }

    fn refuse_if_incomplete(&self) -> anyhow::Result<()> {
        let options = [
            (self.protects.is_none(), "--for efficiency|correctness"),
            (self.lacks_tokens(), "--tokens yes|no"),
            (self.servers.is_empty(), "--servers redis|sentinel|…"),
            (self.work.is_none(), "--work TIME"),
        ];
        let missing = options.iter().filter(|(is_missing, _)| *is_missing);
        let missing: Vec<&str> = missing.map(|(_, option)| *option).collect();
        ensure!(
            missing.is_empty(),
            "write {}; in a terminal `locklab advise` asks for them",
            missing.join(", ")
        );
        Ok(())
    }

    fn ask(&mut self, dialogue: &mut Dialogue<impl BufRead>) -> anyhow::Result<()> {
        // Who says everything that is needed is asked nothing.
        let is_asked = self.refuse_if_incomplete().is_err();
        if self.protects.is_none() {
            let question = "What happens if two clients hold the lock at once?";
            self.protects = Some(dialogue.choice(question)?);
        }
        if self.lacks_tokens() {
            let question = "Can the resource compare tokens, that is refuse a write with a lower number than one that it has seen? yes or no";
            self.tokens = Some(dialogue.until(question, None, |text| match text {
                "yes" | "y" => Ok(true),
                "no" | "n" => Ok(false),
                _ => Err("write yes or no".into()),
            })?);
        }
        if self.servers.is_empty() {
            let question = format!(
                "Which servers are there? Several with commas.{}",
                listed::<Server>()
            );
            self.servers = dialogue.until(&question, None, |text| {
                text.split(',').map(|word| named(word.trim())).collect()
            })?;
        }
        if self.work.is_none() {
            let question = "How long does the work under the lock take? For instance 2s, or 30min";
            self.work =
                Some(dialogue.until(question, None, |text| work(text).map(|_| text.to_owned()))?);
        }
        if is_asked && self.every.is_none() {
            let question = "How often is one lock asked for, by all clients together?";
            let read = |text: &str| Time::parse(text).map(|_| text.to_owned());
            self.every = Some(dialogue.until(question, Some(EVERY), read)?);
        }
        if is_asked && self.environment.is_none() {
            let question = "On what machines? One of `locklab list environments`, or a file such as `locklab record` writes";
            self.environment = Some(dialogue.until(question, Some(ENVIRONMENT), |text| {
                let loaded = Environment::load(text, &[]);
                loaded.map(|_| text.to_owned()).map_err(|e| e.to_string())
            })?);
        }
        Ok(())
    }
}

/// Questions to a person, and lines with the answers.
struct Dialogue<R> {
    lines: R,
}

impl<R: BufRead> Dialogue<R> {
    /// Asks until the answer can be used. An empty line is the default, if there is one.
    fn until<T>(
        &mut self,
        question: &str,
        default: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        match default {
            Some(default) => status!("{question} [{default}]"),
            None => status!("{question}"),
        }
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                bail!("the answers end before the questions do");
            }
            let answer = match (line.trim(), default) {
                ("", Some(default)) => default,
                (answer, _) => answer,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => status!("{why}"),
            }
        }
    }

    fn choice<T: ValueEnum>(&mut self, question: &str) -> anyhow::Result<T> {
        let question = format!("{question}{}", listed::<T>());
        self.until(&question, None, named)
    }
}

/// The values, a line each.
fn listed<T: ValueEnum>() -> String {
    let values = T::value_variants().iter().filter_map(T::to_possible_value);
    let line = |value: PossibleValue| {
        let help = value.get_help().map(ToString::to_string);
        format!("\n  {:<12}{}", value.get_name(), help.unwrap_or_default())
    };
    values.map(line).collect()
}

/// The value of this name.
fn named<T: ValueEnum>(name: &str) -> Result<T, String> {
    let names = T::value_variants().iter().filter_map(T::to_possible_value);
    let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
    T::from_str(name, true).map_err(|_| format!("write one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(given: Given, lines: &str) -> anyhow::Result<Answers> {
        given.complete(Some(lines.as_bytes()))
    }

    #[test]
    fn dialogue_asks_until_each_answer_can_be_used() {
        let lines = "perhaps\ncorrectness\nno\nredis, etcd\n2\n2s\n\n\n";
        let answers = answered(Given::default(), lines).expect("all is said");
        assert_eq!(answers.protects, Protects::Correctness);
        assert!(!answers.tokens);
        assert_eq!(answers.servers, [Server::Redis, Server::Consensus]);
        assert_eq!(answers.work, Dist::Constant(2000.0));
        assert_eq!(answers.written[1..], [EVERY, ENVIRONMENT]);
        assert!(answered(Given::default(), "correctness\nno\n").is_err());
    }

    #[test]
    fn who_has_said_everything_is_asked_nothing() {
        let given = Given {
            protects: Some(Protects::Efficiency),
            servers: vec![Server::Redis],
            work: Some("2s".into()),
            ..Given::default()
        };
        assert!(answered(given, "").is_ok());
    }

    #[test]
    fn without_a_person_the_missing_options_are_named() {
        let given = Given {
            protects: Some(Protects::Correctness),
            work: Some("2s".into()),
            ..Given::default()
        };
        let told = given.complete(None::<&[u8]>).map(drop).unwrap_err();
        let expected = "write --tokens yes|no, --servers redis|sentinel|…; in a terminal `locklab advise` asks for them";
        assert_eq!(told.to_string(), expected);
    }
}
