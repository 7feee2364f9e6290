//! Late messages, faults at steps and a swarm in turn.
//!
//! Each of them is the quickest at some mistakes and misses others, or takes long. Nobody knows beforehand which
//! one a mistake needs, so each gets about a third of the processor time: a portfolio (B. A. Huberman et al., "An
//! economics approach to hard computational problems", Science 275, 1997). It misses nothing that one of them finds, and
//! takes about three times as long as the best of them at most, where that one needs several turns.

use super::{Kinds, Strategy, Turn, Workload, steps};

/// One seed of so many is a swarm. In the searches for the museum's mechanisms a run at steps takes 0.1 ms to 0.4 ms of
/// processor time, and one of a swarm 1 ms to 21 ms.
const PERIOD: u64 = 4 * steps::GROUP;

/// Who has turns.
pub(super) fn turns(kinds: &Kinds) -> Vec<Turn> {
    let late = kinds.late().unwrap_or_else(|| kinds.clone());
    vec![
        Turn::new(Strategy::Steps, Workload::Once, late),
        Turn::new(Strategy::Steps, Workload::Once, kinds.clone()),
        Turn::new(Strategy::Swarm, Workload::Repeated, kinds.clone()),
    ]
}

/// Whose turn a seed is. Groups with late messages and groups with all kinds alternate, so that the runs of a group
/// have one run without faults.
pub(super) fn turn(seed: u64) -> usize {
    match seed % PERIOD {
        last if last == PERIOD - 1 => 2,
        other => usize::from(other / steps::GROUP % 2 == 1),
    }
}
