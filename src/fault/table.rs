//! The flat form of a fault in TOML, and its way to and from [`FaultSpec`].
//!
//! The table admits every key that some fault has; here each kind takes the keys
//! that it needs, and what is left over is an error.

use serde::{Deserialize, Serialize};

use super::spec::{Direction, Effect, FaultSpec, Link, Placement};
use crate::history::Name;
use crate::history::{Moment, POINTS};
use locklab_world::dist::Dist;

/// `[fault.NAME]` as it stands in a scenario.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultTable {
    kind: Kind,
    on: Option<Hosts>,
    from: Option<Hosts>,
    to: Option<Hosts>,
    direction: Option<Direction>,
    at_ms: Option<Dist>,
    after: Option<Moment>,
    delay_ms: Option<Dist>,
    between: Option<[Moment; 2]>,
    every_ms: Option<Dist>,
    until_ms: Option<f64>,
    duration_ms: Option<Dist>,
    extra_ms: Option<Dist>,
    probability: Option<f64>,
    step_ms: Option<f64>,
    drift_ppm: Option<i64>,
}

/// The kinds of fault, as a scenario spells them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Pause,
    Suspend,
    Kill,
    Crash,
    Partition,
    SlowLink,
    Loss,
    ClockStep,
    ClockRate,
    Failover,
}

/// `"c1"`, or `["c1", "n3"]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a host (\"c1\", \"n3\", \"resource\") or a list of hosts"
)]
enum Hosts {
    One(Name),
    Many(Vec<Name>),
}

impl TryFrom<FaultTable> for FaultSpec {
    type Error = String;

    fn try_from(mut table: FaultTable) -> Result<Self, String> {
        let effect = table.take_effect()?;
        let placement = table.take_placement()?;
        let duration_ms = match effect {
            // These are over at once.
            Effect::ClockStep { .. } | Effect::Failover { .. } => None,
            _ => table.duration_ms.take(),
        };
        match table.left_over() {
            None => Ok(FaultSpec {
                effect,
                placement,
                duration_ms,
            }),
            Some(key) => Err(table.superfluous(key)),
        }
    }
}

impl FaultTable {
    fn take_effect(&mut self) -> Result<Effect, String> {
        Ok(match self.kind {
            Kind::Pause => Effect::Pause {
                on: self.take_on()?,
            },
            Kind::Suspend => Effect::Suspend {
                on: self.take_on()?,
            },
            Kind::Kill => Effect::Kill {
                on: self.take_on()?,
            },
            Kind::Crash => Effect::Crash {
                on: self.take_on()?,
            },
            Kind::Partition => Effect::Partition {
                link: self.take_link()?,
            },
            Kind::SlowLink => Effect::SlowLink {
                link: self.take_link()?,
                extra_ms: self.extra_ms.take().ok_or_else(|| self.lacks("extra_ms"))?,
            },
            Kind::Loss => Effect::Loss {
                link: self.take_link()?,
                probability: (self.probability.take()).ok_or_else(|| self.lacks("probability"))?,
            },
            Kind::ClockStep => Effect::ClockStep {
                on: self.take_on()?,
                step_ms: self.step_ms.take().ok_or_else(|| self.lacks("step_ms"))?,
            },
            Kind::ClockRate => Effect::ClockRate {
                on: self.take_on()?,
                drift_ppm: (self.drift_ppm.take()).ok_or_else(|| self.lacks("drift_ppm"))?,
            },
            Kind::Failover => Effect::Failover {
                on: self.take_on()?,
            },
        })
    }

    fn take_on(&mut self) -> Result<Vec<Name>, String> {
        let on = self.on.take().ok_or_else(|| self.lacks("on"))?;
        on.list("on")
    }

    fn take_link(&mut self) -> Result<Link, String> {
        let from = self.from.take().ok_or_else(|| self.lacks("from"))?;
        let to = self.to.take().ok_or_else(|| self.lacks("to"))?;
        Ok(Link {
            from: from.list("from")?,
            to: to.list("to")?,
            direction: self.direction.take().unwrap_or_default(),
        })
    }

    fn take_placement(&mut self) -> Result<Placement, String> {
        if let Some(every_ms) = self.every_ms.take() {
            return Ok(Placement::Every {
                every_ms,
                at_ms: self.at_ms.take(),
                until_ms: (self.until_ms.take())
                    .ok_or("a fault with `every_ms` needs `until_ms`, at which it stops")?,
            });
        }
        match (self.at_ms.take(), self.after.take(), self.between.take()) {
            (Some(at_ms), None, None) => Ok(Placement::At(at_ms)),
            (None, Some(moment), None) => Ok(Placement::After {
                moment,
                delay_ms: self.delay_ms.take().unwrap_or_default(),
            }),
            (None, None, Some([first, second])) => between(first, second),
            (None, None, None) => Err("a fault needs one of `at_ms`, `after`, `between` and \
                                       `every_ms` to say when it takes effect"
                .into()),
            _ => Err(
                "a fault takes effect at one time: give only one of `at_ms`, `after` \
                      and `between`"
                    .into(),
            ),
        }
    }

    /// The first key that nobody has taken.
    fn left_over(&self) -> Option<&'static str> {
        let keys = [
            ("on", self.on.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("direction", self.direction.is_some()),
            ("at_ms", self.at_ms.is_some()),
            ("after", self.after.is_some()),
            ("delay_ms", self.delay_ms.is_some()),
            ("between", self.between.is_some()),
            ("every_ms", self.every_ms.is_some()),
            ("until_ms", self.until_ms.is_some()),
            ("duration_ms", self.duration_ms.is_some()),
            ("extra_ms", self.extra_ms.is_some()),
            ("probability", self.probability.is_some()),
            ("step_ms", self.step_ms.is_some()),
            ("drift_ppm", self.drift_ppm.is_some()),
        ];
        keys.into_iter()
            .find(|(_, is_left)| *is_left)
            .map(|(key, _)| key)
    }

    fn superfluous(&self, key: &str) -> String {
        match key {
            "delay_ms" => "`delay_ms` goes with `after` alone".into(),
            "until_ms" => "`until_ms` goes with `every_ms` alone".into(),
            "after" | "between" => {
                format!("`{key}` and `every_ms` exclude each other: give only one of them")
            }
            _ => format!("a fault of kind `{}` takes no `{key}`", self.kind.name()),
        }
    }

    fn lacks(&self, key: &str) -> String {
        format!("a fault of kind `{}` needs `{key}`", self.kind.name())
    }
}

/// A fault between two points of one round of one client.
fn between(first: Moment, second: Moment) -> Result<Placement, String> {
    let order = |moment: &Moment| POINTS.iter().position(|(name, _)| **name == *moment.point);
    if first.client != second.client || first.nth != second.nth {
        return Err(format!(
            "`between` needs two points of one round of one client, not `{first}` and `{second}`"
        ));
    }
    if order(&first) >= order(&second) {
        return Err(format!(
            "in `between` the second point must come later in the round: `{second}` is not \
             after `{first}`"
        ));
    }
    Ok(Placement::Between { first, second })
}

impl Hosts {
    fn list(self, key: &str) -> Result<Vec<Name>, String> {
        match self {
            Hosts::One(host) => Ok(vec![host]),
            Hosts::Many(hosts) if hosts.is_empty() => Err(format!("`{key}` names no host at all")),
            Hosts::Many(hosts) => Ok(hosts),
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Pause => "pause",
            Kind::Suspend => "suspend",
            Kind::Kill => "kill",
            Kind::Crash => "crash",
            Kind::Partition => "partition",
            Kind::SlowLink => "slow-link",
            Kind::Loss => "loss",
            Kind::ClockStep => "clock-step",
            Kind::ClockRate => "clock-rate",
            Kind::Failover => "failover",
        }
    }
}

impl From<FaultSpec> for FaultTable {
    fn from(spec: FaultSpec) -> FaultTable {
        let mut table = FaultTable {
            duration_ms: spec.duration_ms,
            ..FaultTable::default()
        };
        table.put_effect(spec.effect);
        table.put_placement(spec.placement);
        table
    }
}

impl FaultTable {
    fn put_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Pause { on } => self.put_on(Kind::Pause, on),
            Effect::Suspend { on } => self.put_on(Kind::Suspend, on),
            Effect::Kill { on } => self.put_on(Kind::Kill, on),
            Effect::Crash { on } => self.put_on(Kind::Crash, on),
            Effect::Partition { link } => self.put_link(Kind::Partition, link),
            Effect::SlowLink { link, extra_ms } => {
                self.put_link(Kind::SlowLink, link);
                self.extra_ms = Some(extra_ms);
            }
            Effect::Loss { link, probability } => {
                self.put_link(Kind::Loss, link);
                self.probability = Some(probability);
            }
            Effect::ClockStep { on, step_ms } => {
                self.put_on(Kind::ClockStep, on);
                self.step_ms = Some(step_ms);
            }
            Effect::ClockRate { on, drift_ppm } => {
                self.put_on(Kind::ClockRate, on);
                self.drift_ppm = Some(drift_ppm);
            }
            Effect::Failover { on } => self.put_on(Kind::Failover, on),
        }
    }

    fn put_on(&mut self, kind: Kind, on: Vec<Name>) {
        self.kind = kind;
        self.on = Some(Hosts::Many(on));
    }

    fn put_link(&mut self, kind: Kind, link: Link) {
        self.kind = kind;
        self.from = Some(Hosts::Many(link.from));
        self.to = Some(Hosts::Many(link.to));
        self.direction = Some(link.direction);
    }

    fn put_placement(&mut self, placement: Placement) {
        match placement {
            Placement::At(at_ms) => self.at_ms = Some(at_ms),
            Placement::After { moment, delay_ms } => {
                self.after = Some(moment);
                self.delay_ms = Some(delay_ms);
            }
            Placement::Between { first, second } => self.between = Some([first, second]),
            Placement::Every {
                every_ms,
                at_ms,
                until_ms,
            } => {
                self.every_ms = Some(every_ms);
                self.at_ms = at_ms;
                self.until_ms = Some(until_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Every kind, every placement and every distribution.
    const ALL: &str = r#"
        a = { kind = "pause", on = "c1", at_ms = 5, duration_ms = { exponential = 7.5 } }
        b = { kind = "suspend", on = ["c1", "n1"], after = "c1 read #3", duration_ms = 1 }
        c = { kind = "kill", on = "n1", between = ["c1 read", "c1 wrote"] }
        d = { kind = "crash", on = "n1", at_ms = { uniform = [0, 9] }, duration_ms = 1 }
        e = { kind = "partition", from = "c1", to = ["n1"], every_ms = 100, until_ms = 900 }
        f = { kind = "slow-link", from = "c1", to = "n1", direction = "one-way", at_ms = 0, \
              extra_ms = { log_normal = { median = 3, sigma = 0.5 } } }
        g = { kind = "loss", from = "c1", to = "n1", at_ms = 0, probability = 0.1 }
        h = { kind = "clock-step", on = "n1", after = "c1 read", delay_ms = 3, step_ms = -5 }
        i = { kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = -500, duration_ms = 9 }
        j = { kind = "failover", on = "s1", after = "c1 acquired", delay_ms = 5 }
    "#;

    #[test]
    fn every_kind_survives_being_written_and_read() {
        let text = ALL.replace("\\\n", "");
        let specs: BTreeMap<String, FaultSpec> = toml::from_str(&text).expect("faults");
        let written = toml::to_string(&specs).expect("faults are TOML");
        assert_eq!(toml::from_str(&written), Ok(specs), "{written}");
    }

    #[test]
    fn hosts_may_stand_alone_or_in_a_list() {
        let alone: Result<FaultSpec, _> = toml::from_str("kind = 'kill'\non = 'n1'\nat_ms = 0");
        let listed = toml::from_str("kind = 'kill'\non = ['n1']\nat_ms = 0");
        assert!(alone.is_ok());
        assert_eq!(alone, listed);
    }
}
