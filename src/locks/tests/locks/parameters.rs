//! What follows from a lock's parameters, for every lock of the catalogue: which are refused, how they
//! are written, how long an attempt may take, and that a client connects and waits.

use std::time::Duration;

use locklab_env::Env;
use locklab_history::{ClockKind, Topology};
use locklab_locks::{LockError, LockSpec, Mode, Owner, Request, catalogue};

use crate::redisson_many::occupy;
use crate::stage::{attempt_in, lock, on_nodes, on_servers};

fn spec(parameters: &str) -> LockSpec {
    toml::from_str(parameters).unwrap_or_else(|error| panic!("{parameters}: {error}"))
}

fn topology(nodes: u32, replicas: u32) -> Topology {
    Topology {
        nodes,
        replicas,
        ..Topology::default()
    }
}

/// Every lock with every form of the catalogue, and the number of its nodes.
pub fn forms() -> Vec<(String, usize)> {
    let mut forms = Vec::new();
    for entry in catalogue() {
        for (_, parameters) in entry.forms {
            let parameters = parameters.replace("LEASE", "1000");
            let text = format!("name = \"{}\"\n{parameters}", entry.name);
            let nodes = spec(&text).nodes() as usize;
            forms.push((text, nodes));
        }
    }
    assert!(forms.len() > 20);
    forms
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    #[track_caller]
    fn check(parameters: &str, (nodes, replicas): (u32, u32), refused: Option<&str>) {
        let checked = spec(parameters).check(&topology(nodes, replicas));
        let path = checked.err().map(|invalid| invalid.path[1]);
        assert_eq!(path, refused, "{parameters}");
    }
    let one = (1, 0);
    for name in [
        "set-nx-px",
        "getset",
        "setnx-expire",
        "getset-as-listed",
        "database-cas",
    ] {
        let with = |more: &str| format!("name = \"{name}\"\n{more}");
        check(&with("ttl_ms = 0"), one, Some("ttl_ms"));
        check(&with("ttl_ms = 1"), one, None);
        check(&with("ttl_ms = 1"), (2, 0), Some("nodes"));
    }
    let simple = "name = \"set-nx-px\"\nttl_ms = 1\n";
    check(&format!("{simple}resend = 101"), one, Some("resend"));
    check(&format!("{simple}resend = 100"), one, None);
    check(&format!("{simple}timeout_ms = 0"), one, Some("timeout_ms"));
    check(
        &format!("{simple}wait_replicas = 2"),
        (1, 1),
        Some("wait_replicas"),
    );
    check(&format!("{simple}wait_replicas = 1"), (1, 1), None);
    let with_token = format!("{simple}fencing_token = true\nmistake =");
    for (mistake, refused) in [
        ("none", None),
        ("deletes-at-start", None),
        ("fails-open", Some("mistake")),
        ("takes-refusals", Some("mistake")),
    ] {
        check(&format!("{with_token} \"{mistake}\""), one, refused);
    }
    let redisson = "name = \"redisson\"\n";
    check(&format!("{redisson}lease_ms = 0"), one, Some("lease_ms"));
    check(&format!("{redisson}lease_ms = 1"), one, None);
    check(
        &format!("{redisson}watchdog_ms = 2"),
        one,
        Some("watchdog_ms"),
    );
    check(&format!("{redisson}watchdog_ms = 3"), one, None);
    check(
        &format!("{redisson}reply_timeout_ms = 0"),
        one,
        Some("reply_timeout_ms"),
    );
    check(&format!("{redisson}reply_timeout_ms = 1"), one, None);
    for (name, nodes) in [
        ("redisson-fair", 1),
        ("redisson-no-publish", 1),
        ("redisson-spin", 1),
        ("redisson-multi", 3),
        ("redisson-redlock", 5),
    ] {
        let with = |lease_ms| format!("name = \"{name}\"\nlease_ms = {lease_ms}");
        check(&with(0), (nodes, 0), Some("lease_ms"));
        check(&with(1), (nodes, 0), None);
    }
    let redlock = "name = \"redlock\"\nttl_ms = 1000\n";
    check(&format!("{redlock}quorum = 0"), (5, 0), Some("quorum"));
    check(&format!("{redlock}quorum = 6"), (5, 0), Some("quorum"));
    check(&format!("{redlock}quorum = 5"), (5, 0), None);
    check(
        &format!("{redlock}node_timeout_ms = 0"),
        (5, 0),
        Some("node_timeout_ms"),
    );
}

#[test]
fn a_lock_says_what_it_needs_and_gives() {
    #[track_caller]
    fn check(parameters: &str, nodes: u32, gives_tokens: bool, asks_resource: bool) {
        let spec = spec(parameters);
        let found = (spec.nodes(), spec.gives_tokens(), spec.asks_resource());
        assert_eq!(found, (nodes, gives_tokens, asks_resource), "{parameters}");
    }
    let simple = "name = \"set-nx-px\"\nttl_ms = 1000";
    check(simple, 1, false, false);
    check(&format!("{simple}\nfencing_token = true"), 1, true, false);
    check("name = \"redisson\"", 1, false, false);
    check("name = \"redisson-fenced\"", 1, true, false);
    check("name = \"redisson-redlock\"", 5, false, false);
    check("name = \"redlock\"\nttl_ms = 1000", 5, false, false);
    let fenced = "name = \"redlock-fenced\"\nttl_ms = 1000\ncounter =";
    check(&format!("{fenced} \"resource\""), 5, true, true);
    check(&format!("{fenced} \"majority\""), 5, true, false);
}

/// Results show a lock's parameters, and a run from them is the same.
#[test]
fn parameters_are_read_as_they_are_written() {
    // What is written only if it is not the default.
    let more = [
        "wait_replicas = 1\nwait_timeout_ms = 77",
        "elapsed_check = false",
        "extend = \"set\"",
        "token = \"thread-id\"",
        "reentrant = \"local\"",
        "resend = 1",
    ];
    let more = more.map(|more| format!("name = \"set-nx-px\"\nttl_ms = 1000\n{more}"));
    let texts = forms().into_iter().map(|(text, _)| text);
    for text in texts.chain(more) {
        let spec = spec(&text);
        let written = serde_json::to_value(&spec).expect("names and numbers");
        let read: LockSpec = serde_json::from_value(written).expect("it was written");
        assert_eq!(read, spec, "{text}");
    }
}

/// The parts of a bound: milliseconds by clocks, round trips, milliseconds of time-outs, and the limit of
/// a reply. Each follows from the steps of two attempts, as `Bound` describes them.
#[test]
fn a_bound_counts_the_steps_of_two_attempts() {
    #[track_caller]
    fn check(
        parameters: &str,
        (nodes, replicas): (u32, u32),
        expected: (u64, u32, u64, Option<u64>),
    ) {
        let retry = match parameters.contains("redisson") {
            true => "",
            false => "retry_delay_ms = 10\nretry_jitter_ms = 20",
        };
        let text = format!("{parameters}\n{retry}");
        let bound = spec(&text).bound(&topology(nodes, replicas));
        let found = (
            bound.by_clock_ms,
            bound.round_trips,
            bound.time_outs_ms,
            bound.reply_ms,
        );
        assert_eq!(found, expected, "{parameters}");
    }
    // The lease, a millisecond of Redis, and a wait. Connecting, and a command for each attempt.
    let simple = "name = \"set-nx-px\"\nttl_ms = 1000";
    check(simple, (1, 0), (1031, 1 + 2, 0, None));
    // Each of three sendings takes until the time-out, and WAIT needs two more round trips.
    let waits = "timeout_ms = 100\nresend = 2\nwait_replicas = 1\nwait_timeout_ms = 50";
    check(
        &format!("{simple}\n{waits}"),
        (1, 1),
        (1031, 1 + 2 * 3, 350, Some(100)),
    );
    // Whole seconds, of the lease and of the clock; SETNX, GET and GETSET.
    let listed = "name = \"getset-as-listed\"\nttl_ms = 1000";
    check(listed, (1, 0), (1000 + 2000 + 31, 1 + 2 * 3, 0, None));
    // The repair comes after a wait of its own, with SETNX, TTL and EXPIRE once more.
    let repaired = "name = \"setnx-expire-repair\"\nttl_ms = 1000";
    check(repaired, (1, 0), (1031 + 30, 1 + 3 * 3, 0, None));
    // Connecting, subscribing on a second connection, and three scripts of which the node may not know the text.
    let sent = "reply_timeout_ms = 100\nresend_interval_ms = 70";
    let redisson = format!("name = \"redisson\"\nlease_ms = 1000\n{sent}");
    check(&redisson, (1, 0), (1001, 1 + 2 + 3 * 2, 170, Some(100)));
    // INFO and WAIT around each script, for a second at most.
    let synced = format!("{redisson}\ncheck_replicas = true");
    let waited_ms = 170 + 1000;
    check(
        &synced,
        (1, 1),
        (1001, 3 + 3 * (2 + 3), waited_ms, Some(100)),
    );
    // While the locks are taken in turn their lease is twice the given one, which is how long each round waits.
    let multi = format!("name = \"redisson-multi\"\nlease_ms = 1000\n{sent}");
    check(&multi, (3, 0), (2001 + 2 * 1000, 3 * 9, 170, Some(100)));
    // A row's times are in whole milliseconds; SELECT and UPDATE.
    check(
        "name = \"database-cas\"\nttl_ms = 1000",
        (1, 0),
        (1031, 1 + 2 * 2, 0, None),
    );
    // An election; five requests, each by the leader to a majority.
    let session = spec("name = \"consensus\"\nsession_ms = 4000").bound(&topology(3, 0));
    assert_eq!(session.by_clock_ms, 4600);
    assert_eq!(session.round_trips, 1 + 3 * 5);
    let limit_ms = session.reply_ms.expect("a member has a limit");
    assert_eq!(session.time_outs_ms, 4000 + 3 * 600 + limit_ms);
    // Each node: connecting, a release that sends its script twice, and two attempts.
    let redlock = "ttl_ms = 1000\nnode_timeout_ms = 50\norder =";
    let sequential = format!("name = \"redlock\"\n{redlock} \"sequential\"");
    check(&sequential, (5, 0), (1031, 5 * 5, 3 * 5 * 50, Some(50)));
    let parallel = format!("name = \"redlock\"\n{redlock} \"parallel\"");
    check(&parallel, (5, 0), (1031, 5, 3 * 50, Some(50)));
    // A counter on the nodes is read in each attempt, and raised by a script.
    let fenced =
        format!("name = \"redlock-fenced\"\n{redlock} \"sequential\"\ncounter = \"majority\"");
    check(
        &fenced,
        (5, 0),
        (1031, 25 + 2 * 5 + 2 * 5, 15 * 50 + 15 * 50, Some(50)),
    );
}

/// What connects takes time before the first attempt, and not in it.
#[test]
fn every_lock_connects_when_it_is_asked_to() {
    for (text, nodes) in forms() {
        let parameters = text.clone();
        on_servers(&text, nodes, move |env, nodes| {
            let text = parameters.clone();
            async move {
                let lock = lock(&env, &nodes, &text);
                let before_ns = env.now_ns(ClockKind::Monotonic);
                lock.connect().await;
                assert!(env.now_ns(ClockKind::Monotonic) > before_ns, "{text}");
            }
        });
    }
}

/// A client that did not wait would do nothing else but ask.
#[test]
fn every_lock_waits_before_it_asks_again() {
    for (text, nodes) in forms() {
        if !text.contains("database-") && !text.contains("set") {
            continue;
        }
        let parameters = format!("{text}\nretry_delay_ms = 300\nretry_jitter_ms = 0");
        on_servers(&text, nodes, move |env, nodes| {
            let text = parameters.clone();
            async move {
                let lock = lock(&env, &nodes, &text);
                let request = Request {
                    owner: Owner::ONLY,
                    wait: None,
                    mode: Mode::Exclusive,
                };
                let before_ns = env.now_ns(ClockKind::Monotonic);
                lock.wait(request, &LockError::taken("somebody has it"))
                    .await;
                let waited = Duration::from_nanos(env.now_ns(ClockKind::Monotonic) - before_ns);
                assert_eq!(waited, Duration::from_millis(300), "{text}");
            }
        });
    }
}

/// With a lease of 20 s an attempt on three nodes waits for 4.5 to 20 s, and draws how long.
#[test]
fn a_multi_lock_draws_how_long_it_tries() {
    on_nodes(3, 0, async |env, nodes| {
        let mut waited_s = Vec::new();
        for _ in 0..6 {
            occupy(&env, &nodes).await;
            let multi = lock(&env, &nodes, "name = \"redisson-multi\"\nlease_ms = 20_000");
            let before_ns = env.now_ns(ClockKind::Monotonic);
            let tried = attempt_in(&multi, Owner::ONLY, None, Mode::Exclusive).await;
            assert!(tried.is_err());
            waited_s.push((env.now_ns(ClockKind::Monotonic) - before_ns) as f64 / 1e9);
        }
        let (least, most) = waited_s
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), it| {
                (least.min(*it), most.max(*it))
            });
        assert!(least >= 4.5 && most <= 20.5, "{waited_s:?}");
        assert!(most - least > 2.0, "{waited_s:?}");
    });
}
