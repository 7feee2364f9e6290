//! Histories and their verdicts: the transcripts in `histories/`, whose format is in
//! `tests/testing/src/transcript.rs`.
//!
//! | | |
//! |---|---|
//! | `$ given 0 c1 tries; 10 c1 granted` | how the histories of the section begin |
//! | `$ lease: 50 c2 tries; ends 90` | one of them; below it, its verdict by this property |
//! | `$ rule lease: …` | the verdict whether or not the history could have violated the property |
//! | `$ notices: …`, `wakes`, `calls`, `writes`, `pace`, `loss` | what is measured of it |
//! | `$ doubt: …` | why it is inconclusive by any property, and whether its faults struck |
//!
//! `history_builder/told.rs` has the words for events.

use std::path::Path;

use locklab_history::timeline::Timeline;
use locklab_testing::{check_transcript, transcripts};

use crate::effects::Effects;
use crate::history_builder::{HistoryBuilder, MS};
use crate::{Property, Verdict, conclusive, judge, loss, pace, reactions, rules, writes};

transcripts! {
    "histories", check:
    acknowledged_lost
    belief
    conclusive
    deadlock
    fifo
    foreign_release
    lease
    lost_update
    measured
    opportunity
    progress
    reach
    recovery
    stale_write
    token_regression
}

fn check(path: &Path) {
    check_transcript(
        path,
        &["$ "],
        HistoryBuilder::default,
        |given, _, command| {
            if let Some(events) = command.strip_prefix("given ") {
                *given = given.clone().told(events);
                return Vec::new();
            }
            let (asked, events) = command.split_once(':').expect("a property and events");
            vec![answer(asked, &given.clone().told(events))]
        },
    );
}

/// The answer to the words before the colon.
fn answer(asked: &str, told: &HistoryBuilder) -> String {
    let history = told.clone().history();
    let timeline = Timeline::of(&history);
    let effects = Effects::of(&timeline, told.bounds());
    let measured = match asked {
        "notices" => Some(format!("{:?}", reactions(&history).notices_ns)),
        "wakes" => Some(format!("{:?}", reactions(&history).wakes_ns)),
        "calls" => Some(format!("{:?}", reactions(&history).calls)),
        "writes" => Some(format!("{:?}", writes(&history))),
        "pace" => Some(format!("{:?}", pace(&history))),
        "loss" => Some(format!("{:?}", loss(&history))),
        _ => None,
    };
    if let Some(measured) = measured {
        return measured;
    }
    let property = |name: &str| name.parse::<Property>().expect("a property");
    let verdict = match asked.strip_prefix("rule ") {
        _ if asked == "doubt" => {
            let doubt = conclusive::doubt(&timeline, &effects);
            let struck = match conclusive::struck(&history) {
                true => "",
                false => "not struck, ",
            };
            return struck.to_owned() + doubt.as_deref().unwrap_or("no doubt");
        }
        Some(name) => rules(&timeline, told.bounds(), &effects)(property(name)).map(|(it, _)| it),
        None => judge(&history, told.bounds())
            .get(&property(asked))
            .cloned(),
    };
    match verdict {
        None => "is not judged".into(),
        Some(Verdict::Holds) => "holds".into(),
        Some(Verdict::Inconclusive { why }) => format!("inconclusive: {why}"),
        Some(Verdict::Violated(it)) => {
            let [from, to] = [it.at_ns, it.until_ns].map(|ns| ns as f64 / MS as f64);
            let clients = it.clients.join(", ");
            format!("violated from {from} to {to} by {clients}: {}", it.what)
        }
    }
}
