//! Every lock gives the predicted result for every problem.

use std::sync::atomic::AtomicBool;

use locklab_evidence::Judgement;
use locklab_matrix::{Part, Plan, rows};
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::prediction::Comparison;

/// The number of seeds that `locklab matrix` runs.
const SEEDS: u64 = 200;

#[test]
fn every_cell_comes_out_as_predicted() {
    let mut cells = Vec::new();
    for row in rows() {
        for problem in Plan::shipped().problems {
            let part = Part::of(&row, &problem).expect("lock and problem fit together");
            if let Part::Plays {
                scenario,
                predicted,
            } = part
            {
                let predicted = predicted.expect("a lock of the catalogue");
                let name = format!("{} in {}", row.label, problem.name);
                cells.push((name, problem.property, predicted, *scenario));
            }
        }
    }
    let jobs: Vec<Job> = cells
        .iter()
        .map(|(_, _, _, scenario)| Job {
            scenario: scenario.clone(),
            parameters: vec![],
            seeds: 0..SEEDS,
        })
        .collect();
    let stop = AtomicBool::new(false);
    let results = run(&jobs, &BatchOptions::quiet(2, &stop)).expect("no panic");
    let differing: Vec<String> = cells
        .iter()
        .zip(results)
        .filter_map(|((name, property, predicted, _), cell)| {
            let tally = cell.expect("nobody stopped it").tallies[property];
            let comparison = Comparison::of(*property, Some(*predicted), tally);
            (comparison.judgement != Judgement::AsPredicted)
                .then(|| format!("{name}: {predicted}, {}", tally.describe()))
        })
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
