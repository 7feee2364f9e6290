//! The commands `LAB.…` that let faults strike while nodes are served: one table, from which
//! parsing, errors and help follow.

use std::borrow::Cow;
use std::time::Duration;

use locklab_history::Name;
use locklab_values::durations::parse_ms;
use locklab_values::units::ns_from_fractional_ms;

/// What a test asks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Order {
    /// A fault, or its end.
    Strike(Name, Strike),
    /// The end of partitions and latency: of this server, or of all.
    Heal(Option<Name>),
    /// The servers, with addresses and states.
    Servers,
    /// What was done, and when.
    Log,
    /// What the lock with this key let happen, or the only lock.
    Verdict(Option<String>),
    /// The table of commands.
    Help,
}

/// A fault of one server.
#[derive(Clone, PartialEq, Debug)]
pub enum Strike {
    /// What it receives, what it sends, or both take this much longer.
    Latency {
        /// Which packets.
        direction: Direction,
        /// How much longer.
        delay: Duration,
    },
    /// Nothing passes between it and others, but for these peers.
    Partition {
        /// The peers that still reach it.
        except: Vec<Name>,
    },
    /// All its connections are reset.
    Reset,
    /// It executes nothing for this long.
    Pause(Duration),
    /// Its wall clock jumps by so many microseconds.
    ClockStep(i64),
    /// Its wall clock runs at this rate.
    ClockRate(f64),
    /// It loses power.
    Crash,
    /// Its process ends, and its machine goes on.
    Kill,
    /// It is started again, with a crash before if it runs.
    Restart {
        /// How long it is down.
        after: Duration,
    },
}

/// The packets of a server that a fault of its links concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Those that it receives.
    To,
    /// Those that it sends.
    From,
    /// All.
    Both,
}

/// A command.
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as help shows them.
    pub arguments: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
    /// The arguments as an order; `None` if there are too many or too few of them.
    parse: fn(&[&str]) -> Result<Option<Order>, String>,
}

/// All commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "LAB.LATENCY",
        arguments: "server delay [TO | FROM]",
        help: "delays what it receives and what it sends, or one of the two; 0 ends it",
        parse: |words| match words {
            [server, delay] => latency(server, delay, Direction::Both),
            [server, delay, word] if is(word, "TO") => latency(server, delay, Direction::To),
            [server, delay, word] if is(word, "FROM") => latency(server, delay, Direction::From),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.PARTITION",
        arguments: "server [EXCEPT peer ...]",
        help: "cuts it off from all but these peers: servers, or `clients`",
        parse: |words| match words {
            [server] => strike(server, Strike::Partition { except: vec![] }),
            [server, word, peers @ ..] if is(word, "EXCEPT") && !peers.is_empty() => {
                let except = peers.iter().map(|&peer| peer.into()).collect();
                strike(server, Strike::Partition { except })
            }
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.HEAL",
        arguments: "[server]",
        help: "ends the partition and the latency of this server, or of all",
        parse: |words| match words {
            [] => Ok(Some(Order::Heal(None))),
            [server] => Ok(Some(Order::Heal(Some((*server).into())))),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.RESET",
        arguments: "server",
        help: "resets all its connections",
        parse: |words| match words {
            [server] => strike(server, Strike::Reset),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.PAUSE",
        arguments: "server duration",
        help: "lets it execute nothing for so long, while its clock goes on",
        parse: |words| match words {
            [server, length] => strike(server, Strike::Pause(duration(length)?)),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.CLOCK",
        arguments: "server STEP duration | server RATE factor",
        help: "lets its wall clock jump (+2s, -500), or run at a rate (1.1: 10 % fast)",
        parse: |words| match words {
            [server, word, step] if is(word, "STEP") => {
                strike(server, Strike::ClockStep(step_us(step)?))
            }
            [server, word, factor] if is(word, "RATE") => {
                strike(server, Strike::ClockRate(rate(factor)?))
            }
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.CRASH",
        arguments: "server",
        help: "cuts its power: peers hear nothing, and what was not synced is lost",
        parse: |words| match words {
            [server] => strike(server, Strike::Crash),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.KILL",
        arguments: "server",
        help: "ends its process: peers hear of it, and what was written is kept",
        parse: |words| match words {
            [server] => strike(server, Strike::Kill),
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.RESTART",
        arguments: "server [after]",
        help: "starts it on its port, now or after so long; crashes it first if it runs",
        parse: |words| match words {
            [server] => strike(
                server,
                Strike::Restart {
                    after: Duration::ZERO,
                },
            ),
            [server, after] => {
                let after = duration(after)?;
                strike(server, Strike::Restart { after })
            }
            _ => Ok(None),
        },
    },
    Command {
        name: "LAB.SERVERS",
        arguments: "",
        help: "lists the servers: name, address, initial role, state",
        parse: |words| Ok(words.is_empty().then_some(Order::Servers)),
    },
    Command {
        name: "LAB.LOG",
        arguments: "",
        help: "lists what was done, with milliseconds since the start",
        parse: |words| Ok(words.is_empty().then_some(Order::Log)),
    },
    Command {
        name: "LAB.VERDICT",
        arguments: "[key]",
        help: "judges this lock, or the only one, from what its clients sent; needs `--judge`",
        parse: |words| {
            let key = (!words.is_empty()).then(|| words.join(" "));
            Ok(Some(Order::Verdict(key)))
        },
    },
    Command {
        name: "LAB.HELP",
        arguments: "",
        help: "lists these commands",
        parse: |words| Ok(words.is_empty().then_some(Order::Help)),
    },
];

impl Order {
    /// Parses a command and its arguments.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to write instead.
    pub fn parse(words: &[&str]) -> Result<Order, String> {
        let (name, arguments) = words.split_first().unwrap_or((&"", &[]));
        let Some(command) = find(name) else {
            let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
            return Err(format!(
                "unknown command `{name}`; write one of {}",
                names.join(", ")
            ));
        };
        let usage = || format!("wrong arguments; write {}", command.usage());
        (command.parse)(arguments)
            .and_then(|order| order.ok_or_else(usage))
            .map_err(|problem| format!("{}: {problem}", command.name))
    }
}

/// The words of a request as text.
pub fn texts<'w>(words: &'w [impl AsRef<[u8]>]) -> Vec<Cow<'w, str>> {
    let words = words.iter();
    words
        .map(|word| String::from_utf8_lossy(word.as_ref()))
        .collect()
}

/// The words of a command that was sent to the server `own`, which names itself by default.
pub fn about<'a>(
    own: &'a str,
    words: &[&'a str],
    is_server: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let command = words.first().and_then(|name| find(name));
    let named = words.get(1).is_some_and(|word| is_server(word));
    match words {
        [name, arguments @ ..] if !named && command.is_some_and(Command::has_server) => {
            [&[*name, own], arguments].concat()
        }
        _ => words.to_vec(),
    }
}

fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| is(name, command.name))
}

impl Command {
    /// The command with its arguments: `LAB.PAUSE server duration`.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments)
            .trim_end()
            .to_owned()
    }

    /// Whether its first argument is a server.
    fn has_server(&self) -> bool {
        self.arguments.trim_start_matches('[').starts_with("server")
    }

    /// Its line of LAB.HELP.
    pub fn line(&self) -> String {
        format!("{}: {}", self.usage(), self.help)
    }
}

fn latency(server: &str, delay: &str, direction: Direction) -> Result<Option<Order>, String> {
    let delay = duration(delay)?;
    strike(server, Strike::Latency { direction, delay })
}

fn strike(server: &str, strike: Strike) -> Result<Option<Order>, String> {
    Ok(Some(Order::Strike(server.into(), strike)))
}

fn is(word: &str, expected: &str) -> bool {
    word.eq_ignore_ascii_case(expected)
}

/// The longest duration: some eleven days, more than any test means.
const MAX_MS: f64 = 1e9;

/// Parses a duration: milliseconds, or a number with its unit.
///
/// # Errors
///
/// What is allowed.
pub fn duration(text: &str) -> Result<Duration, String> {
    let ms = match text.ends_with(|c: char| c.is_ascii_digit()) {
        true => parse_ms(&format!("{text}ms")),
        false => parse_ms(text),
    };
    match ms {
        Some(ms) if ms <= MAX_MS => Ok(Duration::from_nanos(ns_from_fractional_ms(ms) as u64)),
        _ => Err(format!(
            "invalid duration `{text}`; write 500, 500ms, 2.5s or 1m"
        )),
    }
}

/// Parses a duration with a sign, to microseconds.
fn step_us(text: &str) -> Result<i64, String> {
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let invalid = |_| format!("invalid step `{text}`; write +2000, 11s or -500ms");
    let length = duration(length).map_err(invalid)?;
    Ok(sign * length.as_micros() as i64)
}

/// The fastest clock: a day passes in a minute and a half.
const MAX_RATE: f64 = 1_000.0;

fn rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse()
        .ok()
        .filter(|rate| (0.0..=MAX_RATE).contains(rate));
    rate.ok_or_else(|| format!("invalid rate `{text}`; write a factor from 0 to {MAX_RATE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Order, String> {
        Order::parse(&text.split(' ').collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(text: &str, expected: Strike) {
        assert_eq!(parse(text), Ok(Order::Strike("n1".into(), expected)));
    }

    #[test]
    fn durations_are_milliseconds_or_have_a_unit() {
        check(
            "lab.pause n1 500",
            Strike::Pause(Duration::from_millis(500)),
        );
        let delay = Duration::from_millis(2500);
        for (text, direction) in [
            ("LAB.LATENCY n1 2.5s", Direction::Both),
            ("LAB.LATENCY n1 2.5s TO", Direction::To),
            ("LAB.LATENCY n1 2.5s from", Direction::From),
        ] {
            check(text, Strike::Latency { direction, delay });
        }
        let after = Duration::from_secs(60);
        check("LAB.RESTART n1 1m", Strike::Restart { after });
        for (text, us) in [("+2000", 2_000_000), ("-1s", -1_000_000), ("7us", 7)] {
            check(&format!("LAB.CLOCK n1 step {text}"), Strike::ClockStep(us));
        }
        for text in ["", "s", "-1", "1x", "1e400", "nan", "inf", "99999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_partition_may_spare_peers() {
        check("LAB.PARTITION n1", Strike::Partition { except: vec![] });
        let except = vec!["n2".into(), "clients".into()];
        check(
            "LAB.PARTITION n1 EXCEPT n2 clients",
            Strike::Partition { except },
        );
    }

    #[test]
    fn a_command_sent_to_a_server_is_about_it() {
        let is_server = |word: &str| ["n1", "n2"].contains(&word);
        for (sent, expected) in [
            ("LAB.PAUSE 500", "LAB.PAUSE n1 500"),
            ("LAB.PAUSE n2 500", "LAB.PAUSE n2 500"),
            ("lab.heal", "lab.heal n1"),
            ("LAB.LOG", "LAB.LOG"),
        ] {
            let words: Vec<&str> = sent.split(' ').collect();
            assert_eq!(about("n1", &words, is_server).join(" "), expected);
        }
    }

    #[test]
    fn a_key_may_have_spaces() {
        assert_eq!(parse("LAB.VERDICT"), Ok(Order::Verdict(None)));
        let key = "my  lock ".to_owned();
        assert_eq!(
            parse("lab.verdict my  lock "),
            Ok(Order::Verdict(Some(key)))
        );
    }

    #[test]
    fn the_book_has_the_table() {
        let book = include_str!("../../docs/serve.md");
        for command in COMMANDS {
            let usage = command.usage().replace('|', r"\|");
            let row = format!("| `{usage}` | {} |\n", command.help);
            assert!(book.contains(&row), "docs/serve.md lacks {row}");
        }
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (text, expected) in [
            (
                "LAB.PAUSE n1",
                "LAB.PAUSE: wrong arguments; write LAB.PAUSE server duration",
            ),
            (
                "LAB.PAUSE n1 soon",
                "LAB.PAUSE: invalid duration `soon`; write 500, 500ms, 2.5s or 1m",
            ),
            (
                "LAB.CLOCK n1 STEP x",
                "LAB.CLOCK: invalid step `x`; write +2000, 11s or -500ms",
            ),
            (
                "LAB.CLOCK n1 RATE -1",
                "LAB.CLOCK: invalid rate `-1`; write a factor from 0 to 1000",
            ),
            (
                "LAB.CLOCK n1 RATE NaN",
                "LAB.CLOCK: invalid rate `NaN`; write a factor from 0 to 1000",
            ),
        ] {
            assert_eq!(parse(text), Err(expected.to_owned()));
        }
        let unknown = parse("PING").unwrap_err();
        assert!(unknown.starts_with("unknown command `PING`; write one of LAB.LATENCY, "));
    }
}
