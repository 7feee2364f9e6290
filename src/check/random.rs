//! Random histories, for tests of code that reads a history.

use proptest::collection::vec;
use proptest::prelude::*;

use super::history_builder::{HistoryBuilder, MS};
use super::{Bounds, ResourceRole};
use locklab_history::{ClockKind, History, Outcome, PacketFault};

/// The bounds that [`histories`] are judged by.
pub const BOUNDS: Bounds = Bounds {
    deadlock_ns: 40 * MS,
    time_outs_ns: 0,
    round_trips: 4,
    reply_slack_ns: None,
    resource: ResourceRole::Apart,
    compares_tokens: true,
    masters: 1,
    nodes: 1,
    acts_within_ns: Bounds::ACTS_WITHIN_NS,
    settle_ns: Some(0),
    horizon_ns: u64::MAX,
};

pub(crate) const CLIENTS: [&str; 3] = ["c1", "c2", "c3"];

/// The members that a read of the set may return, independent of earlier calls.
const MEMBERS: [(&str, u32); 13] = [
    ("c1", 1),
    ("c2", 1),
    ("c3", 1),
    ("c1", 2),
    ("c2", 2),
    ("c3", 2),
    ("c1", 3),
    ("c2", 3),
    ("c3", 3),
    ("c1", 4),
    ("c2", 4),
    ("c3", 4),
    ("c1", 5),
];

/// One event of a random history: its kind, its client, and the time since the last event.
type Step = (u8, usize, u64);

fn slow_by(ms: u64) -> PacketFault {
    let extra_ns = ms * MS;
    PacketFault::Slow { extra_ns }
}

/// A history of clients that do anything at any time, and of faults that affect them.
fn build(steps: &[Step]) -> HistoryBuilder {
    let mut now_ms = 0;
    let mut builder = HistoryBuilder::default();
    for &(what, who, after_ms) in steps {
        now_ms += after_ms;
        let client = CLIENTS[who];
        let clock = if after_ms % 2 == 0 {
            ClockKind::Wall
        } else {
            ClockKind::Monotonic
        };
        builder = match what {
            0 => builder.tries(now_ms, client),
            1 => builder.fails(now_ms, client),
            2 => builder.granted(now_ms, client),
            3 => builder.granted_with_token(now_ms, client, 40 - after_ms),
            4..=6 => builder.holds_for(now_ms, client, clock, 5 * after_ms),
            7 => builder.prolongs(now_ms, client, clock, 10),
            8 => builder.releases(now_ms, client),
            9 => builder.released(now_ms, client, 1),
            10 => builder.reads(now_ms, client, after_ms),
            11 => builder.writes(now_ms, client, after_ms / 3),
            12 => builder.refused_writing(now_ms, client, 0),
            13 => builder.steps(now_ms, client, 10 - after_ms as i64),
            14 => builder.drifts(now_ms, client, after_ms as i64 * 10_000 - 60_000),
            15 => builder.suspends(now_ms, client),
            16 => builder.resumes(now_ms, client),
            17 => builder.fault_begins(now_ms, client, "kill"),
            18 => builder.fault_begins(now_ms, client, "pause"),
            19 => builder.adds(now_ms, client, Outcome::Ok),
            20 => builder.members(now_ms, client, &MEMBERS[..after_ms as usize]),
            21 => builder.granted_to_read(now_ms, client),
            22 => builder.gives_up(now_ms, client),
            23 => builder.fault_begins(now_ms, "n1", "crash"),
            24 => builder.fault_ends(now_ms, "n1", "crash"),
            25 => builder.links_fail(now_ms, "slow", [client, "n1"], slow_by(after_ms)),
            26 => builder.links_heal(now_ms, "slow", [client, "n1"], slow_by(after_ms)),
            27 => builder.fault_begins(now_ms, "resource", "pause"),
            28 => builder.fault_ends(now_ms, "resource", "pause"),
            _ => builder.fault_ends(now_ms, client, "pause"),
        };
    }
    builder
}

/// Any history of such clients.
pub fn histories() -> impl Strategy<Value = History> {
    vec((0..30_u8, 0..CLIENTS.len(), 0..13_u64), 0..40).prop_map(|steps| build(&steps).history())
}
