//! Random histories, for tests of code that reads a history.

use proptest::collection::vec;
use proptest::prelude::*;

use super::history_builder::{HistoryBuilder, MS};
use super::{Bounds, ResourceRole};
use locklab_history::{ClockKind, History, Outcome};

/// The bounds that [`histories`] are judged by.
pub const BOUNDS: Bounds = Bounds {
    deadlock_ns: 40 * MS,
    time_outs_ns: 0,
    round_trips: 4,
    reply_slack_ns: None,
    resource: ResourceRole::Apart,
    nodes: 1,
    settle_ns: Some(0),
};

pub(crate) const CLIENTS: [&str; 3] = ["c1", "c2", "c3"];

/// The members that a read of the set may return, whatever calls came before.
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

/// One event of a random story: its kind, its client, and the time since the last event.
type Step = (u8, usize, u64);

/// A story of clients that do anything at any time, and of faults that affect them.
fn tell(steps: &[Step]) -> HistoryBuilder {
    let mut now_ms = 0;
    let mut story = HistoryBuilder::default();
    for &(what, who, after_ms) in steps {
        now_ms += after_ms;
        let client = CLIENTS[who];
        let clock = if after_ms % 2 == 0 {
            ClockKind::Wall
        } else {
            ClockKind::Monotonic
        };
        story = match what {
            0 => story.tries(now_ms, client),
            1 => story.fails(now_ms, client),
            2 => story.granted(now_ms, client),
            3 => story.granted_with_token(now_ms, client, 40 - after_ms),
            4..=6 => story.holds_for(now_ms, client, clock, 5 * after_ms),
            7 => story.prolongs(now_ms, client, clock, 10),
            8 => story.releases(now_ms, client),
            9 => story.released(now_ms, client, 1),
            10 => story.reads(now_ms, client, after_ms),
            11 => story.writes(now_ms, client, after_ms / 3),
            12 => story.refused_writing(now_ms, client, 0),
            13 => story.steps(now_ms, client, 10 - after_ms as i64),
            14 => story.drifts(now_ms, client, after_ms as i64 * 10_000 - 60_000),
            15 => story.suspends(now_ms, client),
            16 => story.resumes(now_ms, client),
            17 => story.fault_begins(now_ms, client, "kill"),
            18 => story.fault_begins(now_ms, client, "pause"),
            19 => story.adds(now_ms, client, Outcome::Ok),
            20 => story.members(now_ms, client, &MEMBERS[..after_ms as usize]),
            21 => story.granted_to_read(now_ms, client),
            _ => story.fault_ends(now_ms, client, "pause"),
        };
    }
    story
}

/// Any history of such a story.
pub fn histories() -> impl Strategy<Value = History> {
    vec((0..23_u8, 0..CLIENTS.len(), 0..13_u64), 0..40).prop_map(|steps| tell(&steps).history())
}
