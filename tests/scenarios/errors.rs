//! The errors for an invalid scenario: file, line, column, what is wrong, and a suggestion.

use insta::assert_snapshot;
use locklab_model::scenario::{load, parse};

/// A valid scenario, into which each test puts one mistake.
const GOOD: &str = r#"title = "Good"

[topology]
nodes = 5
clients = 2

[lock]
name = "redlock"
ttl_ms = 1000
quorum = 3

[workload]
hold_ms = 20

[network]
latency_ms = { uniform = [1, 5] }

[fault.gc]
kind = "pause"
on = "c1"
after = "c1 read"
duration_ms = 1500

[expect]
lease = "holds"
"#;

/// The error after one line is replaced.
fn told(line: &str, by: &str) -> String {
    assert_eq!(GOOD.matches(line).count(), 1, "{line} must occur once");
    told_of(&GOOD.replace(line, by), &[])
}

/// The error with an override.
fn told_set(set: &str) -> String {
    told_of(GOOD, &[set])
}

fn told_of(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
    match parse("scenarios/x.toml", text, &sets) {
        Ok(_) => "nothing wrong".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn valid_scenario_has_no_error() {
    assert_snapshot!(told_of(GOOD, &[]), @"nothing wrong");
}

#[test]
fn unknown_keys() {
    assert_snapshot!(told("quorum = 3", "qorum = 3"), @r#"scenarios/x.toml:10:1: unknown key "qorum" in [lock]; did you mean "quorum"?"#);
    assert_snapshot!(told("hold_ms = 20", "hold = 20"), @r#"scenarios/x.toml:13:1: unknown key "hold" in [workload]; did you mean "hold_ms"?"#);
    assert_snapshot!(told("title = \"Good\"", "titel = \"Good\""), @r#"scenarios/x.toml:1:1: unknown key "titel" in the scenario; did you mean "title"?"#);
    assert_snapshot!(told("[network]", "[netwrok]"), @r#"scenarios/x.toml:15:2: unknown key "netwrok" in the scenario; did you mean "network"?"#);
    assert_snapshot!(told("duration_ms = 1500", "  druation_ms = 1500"), @r#"scenarios/x.toml:22:3: unknown key "druation_ms" in [fault.gc]; did you mean "duration_ms"?"#);
}

#[test]
fn unknown_names() {
    assert_snapshot!(told("name = \"redlock\"", "name = \"redlok\""), @r#"scenarios/x.toml:8:8: unknown lock "redlok"; did you mean "redlock"?"#);
    assert_snapshot!(told("quorum = 3", "clock = \"monotonous\""), @r#"scenarios/x.toml:10:9: unknown value "monotonous" for lock.clock; did you mean "monotonic"?"#);
    assert_snapshot!(told("kind = \"pause\"", "kind = \"pauze\""), @r#"scenarios/x.toml:19:8: unknown fault kind "pauze"; did you mean "pause"?"#);
    assert_snapshot!(told("kind = \"pause\"", "kind = \"earthquake\""), @r#"scenarios/x.toml:19:8: unknown fault kind "earthquake"; it can be "pause", "suspend", "kill", "crash", "partition", "slow-link", "loss", "reset", "clock-step", "clock-rate", "failover" or "command""#);
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c1 reading\""), @r#"scenarios/x.toml:21:9: unknown failpoint "reading"; did you mean "read"?"#);
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c1 reed\""), @r#"scenarios/x.toml:21:9: unknown failpoint "reed"; did you mean "read"?"#);
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c3 read\""), @r#"scenarios/x.toml:21:9: unknown client "c3"; the clients are "c1" to "c2""#);
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c1 read twice\""), @r#"scenarios/x.toml:21:9: "c1 read twice" is not a moment of a client; write "c1 acquired" or "c1 acquired #2""#);
    assert_snapshot!(told("on = \"c1\"", "on = [\"c1\", \"n6\"]"), @r#"scenarios/x.toml:20:6: unknown host "n6"; the hosts are "c1" to "c2", "n1" to "n5" and "resource""#);
    assert_snapshot!(told("lease = \"holds\"", "leese = \"holds\""), @r#"scenarios/x.toml:25:1: unknown property "leese"; did you mean "lease"?"#);
    assert_snapshot!(told("lease = \"holds\"", "lease = \"hold\""), @r#"scenarios/x.toml:25:9: unknown verdict "hold"; did you mean "holds"?"#);
    assert_snapshot!(told("hold_ms = 20", "hold_ms = { exponental = 20 }"), @r#"scenarios/x.toml:13:13: unknown distribution "exponental"; did you mean "exponential"?"#);
    assert_snapshot!(told("hold_ms = 20", "check = \"dead\""), @r#"scenarios/x.toml:13:9: unknown value "dead" for workload.check; did you mean "deadline"?"#);
}

#[test]
fn wrong_types_and_missing_keys() {
    assert_snapshot!(told("quorum = 3", "quorum = \"three\""), @r#"scenarios/x.toml:10:10: lock.quorum: write a whole number, 0 or more, not "three""#);
    assert_snapshot!(told("ttl_ms = 1000", "ttl_ms = -5"), @"scenarios/x.toml:9:10: lock.ttl_ms: -5 is negative; write a whole number, 0 or more");
    assert_snapshot!(told("ttl_ms = 1000", ""), @r#"scenarios/x.toml:7:1: [lock] lacks "ttl_ms""#);
    assert_snapshot!(told("name = \"redlock\"", ""), @r#"scenarios/x.toml:7:1: [lock] lacks "name""#);
    assert_snapshot!(told("title = \"Good\"", ""), @r#"scenarios/x.toml:1:1: the scenario lacks "title"; write what it shows, in a few words"#);
    assert_snapshot!(told("nodes = 5", "nodes = 5.5"), @"scenarios/x.toml:4:9: topology.nodes: write a whole number, 0 or more, not 5.5");
    assert_snapshot!(told("hold_ms = 20", "hold_ms = \"20\""), @r#"scenarios/x.toml:13:11: workload.hold_ms: write milliseconds as a number, or one of { uniform = [low, high] }, { exponential = mean }, { log_normal = { median = …, sigma = … } }, { quantiles = { p50 = …, p99 = …, max = … } }, { mixture = [[weight, …], …] }, { values = […] }, { file = "…" }, not "20""#);
    assert_snapshot!(told("on = \"c1\"", ""), @r#"scenarios/x.toml:19:8: a fault of kind "pause" needs "on""#);
    assert_snapshot!(told("on = \"c1\"", "on = 1"), @r#"scenarios/x.toml:20:6: expected a host ("c1", "n3", "resource") or a list of hosts"#);
    assert_snapshot!(told("after = \"c1 read\"", ""), @r#"scenarios/x.toml:18:1: a fault needs one of "at_ms", "after", "at_step", "between" and "every_ms" to say when it takes effect"#);
}

#[test]
fn impossible_values() {
    assert_snapshot!(told("quorum = 3", "quorum = 6"), @"scenarios/x.toml:10:10: the quorum of 5 nodes is 1 to 5, not 6");
    assert_snapshot!(told("quorum = 3", "quorum = 0"), @"scenarios/x.toml:10:10: the quorum of 5 nodes is 1 to 5, not 0");
    assert_snapshot!(told("ttl_ms = 1000", "ttl_ms = 0"), @"scenarios/x.toml:9:10: a lease of 0 ms is over before it begins; write 1 or more");
    assert_snapshot!(told("nodes = 5", "nodes = 100"), @"scenarios/x.toml:4:9: there can be 1 to 99 nodes, not 100");
    assert_snapshot!(told("hold_ms = 20", "hold_ms = -1"), @"scenarios/x.toml:13:11: a duration cannot be negative: -1");
    assert_snapshot!(told("hold_ms = 20", "hold_ms = inf"), @"scenarios/x.toml:13:11: a duration must be finite, not inf");
    assert_snapshot!(told("uniform = [1, 5]", "uniform = [5, 1]"), @"scenarios/x.toml:16:14: the lower bound 5 is above the upper bound 1");
    assert_snapshot!(told("uniform = [1, 5]", "uniform = [1]"), @"scenarios/x.toml:16:26: network.latency_ms.uniform: expected 2 values, found 1");
    assert_snapshot!(told("[expect]", "[network.x]"), @r#"scenarios/x.toml:24:10: unknown key "x" in [network]; it can be "latency_ms" or "loss""#);
    assert_snapshot!(told("latency_ms = ", "loss = 1.5 # "), @"scenarios/x.toml:16:8: a probability is between 0 and 1, not 1.5");
    assert_snapshot!(told("name = \"redlock\"\nttl_ms = 1000\nquorum = 3", "name = \"set-nx-px\"\nttl_ms = 1000"), @r#"scenarios/x.toml:4:9: "set-nx-px" locks on one node, not on 5"#);
    assert_snapshot!(told("hold_ms = 20", "hold_ms = 20\n[resource]\nfencing = \"writes\""), @r#"scenarios/x.toml:15:11: a fenced resource needs a lock whose grants carry a token, such as "set-nx-px" with "fencing_token = true""#);
    assert_snapshot!(told("lease = \"holds\"", "resource = \"holds\"\nlost-update = \"violated\""), @r#"scenarios/x.toml:25:12: "resource" cannot hold when "lost-update" is violated, which is part of it"#);
    assert_snapshot!(told("lease = \"holds\"", "lease = \"holds\"\n[on-redis]\nwhy = \"a race\"\nunbounded = [\"fifo\"]"), @r#"scenarios/x.toml:28:13: "fifo" has no prediction in [expect], so it is not compared"#);
    assert_snapshot!(told("lease = \"holds\"", "lease = \"holds\"\n[on-redis]\nwhy = \"a race\"\ndiffers = [\"lease\"]\nunbounded = [\"lease\"]"), @r#"scenarios/x.toml:29:13: "lease" is in "differs" too; a rate that is asked for no bound cannot differ"#);
    assert_snapshot!(told("lease = \"holds\"", "[sweep]\nvary = [\"lock.ttl_ms=1..2\"]"), @"scenarios/x.toml:26:8: lock.ttl_ms=1..2: a range is written from..to/steps, such as 0..2000/20");
}

/// The same mistakes as overrides, which are checked in the same way.
#[test]
fn impossible_values_everywhere() {
    assert_snapshot!(told_set("topology.clients=0"), @"--set topology.clients=0: there can be 1 to 99 clients, not 0");
    assert_snapshot!(told_set("horizon_ms=0"), @r#"--set horizon_ms=0: the run would be over before it begins: "horizon_ms" is 0"#);
    assert_snapshot!(told_set("workload.rounds=0"), @"--set workload.rounds=0: with 0 rounds no client ever takes the lock; write 1 or more");
    assert_snapshot!(told_set("workload.extend_every_ms=0"), @"--set workload.extend_every_ms=0: a client that extends its lease every 0 ms never gets to its work");
    assert_snapshot!(told_set("workload.client.c3.rounds=1"), @r#"--set workload.client.c3.rounds=1: unknown client "c3"; the clients are "c1" to "c2""#);
    assert_snapshot!(told_set("clocks.host.n6.drift_ppm=5"), @r#"--set clocks.host.n6.drift_ppm=5: unknown host "n6"; the hosts are "c1" to "c2", "n1" to "n5" and "resource""#);
    assert_snapshot!(told_set("clocks.host.n1.drift_ppm=-1000000"), @"--set clocks.host.n1.drift_ppm=-1000000: a clock that is -1000000 ppm off would stand still or run backwards");
    assert_snapshot!(told_set("clocks.host.n1.offset_ms=nan"), @"--set clocks.host.n1.offset_ms=nan: an offset must be finite, not NaN");
    assert_snapshot!(told_set("clocks.timers_late_ms=-1"), @"--set clocks.timers_late_ms=-1: a timer is late by 0 ms or more, not by -1");
    assert_snapshot!(told_set("clocks.timers_late_ms=inf"), @"--set clocks.timers_late_ms=inf: a timer is late by 0 ms or more, not by inf");
    assert_snapshot!(told_set("lock.node_timeout_ms=0"), @"--set lock.node_timeout_ms=0: a client that waits 0 ms for a node never gets a reply");
    assert_snapshot!(told_set("lock.drift_factor=-0.1"), @"--set lock.drift_factor=-0.1: the allowance for drift is a share of the lease, 0 or more, not -0.1");
    assert_snapshot!(told_set("network.loss=nan"), @"--set network.loss=nan: a probability is between 0 and 1, not NaN");
    assert_snapshot!(told_set("sweep.seeds=0"), @"--set sweep.seeds=0: a sweep with 0 seeds runs nothing; write 1 or more");
    assert_snapshot!(told_set("sweep.vary=[\"a=1\", \"a=2\"]"), @r#"--set sweep.vary=["a=1", "a=2"]: a=2: "a" is varied twice"#);
    assert_snapshot!(told_set("fault.a#1={ kind = \"kill\", on = \"c1\", at_ms = 0 }"), @r#"--set fault.a#1={ kind = "kill", on = "c1", at_ms = 0 }: a fault's name cannot contain #, which numbers the starts of a repeated fault"#);
    assert_snapshot!(told_set("fault.a={ kind = \"kill\", on = [], at_ms = 0 }"), @r#"--set fault.a={ kind = "kill", on = [], at_ms = 0 }: "on" names no host"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-step\", on = \"n1\", at_ms = 0, step_ms = inf }"), @r#"--set fault.a={ kind = "clock-step", on = "n1", at_ms = 0, step_ms = inf }: a value must be finite, not inf"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-step\", on = \"n1\", at_ms = 0, step_ms = { quantiles = { p50 = -5, max = 5 } } }"), @r#"--set fault.a={ kind = "clock-step", on = "n1", at_ms = 0, step_ms = { quantiles = { p50 = -5, max = 5 } } }: a quantile must be finite and not negative: -5"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-rate\", on = \"n1\", at_ms = 0, drift_ppm = 2.5 }"), @r#"--set fault.a={ kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = 2.5 }: "drift_ppm" is a whole number of parts per million, not 2.5"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-rate\", on = \"n1\", at_ms = 0, drift_ppm = { uniform = [-2_000_000, 0] } }"), @r#"--set fault.a={ kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = { uniform = [-2_000_000, 0] } }: a clock that is -2000000 ppm off would stand still or run backwards"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-rate\", on = \"n1\", at_ms = 0, drift_ppm = { exponential = -500 } }"), @r#"--set fault.a={ kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = { exponential = -500 } }: a clock may be slow by less than 1000000 ppm, and this distribution has no lower end; write { uniform = [-500, 500] } or { values = [-500, 500] }"#);
    assert_snapshot!(told_set("fault.a={ kind = \"clock-rate\", on = \"n1\", at_ms = 0, drift_ppm = -2_000_000 }"), @r#"--set fault.a={ kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = -2_000_000 }: a clock that is -2000000 ppm off would stand still or run backwards"#);
    assert_snapshot!(told_set("fault.a={ kind = \"kill\", on = \"n1\", every_ms = 9, until_ms = -1 }"), @r#"--set fault.a={ kind = "kill", on = "n1", every_ms = 9, until_ms = -1 }: a fault repeats until a time above 0, not until -1"#);
    assert_snapshot!(told_of(GOOD, &["topology.nodes=1", "lock={ name = \"set-nx-px\", ttl_ms = 5, timeout_ms = 0 }"]), @r#"--set lock={ name = "set-nx-px", ttl_ms = 5, timeout_ms = 0 }: a client that waits 0 ms never gets a reply; leave "timeout_ms" out to wait for ever"#);
}

#[test]
fn impossible_faults() {
    assert_snapshot!(told("duration_ms = 1500", "step_ms = 5"), @r#"scenarios/x.toml:22:1: a fault of kind "pause" takes no "step_ms""#);
    assert_snapshot!(told("kind = \"pause\"", "kind = \"clock-step\""), @r#"scenarios/x.toml:19:8: a fault of kind "clock-step" needs "step_ms""#);
    assert_snapshot!(told("kind = \"pause\"", "kind = \"clock-step\"\nstep_ms = 5"), @r#"scenarios/x.toml:23:1: a fault of kind "clock-step" takes no "duration_ms""#);
    assert_snapshot!(told("kind = \"pause\"", "kind = \"partition\""), @r#"scenarios/x.toml:19:8: a fault of kind "partition" needs "from""#);
    assert_snapshot!(told("kind = \"pause\"\non = \"c1\"", "kind = \"partition\"\nfrom = \"c1\"\nto = [\"n1\", \"c1\"]"), @r#"scenarios/x.toml:21:6: "c1" is on both sides; there is no link from a host to itself"#);
    assert_snapshot!(told("kind = \"pause\"\non = \"c1\"", "kind = \"loss\"\nfrom = \"c1\"\nto = \"n1\"\nprobability = 2"), @"scenarios/x.toml:22:15: a probability is between 0 and 1, not 2");
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c1 read\"\nat_ms = 5"), @r#"scenarios/x.toml:22:1: a fault takes effect at one time: give only one of "at_ms", "after", "at_step" and "between""#);
    assert_snapshot!(told("after = \"c1 read\"", "at_ms = 5\ndelay_ms = 5"), @r#"scenarios/x.toml:22:1: "delay_ms" needs "after" or "at_step""#);
    assert_snapshot!(told("after = \"c1 read\"", "every_ms = 100"), @r#"scenarios/x.toml:21:1: a fault with "every_ms" needs "until_ms", at which it stops"#);
    assert_snapshot!(told_set("fault.a={ kind = \"kill\", on = \"n1\", every_ms = 1, until_ms = 31536000000 }"), @r#"--set fault.a={ kind = "kill", on = "n1", every_ms = 1, until_ms = 31536000000 }: a fault repeats 1000000 times at most; until 31536000000 ms that would be more"#);
    assert_snapshot!(told("after = \"c1 read\"", "every_ms = 0\nuntil_ms = 1000"), @"scenarios/x.toml:21:12: a fault repeats after 1 ms at the earliest");
    assert_snapshot!(told("after = \"c1 read\"", "between = [\"c1 wrote\", \"c1 read\"]"), @r#"scenarios/x.toml:21:1: in "between" the second point must come later in the round: "c1 read" is not after "c1 wrote""#);
    assert_snapshot!(told("after = \"c1 read\"", "between = [\"c1 read\", \"c2 wrote\"]"), @r#"scenarios/x.toml:21:1: "between" needs two points of one round of one client, not "c1 read" and "c2 wrote""#);
    assert_snapshot!(told("after = \"c1 read\"", "between = [\"c1 checked\", \"c1 wrote\"]"), @r#"scenarios/x.toml:21:11: a client reaches "checked" only with "check = \"deadline\"" in [workload]"#);
    assert_snapshot!(told("after = \"c1 read\"", "after = \"c1 read #2\""), @r#"scenarios/x.toml:21:9: "c1 read #2" never comes: c1 takes the lock once"#);
}

#[test]
fn toml_syntax_errors() {
    assert_snapshot!(told_of("title = ", &["lock.ttl_ms=5"]), @"scenarios/x.toml:1:9: this is not TOML: string values must be quoted, expected literal string");
    assert_snapshot!(told("nodes = 5", "nodes = "), @"scenarios/x.toml:4:9: this is not TOML: string values must be quoted, expected literal string");
    assert_snapshot!(told("nodes = 5", "nodes = 5\nnodes = 5"), @"scenarios/x.toml:5:1: this is not TOML: duplicate key");
    assert_snapshot!(told("[topology]", "[topology"), @"scenarios/x.toml:3:10: this is not TOML: unclosed table, expected `]`");
    assert_snapshot!(told("title = \"Good\"", "title = \"Gööd"), @r#"scenarios/x.toml:1:14: this is not TOML: invalid basic string, expected `"`"#);
}

#[test]
fn error_of_an_override_points_at_the_override() {
    assert_snapshot!(told_set("lock.ttl_ms=500"), @"nothing wrong");
    assert_snapshot!(told_set("lock.qorum=3"), @r#"--set lock.qorum=3: unknown key "qorum" in [lock]; did you mean "quorum"?"#);
    assert_snapshot!(told_set("lock.quorum=9"), @"--set lock.quorum=9: the quorum of 5 nodes is 1 to 5, not 9");
    assert_snapshot!(told_set("lock.quorum=abc"), @r#"--set lock.quorum=abc: lock.quorum: write a whole number, 0 or more, not "abc""#);
    assert_snapshot!(told_set("lock.name=redlokk"), @r#"--set lock.name=redlokk: unknown lock "redlokk"; did you mean "redlock"?"#);
    assert_snapshot!(told_set("lock.clock=monotonous"), @r#"--set lock.clock=monotonous: unknown value "monotonous" for lock.clock; did you mean "monotonic"?"#);
    assert_snapshot!(told_set("fault.gx.duration_ms=5"), @r#"--set fault.gx.duration_ms=5: unknown fault "gx"; did you mean "gc"?"#);
    assert_snapshot!(told_set("fault.gc.duration_ms.exponental=5"), @r#"--set fault.gc.duration_ms.exponental=5: "duration_ms" is of type integer, not a table that could have "exponental" in it"#);
    assert_snapshot!(told_set("fault.gc.duration_ms={ exponental = 5 }"), @r#"--set fault.gc.duration_ms={ exponental = 5 }: unknown distribution "exponental"; did you mean "exponential"?"#);
    assert_snapshot!(told_set("fault.gc.on=n7"), @r#"--set fault.gc.on=n7: unknown host "n7"; the hosts are "c1" to "c2", "n1" to "n5" and "resource""#);
    assert_snapshot!(told_set("network.latency_ms.uniform.2=7"), @r#"--set network.latency_ms.uniform.2=7: "uniform" is a list of 2, counted from 0; it has no "2""#);
    assert_snapshot!(told_set("resource.fencing=writs"), @r#"--set resource.fencing=writs: unknown value "writs" for resource.fencing; did you mean "writes"?"#);
    assert_snapshot!(told_set("workload.client.c1.rounds=abc"), @r#"--set workload.client.c1.rounds=abc: workload.client.c1.rounds: write a whole number, 0 or more, not "abc""#);
    assert_snapshot!(told_set("workload.client.c1={ rouns = 5 }"), @r#"--set workload.client.c1={ rouns = 5 }: unknown key "rouns" in [workload.client.c1]; did you mean "rounds"?"#);
    assert_snapshot!(told_set("topology.nodes=2"), @"scenarios/x.toml:10:10: the quorum of 2 nodes is 1 to 2, not 3 (with --set topology.nodes=2)");
    assert_snapshot!(told_set("fault.gx={ kind = \"pause\" }"), @r#"--set fault.gx={ kind = "pause" }: a fault of kind "pause" needs "on""#);
    assert_snapshot!(told_set("network.latency_ms.uniform.0=7"), @"scenarios/x.toml:16:14: the lower bound 7 is above the upper bound 5 (with --set network.latency_ms.uniform.0=7)");
    assert_snapshot!(told_set("topology.nodes"), @"--set topology.nodes: an override is written path=value, such as lock.ttl_ms=500");
    assert_snapshot!(told_set("topology..nodes=5"), @"--set topology..nodes=5: the path of an override has an empty part");
    assert_snapshot!(told_set("topology.nodes=[5"), @"--set topology.nodes=[5: the value is not TOML: unclosed array, expected `]`");
    assert_snapshot!(told_set("workload.check=deadline"), @"nothing wrong");
    assert_snapshot!(told_set("netwrok.loss=0.1"), @r#"--set netwrok.loss=0.1: unknown key "netwrok" in the scenario; did you mean "network"?"#);
}

#[test]
fn missing_scenarios() {
    let told = |name| {
        load(name, &[])
            .map_err(|error| error.to_string())
            .unwrap_err()
    };
    assert_snapshot!(told("kleppman/k1"), @r#""kleppman/k1" is neither a file nor a shipped scenario; did you mean "kleppmann/k1"?"#);
    assert_snapshot!(told("scenarios/nowhere.toml"), @r#""scenarios/nowhere.toml" is neither a file nor a shipped scenario; `locklab list scenarios` lists those that ship"#);
}

/// For any input, the result is a scenario or an error at a place in the file.
#[test]
fn no_slip_of_the_finger_is_worse_than_an_error() {
    let positions: Vec<usize> = GOOD.char_indices().map(|(i, _)| i).collect();
    let lines = GOOD.lines().count() + 1;
    for i in positions {
        let (before, after) = GOOD.split_at(i);
        for slip in ["", "x", "\"", "[", "-", "ü", "\n"] {
            let told = told_of(&format!("{before}{slip}{}", &after[1..]), &[]);
            let line = told.strip_prefix("scenarios/x.toml:").and_then(|at| {
                let (line, _) = at.split_once(':')?;
                line.parse::<usize>().ok()
            });
            let in_file = line.is_some_and(|line| (1..=lines + 1).contains(&line));
            assert!(
                told == "nothing wrong" || in_file,
                "{slip:?} at {i}: {told}"
            );
        }
    }
}

/// A failover needs at least one sentinel and at least one replica.
#[test]
fn impossible_failovers() {
    let told = |on: &str, sets: &[&str]| {
        let fault = format!("fault.a={{ kind = \"failover\", on = \"{on}\", at_ms = 0 }}");
        let told = told_of(GOOD, &[sets, &[&*fault]].concat());
        let (_, what) = told.split_once("}: ").unwrap_or(("", &told));
        what.to_owned()
    };
    let one = "topology={ nodes = 5, replicas = 1, clients = 2 }";
    assert_snapshot!(told("n1r1", &[one]), @"nothing wrong");
    assert_snapshot!(told("n1", &[one]), @"nothing wrong");
    assert_snapshot!(told("c1", &[one]), @r#""c1" cannot be asked for a failover: name a sentinel ("s1"), a master ("n1"), or the replica that is to be the master ("n1r1")"#);
    assert_snapshot!(told("n1", &[]), @r#"a failover needs a replica to promote, and "topology.replicas" is 0"#);
    assert_snapshot!(told("s1", &[one]), @r#"unknown host "s1"; the hosts are "c1" to "c2", "n1" to "n5", their replicas ("n1r1") and "resource""#);
    assert_snapshot!(told_set("fault.a={ kind = \"failover\", on = \"n1r1\", at_ms = 0, duration_ms = 1 }"), @r#"--set fault.a={ kind = "failover", on = "n1r1", at_ms = 0, duration_ms = 1 }: a fault of kind "failover" takes no "duration_ms""#);
}

/// Commands are for servers of Redis, and words of a shell.
#[test]
fn impossible_commands() {
    let told = |on: &str, command: &str, sets: &[&str]| {
        let fault = format!(
            "fault.a={{ kind = \"command\", on = \"{on}\", at_ms = 0, command = \"{command}\" }}"
        );
        let told = told_of(GOOD, &[sets, &[&*fault]].concat());
        let (_, what) = told.split_once("}: ").unwrap_or(("", &told));
        what.to_owned()
    };
    assert_snapshot!(told("n1", "EVAL 'return 1' 0", &[]), @"nothing wrong");
    assert_snapshot!(told("c1", "PING", &[]), @r#""c1" takes no command: name a server ("n1", "n1r1", "s1")"#);
    assert_snapshot!(told("n1", "EVAL 'return 1 0", &[]), @r#""command": a quote has no end"#);
    assert_snapshot!(told("n1", " ", &[]), @r#""command": there is no word"#);
    assert_snapshot!(told("n1", "shutdown", &[]), @r#""command": to end a server, write "kind = "kill""#);
    assert_snapshot!(told("n1", "PING", &["lock={ name = \"consensus\", session_ms = 1000 }", "topology={ nodes = 3, clients = 2 }"]), @"an operator enters commands at Redis only, and this lock is on other servers");
}

/// Clients that add to a set hold no lock and reach no point of a lock's program.
#[test]
fn impossible_adds() {
    let told = |workload: &str| told_of(GOOD, &[&format!("workload={{ {workload} }}")]);
    assert_snapshot!(told("read_ms = 5"), @r#"--set workload={ read_ms = 5 }: "read_ms" needs kind = "adds""#);
    assert_snapshot!(told("kind = \"adds\""), @r#"--set workload={ kind = "adds" }: to find what was lost, the set must be read before the run ends at 60000 ms: give a smaller "read_ms""#);
    assert_snapshot!(told("kind = \"adds\", read_ms = 60000"), @r#"--set workload={ kind = "adds", read_ms = 60000 }: to find what was lost, the set must be read before the run ends at 60000 ms: give a smaller "read_ms""#);
    assert_snapshot!(told("kind = \"adds\", read_ms = 5, hold_ms = 1"), @r#"--set workload={ kind = "adds", read_ms = 5, hold_ms = 1 }: a client that adds holds no lock: leave "hold_ms" and "check" out"#);
    assert_snapshot!(told("kind = \"adds\", read_ms = 5"), @r#"scenarios/x.toml:21:9: a client that adds to a set reaches no failpoint; place the fault with "at_ms" or "every_ms" (with --set workload={ kind = "adds", read_ms = 5 })"#);
}

#[test]
fn client_options_have_words_and_limits() {
    assert_snapshot!(told_set("client.on_close=reconnekt"), @r#"--set client.on_close=reconnekt: unknown value "reconnekt" for client.on_close; did you mean "reconnect"?"#);
    assert_snapshot!(told_set("client.resends=1"), @r#"--set client.resends=1: unknown key "resends" in [client]; did you mean "resend"?"#);
    assert_snapshot!(told_set("client.resend=101"), @"--set client.resend=101: a command is sent again at most 100 times, not 101");
    let database = GOOD
        .replace("nodes = 5", "nodes = 1")
        .replace("redlock", "database-cas")
        .replace("quorum = 3\n", "");
    assert_snapshot!(told_of(&database, &["client.resend=1"]), @r#"--set client.resend=1: "database-cas" does not use Redis; leave [client] out"#);
}
