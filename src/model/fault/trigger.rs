//! `after` of a fault: a failpoint of a client, or what passes the proxy of a run on real servers.

use std::str::FromStr;

use locklab_history::{Leg, Moment, Request, Step};
use serde::{Deserialize, Serialize};

/// After which a fault strikes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum Trigger {
    /// A client reaches a failpoint: `c1 acquired`, `c1 acquired #2`.
    Moment(Moment),
    /// The first node's reply to a command of a client arrives (`c1 SET`, `c1 SET #2`), or the reply that
    /// grants it the lock (`c1 holds`).
    Step(Step),
}

/// What a fault can strike after on real servers, besides failpoints: what follows the client in `after`,
/// and its meaning.
pub const ON_THE_WIRE: &[(&str, &str)] = &[
    (
        "SET",
        "the first node's reply to the client's first SET arrives, with SET #2 to its second; so for every command",
    ),
    (
        "holds",
        "the reply arrives that grants the client the lock, with holds #2 for the second time",
    ),
];

/// The server of a command that names none.
const FIRST_NODE: &str = "n1";

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (client, what, nth) = match words[..] {
            [client, what] => (client, what, Some(1)),
            [client, what, nth] => (client, what, number(nth)),
            _ => return Ok(Trigger::Moment(text.parse()?)),
        };
        match nth {
            Some(nth) if what == "holds" => Ok(Trigger::Step(Step::Holds {
                client: client.into(),
                nth,
            })),
            Some(nth) if is_command(what) => Ok(Trigger::Step(Step::Message {
                request: Request {
                    from: client.into(),
                    command: what.into(),
                    nth,
                    to: FIRST_NODE.into(),
                },
                leg: Leg::ReplyArrives { reply: 1, nth: 1 },
            })),
            _ => text.parse().map(Trigger::Moment).map_err(with_others),
        }
    }
}

/// Adds what else is allowed to the list of failpoints; of the commands two examples.
fn with_others(mut error: String) -> String {
    if error.starts_with("unknown failpoint") {
        error.push_str(", `holds`, `SET`, `EVALSHA`");
    }
    error
}

/// `#2`.
fn number(word: &str) -> Option<u32> {
    let number = word.strip_prefix('#')?.parse().ok()?;
    (number > 0).then_some(number)
}

/// A command is in capitals, a failpoint is not.
fn is_command(word: &str) -> bool {
    let is_of_command = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    word.starts_with(|letter: char| letter.is_ascii_uppercase()) && word.bytes().all(is_of_command)
}

impl TryFrom<String> for Trigger {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Trigger> for String {
    fn from(trigger: Trigger) -> String {
        match trigger {
            Trigger::Moment(moment) => moment.to_string(),
            Trigger::Step(step) => step.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_and_a_grant_are_short_for_steps() {
        for (text, step) in [
            ("c1 SET", "c1 SET #1 reply arrives from n1"),
            ("c2 EVALSHA #3", "c2 EVALSHA #3 reply arrives from n1"),
            ("c1 holds", "c1 holds"),
            ("c1 holds #2", "c1 holds #2"),
        ] {
            let expected = Trigger::Step(step.parse().expect(step));
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        let moment = Trigger::Moment("c1 acquired #2".parse().expect("a moment"));
        assert_eq!("c1 acquired #2".parse(), Ok(moment));
    }

    #[test]
    fn a_misspelt_trigger_is_told_what_is_allowed() {
        for text in ["c1 hodls", "c1 set"] {
            let error = text.parse::<Trigger>().expect_err(text);
            for allowed in ["`acquired`", "`holds`", "`SET`"] {
                assert!(error.contains(allowed), "{error}");
            }
        }
        for text in ["c1", "c1 SET 2", "c1 holds #0"] {
            assert!(text.parse::<Trigger>().is_err(), "{text}");
        }
    }
}
