//! The serialized form of a fault in a recording: flat, with the amounts that its kind has.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{Effect, Links, Start};
use crate::{Aim, FaultKind, Name};

#[derive(Serialize, Deserialize)]
pub(super) struct Fault {
    name: Name,
    start: Start,
    duration_ns: Option<u64>,
    kind: Flat,
}

/// The effect and the target. The fields are in the order of the keys in the file.
#[derive(Serialize, Deserialize)]
struct Flat {
    kind: FaultKind,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl From<super::Fault> for Fault {
    fn from(fault: super::Fault) -> Fault {
        let kind = fault.kind();
        let mut amounts = Numbers::default();
        let (hosts, links) = match fault.effect {
            Effect::Hosts { fault, hosts } => {
                let Ok(_) = fault.convert(
                    &mut amounts,
                    Numbers::put_step,
                    Numbers::put_rate,
                    Numbers::put_line,
                );
                (Some(hosts), None)
            }
            Effect::Links { fault, links } => {
                let Ok(_) = fault.convert(&mut amounts, Numbers::put_delay, Numbers::put_share);
                (None, Some(links))
            }
        };
        let both_ways = links.as_ref().map(|links| links.both_ways);
        let (from, to) = links.map(|links| (links.from, links.to)).unzip();
        Fault {
            name: fault.name,
            start: fault.start,
            duration_ns: fault.duration_ns,
            kind: Flat {
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
        let mut flat = form.kind;
        let amounts = &mut flat.amounts;
        let effect = match flat.kind.aim() {
            Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => Effect::Hosts {
                fault: fault.convert(amounts, Numbers::step, Numbers::rate, Numbers::line)?,
                hosts: flat.hosts.ok_or_else(|| missing_key("hosts"))?,
            },
            Aim::Links(fault) => Effect::Links {
                fault: fault.convert(amounts, Numbers::delay, Numbers::share)?,
                links: Links {
                    from: flat.from.ok_or_else(|| missing_key("from"))?,
                    to: flat.to.ok_or_else(|| missing_key("to"))?,
                    both_ways: flat.both_ways.ok_or_else(|| missing_key("both_ways"))?,
                },
            },
        };
        Ok(super::Fault {
            name: form.name,
            start: form.start,
            duration_ns: form.duration_ns,
            effect,
        })
    }
}

fn missing_key(key: &str) -> String {
    format!("missing field `{key}`")
}

/// Stores each amount under its key.
impl Numbers {
    fn put_delay(&mut self, extra_ns: u64) -> Result<(), Infallible> {
        self.extra_ns = Some(extra_ns);
        Ok(())
    }

    fn put_share(&mut self, probability: f64) -> Result<(), Infallible> {
        self.probability = Some(probability);
        Ok(())
    }

    fn put_step(&mut self, step_ns: i64) -> Result<(), Infallible> {
        self.step_ns = Some(step_ns);
        Ok(())
    }

    fn put_rate(&mut self, drift_ppm: i64) -> Result<(), Infallible> {
        self.drift_ppm = Some(drift_ppm);
        Ok(())
    }

    fn put_line(&mut self, line: String) -> Result<(), Infallible> {
        self.command = Some(line);
        Ok(())
    }
}

/// Takes each amount from its key.
impl Numbers {
    fn delay(&mut self, (): ()) -> Result<u64, String> {
        self.extra_ns.ok_or_else(|| missing_key("extra_ns"))
    }

    fn share(&mut self, (): ()) -> Result<f64, String> {
        self.probability.ok_or_else(|| missing_key("probability"))
    }

    fn step(&mut self, (): ()) -> Result<i64, String> {
        self.step_ns.ok_or_else(|| missing_key("step_ns"))
    }

    fn rate(&mut self, (): ()) -> Result<i64, String> {
        self.drift_ppm.ok_or_else(|| missing_key("drift_ppm"))
    }

    fn line(&mut self, (): ()) -> Result<String, String> {
        self.command.take().ok_or_else(|| missing_key("command"))
    }
}

#[cfg(test)]
mod tests {
    use crate::Fault;

    /// A fault in a recording: these keys of its start, and these of its kind.
    fn text(start: &str, kind: &str) -> String {
        format!(r#"{{"name":"f","start":{{{start}}},"duration_ns":null,"kind":{{{kind}}}}}"#)
    }

    fn read(kind: &str) -> Result<Fault, String> {
        let read = serde_json::from_str(&text(r#""at":{"at_ns":5}"#, kind));
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn every_kind_round_trips() {
        let at = r#""at":{"at_ns":5}"#;
        let after = r#""after":{"client":"c1","point":"read","nth":2,"delay_ns":7}"#;
        let at_step = r#""at-step":{"step":"c1 SET #2 arrives at n3","delay_ns":7}"#;
        for kind in [
            r#""kind":"pause","hosts":["c1","c2"]"#,
            r#""kind":"crash","hosts":["n1"]"#,
            r#""kind":"failover","hosts":["s1"]"#,
            r#""kind":"partition","from":["c1"],"to":["n1","n2"],"both_ways":false"#,
            r#""kind":"slow-link","from":["c1"],"to":["n1"],"both_ways":true,"extra_ns":3"#,
            r#""kind":"loss","from":["c1"],"to":["n1"],"both_ways":true,"probability":0.25"#,
            r#""kind":"clock-step","hosts":["n1"],"step_ns":-9"#,
            r#""kind":"clock-rate","hosts":["n1"],"drift_ppm":-100"#,
            r#""kind":"command","hosts":["n1"],"command":"SCRIPT FLUSH""#,
        ] {
            for start in [at, after, at_step] {
                let text = text(start, kind);
                let fault: Fault = serde_json::from_str(&text).expect(&text);
                assert_eq!(serde_json::to_string(&fault).unwrap(), text);
            }
        }
    }

    #[test]
    fn missing_amount_of_a_kind_is_named() {
        for (kind, lacking) in [
            (r#""kind":"pause""#, "hosts"),
            (r#""kind":"suspend","from":["c1"]"#, "hosts"),
            (r#""kind":"failover""#, "hosts"),
            (r#""kind":"partition","to":["n1"],"both_ways":true"#, "from"),
            (r#""kind":"partition","from":["n1"],"both_ways":true"#, "to"),
            (
                r#""kind":"partition","from":["c1"],"to":["n1"]"#,
                "both_ways",
            ),
            (
                r#""kind":"slow-link","from":["c1"],"to":["n1"]"#,
                "extra_ns",
            ),
            (r#""kind":"loss","from":["c1"],"to":["n1"]"#, "probability"),
            (r#""kind":"clock-step","hosts":["n1"]"#, "step_ns"),
            (r#""kind":"clock-rate","hosts":["n1"]"#, "drift_ppm"),
            (r#""kind":"command","hosts":["n1"]"#, "command"),
        ] {
            let expected = format!("missing field `{lacking}`");
            assert_eq!(read(kind), Err(expected), "{kind}");
        }
    }
}
