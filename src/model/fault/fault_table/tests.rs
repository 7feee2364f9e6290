//! Faults as scenarios have them: what is read, written and refused.

use locklab_vecmap::VecMap;

use super::*;

/// Every kind, every placement and every distribution.
const ALL: &str = r#"
    a = { kind = "pause", on = "c1", at_ms = 5, duration_ms = { exponential = 7.5 } }
    b = { kind = "suspend", on = ["c1", "n1"], after = "c1 read #3", duration_ms = 1 }
    c = { kind = "kill", on = "n1", between = ["c1 read", "c1 wrote"] }
    d = { kind = "crash", on = "n1", at_ms = { uniform = [0, 9] }, duration_ms = 1 }
    e = { kind = "partition", from = "c1", to = ["n1"], every_ms = 100, until_ms = 900 }
    f = { kind = "slow-link", from = "c1", to = "n1", direction = "one-way", at_ms = 0, \
          extra_ms = { log_normal = { median = 3, sigma = 0.5 } } }
    g = { kind = "loss", from = "c1", to = "n1", at_ms = 0, probability = 0.1 }
    h = { kind = "clock-step", on = "n1", after = "c1 read", delay_ms = 3, step_ms = -5 }
    i = { kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = -500, duration_ms = 9 }
    j = { kind = "failover", on = "s1", after = "c1 acquired", delay_ms = 5 }
    k = { kind = "kill", on = "n1", at_step = "c1 SET #2 reply leaves n1", delay_ms = 5 }
    l = { kind = "pause", on = "c1", at_step = "c1 timer #3" }
    m = { kind = "clock-step", on = "n1", at_ms = 0, step_ms = { uniform = [-300, -10] } }
    n = { kind = "clock-rate", on = "n1", at_ms = 0, drift_ppm = { values = [-500, 500] } }
    o = { kind = "command", on = ["n1", "n2"], at_ms = 0, command = "EVAL 'return 1' 0" }
"#;

#[test]
fn every_kind_survives_being_written_and_read() {
    let text = ALL.replace("\\\n", "");
    let specs: VecMap<String, FaultSpec> = toml::from_str(&text).expect("faults");
    let written = toml::to_string(&specs).expect("faults are TOML");
    assert_eq!(toml::from_str(&written), Ok(specs), "{written}");
}

/// As recordings have it since there are any.
#[test]
fn constant_drift_is_written_as_a_whole_number() {
    let table = "kind = 'clock-rate'\non = 'n1'\nat_ms = 0\ndrift_ppm = -500";
    let spec: FaultSpec = toml::from_str(table).expect("a fault");
    let written = toml::to_string(&spec).expect("it is TOML");
    assert!(written.contains("drift_ppm = -500\n"), "{written}");
}

#[test]
fn hosts_may_be_written_alone_or_in_a_list() {
    let alone: Result<FaultSpec, _> = toml::from_str("kind = 'kill'\non = 'n1'\nat_ms = 0");
    let listed = toml::from_str("kind = 'kill'\non = ['n1']\nat_ms = 0");
    assert!(alone.is_ok());
    assert_eq!(alone, listed);
}

/// The answer to a table that is no fault.
fn refused(table: &str) -> String {
    let read: Result<FaultSpec, _> = toml::from_str(table);
    read.expect_err(table).message().to_owned()
}

#[test]
fn a_fault_needs_its_target_and_its_amount() {
    for (kind, keys) in [
        ("pause", &["on"][..]),
        ("partition", &["from", "to"]),
        ("slow-link", &["from", "to", "extra_ms"]),
        ("loss", &["from", "to", "probability"]),
        ("clock-step", &["on", "step_ms"]),
        ("clock-rate", &["on", "drift_ppm"]),
        ("command", &["on", "command"]),
    ] {
        let mut table = format!("kind = '{kind}'\nat_ms = 0\n");
        for key in keys {
            let expected = format!("a fault of kind `{kind}` needs `{key}`");
            assert_eq!(refused(&table), expected);
            table += &match *key {
                "on" | "from" | "to" | "command" => format!("{key} = 'n1'\n"),
                _ => format!("{key} = 1\n"),
            };
        }
        let read: Result<FaultSpec, _> = toml::from_str(&table);
        assert!(read.is_ok(), "{read:?}");
    }
}

#[test]
fn unused_key_of_a_fault_is_named() {
    let refused = |keys: &str| refused(&format!("kind = 'kill'\non = 'n1'\n{keys}"));
    for key in ["extra_ms", "step_ms", "drift_ppm", "probability", "command"] {
        let expected = format!("a fault of kind `kill` takes no `{key}`");
        let value = if key == "command" { "'PING'" } else { "1" };
        assert_eq!(refused(&format!("at_ms = 0\n{key} = {value}")), expected);
    }
    for (keys, expected) in [
        (
            "at_ms = 0\ndelay_ms = 1",
            "`delay_ms` needs `after` or `at_step`",
        ),
        ("at_ms = 0\nuntil_ms = 1", "`until_ms` needs `every_ms`"),
        (
            "every_ms = 1\nuntil_ms = 9\nafter = 'c1 read'",
            "`after` and `every_ms` exclude each other: give only one of them",
        ),
        (
            "every_ms = 1\nuntil_ms = 9\nbetween = ['c1 read', 'c1 wrote']",
            "`between` and `every_ms` exclude each other: give only one of them",
        ),
    ] {
        assert_eq!(refused(keys), expected);
    }
}

#[test]
fn a_fault_has_one_time_and_between_is_within_a_round() {
    for (placement, expected) in [
        (
            "",
            "a fault needs one of `at_ms`, `after`, `at_step`, `between` and `every_ms`",
        ),
        ("every_ms = 1", "a fault with `every_ms` needs `until_ms`"),
        (
            "at_ms = 0\nafter = 'c1 read'",
            "a fault takes effect at one time",
        ),
        (
            "after = 'c1 read'\nat_step = 'c1 timer #1'",
            "a fault takes effect at one time",
        ),
        (
            "at_step = 'c1 SET #1 at n1'",
            "`c1 SET #1 at n1` is not a step; write",
        ),
        (
            "between = ['c1 read', 'c2 wrote']",
            "`between` needs two points of one round of one client",
        ),
        (
            "between = ['c1 read', 'c1 wrote #2']",
            "`between` needs two points of one round of one client",
        ),
        (
            "between = ['c1 wrote', 'c1 read']",
            "in `between` the second point must come later",
        ),
        (
            "between = ['c1 read', 'c1 read']",
            "in `between` the second point must come later",
        ),
    ] {
        let answer = refused(&format!("kind = 'kill'\non = 'n1'\n{placement}"));
        assert!(answer.starts_with(expected), "{answer}");
    }
    assert_eq!(
        refused("kind = 'kill'\non = []\nat_ms = 0"),
        "`on` names no host"
    );
}

#[test]
fn every_kind_lists_its_keys() {
    let keys: Vec<String> = FaultKind::ALL.iter().map(|&kind| keys(kind)).collect();
    assert_eq!(
        keys,
        [
            "on",
            "on",
            "on",
            "on",
            "on",
            "from, to, direction",
            "from, to, direction, extra_ms",
            "from, to, direction, probability",
            "on",
            "on, step_ms",
            "on, drift_ppm",
            "on",
            "on",
            "on, command",
        ]
    );
}
