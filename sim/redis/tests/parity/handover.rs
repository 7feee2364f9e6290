//! FAILOVER: the replies of a real pair before, during and after it, compared with a fake
//! pair.
//!
//! DEBUG SLEEP keeps the replica from acknowledging, so that the master waits.

use crate::replication_state::{Fake, Pair, Real, Told};
use crate::versions;

/// Takes a pair through all steps.
fn story(pair: &mut impl Pair) -> Vec<String> {
    let mut told = Told::default();
    for server in 0..2 {
        pair.say(server, "CONFIG SET repl-diskless-sync-delay 0");
    }
    told.say(pair, "nobody follows", &on(0, REFUSED));
    pair.follow(1);
    pair.until(1, "master_link_status:up");
    pair.say(0, "WAIT 1 5000");
    told.say(pair, "a replica is there", &on(0, REFUSED));
    told.say(pair, "a replica is asked", &on(1, REFUSED));

    waits_and_is_called_off(pair, &mut told);
    runs_out_of_time(pair, &mut told);
    is_forced_and_called_off(pair, &mut told);
    succeeds(pair, &mut told);
    is_rejected(pair, &mut told);
    told.steps
}

/// Commands that never start a failover: without replicas, and with invalid arguments.
const REFUSED: &[&str] = &[
    "FAILOVER ABORT",
    "failover abort",
    "FAILOVER ABORT TIMEOUT 1",
    "FAILOVER TIMEOUT",
    "FAILOVER TIMEOUT 0",
    "FAILOVER TIMEOUT -1",
    "FAILOVER TIMEOUT x",
    "FAILOVER TIMEOUT 1 TIMEOUT 1",
    "FAILOVER TO",
    "FAILOVER TO a",
    "FAILOVER TO a x",
    "FAILOVER TO a 1 TO b 2",
    "FAILOVER TO a 1",
    "FAILOVER TO a 70000",
    "FAILOVER TO a -1",
    "FAILOVER TO a 1 FORCE",
    "FAILOVER TO a 1 FORCE TIMEOUT 1",
    "FAILOVER FORCE",
    "FAILOVER FORCE FORCE",
    "FAILOVER FORCE TIMEOUT 1",
    "FAILOVER nope",
    "PSYNC abc 1 FAILOVER",
];

/// Lines for one server.
pub fn on(server: usize, lines: &[&'static str]) -> Vec<(usize, &'static str)> {
    lines.iter().map(|line| (server, *line)).collect()
}

/// The role of a server, and its state during a failover.
const UNDER_WAY: &[&str] = &[
    "ROLE",
    "INFO replication",
    "GET k",
    "FAILOVER",
    "FAILOVER TO a 1",
    "FAILOVER nope",
    "REPLICAOF NO ONE",
    "REPLICAOF 127.0.0.1 1",
    "REPLICAOF 127.0.0.1 x",
];

/// Leaves the replica without the last write, and unable to acknowledge for a while.
pub fn leave_behind(pair: &mut impl Pair, replica: usize, seconds: &str) {
    pair.tell(replica, &format!("DEBUG SLEEP {seconds}"));
    pair.say(1 - replica, "INCR k");
}

fn waits_and_is_called_off(pair: &mut impl Pair, told: &mut Told) {
    leave_behind(pair, 1, "1.5");
    let port = pair.port(1);
    pair.say(0, &format!("FAILOVER TO 127.0.0.1 {port}"));
    pair.tell(0, "SET k postponed");
    told.say(pair, "it waits for the replica", &on(0, UNDER_WAY));
    let waits = on(0, &["PSYNC ? -1", "CLIENT UNPAUSE", "GET k"]);
    told.say(pair, "a client waits too", &waits);
    note_blocked(pair, told);
    told.note("it has heard nothing", vec![pair.heard(0)]);
    told.say(pair, "it is called off", &on(0, &["FAILOVER ABORT"]));
    told.note("then the client goes on", vec![pair.until_heard(0)]);
    pair.until_heard(1);
    pair.say(0, "WAIT 1 5000");
    told.ask(pair, "and all is as before");
}

/// The number of blocked clients in INFO, and the reason in CLIENT LIST.
pub fn note_blocked(pair: &mut impl Pair, told: &mut Told) {
    let info = pair.say(0, "INFO clients");
    let blocked = info.lines().filter(|line| line.starts_with("blocked"));
    told.note("so many wait", blocked.map(str::to_owned).collect());
    let list = pair.say(0, "CLIENT LIST TYPE normal");
    let blocked = list.lines().filter(|line| line.contains(" flags=b "));
    let command = |line: &str| {
        let command = line.split(' ').find(|word| word.starts_with("cmd="));
        command.unwrap_or_default().to_owned()
    };
    told.note("and for this", blocked.map(command).collect());
}

fn runs_out_of_time(pair: &mut impl Pair, told: &mut Told) {
    pair.say(0, "SET k 1");
    leave_behind(pair, 1, "1");
    told.say(pair, "a time is set", &on(0, &["FAILOVER TIMEOUT 300"]));
    pair.tell(0, "SET k 10");
    pair.until(0, "master_failover_state:no-failover");
    told.note("it is over", vec![pair.until_heard(0)]);
    pair.until_heard(1);
    pair.say(0, "WAIT 1 5000");
    told.ask(pair, "and nothing came of it");
}

fn is_forced_and_called_off(pair: &mut impl Pair, told: &mut Told) {
    leave_behind(pair, 1, "2");
    let port = pair.port(1);
    pair.say(
        0,
        &format!("FAILOVER TO 127.0.0.1 {port} TIMEOUT 200 FORCE"),
    );
    pair.tell(0, "SET k 20");
    pair.until(0, "master_failover_state:failover-in-progress");
    told.say(pair, "it asks the replica", &on(0, UNDER_WAY));
    let waits = on(0, &["PSYNC ? -1", "SET k 30"]);
    told.note("a client still waits", vec![pair.heard(0)]);
    told.say(pair, "and others do not", &waits);
    told.say(pair, "it is called off", &on(0, &["FAILOVER ABORT"]));
    told.note("then the client goes on", vec![pair.until_heard(0)]);
    pair.until_heard(1);
    pair.until(0, "connected_slaves:1");
    pair.until(1, "master_link_status:up");
    pair.say(0, "WAIT 1 5000");
    told.ask(pair, "with a history of its own");
}

fn succeeds(pair: &mut impl Pair, told: &mut Told) {
    leave_behind(pair, 1, "0.5");
    told.say(pair, "a failover to anybody", &on(0, &["FAILOVER"]));
    pair.tell(0, "SET k refused");
    pair.until(1, "role:master");
    pair.until(0, "master_link_status:up");
    told.note("the client is refused", vec![pair.until_heard(0)]);
    pair.until_heard(1);
    pair.say(1, "WAIT 1 5000");
    told.ask(pair, "the roles have changed");
    let after = [
        (0, "GET k"),
        (0, "SET k 1"),
        (0, "PSYNC abc 1 FAILOVER"),
        (1, "PSYNC abc 1 FAILOVER"),
        (1, "INCR k"),
        (1, "WAIT 1 5000"),
        (0, "GET k"),
    ];
    told.say(pair, "and so it goes on", &after);

    // Roles are swapped back, with only the next acknowledgement to wait for.
    let port = pair.port(0);
    pair.say(1, &format!("FAILOVER TIMEOUT 60000 TO 127.0.0.1 {port}"));
    pair.until(0, "role:master");
    pair.until(1, "master_link_status:up");
    told.ask(pair, "and back");
    told.say(pair, "nothing was lost", &[(0, "GET k"), (1, "GET k")]);
}

/// The replica is already a master when it is asked to become one.
fn is_rejected(pair: &mut impl Pair, told: &mut Told) {
    leave_behind(pair, 1, "1");
    pair.tell(1, "REPLICAOF NO ONE");
    let port = pair.port(1);
    pair.say(
        0,
        &format!("FAILOVER TO 127.0.0.1 {port} FORCE TIMEOUT 100"),
    );
    pair.tell(0, "SET k 50");
    pair.until(0, "master_failover_state:failover-in-progress");
    pair.until(0, "master_failover_state:no-failover");
    told.note("the client goes on", vec![pair.until_heard(0)]);
    told.ask(pair, "and there are two masters");
    let both = [(0, "GET k"), (1, "GET k")];
    told.say(pair, "with two histories", &both);
}

#[test]
fn a_pair_fails_over_as_a_real_pair_does() {
    if versions::skips_test() {
        return;
    }
    let real = story(&mut Real::start());
    let fake = story(&mut Fake::start());
    assert_eq!(real.len(), fake.len());
    for (real, fake) in real.iter().zip(&fake) {
        assert_eq!(fake, real);
    }
}
