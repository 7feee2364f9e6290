//! What the file says in comments: what was not seen, what was not looked for, and what was measured
//! that is no cause.

use super::causes::{Cause, counted};
use super::{number, seconds};
use crate::events::Often;
use crate::recorded::{Live, Recorded};
use crate::values::Values;
use locklab_values::count::times;

/// Notes on the whole of it.
pub(super) fn notes(recorded: &Recorded) -> Vec<String> {
    let mut notes = match &recorded.live {
        Some(live) => of_machine(live),
        None => vec![
            "This machine was not watched: --for 60s does so. The file has what logs have.".into(),
        ],
    };
    for log in &recorded.logs {
        notes.extend(log.unread.iter().map(|unread| {
            format!("Not understood, and pauses may be among them, so that there may be more and longer ones: {unread}.")
        }));
    }
    notes.push(
        "Not looked for: failovers, crashes and restarts. This file has none, and nobody has published \
         how often they happen. Add a cause for each with your own numbers."
            .into(),
    );
    notes
}

/// The notes on causes of which nothing was seen.
pub(super) fn not_seen(causes: &[Cause]) -> Vec<String> {
    let of_one = |cause: &Cause| match cause.events.often() {
        Often::AtLeast(mean_s) => Some(format!(
            "- {}: {}. None in {}, so at most one every {}.",
            cause.name,
            cause.title,
            seconds(cause.events.watched_s),
            seconds(mean_s),
        )),
        Often::Every { .. } => None,
    };
    let mut notes: Vec<String> = causes.iter().filter_map(of_one).collect();
    if !notes.is_empty() {
        let heading = "Looked for and not seen, so that this file has none. With 95 % confidence there are \
                       at most three in the time of watching (the rule of three):";
        notes.insert(0, heading.into());
    }
    notes
}

fn of_machine(live: &Live) -> Vec<String> {
    let mut notes = vec![format!(
        "Pauses are those of locklab record itself, which has no garbage collector; the latest of {} \
         wake-ups was {} ms late.{}",
        live.pulse.beats,
        number(live.pulse.longest_late_ms),
        reasons(live.pulse.pauses.count(), live.pulse.waits),
    )];
    notes.extend(live.pulse.correction_ppm.map(|ppm| {
        format!(
            "The kernel corrects the rate of its oscillator by {} parts per million, to follow a time \
             server. That is no error of the clock.",
            number(ppm)
        )
    }));
    match &live.redis {
        None => notes.push("Redis was not asked: --redis URL measures the network to it.".into()),
        Some(redis) => notes.extend(of_redis(live, redis)),
    }
    if let Some(values) = &live.fsync_ms {
        let folder = live.fsync_folder.as_deref().unwrap_or_default();
        notes.push(format!(
            "A sync of a small append in {folder}: {}.",
            told(values)
        ));
    }
    notes
}

/// Why the process stood still, as far as that is known.
fn reasons(pauses: usize, waits: Option<usize>) -> String {
    match waits {
        _ if pauses == 0 => String::new(),
        None => " Why the process stood still is not known.".into(),
        Some(waits) => {
            let known = format!(
                " {waits} of {pauses} pauses were mostly a wait for a processor, which other programs had \
                 or a quota forbade."
            );
            match waits < pauses {
                true => {
                    known
                        + " The reason for the others is not known: a signal, a hypervisor, memory."
                }
                false => known,
            }
        }
    }
}

fn of_redis(live: &Live, redis: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(latency) = &live.latency {
        if latency.left_out > 0 {
            notes.push(format!(
                "Left out of the latency: {}, during which this process stood still.",
                counted(latency.left_out, "round trip")
            ));
        }
        let outages = Values::of(latency.outages_ms.clone());
        let watched_s = live.seconds;
        notes.push(match outages.count() {
            0 => format!(
                "{redis} answered every time, so with 95 % confidence it fails at most once every {}.",
                seconds(watched_s / 3.0)
            ),
            count => format!(
                "{redis} failed to answer {} in {}; without an answer: {}. Whether the network, \
                 the server or its machine failed is not known, so that this file has no such cause: add \
                 one, with fault = \"partition\", \"pause\" or \"crash\".",
                times(count as u64),
                seconds(watched_s),
                told(&outages)
            ),
        });
    }
    if let Some(clock) = &live.peer_clock {
        let drift = clock.drift_ppm.map_or(String::new(), |(ppm, within)| {
            format!(
                " Its rate differs by {} parts per million (± {}).",
                number(ppm),
                number(within)
            )
        });
        notes.push(format!(
            "The clock of {redis} was {} this machine's (± {} ms, half of the shortest round trip). Which \
             of the two is wrong is not known.{drift}",
            ahead(clock.ahead_ms),
            number(clock.within_ms)
        ));
    }
    match (&live.replica, &live.lag) {
        (Some(replica), Some(lag)) => {
            notes.push(format!(
                "{replica} lacked {} bytes at most of what its master was known to have. At {} questions \
                 it had lacked something for at least: {}.",
                lag.most_bytes,
                lag.behind_ms.count(),
                told(&lag.behind_ms)
            ));
            if lag.visible_ms.count() + lag.unseen > 0 {
                notes.push(format!(
                    "From the reply to a write until the replica had it: {}. {} of {} writes were not \
                     seen there. A failover takes a lock away that is granted in that time.",
                    told(&lag.visible_ms),
                    lag.unseen,
                    lag.visible_ms.count() + lag.unseen
                ));
            }
        }
        _ => notes.push("The lag of a replica was not measured: --replica URL does.".into()),
    }
    notes
}

/// `0.5 ms ahead of`, `0.5 ms behind`.
pub(super) fn ahead(ms: f64) -> String {
    match ms < 0.0 {
        true => format!("{} ms behind", number(-ms)),
        false => format!("{} ms ahead of", number(ms)),
    }
}

/// Values as quantiles; a few as they are.
pub(super) fn told(values: &Values) -> String {
    let told: Vec<String> = match values.count() {
        0 => return "nothing measured".into(),
        1..=3 => values.sorted_ms().iter().map(|ms| number(*ms)).collect(),
        _ => {
            let quantiles = values.quantiles().into_iter();
            quantiles
                .map(|(name, ms)| format!("{name} {}", number(ms)))
                .collect()
        }
    };
    told.join(", ") + " ms"
}
