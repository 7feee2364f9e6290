//! Steps: the moments of a run that have a name, at which a fault can strike.
//!
//! A step is named by its host, what it does, and how often it has done that before: `c1 SET #2
//! arrives at n3`. So its name stays the same when something else in the run changes: another
//! client, another node, another latency.
//!
//! **A message** is a segment of TCP with data, because a network loses and delays segments.
//! A segment that begins with the header of a request (`*3`, `$3`, `SET`) is a *request*. It is named by
//! that first command, also if further commands follow in it, and numbered among those of the same
//! client, command and server in the order in which they first leave. The rest of a request that fills
//! several segments has no name. A segment in the other direction is a *reply*: to the last request
//! that had arrived over its connection when it left. If several answer one request (a
//! subscription's messages, the notifications that follow a `WATCH`), they are numbered. A message that
//! is sent again because it was lost leaves once: when it leaves for the first time. It arrives when it reaches a
//! machine that is neither without power nor suspended.
//!
//! A fault that strikes there can keep the message from that machine's kernel. Then the message arrives a second
//! time later, which is another step: `c1 SET #1 arrives at n1 #2`. So every step comes once.
//!
//! What counts as a message: those between a client and any other host, and those of a master to its
//! replica that carry a write. Servers' heartbeats have no names.
//!
//! **A timer** of a client fires when its process would continue after a sleep or a timeout. **A sync** is
//! one of a server's append-only file; **a notice** is a decision that a sentinel logs, such as `+odown`.
//! **A failpoint** is a [`Moment`] in a client's program.
//!
//! **A grant on the wire** is the reply to a request that made a key exist: with a time to live, or as `SET`
//! with `NX` and `SETNX` do. The client *holds* the lock when the first reply after that request arrives. Only
//! runs on real servers have this step; it needs no word of the client's program.
//!
//! A fault that strikes at a step does so before its host acts on it: before the segment is on the wire
//! or in the receiver's kernel, before the process that slept continues. Syncs and notices are the
//! exceptions: they happen while a process runs, which cannot be interrupted there. The file is synced,
//! the process finishes what it does at that instant, and the fault comes before its next action.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Failpoint, Moment, Name};

/// A moment of a run that has a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Step {
    /// A message leaves or arrives: `c1 SET #2 arrives at n3`.
    Message {
        /// The request: the message itself, or the one that it answers.
        request: Request,
        /// Which message, and which end of its way.
        leg: Leg,
    },
    /// A timer fires: `c1 timer #4`.
    Timer {
        /// The client.
        host: Name,
        /// Counted from 1.
        nth: u32,
    },
    /// A client reaches a failpoint: `c1 acquired`, or `c1 acquired #2`.
    Failpoint(Moment),
    /// The reply that grants a client the lock arrives: `c1 holds`, or `c1 holds #2`.
    Holds {
        /// The client.
        client: Name,
        /// Counted from 1.
        nth: u32,
    },
    /// A server syncs its append-only file: `n1 sync #3`.
    Sync {
        /// The server.
        host: Name,
        /// Counted from 1.
        nth: u32,
    },
    /// A sentinel decides something: `s1 +odown #1`.
    Notice {
        /// The sentinel.
        host: Name,
        /// The event in its log.
        notice: Name,
        /// Counted from 1.
        nth: u32,
    },
}

/// A request of a client, or a command that a master sends to its replica.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The host that sends it.
    pub from: Name,
    /// The first command in the segment, in capitals.
    pub command: Name,
    /// Its number among those with the same hosts and command, counted from 1.
    pub nth: u32,
    /// The host that receives it.
    pub to: Name,
}

/// An end of the way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// The request leaves its sender.
    Leaves,
    /// The request arrives at its receiver.
    Arrives {
        /// Counted from 1: it arrives again if a fault at its arrival kept it from the receiver's kernel.
        nth: u32,
    },
    /// A reply leaves the receiver of the request; replies to one request are counted from 1.
    ReplyLeaves(u32),
    /// A reply arrives at the sender of the request.
    ReplyArrives {
        /// Its number among the replies to the request.
        reply: u32,
        /// As of [`Leg::Arrives`].
        nth: u32,
    },
}

impl Step {
    /// The host that acts at this step.
    pub fn host(&self) -> &Name {
        match self {
            Step::Message { request, leg } => match leg {
                Leg::Leaves | Leg::ReplyArrives { .. } => &request.from,
                Leg::Arrives { .. } | Leg::ReplyLeaves(_) => &request.to,
            },
            Step::Timer { host, .. } | Step::Sync { host, .. } | Step::Notice { host, .. } => host,
            Step::Failpoint(moment) => &moment.client,
            Step::Holds { client, .. } => client,
        }
    }

    /// All hosts in its name: that which acts first.
    pub fn hosts(&self) -> Vec<&Name> {
        let mut hosts = vec![self.host()];
        if let Step::Message { request, .. } = self {
            hosts.extend([&request.from, &request.to]);
            hosts.dedup();
        }
        hosts
    }

    /// The sender and the receiver of a message that leaves now; `None` at any other step.
    pub fn departure(&self) -> Option<(&Name, &Name)> {
        match self {
            Step::Message { request, leg } => match leg {
                Leg::Leaves => Some((&request.from, &request.to)),
                Leg::ReplyLeaves(_) => Some((&request.to, &request.from)),
                Leg::Arrives { .. } | Leg::ReplyArrives { .. } => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Step::Message { request, leg } => {
                let Request {
                    from,
                    command,
                    nth,
                    to,
                } = request;
                let reply = |number: &u32| match number {
                    1 => "reply".to_owned(),
                    number => format!("reply #{number}"),
                };
                let way = match leg {
                    Leg::Leaves => format!("leaves for {to}"),
                    Leg::Arrives { nth } => format!("arrives at {to}{}", again(*nth)),
                    Leg::ReplyLeaves(number) => format!("{} leaves {to}", reply(number)),
                    Leg::ReplyArrives { reply: number, nth } => {
                        format!("{} arrives from {to}{}", reply(number), again(*nth))
                    }
                };
                format!("{from} {command} #{nth} {way}")
            }
            Step::Timer { host, nth } => format!("{host} timer #{nth}"),
            Step::Failpoint(moment) => moment.to_string(),
            Step::Holds { client, nth: 1 } => format!("{client} holds"),
            Step::Holds { client, nth } => format!("{client} holds #{nth}"),
            Step::Sync { host, nth } => format!("{host} sync #{nth}"),
            Step::Notice { host, notice, nth } => format!("{host} {notice} #{nth}"),
        };
        f.pad(&text)
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || usage(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [host, "timer", nth] => Ok(Step::Timer {
                host: host.into(),
                nth: number(nth).ok_or_else(usage)?,
            }),
            [client, "holds"] => Ok(Step::Holds {
                client: client.into(),
                nth: 1,
            }),
            [client, "holds", nth] => Ok(Step::Holds {
                client: client.into(),
                nth: number(nth).ok_or_else(usage)?,
            }),
            [host, "sync", nth] => Ok(Step::Sync {
                host: host.into(),
                nth: number(nth).ok_or_else(usage)?,
            }),
            [host, notice, nth] if notice.starts_with(['+', '-']) => Ok(Step::Notice {
                host: host.into(),
                notice: notice.into(),
                nth: number(nth).ok_or_else(usage)?,
            }),
            [_, point] | [_, point, _] if point.parse::<Failpoint>().is_ok() => {
                Ok(Step::Failpoint(text.parse()?))
            }
            [from, command, nth, ref way @ ..] => {
                let (leg, to) = leg(way).ok_or_else(usage)?;
                let request = Request {
                    from: from.into(),
                    command: command.to_uppercase().into(),
                    nth: number(nth).ok_or_else(usage)?,
                    to: to.into(),
                };
                Ok(Step::Message { request, leg })
            }
            _ => Err(usage()),
        }
    }
}

/// What follows the name of an arrival that is not the first of its message.
fn again(nth: u32) -> String {
    match nth {
        1 => String::new(),
        nth => format!(" #{nth}"),
    }
}

/// `leaves for n1`, `arrives at n1`, `arrives at n1 #2`, `reply leaves n1`, `reply #2 arrives from n1`.
fn leg<'t>(words: &[&'t str]) -> Option<(Leg, &'t str)> {
    let counted = |word: &str| word.starts_with('#');
    let (reply, words) = match words {
        ["reply", nth, rest @ ..] if counted(nth) => (Some(number(nth)?), rest),
        ["reply", rest @ ..] => (Some(1), rest),
        rest => (None, rest),
    };
    let (words, again) = match words {
        [words @ .., nth] if counted(nth) => (words, Some(number(nth)?)),
        words => (words, None),
    };
    let nth = again.unwrap_or(1);
    match (reply, words, again) {
        (None, ["leaves", "for", to], None) => Some((Leg::Leaves, to)),
        (None, ["arrives", "at", to], _) => Some((Leg::Arrives { nth }, to)),
        (Some(reply), ["leaves", to], None) => Some((Leg::ReplyLeaves(reply), to)),
        (Some(reply), ["arrives", "from", to], _) => Some((Leg::ReplyArrives { reply, nth }, to)),
        _ => None,
    }
}

/// `#2`.
fn number(word: &str) -> Option<u32> {
    let number = word.strip_prefix('#')?.parse().ok()?;
    (number > 0).then_some(number)
}

fn usage(text: &str) -> String {
    format!(
        "`{text}` is not a step; write \"c1 SET #1 leaves for n1\", \"c1 SET #1 arrives at n1\", \
         \"c1 SET #1 reply leaves n1\", \"c1 SET #1 reply arrives from n1\", \"c1 timer #1\", \
         \"c1 acquired\", \"c1 holds\", \"n1 sync #1\" or \"s1 +odown #1\""
    )
}

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Step> for String {
    fn from(step: Step) -> String {
        step.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_round_trips_and_knows_its_host() {
        for (text, host) in [
            ("c1 SET #2 leaves for n3", "c1"),
            ("c1 SET #2 arrives at n3", "n3"),
            ("c1 SET #2 arrives at n3 #2", "n3"),
            ("c1 SET #2 reply leaves n3", "n3"),
            ("c1 SUBSCRIBE #1 reply #2 leaves n3", "n3"),
            ("c1 SET #2 reply arrives from n3", "c1"),
            ("c1 SET #2 reply arrives from n3 #3", "c1"),
            ("c1 SUBSCRIBE #1 reply #2 arrives from n3", "c1"),
            ("c1 SUBSCRIBE #1 reply #2 arrives from n3 #2", "c1"),
            ("c1 timer #4", "c1"),
            ("c1 acquired", "c1"),
            ("c1 acquired #2", "c1"),
            ("c1 holds", "c1"),
            ("c1 holds #2", "c1"),
            ("n1 sync #3", "n1"),
            ("s1 +odown #1", "s1"),
        ] {
            let step: Step = text.parse().expect(text);
            assert_eq!(step.to_string(), text);
            assert_eq!(&**step.host(), host, "{text}");
            let json = serde_json::to_string(&step).expect("it is a text");
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(
                serde_json::from_str::<Step>(&json).expect("it is a step"),
                step
            );
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_forms() {
        for text in [
            "",
            "c1",
            "c1 SET",
            "c1 SET #0 arrives at n1",
            "c1 SET 2 arrives at n1",
            "c1 SET #2 arrives n1",
            "c1 SET #2 arrives at n1 #0",
            "c1 SET #2 leaves for n1 #2",
            "c1 SET #2 reply leaves n1 #2",
            "c1 SET #2 reply arrives at n1",
            "c1 timer",
            "c1 timer #x",
            "n1 sync 3",
        ] {
            let error = text.parse::<Step>().expect_err(text);
            assert!(
                error.starts_with(&format!("`{text}` is not a step; write")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_message_departs_from_the_host_that_sends_it() {
        let departure = |text: &str| {
            let step: Step = text.parse().expect(text);
            step.departure().map(|(from, to)| format!("{from} {to}"))
        };
        assert_eq!(
            departure("c1 SET #1 leaves for n1").as_deref(),
            Some("c1 n1")
        );
        assert_eq!(
            departure("c1 SET #1 reply leaves n1").as_deref(),
            Some("n1 c1")
        );
        assert_eq!(departure("c1 SET #1 arrives at n1"), None);
        assert_eq!(departure("c1 timer #1"), None);
    }
}
