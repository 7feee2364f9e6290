//! `locklab campaign`: random faults.

use insta::assert_snapshot;

use crate::bench::Bench;

#[test]
fn a_small_campaign_as_text_and_files() {
    let bench = Bench::new("small-campaign");
    let arguments = ["campaign", "--lock", "consensus", "--seeds", "4"];
    let campaign = bench.locklab(&arguments);
    assert_eq!(campaign.code, Some(0));
    assert_snapshot!("campaign_text", campaign.told());
    let data = bench.locklab(&[&arguments[..], &["--json"]].concat());
    // Two forms; four measures of safety, five of liveness.
    assert_eq!(data.json()["results"].as_array().map(Vec::len), Some(18));
}

#[test]
fn only_the_chosen_faults_are_drawn() {
    let bench = Bench::new("campaign-of-clocks");
    let clocks = [
        "run",
        "kleppmann/k16",
        "--set",
        "campaign.faults=[\"clock-step\"]",
        "--seed",
        "1",
        "--per-run",
        "--json",
    ];
    let run = bench.locklab(&clocks);
    let told = run.told();
    assert!(told.contains("grants per second"), "{told}");
    let files = bench.files();
    let runs = files.iter().find(|name| name.ends_with("/runs.csv"));
    let runs = bench.read(runs.expect("a table of the runs"));
    let row = runs.lines().nth(1).expect("a row for the seed");
    let began = row
        .rsplit(',')
        .next()
        .expect("its last column has the faults");
    assert!(!began.is_empty(), "{runs}");
    for fault in began.split(';') {
        assert!(fault.starts_with("clock-step-"), "{fault}");
    }
    let wrong = bench.locklab(&["campaign", "--fault", "failover"]);
    assert_eq!(wrong.code, Some(1));
    assert_snapshot!("campaign_of_failovers", wrong.told());
}
