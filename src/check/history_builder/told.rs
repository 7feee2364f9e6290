//! Histories told in words.

use super::{HistoryBuilder, MS};
use locklab_history::{ClockKind, Outcome, PacketFault};

impl HistoryBuilder {
    /// Adds the events of a text, separated by semicolons: each has its millisecond, who it is of, and what happens;
    /// what has no time is said alone.
    ///
    /// # Panics
    ///
    /// If there is no such event.
    pub fn told(self, events: &str) -> Self {
        let events = events.split(';').map(str::trim);
        { events.filter(|event| !event.is_empty()) }.fold(self, tell)
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

/// What the run is judged by, its end, or an event.
fn tell(builder: HistoryBuilder, event: &str) -> HistoryBuilder {
    let words: Vec<&str> = event.split_whitespace().collect();
    match words[..] {
        ["ends", ms] => builder.ends(number(ms)),
        ["bound", ms] => builder.deadlock_after(number(ms)),
        ["time-outs", ms] => builder.times_out_after(number(ms)),
        ["patient", ms] => builder.patient_for(number(ms)),
        ["settles", ms] => builder.settles_within(number(ms)),
        ["until", ms] => builder.until(number(ms)),
        ["nodes", count] => builder.on_nodes(number(count) as u32),
        ["tokens-of-resource"] => builder.with_tokens_of_the_resource(),
        ["compares-no-tokens"] => builder.compares_no_tokens(),
        [ms, who, ref what @ ..] => happens(builder, number(ms), who, what),
        _ => panic!("no event: {event:?}"),
    }
}

fn happens(builder: HistoryBuilder, ms: u64, who: &str, what: &[&str]) -> HistoryBuilder {
    let clock = |name: &str| match name {
        "wall" => ClockKind::Wall,
        _ => ClockKind::Monotonic,
    };
    match *what {
        ["tries"] => builder.tries(ms, who),
        ["fails"] => builder.fails(ms, who),
        ["succeeds"] => builder.succeeds(ms, who),
        // Attempts of 10 ms, one every 200 ms, in vain.
        ["polls", "to", to_ms] => (ms..=number(to_ms))
            .step_by(200)
            .fold(builder, |builder, ms| {
                builder.tries(ms, who).fails(ms + 10, who)
            }),
        ["waits"] => builder.waits(ms, who),
        ["gives-up"] => builder.gives_up(ms, who),
        ["granted"] => builder.granted(ms, who),
        ["granted", "to-read"] => builder.granted_to_read(ms, who),
        ["granted", "token", token] => builder.granted_with_token(ms, who, number(token)),
        ["granted", of, lease_ms] => builder.granted_for(ms, who, clock(of), number(lease_ms)),
        ["holds"] => builder.holds(ms, who),
        ["holds", of, lease_ms] => builder.holds_for(ms, who, clock(of), number(lease_ms)),
        ["prolongs", of, lease_ms] => builder.prolongs(ms, who, clock(of), number(lease_ms)),
        ["cannot-extend"] => builder.cannot_extend(ms, who),
        ["looks"] => builder.looks(ms, who),
        ["stops"] => builder.stops(ms, who),
        ["releases"] => builder.releases(ms, who),
        ["releases", "grant", grant] => builder.releases_grant(ms, who, number(grant) as u32),
        ["deletes"] => builder.deletes(ms, who),
        ["released", keys] => builder.released(ms, who, number(keys) as u32),
        ["released", keys, "of", "grant", grant] => {
            builder.released_grant(ms, who, number(grant) as u32, number(keys) as u32)
        }
        ["reads", version] => builder.reads(ms, who, number(version)),
        ["writes", version] => builder.writes(ms, who, number(version)),
        ["writes", version, "under", grant] => {
            builder.writes_under(ms, who, number(grant) as u32, number(version))
        }
        ["refused", version] => builder.refused_writing(ms, who, number(version)),
        ["refused", version, "under", grant] => {
            builder.refused_writing_under(ms, who, number(grant) as u32, number(version))
        }
        ["adds"] => builder.adds(ms, who, Outcome::Ok),
        ["adds-unknown"] => builder.adds(ms, who, Outcome::Unknown),
        ["adds-in-vain"] => builder.adds(ms, who, Outcome::Failed),
        ["finds", ref members @ ..] => {
            let found = { members.iter() }.map(|it| it.split_once('.').expect("a client's call"));
            let found: Vec<(&str, u32)> = found
                .map(|(who, call)| (who, number(call) as u32))
                .collect();
            builder.members(ms, who, &found)
        }
        ["steps", by_ms] => builder.steps(ms, who, by_ms.parse().expect("milliseconds")),
        ["drifts", ppm] => builder.drifts(ms, who, ppm.parse().expect("a rate")),
        ["suspends"] => builder.suspends(ms, who),
        ["resumes"] => builder.resumes(ms, who),
        ["begins", fault] => builder.fault_begins(ms, who, fault),
        ["ends", fault] => builder.fault_ends(ms, who, fault),
        ["misses", fault] => builder.fault_missed(ms, who, fault),
        [phase, fault, ref packets @ ..] => {
            let packets = match *packets {
                ["cut"] => PacketFault::Cut,
                ["slow", ms] => PacketFault::Slow {
                    extra_ns: number(ms) * MS,
                },
                ["lossy", probability] => PacketFault::Lossy {
                    probability: probability.parse().expect("a probability"),
                },
                _ => panic!("no event: {what:?}"),
            };
            match (who.split_once("<>"), who.split_once('>'), phase) {
                (Some((one, other)), _, "begins") => {
                    builder.links_fail(ms, fault, [one, other], packets)
                }
                (Some((one, other)), _, "ends") => {
                    builder.links_heal(ms, fault, [one, other], packets)
                }
                (_, Some((from, to)), "begins") => {
                    builder.one_way_fails(ms, fault, [from, to], packets)
                }
                _ => panic!("no event: {what:?}"),
            }
        }
        _ => panic!("no event: {what:?}"),
    }
}
