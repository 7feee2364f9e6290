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

#[test]
fn faults_at_steps_say_what_they_would_miss() {
    let bench = Bench::new("campaign-at-steps");
    let arguments = [
        "campaign",
        "--lock",
        "set-nx-px",
        "--strategy",
        "steps",
        "--seeds",
        "20",
    ];
    let campaign = bench.locklab(&arguments);
    let told = campaign.in_one_line();
    assert_eq!(campaign.code, Some(0), "{told}");
    assert!(
        told.contains("The probability that 20 runs miss a violation"),
        "{told}"
    );
    assert!(told.contains("placements at"), "{told}");
    let data = bench
        .locklab(&[&arguments[..], &["--json"]].concat())
        .json();
    assert_eq!(data["strategy"], "steps");
    let miss = &data["missed"][0]["would_miss"];
    let number = |what: &str| miss[what].as_f64().expect("a number");
    let hit = 20.0 * 5.0 / 3.0 / number("placements");
    // Of so few runs hardly two have the same placement.
    assert!((1.0 - number("one") - hit).abs() < 0.01, "{miss}");
    assert!(number("two") > 0.999, "{miss}");
    let files = bench.files();
    assert!(
        files
            .iter()
            .any(|name| name.ends_with("campaign/steps/safety.csv")),
        "{files:?}"
    );
}

#[test]
fn a_strategy_finds_the_same_on_any_number_of_threads() {
    // Of a mix seeds of each turn.
    for (strategy, seeds) in [("swarm", "12"), ("steps", "24"), ("mixed", "48..66")] {
        let found = |jobs: &str| {
            let bench = Bench::new(&format!("campaign-{strategy}-{jobs}"));
            let lock = "set-nx-px (release del)";
            let arguments = ["campaign", "--lock", lock, "--strategy", strategy];
            let more = ["--seeds", seeds, "--jobs", jobs, "--json"];
            bench.locklab(&[&arguments[..], &more[..]].concat()).json()
        };
        let one = found("1");
        let violated = |it: &serde_json::Value| it["violated"].as_u64().unwrap_or(0);
        let results = one["results"].as_array().expect("a list");
        assert!(
            results.iter().any(|it| violated(it) > 0),
            "{strategy}: {one}"
        );
        assert_eq!(found("3"), one, "{strategy}");
    }
}

#[test]
fn strategies_and_faults_that_do_not_exist_are_refused() {
    let bench = Bench::new("campaign-strategies");
    let unknown = bench.locklab(&["campaign", "--strategy", "random"]);
    assert_eq!(unknown.code, Some(1));
    let told = unknown.in_one_line();
    assert!(told.contains("uniform, swarm, steps, mixed"), "{told}");
    let loss = bench.locklab(&["campaign", "--strategy", "steps", "--fault", "loss"]);
    assert_eq!(loss.code, Some(1));
    let told = loss.in_one_line();
    assert!(
        told.contains("no fault of these kinds is placed at steps"),
        "{told}"
    );
}

/// Clocks that are stepped keep nobody from renewing its lease, and kill nobody.
#[test]
fn what_was_never_met_is_counted_and_named() {
    let bench = Bench::new("campaign-situations");
    let lock = "redisson-fenced (lease given)";
    let arguments = [
        "campaign",
        "--lock",
        lock,
        "--fault",
        "clock-step",
        "--seeds",
        "4",
    ];
    let campaign = bench.locklab(&arguments);
    assert_eq!(campaign.code, Some(0));
    let told = campaign.in_one_line();
    let never = "never met: a client died while it held the lock";
    assert!(told.contains(never), "{told}");
    let csv = bench.read("target/locklab/campaign/situations.csv");
    let of = |situation: &str| {
        let mut rows = csv
            .lines()
            .filter(|row| row.contains(&format!(",{situation},")));
        rows.next().expect("a row for each situation").to_owned()
    };
    let row = format!("1,redisson-fenced,{lock},holder-died,4,0,true");
    assert!(of("holder-died").starts_with(&row), "{csv}");
    let stepped = of("clock-stepped");
    assert!(stepped.ends_with(",4,2,true,lease"), "{csv}");
    assert_eq!(csv.lines().count(), 12, "{csv}");
    let recovery = bench.read("target/locklab/campaign/liveness.csv");
    let mut rows = recovery.lines().filter(|row| row.contains(",recovery,"));
    let recovery = rows.next().expect("a row for each property");
    assert!(
        recovery.contains(",holder-died;untold-grant,"),
        "{recovery}"
    );
}

#[test]
fn quota_is_what_a_situation_has_to_be_met_by() {
    let bench = Bench::new("campaign-quota");
    let arguments = ["campaign", "--lock", "consensus", "--seeds", "4"];
    let with = |quota: &str| {
        let more = ["--quota", quota, "--json"];
        bench.locklab(&[&arguments[..], &more[..]].concat())
    };
    let lacking = |quota: &str| {
        let json = with(quota).json();
        assert_eq!(json["quota"].to_string(), quota);
        let results = json["results"].as_array().expect("a list");
        let lists = results.iter().filter_map(|it| it["lacking"].as_array());
        lists.map(Vec::len).sum::<usize>()
    };
    assert!(lacking("1") < lacking("4"));
    let more = with("5");
    assert_eq!(more.code, Some(1));
    let told = more.in_one_line();
    assert!(told.contains("write at most 4, or more seeds"), "{told}");
    let none = with("0");
    assert_eq!(none.code, Some(1));
    let told = none.in_one_line();
    assert!(told.contains("write a whole number from 1"), "{told}");
}

/// Nobody wrote what a campaign draws, so nobody could let it do less.
#[test]
fn a_drawn_run_with_too_many_records_is_inconclusive_and_a_written_one_an_error() {
    let bench = Bench::new("campaign-without-end");
    let much =
        "--set workload.hold_ms=0 --set workload.think_ms=0 --set campaign.latency_ms=[0.05]";
    let mut arguments = vec![
        "campaign",
        "--lock",
        "set-nx-px (reentrant)",
        "--seeds",
        "1",
    ];
    arguments.extend(much.split(' '));
    arguments.push("--json");
    let data = bench.locklab(&arguments);
    assert_eq!(data.code, Some(0), "{}", data.told());
    let data = data.json();
    let results = data["results"].as_array().expect("a list");
    let lease = results.iter().find(|it| it["measure"] == "lease");
    let lease = lease.expect("every lock has this measure");
    assert_eq!(
        (&lease["violated"], &lease["inconclusive"]),
        (&0.into(), &1.into())
    );
    let why = lease["why"].as_str().expect("a reason");
    assert!(why.contains("more than 1,000,000 records"), "{why}");

    let busy = r#"
        title = "Rounds without end"
        horizon_ms = 60_000
        topology = { clients = 2 }
        lock = { name = "set-nx-px", ttl_ms = 1000 }
        network = { latency_ms = 0.01 }
        workload = { rounds = 10_000_000, hold_ms = 0, think_ms = 0 }
    "#;
    let busy = bench.write("busy.toml", busy);
    let written = bench.locklab(&["run", busy, "--seeds", "1"]);
    assert_eq!(written.code, Some(1));
    let told = written.in_one_line();
    assert!(told.contains("more than 1,000,000 records"), "{told}");
}
