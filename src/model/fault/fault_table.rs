//! The flat form of a fault in TOML, and its conversion to and from [`FaultSpec`].
//!
//! The table accepts every key that any fault has; each kind takes the keys that it needs, and
//! a key that remains is an error.

use std::convert::Infallible;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use locklab_values::dist::{Dist, Signed};

use super::spec::{Described, FaultSpec, Placement};
use super::trigger::Trigger;
use locklab_history::{Aim, Effect, FaultKind, Links, Moment, Name, Span, Step, command_words};

/// `[fault.NAME]` as written in a scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultTable {
    kind: FaultKind,
    on: Option<Hosts>,
    from: Option<Hosts>,
    to: Option<Hosts>,
    direction: Option<Direction>,
    at_ms: Option<Dist>,
    after: Option<Trigger>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_step: Option<Step>,
    delay_ms: Option<Dist>,
    between: Option<[Moment; 2]>,
    every_ms: Option<Dist>,
    until_ms: Option<f64>,
    duration_ms: Option<Dist>,
    extra_ms: Option<Dist>,
    probability: Option<f64>,
    step_ms: Option<Signed>,
    #[serde(serialize_with = "whole")]
    drift_ppm: Option<Signed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// Writes a constant rate as the whole number that it is.
fn whole<S: Serializer>(ppm: &Option<Signed>, serializer: S) -> Result<S::Ok, S::Error> {
    match ppm {
        None => serializer.serialize_none(),
        Some(ppm) => match ppm.as_constant() {
            Some(ppm) => serializer.serialize_some(&(ppm as i64)),
            None => serializer.serialize_some(ppm),
        },
    }
}

/// Which direction of a link a fault affects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Direction {
    /// Both directions.
    #[default]
    Both,
    /// Only the direction `from` one side `to` the other.
    OneWay,
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

// Written out and not derived, so that the specification need not name its table.
impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = FaultTable::deserialize(deserializer)?;
        FaultSpec::try_from(table).map_err(de::Error::custom)
    }
}

impl Serialize for FaultSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FaultTable::from(self.clone()).serialize(serializer)
    }
}

impl TryFrom<FaultTable> for FaultSpec {
    type Error = String;

    fn try_from(mut table: FaultTable) -> Result<Self, String> {
        let effect = table.take_effect()?;
        let placement = table.take_placement()?;
        let duration_ms = match table.kind.span() {
            Span::Momentary => None,
            Span::Lasting | Span::Down => table.duration_ms.take(),
        };
        match table.left_over() {
            None => Ok(FaultSpec {
                effect,
                placement,
                duration_ms,
            }),
            Some(key) => Err(table.unused_key_error(key)),
        }
    }
}

/// Takes each amount from its key.
impl FaultTable {
    fn take_delay(&mut self, (): ()) -> Result<Dist, String> {
        (self.extra_ms.take()).ok_or_else(|| self.missing_key_error("extra_ms"))
    }

    fn take_share(&mut self, (): ()) -> Result<f64, String> {
        (self.probability.take()).ok_or_else(|| self.missing_key_error("probability"))
    }

    fn take_step(&mut self, (): ()) -> Result<Signed, String> {
        (self.step_ms.take()).ok_or_else(|| self.missing_key_error("step_ms"))
    }

    fn take_rate(&mut self, (): ()) -> Result<Signed, String> {
        let drift_ppm = self.drift_ppm.take();
        let drift_ppm = drift_ppm.ok_or_else(|| self.missing_key_error("drift_ppm"))?;
        match drift_ppm.as_constant() {
            Some(ppm) if ppm.fract() != 0.0 => Err(format!(
                "`drift_ppm` is a whole number of parts per million, not {ppm}"
            )),
            _ => Ok(drift_ppm),
        }
    }

    fn take_line(&mut self, (): ()) -> Result<String, String> {
        let line = self.command.take();
        let line = line.ok_or_else(|| self.missing_key_error("command"))?;
        match command_words(&line) {
            Err(why) => Err(format!("`command`: {why}")),
            Ok(_) => Ok(line),
        }
    }
}

impl FaultTable {
    fn take_effect(&mut self) -> Result<Described, String> {
        Ok(match self.kind.aim() {
            Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => Effect::Hosts {
                hosts: self.take_on()?,
                fault: fault.convert(
                    self,
                    FaultTable::take_step,
                    FaultTable::take_rate,
                    FaultTable::take_line,
                )?,
            },
            Aim::Links(fault) => Effect::Links {
                links: self.take_links()?,
                fault: fault.convert(self, FaultTable::take_delay, FaultTable::take_share)?,
            },
        })
    }

    fn take_on(&mut self) -> Result<Vec<Name>, String> {
        let on = self.on.take().ok_or_else(|| self.missing_key_error("on"))?;
        on.list("on")
    }

    fn take_links(&mut self) -> Result<Links, String> {
        let from = self
            .from
            .take()
            .ok_or_else(|| self.missing_key_error("from"))?;
        let to = self.to.take().ok_or_else(|| self.missing_key_error("to"))?;
        Ok(Links {
            from: from.list("from")?,
            to: to.list("to")?,
            both_ways: self.direction.take().unwrap_or_default() == Direction::Both,
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
        let starts = (
            self.at_ms.take(),
            self.after.take(),
            self.at_step.take(),
            self.between.take(),
        );
        match starts {
            (Some(at_ms), None, None, None) => Ok(Placement::At(at_ms)),
            (None, Some(trigger), None, None) => {
                let delay_ms = self.delay_ms.take().unwrap_or_default();
                Ok(match trigger {
                    Trigger::Moment(moment) => Placement::After { moment, delay_ms },
                    Trigger::Step(step) => Placement::AtStep { step, delay_ms },
                })
            }
            (None, None, Some(step), None) => Ok(Placement::AtStep {
                step,
                delay_ms: self.delay_ms.take().unwrap_or_default(),
            }),
            (None, None, None, Some([first, second])) => between(first, second),
            (None, None, None, None) => Err("a fault needs one of `at_ms`, `after`, `at_step`, \
                                             `between` and `every_ms` to say when it takes effect"
                .into()),
            _ => Err(
                "a fault takes effect at one time: give only one of `at_ms`, `after`, `at_step` \
                      and `between`"
                    .into(),
            ),
        }
    }

    /// The first key that the fault's kind does not use.
    fn left_over(&self) -> Option<&'static str> {
        let keys = [
            ("on", self.on.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("direction", self.direction.is_some()),
            ("at_ms", self.at_ms.is_some()),
            ("after", self.after.is_some()),
            ("at_step", self.at_step.is_some()),
            ("delay_ms", self.delay_ms.is_some()),
            ("between", self.between.is_some()),
            ("every_ms", self.every_ms.is_some()),
            ("until_ms", self.until_ms.is_some()),
            ("duration_ms", self.duration_ms.is_some()),
            ("extra_ms", self.extra_ms.is_some()),
            ("probability", self.probability.is_some()),
            ("step_ms", self.step_ms.is_some()),
            ("drift_ppm", self.drift_ppm.is_some()),
            ("command", self.command.is_some()),
        ];
        keys.into_iter()
            .find(|(_, is_left)| *is_left)
            .map(|(key, _)| key)
    }

    fn unused_key_error(&self, key: &str) -> String {
        match key {
            "delay_ms" => "`delay_ms` needs `after` or `at_step`".into(),
            "until_ms" => "`until_ms` needs `every_ms`".into(),
            "after" | "at_step" | "between" => {
                format!("`{key}` and `every_ms` exclude each other: give only one of them")
            }
            _ => format!("a fault of kind `{}` takes no `{key}`", self.kind.name()),
        }
    }

    fn missing_key_error(&self, key: &str) -> String {
        format!("a fault of kind `{}` needs `{key}`", self.kind.name())
    }
}

/// A fault between two points of one round of one client.
fn between(first: Moment, second: Moment) -> Result<Placement, String> {
    if first.client != second.client || first.nth != second.nth {
        return Err(format!(
            "`between` needs two points of one round of one client, not `{first}` and `{second}`"
        ));
    }
    if first.point >= second.point {
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
            Hosts::Many(hosts) if hosts.is_empty() => Err(format!("`{key}` names no host")),
            Hosts::Many(hosts) => Ok(hosts),
        }
    }
}

impl From<FaultSpec> for FaultTable {
    fn from(spec: FaultSpec) -> FaultTable {
        let mut table = FaultTable::empty(spec.kind());
        table.duration_ms = spec.duration_ms;
        table.put_effect(spec.effect);
        table.put_placement(spec.placement);
        table
    }
}

/// Stores each amount under its key.
impl FaultTable {
    fn put_delay(&mut self, extra_ms: Dist) -> Result<(), Infallible> {
        self.extra_ms = Some(extra_ms);
        Ok(())
    }

    fn put_share(&mut self, probability: f64) -> Result<(), Infallible> {
        self.probability = Some(probability);
        Ok(())
    }

    fn put_step(&mut self, step_ms: Signed) -> Result<(), Infallible> {
        self.step_ms = Some(step_ms);
        Ok(())
    }

    fn put_rate(&mut self, drift_ppm: Signed) -> Result<(), Infallible> {
        self.drift_ppm = Some(drift_ppm);
        Ok(())
    }

    fn put_line(&mut self, line: String) -> Result<(), Infallible> {
        self.command = Some(line);
        Ok(())
    }
}

/// The keys specific to a fault of this kind in a scenario, for a person.
pub fn keys(kind: FaultKind) -> String {
    let aim = match kind.aim() {
        Aim::Processes(_) | Aim::Machines(_) | Aim::Servers(_) => "on",
        Aim::Links(_) => "from, to, direction",
    };
    let keys: Vec<&str> = [aim].into_iter().chain(amount_key(kind)).collect();
    keys.join(", ")
}

/// The key of the amount of a fault of this kind, if it has one.
pub fn amount_key(kind: FaultKind) -> Option<&'static str> {
    let mut key = None;
    let Ok(()) = match kind.aim() {
        Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => fault
            .convert(
                &mut key,
                |key, ()| is(key, "step_ms"),
                |key, ()| is(key, "drift_ppm"),
                |key, ()| is(key, "command"),
            )
            .map(drop),
        Aim::Links(fault) => fault
            .convert(
                &mut key,
                |key, ()| is(key, "extra_ms"),
                |key, ()| is(key, "probability"),
            )
            .map(drop),
    };
    key
}

fn is(key: &mut Option<&'static str>, name: &'static str) -> Result<(), Infallible> {
    *key = Some(name);
    Ok(())
}

impl FaultTable {
    fn empty(kind: FaultKind) -> FaultTable {
        FaultTable {
            kind,
            on: None,
            from: None,
            to: None,
            direction: None,
            at_ms: None,
            after: None,
            at_step: None,
            delay_ms: None,
            between: None,
            every_ms: None,
            until_ms: None,
            duration_ms: None,
            extra_ms: None,
            probability: None,
            step_ms: None,
            drift_ppm: None,
            command: None,
        }
    }

    fn put_effect(&mut self, effect: Described) {
        match effect {
            Effect::Hosts { fault, hosts } => {
                let Ok(_) = fault.convert(
                    self,
                    FaultTable::put_step,
                    FaultTable::put_rate,
                    FaultTable::put_line,
                );
                self.on = Some(Hosts::Many(hosts));
            }
            Effect::Links { fault, links } => {
                let Ok(_) = fault.convert(self, FaultTable::put_delay, FaultTable::put_share);
                self.from = Some(Hosts::Many(links.from));
                self.to = Some(Hosts::Many(links.to));
                self.direction = Some(match links.both_ways {
                    true => Direction::Both,
                    false => Direction::OneWay,
                });
            }
        }
    }

    fn put_placement(&mut self, placement: Placement) {
        match placement {
            Placement::At(at_ms) => self.at_ms = Some(at_ms),
            Placement::After { moment, delay_ms } => {
                self.after = Some(Trigger::Moment(moment));
                self.delay_ms = Some(delay_ms);
            }
            Placement::AtStep { step, delay_ms } => {
                self.at_step = Some(step);
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
mod tests;
