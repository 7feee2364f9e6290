//! Faults that begin while a client holds the lock, and by how much too often they do.
//!
//! Half of the seeds draw every time as the campaign describes it. The other half draw it from the same
//! distribution, on the condition that some client of the run *without faults* holds the lock at that time,
//! between its grant and its release. A run has the weight 1 / (½ + ½ r), where r is the ratio of the two
//! densities: how much likelier the biased half draws these times. So no weight exceeds 2 (a defensive mixture:
//! T. Hesterberg, Technometrics 37, 1995), and the mean of the weights of violating runs is the rate of the
//! campaign, without bias.
//!
//! A quiet time is drawn by its tail, the probability that it is exceeded, which is uniform. The tails are
//! divided into equal cells, and a cell counts as one in which the lock is held if it is held in its middle.
//! So the densities are known exactly, whatever the distribution.

use std::ops::Range;

use locklab_history::Schedule;
use locklab_history::timeline::Timeline;
use locklab_model::scenario::Scenario;
use locklab_runner::RunError;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_values::dist::Dist;
use locklab_values::random::Stream;

use super::Chosen;
use crate::place::without_faults;

/// In how many cells the tails are divided: of a quiet time up to 4 s each has less than 10 ms.
const CELLS: u64 = 512;

/// The largest weight.
pub(super) const HEAVIEST: f64 = 2.0;

/// The run of this seed.
pub(super) fn choose(scenario: &Scenario, seed: u64) -> Result<Chosen<'_>, RunError> {
    let mut times = Times::new(seed, held(scenario, seed)?);
    let drawn = scenario.drawn_after(seed, &mut |quiet, since_ns, stream| {
        times.quiet_ns(quiet, since_ns, stream)
    });
    Ok(Chosen {
        weight: times.weight(),
        rehearsals: 1,
        ..Chosen::as_drawn(drawn)
    })
}

/// When some client holds the lock in the run without faults, in nanoseconds since the run began.
fn held(scenario: &Scenario, seed: u64) -> Result<Vec<Range<u64>>, RunError> {
    let bare = without_faults(scenario, seed);
    let run = judged::run_schedule(&bare, seed, Schedule::default(), Keep::default())?;
    let timeline = Timeline::of(&run.history);
    Ok({ timeline.grants.iter() }
        .map(|grant| grant.begins_ns..grant.ends_ns)
        .collect())
}

/// The times of the faults of one run.
pub(super) struct Times {
    held: Vec<Range<u64>>,
    half: Half,
    /// How much likelier the biased half draws the times that were drawn so far.
    ratio: f64,
}

/// How a seed draws.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    AsDescribed,
    Biased,
}

impl Times {
    pub(super) fn new(seed: u64, held: Vec<Range<u64>>) -> Times {
        let half = match Stream::new(seed, "search/hazard").chance(0.5) {
            true => Half::Biased,
            false => Half::AsDescribed,
        };
        Times {
            held,
            half,
            ratio: 1.0,
        }
    }

    /// Draws the quiet time before a fault.
    pub(super) fn quiet_ns(&mut self, quiet: &Dist, since_ns: u64, stream: &mut Stream) -> u64 {
        let at_ns = |tail| since_ns.saturating_add(quiet.at_tail_ns(tail));
        let middle = |cell: u64| (cell as f64 + 0.5) / CELLS as f64;
        let cells = (0..CELLS).filter(|cell| self.is_held(at_ns(middle(*cell))));
        let cells: Vec<u64> = cells.collect();
        let within = 1.0 - stream.uniform_f64();
        let chosen = match self.half {
            Half::Biased if !cells.is_empty() => cells[stream.below(cells.len() as u64) as usize],
            _ => stream.below(CELLS),
        };
        if !cells.is_empty() {
            self.ratio *= match cells.binary_search(&chosen) {
                Ok(_) => CELLS as f64 / cells.len() as f64,
                Err(_) => 0.0,
            };
        }
        quiet.at_tail_ns((chosen as f64 + within) / CELLS as f64)
    }

    fn is_held(&self, at_ns: u64) -> bool {
        self.held.iter().any(|period| period.contains(&at_ns))
    }

    /// How much likelier the times are as the campaign describes them.
    pub(super) fn weight(&self) -> f64 {
        1.0 / (0.5 + 0.5 * self.ratio)
    }
}
