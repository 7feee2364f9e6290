//! An environment: the network and the clocks of some hosts, and what goes wrong there how often.
//!
//! Each number has the publication that it was taken from, or is marked as a guess.

use std::fs;

use locklab_history::{FaultKind, Span};
use locklab_model::fault::amount_key;
use locklab_model::scenario::{Clocks, NodeSpec, Place, ScenarioError, did_you_mean, read};
use locklab_values::dist::Dist;
use locklab_vecmap::VecMap;
use serde::{Deserialize, Serialize};

use crate::risk::model::time::Time;

/// The environments that ship: names and texts.
pub const SHIPPED: [(&str, &str); 3] = [
    ("jvm-on-vms", include_str!("environments/jvm-on-vms.toml")),
    (
        "go-on-bare-metal",
        include_str!("environments/go-on-bare-metal.toml"),
    ),
    ("functions", include_str!("environments/functions.toml")),
];

/// One environment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Its name: of the shipped one, or the path of its file.
    #[serde(skip)]
    pub name: String,
    /// A few words.
    pub title: String,
    /// What it stands for.
    #[serde(default)]
    pub about: String,
    /// The network.
    pub network: Network,
    /// The standing errors of clocks.
    #[serde(default)]
    pub clocks: Clocks,
    /// The configuration of the nodes.
    #[serde(default)]
    pub node: NodeSpec,
    /// What goes wrong.
    #[serde(default)]
    pub cause: VecMap<String, Cause>,
}

/// The network of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The one-way delay of a packet, in milliseconds.
    pub latency_ms: Dist,
    /// The share of transmissions that are lost.
    #[serde(default)]
    pub loss: f64,
    /// Where the numbers were published.
    #[serde(default)]
    pub source: Option<String>,
    /// Why these numbers, if nobody has published them.
    #[serde(default)]
    pub guess: Option<String>,
}

/// One thing that goes wrong: a fault, whom it strikes, how often and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// A few words: "a garbage collection stops a client".
    pub title: String,
    /// The kind of the fault.
    pub fault: FaultKind,
    /// Which hosts; several are struck together.
    pub on: Vec<Role>,
    /// The mean time between two for each such host, or each group of hosts.
    pub every: Time,
    /// How long it lasts, in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<Dist>,
    /// The additional delay of a slow link, in milliseconds.
    #[serde(default)]
    pub extra_ms: Option<Dist>,
    /// The share of packets that a lossy link loses.
    #[serde(default)]
    pub probability: Option<f64>,
    /// How far a clock jumps, in milliseconds.
    #[serde(default)]
    pub step_ms: Option<Dist>,
    /// In which direction it jumps.
    #[serde(default)]
    pub direction: Direction,
    /// By how much clocks run too fast, in parts per million.
    #[serde(default)]
    pub drift_ppm: Option<i64>,
    /// Where its numbers were published.
    #[serde(default)]
    pub source: Option<String>,
    /// Which of its numbers nobody has published.
    #[serde(default)]
    pub guess: Vec<Guess>,
    /// Why these numbers were guessed.
    #[serde(default)]
    pub why: Option<String>,
}

/// The hosts of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The clients.
    Client,
    /// The nodes of the lock; their masters, if they have replicas.
    Node,
    /// The replicas.
    Replica,
    /// The resource that the lock protects.
    Resource,
}

/// The direction in which a clock jumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// One or the other, equally likely.
    #[default]
    Either,
    /// Ahead.
    Forwards,
    /// Back.
    Backwards,
}

/// A number that was guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Guess {
    /// How often a cause strikes.
    #[serde(rename = "how often")]
    HowOften,
    /// How long it lasts, or how far it goes.
    #[serde(rename = "how long")]
    HowLong,
}

impl Environment {
    /// The shipped environment of this name, or the one in a file, with overrides.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not valid.
    pub fn load(path_or_name: &str, sets: &[String]) -> Result<Environment, ScenarioError> {
        let shipped = SHIPPED.iter().find(|(name, _)| *name == path_or_name);
        let (file, text) = match shipped {
            Some((name, text)) => (format!("environments/{name}.toml"), (*text).to_owned()),
            None => (path_or_name.to_owned(), text_of(path_or_name)?),
        };
        let mut environment: Environment = read(&file, &text, sets)?;
        environment.name = path_or_name.to_owned();
        for (name, cause) in &environment.cause {
            if let Some(what) = cause.problem() {
                return Err(wrong(&file, &format!("[cause.{name}]: {what}")));
            }
        }
        let is_known = environment.network.source.is_some() || environment.network.guess.is_some();
        match is_known {
            true => Ok(environment),
            false => Err(wrong(
                &file,
                "[network] needs `source`, where its numbers were published, or `guess`, why these",
            )),
        }
    }
}

fn wrong(file: &str, what: &str) -> ScenarioError {
    ScenarioError::Invalid {
        place: Place::Option(file.to_owned()),
        what: what.replace('`', "\""),
    }
}

fn text_of(path: &str) -> Result<String, ScenarioError> {
    fs::read_to_string(path).map_err(|source| {
        let names = SHIPPED.map(|(name, _)| name.to_owned());
        let meant = did_you_mean(path, &names);
        wrong(
            path,
            &format!(
                "neither a file nor a shipped environment ({source}){meant}; `locklab list environments` \
                 lists those that ship"
            ),
        )
    })
}

impl Cause {
    /// Why it is not valid, if it is not.
    fn problem(&self) -> Option<String> {
        let kind = self.fault.name();
        if self.on.is_empty() {
            return Some(
                "`on` names no role; write [\"client\"], \"node\", \"replica\" or \"resource\""
                    .into(),
            );
        }
        if self.fault == FaultKind::Command {
            return Some("an operator's commands do not come by chance; leave them out".into());
        }
        let amounts = [
            ("extra_ms", self.extra_ms.is_some()),
            ("probability", self.probability.is_some()),
            ("step_ms", self.step_ms.is_some()),
            ("drift_ppm", self.drift_ppm.is_some()),
        ];
        let needed = amount_key(self.fault);
        for (key, is_given) in amounts {
            match (needed == Some(key), is_given) {
                (true, false) => return Some(format!("a fault of kind `{kind}` needs `{key}`")),
                (false, true) => return Some(format!("a fault of kind `{kind}` takes no `{key}`")),
                _ => {}
            }
        }
        match (self.fault.span(), self.duration_ms.is_some()) {
            (Span::Momentary, true) => {
                return Some(format!(
                    "a fault of kind `{kind}` has no duration; leave `duration_ms` out"
                ));
            }
            (Span::Lasting | Span::Down, false) => {
                return Some("it needs `duration_ms`, how long it lasts".into());
            }
            _ => {}
        }
        if self.source.is_none() && self.guess.is_empty() {
            let what = "its numbers need `source`, where they were published, or `guess`, which of them nobody \
                        has published: [\"how often\", \"how long\"]";
            return Some(what.into());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_environments_are_valid_and_say_where_their_numbers_come_from() {
        for (name, _) in SHIPPED {
            let environment = Environment::load(name, &[]).expect(name);
            assert!(!environment.cause.is_empty(), "{name}");
            for (cause, it) in &environment.cause {
                let is_explained = it.guess.is_empty() || it.why.is_some();
                assert!(is_explained, "{name}: {cause} does not say why its guesses");
            }
        }
    }

    #[test]
    fn what_is_wrong_with_an_environment_is_said() {
        let load = |set: &str| {
            let told = Environment::load("jvm-on-vms", &[set.to_owned()]);
            told.expect_err(set).to_string()
        };
        for (set, expected) in [
            ("cause.gc.every=10", "such as \"10 min\""),
            ("cause.gc.every=\"10\"", "such as 500ms"),
            ("cause.gc.on=[]", "names no role"),
            ("cause.gc.step_ms=5", "takes no \"step_ms\""),
            ("cause.gc.fault=clock-step", "needs \"step_ms\""),
            ("cause.gc.fault=pauze", "pauze"),
            ("cause.gc.fault=command", "do not come by chance"),
            ("cause.gc.durations=5", "duration_ms"),
            (
                "cause.gc.duration_ms={ quantiles = { p50 = 3 } }",
                "second quantile",
            ),
        ] {
            let told = load(set);
            assert!(told.contains(expected), "{set}: {told}");
        }
        let told = Environment::load("jvm-on-vm", &[])
            .expect_err("none")
            .to_string();
        assert!(
            told.contains("did you mean \"jvm-on-vms\"") && told.contains("list environments"),
            "{told}"
        );
    }
}
