//! The numbers of an environment, each with where it comes from.

use serde::Serialize;

use crate::risk::model::environment::{Cause, Environment, Guess};
use crate::risk::model::setup::inline;

/// A number of an environment, or a distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// Its path in the file: `cause.gc.every`.
    pub path: String,
    /// Its value, as the file has it.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Origin {
    /// It was published.
    Published {
        /// Where.
        source: String,
    },
    /// Nobody has published it.
    Guess {
        /// Why this number.
        why: Option<String>,
        /// What was published of the same thing.
        source: Option<String>,
    },
}

impl Environment {
    /// All its numbers: those of the network, and of each cause how often it strikes, and how long it lasts or how
    /// far it goes.
    pub fn parameters(&self) -> Vec<Parameter> {
        let network = &self.network;
        let origin = || match (&network.source, &network.guess) {
            (Some(source), None) => Origin::Published {
                source: source.clone(),
            },
            (source, why) => Origin::Guess {
                why: why.clone(),
                source: source.clone(),
            },
        };
        let mut all = vec![Parameter {
            path: "network.latency_ms".into(),
            value: inline(&network.latency_ms),
            origin: origin(),
        }];
        if network.loss > 0.0 {
            all.push(Parameter {
                path: "network.loss".into(),
                value: network.loss.to_string(),
                origin: origin(),
            });
        }
        for (name, cause) in &self.cause {
            let values = cause.values();
            all.extend(values.into_iter().map(|(key, value, guess)| Parameter {
                path: format!("cause.{name}.{key}"),
                value,
                origin: cause.origin(guess),
            }));
        }
        all
    }

    /// How many of its numbers were published, and how many are guesses.
    pub fn published_and_guessed(&self) -> [usize; 2] {
        let all = self.parameters();
        let is_published = |it: &&Parameter| matches!(it.origin, Origin::Published { .. });
        let published = all.iter().filter(is_published).count();
        [published, all.len() - published]
    }
}

impl Cause {
    /// Its numbers: each with its key, its value, and the guess that it may be.
    fn values(&self) -> Vec<(&'static str, String, Guess)> {
        let mut all = vec![("every", self.every.to_string(), Guess::HowOften)];
        let lasts = [
            ("duration_ms", self.duration_ms.as_ref().map(inline)),
            ("extra_ms", self.extra_ms.as_ref().map(inline)),
            ("probability", self.probability.as_ref().map(inline)),
            ("step_ms", self.step_ms.as_ref().map(inline)),
            ("drift_ppm", self.drift_ppm.as_ref().map(inline)),
        ];
        let given = lasts
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        all.extend(given.map(|(key, value)| (key, value, Guess::HowLong)));
        all
    }

    fn origin(&self, guess: Guess) -> Origin {
        match (&self.source, self.guess.contains(&guess)) {
            (Some(source), false) => Origin::Published {
                source: source.clone(),
            },
            (source, _) => Origin::Guess {
                why: self.why.clone(),
                source: source.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::model::environment::SHIPPED;

    #[test]
    fn published_numbers_and_guesses_are_counted() {
        let environment = Environment::load("functions", &[]).expect("it ships");
        // Of the network and six causes two are published in part. Slow packets have a length and a delay, and a
        // failover has no length.
        assert_eq!(environment.published_and_guessed(), [2, 11]);
        let all = environment.parameters();
        let of = |path: &str| all.iter().find(|it| it.path == path).expect(path);
        assert_eq!(of("cause.crash.every").value, "1.8 years");
        let source = |path: &str| match &of(path).origin {
            Origin::Published { source } => source.clone(),
            Origin::Guess { .. } => String::new(),
        };
        assert!(source("cause.crash.every").contains("Dean"), "{all:?}");
        assert_eq!(source("cause.crash.duration_ms"), "");
        assert!(all.iter().all(|it| it.path != "cause.failover.duration_ms"));
    }

    /// Every number of an environment that ships has its publication, or a reason.
    #[test]
    fn no_shipped_number_is_without_an_origin() {
        for (name, _) in SHIPPED {
            let environment = Environment::load(name, &[]).expect(name);
            for Parameter { path, origin, .. } in environment.parameters() {
                let is_explained = match &origin {
                    Origin::Published { source } => !source.is_empty(),
                    Origin::Guess { why, .. } => why.is_some(),
                };
                assert!(is_explained, "{name}: {path}");
            }
        }
    }
}
