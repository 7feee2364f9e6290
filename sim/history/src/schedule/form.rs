//! The serialized form of a fault in a recording: flat, with the amounts that its kind has.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{Links, Start, Target};
use crate::{Aim, Bare, Convert, FaultKind, Name, Settled};

#[derive(Serialize, Deserialize)]
pub(super) struct Fault {
    name: Name,
    start: Start,
    duration_ns: Option<u64>,
    kind: Effect,
}

/// The effect and the target. The fields are in the order of the keys in the file.
#[derive(Serialize, Deserialize)]
struct Effect {
    kind: FaultKind<Bare>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<Vec<Name>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Vec<Name>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Vec<Name>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    both_ways: Option<bool>,
    #[serde(flatten)]
    amounts: Numbers,
}

#[derive(Default, Serialize, Deserialize)]
struct Numbers {
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_ppm: Option<i64>,
}

impl From<super::Fault> for Fault {
    fn from(fault: super::Fault) -> Fault {
        let mut amounts = Numbers::default();
        let Ok(kind) = fault.kind.convert(&mut amounts);
        let (hosts, links) = match fault.target {
            Target::Hosts(hosts) => (Some(hosts), None),
            Target::Links(links) => (None, Some(links)),
        };
        let both_ways = links.as_ref().map(|links| links.both_ways);
        let (from, to) = links.map(|links| (links.from, links.to)).unzip();
        Fault {
            name: fault.name,
            start: fault.start,
            duration_ns: fault.duration_ns,
            kind: Effect {
                kind,
                hosts,
                from,
                to,
                both_ways,
                amounts,
            },
        }
    }
}

impl TryFrom<Fault> for super::Fault {
    type Error = String;

    fn try_from(form: Fault) -> Result<super::Fault, String> {
        let mut effect = form.kind;
        let kind = effect.kind.convert(&mut effect.amounts)?;
        let target = match kind.aim() {
            Aim::Processes | Aim::Machines | Aim::Servers => {
                Target::Hosts(effect.hosts.ok_or_else(|| lacks("hosts"))?)
            }
            Aim::Links => Target::Links(Links {
                from: effect.from.ok_or_else(|| lacks("from"))?,
                to: effect.to.ok_or_else(|| lacks("to"))?,
                both_ways: effect.both_ways.ok_or_else(|| lacks("both_ways"))?,
            }),
        };
        Ok(super::Fault {
            name: form.name,
            start: form.start,
            duration_ns: form.duration_ns,
            kind,
            target,
        })
    }
}

fn lacks(key: &str) -> String {
    format!("missing field `{key}`")
}

/// Stores each amount under its key.
impl Convert<Settled, Bare> for Numbers {
    type Error = Infallible;

    fn delay(&mut self, extra_ns: u64) -> Result<(), Infallible> {
        self.extra_ns = Some(extra_ns);
        Ok(())
    }

    fn share(&mut self, probability: f64) -> Result<(), Infallible> {
        self.probability = Some(probability);
        Ok(())
    }

    fn step(&mut self, step_ns: i64) -> Result<(), Infallible> {
        self.step_ns = Some(step_ns);
        Ok(())
    }

    fn rate(&mut self, drift_ppm: i64) -> Result<(), Infallible> {
        self.drift_ppm = Some(drift_ppm);
        Ok(())
    }
}

/// Takes each amount from its key.
impl Convert<Bare, Settled> for Numbers {
    type Error = String;

    fn delay(&mut self, (): ()) -> Result<u64, String> {
        self.extra_ns.ok_or_else(|| lacks("extra_ns"))
    }

    fn share(&mut self, (): ()) -> Result<f64, String> {
        self.probability.ok_or_else(|| lacks("probability"))
    }

    fn step(&mut self, (): ()) -> Result<i64, String> {
        self.step_ns.ok_or_else(|| lacks("step_ns"))
    }

    fn rate(&mut self, (): ()) -> Result<i64, String> {
        self.drift_ppm.ok_or_else(|| lacks("drift_ppm"))
    }
}
