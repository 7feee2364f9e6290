//! What a file has, as a reader of TOML sees it.

use toml::Table;

use super::*;
use crate::answers::Latency;
use crate::beats::Pulse;
use crate::events::Events;
use crate::logs::Runtime;
use crate::peer::PeerClock;
use crate::recorded::{Live, Log};
use crate::replication::Lag;

fn events(watched_s: f64, durations_ms: &[f64]) -> Events {
    Events {
        watched_s,
        durations_ms: Values::of(durations_ms.to_vec()),
    }
}

fn live() -> Live {
    Live {
        seconds: 60.0,
        pulse: Pulse {
            beats: 59_000,
            threshold_ms: 5.0,
            longest_late_ms: 250.0,
            pauses: events(60.0, &[6.5, 250.0, 7.0]),
            waits: Some(2),
            suspends: events(60.0, &[]),
            steps_ms: vec![2.0, 1500.0],
            correction_ppm: Some(-11.25),
        },
        redis: Some("redis://127.0.0.1:6379".into()),
        latency: Some(Latency {
            one_way_ms: Values::of((1..=600).map(|n| f64::from(n) / 1e3).collect()),
            left_out: 2,
            outages_ms: vec![300.0],
        }),
        peer_clock: Some(PeerClock {
            asked: 60,
            ahead_ms: -0.5,
            within_ms: 0.25,
            drift_ppm: None,
            steps_ms: vec![-40.0],
        }),
        replica: Some("redis://127.0.0.1:6380".into()),
        lag: Some(Lag {
            most_bytes: 99,
            behind_ms: Values::of(vec![0.0, 3.0]),
            visible_ms: Values::of(vec![1.5]),
            unseen: 1,
        }),
        fsync_folder: Some("data".into()),
        fsync_ms: Some(Values::of(vec![0.5])),
    }
}

fn recorded() -> Recorded {
    Recorded {
        begun_s: 1_795_600_000,
        live: Some(live()),
        logs: vec![Log {
            runtime: Runtime::Jvm,
            files: vec!["gc \"1\"\n.log".into()],
            pauses: events(3600.0, &[12.0, 3.0]),
            stalls: events(3600.0, &[]),
            unread: vec!["gc.log, 2 lines, the first is line 5: “Pacing 3 ms”".into()],
        }],
    }
}

fn parsed(text: &str) -> Table {
    text.parse()
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The comments as one line.
fn comments(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# "));
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_cause_has_its_rate_its_durations_and_its_source() {
    let table = parsed(&write(&recorded(), Lists::Beside));
    assert_eq!(
        table["title"].as_str(),
        Some("Measured on 2026-11-25: one machine, one Redis, its replica, one log")
    );
    let pause = &table["cause"]["pause"];
    assert_eq!(pause["fault"].as_str(), Some("pause"));
    assert_eq!(pause["on"].as_array().map(Vec::len), Some(1));
    assert_eq!(pause["every"].as_str(), Some("20 s"));
    assert_eq!(pause["duration_ms"]["file"].as_str(), Some("pauses.txt"));
    assert_eq!(
        pause["source"].as_str(),
        Some("locklab record, 60 s, a heartbeat of 1 ms; 3 pauses longer than 5 ms")
    );
    let gc = &table["cause"]["gc"];
    assert_eq!(gc["every"].as_str(), Some("1800 s"));
    assert_eq!(
        gc["source"].as_str(),
        Some("gc \"1\"\\n.log, 60.0 min; 2 pauses")
    );
}

#[test]
fn steps_of_clocks_have_a_direction() {
    let table = parsed(&write(&recorded(), Lists::Inline));
    let causes = &table["cause"];
    let ahead = &causes["clock-step-forwards"];
    assert_eq!(ahead["step_ms"].to_string(), "{ values = [2, 1500] }");
    assert_eq!(ahead["direction"].as_str(), Some("forwards"));
    assert_eq!(ahead["every"].as_str(), Some("30 s"));
    assert!(causes.get("clock-step-backwards").is_none());
    let node = &causes["node-clock-step-backwards"];
    assert_eq!(node["step_ms"].to_string(), "{ values = [40] }");
    assert_eq!(node["direction"].as_str(), Some("backwards"));
    assert_eq!(node["on"][0].as_str(), Some("node"));
}

#[test]
fn without_a_folder_the_values_are_in_the_file() {
    let mut recorded = recorded();
    let durations = |recorded: &Recorded| {
        parsed(&write(recorded, Lists::Inline))["cause"]["pause"]["duration_ms"].clone()
    };
    let inline = durations(&recorded);
    let values: Option<Vec<_>> = { inline["values"].as_array().into_iter().flatten() }
        .map(|value| value.as_float().or(value.as_integer().map(|it| it as f64)))
        .collect();
    assert_eq!(values, Some(vec![6.5, 7.0, 250.0]));
    let many: Vec<f64> = (1..=1001).map(f64::from).collect();
    if let Some(live) = &mut recorded.live {
        live.pulse.pauses = events(60.0, &many);
    }
    assert_eq!(
        durations(&recorded)["quantiles"]["p99"].as_integer(),
        Some(991)
    );
}

#[test]
fn latency_is_quantiles_one_way() {
    let table = parsed(&write(&recorded(), Lists::Beside));
    let quantiles = &table["network"]["latency_ms"]["quantiles"];
    let value = |name: &str| quantiles[name].as_float();
    assert_eq!(
        (value("p50"), value("p99"), value("max")),
        (Some(0.3), Some(0.594), Some(0.6))
    );
    assert!(quantiles.get("p99.9").is_none());
    let source = table["network"]["source"].as_str().unwrap_or_default();
    assert!(
        source.contains("600 PINGs to redis://127.0.0.1:6379"),
        "{source}"
    );
}

#[test]
fn quantiles_grow() {
    let check = |values: &[f64], expected: &str| {
        assert_eq!(quantiles(&Values::of(values.to_vec())), expected);
    };
    check(&[2.0], "2");
    check(&[2.0; 100], "2");
    check(&[1.0, 3.0], "{ quantiles = { p50 = 1, max = 3 } }");
    let mut most_alike = vec![1.0; 5000];
    most_alike.extend([4.0; 100]);
    check(&most_alike, "{ quantiles = { p90 = 1, max = 4 } }");
    let many: Vec<f64> = (1..=5000).map(f64::from).collect();
    check(
        &many,
        "{ quantiles = { p50 = 2500, p90 = 4500, p99 = 4950, \"p99.9\" = 4995, max = 5000 } }",
    );
}

#[test]
fn what_was_not_seen_is_said_and_is_no_cause() {
    let text = write(&recorded(), Lists::Beside);
    assert!(parsed(&text)["cause"].get("suspend").is_none());
    let said = comments(&text);
    for expected in [
        "- suspend: the machine of a client is suspended. None in 60 s, so at most one every 20 s.",
        "- clock-step-backwards: ",
        "2 of 3 pauses were mostly a wait for a processor",
        "failovers, crashes and restarts. This file has none",
        "failed to answer once in 60 s",
        "Left out of the latency: 2 round trips",
        "0.5 ms behind this machine's (± 0.25 ms",
        "lacked 99 bytes at most",
        "1 of 2 writes were not seen",
    ] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(!said.contains("- pause: "), "{said}");
}

#[test]
fn of_logs_alone_the_machine_is_not_said_to_be_quiet() {
    let logs_alone = Recorded {
        live: None,
        ..recorded()
    };
    let text = write(&logs_alone, Lists::Beside);
    // A file needs a network.
    let network = &parsed(&text)["network"];
    assert!(
        network["guess"]
            .as_str()
            .is_some_and(|it| it.contains("not measured"))
    );
    assert!(network.get("source").is_none());
    let said = comments(&text);
    assert!(said.contains("This machine was not watched"), "{said}");
    assert!(!said.contains("not seen, so that"), "{said}");
}

#[test]
fn each_file_that_is_named_has_its_values() {
    let recorded = recorded();
    let lists = lists(&recorded);
    let names: Vec<&str> = lists.iter().map(|list| list.file).collect();
    assert_eq!(
        names,
        [
            "pauses.txt",
            "clock-steps-forwards.txt",
            "node-clock-steps-backwards.txt",
            "gc-pauses.txt",
            "latency.txt",
            "replication-lag.txt",
            "fsync.txt"
        ]
    );
    assert_eq!(
        lists[0].text,
        "# the process of a client stands still, in milliseconds\n6.5\n7\n250\n"
    );
    let text = write(&recorded, Lists::Beside);
    assert_eq!(text.matches("file = ").count(), 4);
}

#[test]
fn a_few_times_are_listed_and_many_have_quantiles() {
    let told = |count: u32| sizes(&Values::of((1..=count).map(f64::from).collect()));
    assert_eq!(told(0), "nothing measured");
    assert_eq!(told(2), "1, 2 ms");
    assert_eq!(told(50), "p50 25, p90 45, max 50 ms");
    assert_eq!([ahead(0.5), ahead(-0.5)], ["0.5 ms ahead", "0.5 ms behind"]);
}

#[test]
fn numbers_have_four_digits_and_no_exponent() {
    for (value, expected) in [
        (0.0, "0"),
        (0.000_012_345_6, "0.00001235"),
        (0.12, "0.12"),
        (2.102_072, "2.102"),
        (-1500.0, "-1500"),
        (123_456_789.0, "123500000"),
    ] {
        assert_eq!(number(value), expected);
    }
    assert_eq!(seconds(0.3), "0.3 s");
    assert_eq!(seconds(3600.0), "60.0 min");
    assert_eq!(seconds(86_400.0), "24.0 h");
}
