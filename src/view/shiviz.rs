//! The run as a log for ShiViz (bestchai.bitbucket.io/shiviz), with vector clocks.
//!
//! The form is that of a file which ShiViz loads: the expression that parses an event on the first
//! line, the delimiter of executions on the second, which is empty because there is one execution,
//! then a line for each event.

use std::collections::BTreeMap;

use locklab_values::units::fractional_ms_from_ns;

use super::{Subject, sentences};
use locklab_history::Message;

/// The expression that parses a line.
pub(super) const EXPRESSION: &str =
    r"(?<host>\S+) (?<clock>\{[^}]*\}) (?<date>\S+) ms (?<event>.*)";

/// An event at one host at one instant. Events at equal times are in causal order: arrivals, the
/// host's own events, sent messages, and arrivals of messages that took no time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Receives(usize),
    Does(usize),
    Sends(usize),
    ReceivesAtOnce(usize),
}

/// The run as a log.
pub fn log(subject: &Subject) -> String {
    let history = &subject.recording.history;
    let mut steps: Vec<(u64, Step)> = Vec::new();
    for (index, record) in history.records.iter().enumerate() {
        steps.push((record.at_ns, Step::Does(index)));
    }
    for (index, message) in history.messages.iter().enumerate() {
        steps.push((message.sent_ns, Step::Sends(index)));
        steps.extend(
            message
                .arrived_ns
                .map(|at_ns| match at_ns > message.sent_ns {
                    true => (at_ns, Step::Receives(index)),
                    false => (message.sent_ns, Step::ReceivesAtOnce(index)),
                }),
        );
    }
    steps.sort_unstable();

    let mut clocks: BTreeMap<&str, Clock> = BTreeMap::new();
    let mut sent: BTreeMap<usize, Clock> = BTreeMap::new();
    let mut log = format!("{EXPRESSION}\n\n");
    for (at_ns, step) in steps {
        let (host, text) = match step {
            Step::Does(index) => {
                let record = &history.records[index];
                (&record.host, sentences::text(record))
            }
            Step::Sends(index) => {
                let Message {
                    from, to, label, ..
                } = &history.messages[index];
                (from, format!("sends {to}: {label}"))
            }
            Step::Receives(index) | Step::ReceivesAtOnce(index) => {
                let Message {
                    from, to, label, ..
                } = &history.messages[index];
                (to, format!("receives from {from}: {label}"))
            }
        };
        let clock = clocks.entry(host).or_default();
        *clock.entry(host).or_default() += 1;
        match step {
            Step::Does(_) => {}
            Step::Sends(index) => {
                sent.insert(index, clock.clone());
            }
            Step::Receives(index) | Step::ReceivesAtOnce(index) => {
                for (host, count) in sent.remove(&index).unwrap_or_default() {
                    let known = clock.entry(host).or_default();
                    *known = count.max(*known);
                }
            }
        }
        let clock = serde_json::to_string(clock).expect("a map of numbers");
        let text = text.replace(['\n', '\r'], " ");
        let ms = fractional_ms_from_ns(at_ns);
        log += &format!("{host} {clock} {ms:.6} ms {text}\n");
    }
    log
}

/// Per host, the number of its events that are known.
type Clock<'a> = BTreeMap<&'a str, u64>;
