//! Every lock gives the predicted result for every problem.
//!
//! Here a few runs of each cell must not differ from what is predicted. With `LOCKLAB_LONG=1` all cells
//! have the runs that `locklab study matrix` gives them, which decide every prediction.

use std::env;
use std::sync::atomic::AtomicBool;

use locklab_ask::problems::{Part, Plan, Setting, put_in, rows};
use locklab_check::Property;
use locklab_evidence::{Judgement, Prediction};
use locklab_model::scenario::Scenario;
use locklab_runner::batch::{BatchOptions, Job, run};
use locklab_runner::judged;
use locklab_runner::prediction::Comparison;
use locklab_runner::simulate::Keep;

/// The number of seeds that `locklab study matrix` runs.
const SEEDS: u64 = 200;

/// A rate that is far from the predicted one differs after so many, and so does a single violation
/// where none is predicted.
const FEW_SEEDS: u64 = 25;

/// A lock that plays a problem.
struct Play {
    name: String,
    property: Property,
    predicted: Prediction,
    scenario: Scenario,
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
                });
            }
        }
    }
    plays
}

#[test]
fn every_cell_comes_out_as_predicted() {
    let (seeds, worst) = match env::var_os("LOCKLAB_LONG") {
        Some(_) => (SEEDS, Judgement::AsPredicted),
        None => (FEW_SEEDS, Judgement::Inconclusive),
    };
    let plays = plays();
    let job = |play: &Play| Job {
        scenario: play.scenario.clone(),
        parameters: vec![],
        seeds: 0..seeds,
    };
    let jobs: Vec<Job> = plays.iter().map(job).collect();
    let stop = AtomicBool::new(false);
    let cells = run(&jobs, &BatchOptions::quiet(2, &stop)).expect("no panic");
    let mut differing = Vec::new();
    for (play, cell) in plays.iter().zip(cells) {
        let tally = cell.expect("nobody stopped it").tallies[&play.property];
        let comparison = Comparison::of(play.property, Some(play.predicted), tally);
        if comparison.judgement > worst {
            let Play {
                name, predicted, ..
            } = play;
            differing.push(format!("{name}: {predicted}, {}", tally.describe()));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

/// K18: two of three members suffice, one does not.
#[test]
fn consensus_survives_the_loss_of_a_minority_alone() {
    let row = rows()
        .into_iter()
        .find(|row| row.label == "consensus")
        .expect("it is in the catalogue");
    for (dead, works) in [(1, true), (2, false)] {
        let setting = Setting {
            lease_ms: 1000,
            parameters: toml::Table::new(),
        };
        let mut scenario = put_in(&row, "problems/node-down", &[], &setting).expect("they fit");
        scenario.horizon_ms = 20_000;
        let hosts: Vec<String> = (1..=dead).map(|i| format!("\"n{i}\"")).collect();
        let fault = format!("kind = \"crash\"\nat_ms = 5\non = [{}]", hosts.join(", "));
        let fault = toml::from_str(&fault).expect("a sound fault");
        scenario.fault.insert("down".into(), fault);
        let run = judged::run(&scenario, 1, Keep::default()).expect("it ends");
        let granted =
            run.history.records.iter().filter(|record| {
                matches!(record.event, locklab_history::Event::BeliefBegins { .. })
            });
        // Two clients, two rounds each.
        assert_eq!(granted.count(), if works { 4 } else { 0 }, "{dead} dead");
    }
}
