//! Every lock gives the predicted result for every problem.
//!
//! With `LOCKLAB_LONG=1` all cells have the runs that `locklab matrix` gives them.

use std::sync::atomic::AtomicBool;
use std::{env, mem};

use locklab_check::Property;
use locklab_evidence::{Judgement, Prediction};
use locklab_matrix::{Part, Plan, rows};
use locklab_model::scenario::Scenario;
use locklab_results::Cell;
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::prediction::Comparison;

/// The number of seeds that `locklab matrix` runs.
const SEEDS: u64 = 200;

/// Cells that are undecided after so many seeds run on up to the next number. 73 conclusive runs
/// without a violation show that a property holds.
const ROUNDS: [u64; 4] = [75, 100, 150, SEEDS];

/// A lock that plays a problem.
struct Play {
    name: String,
    property: Property,
    predicted: Prediction,
    scenario: Scenario,
    /// The runs so far.
    cell: Cell,
}

fn plays() -> Vec<Play> {
    let mut plays = Vec::new();
    for row in rows() {
        for problem in Plan::shipped().problems {
            let part = Part::of(&row, &problem).expect("lock and problem fit together");
            if let Part::Plays {
                scenario,
                predicted,
            } = part
            {
                plays.push(Play {
                    name: format!("{} in {}", row.label, problem.name),
                    property: problem.property,
                    predicted: predicted.expect("a lock of the catalogue"),
                    scenario: *scenario,
                    cell: Cell::default(),
                });
            }
        }
    }
    plays
}

#[test]
fn every_cell_comes_out_as_predicted() {
    let mut open = plays();
    let mut differing = Vec::new();
    let rounds = match env::var_os("LOCKLAB_LONG") {
        Some(_) => &ROUNDS[ROUNDS.len() - 1..],
        None => &ROUNDS,
    };
    let mut first = 0;
    for &end in rounds {
        let job = |play: &Play| Job {
            scenario: play.scenario.clone(),
            parameters: vec![],
            seeds: first..end,
        };
        let jobs: Vec<Job> = open.iter().map(job).collect();
        let stop = AtomicBool::new(false);
        let cells = run(&jobs, &BatchOptions::quiet(2, &stop)).expect("no panic");
        differing.clear();
        for (mut play, cell) in mem::take(&mut open).into_iter().zip(cells) {
            play.cell.merge(cell.expect("nobody stopped it"));
            let tally = play.cell.tallies[&play.property];
            let comparison = Comparison::of(play.property, Some(play.predicted), tally);
            if comparison.judgement != Judgement::AsPredicted {
                let Play {
                    name, predicted, ..
                } = &play;
                differing.push(format!("{name}: {predicted}, {}", tally.describe()));
                open.push(play);
            }
        }
        first = end;
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
