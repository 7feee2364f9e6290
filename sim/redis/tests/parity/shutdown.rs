//! SHUTDOWN of a master whose replica lags: the replies of a real pair and the time of the
//! shutdown, compared with a fake pair.
//!
//! DEBUG SLEEP keeps the replica from acknowledging, so that the master waits.

use crate::handover::{leave_behind, note_blocked, on};
use crate::replication_state::{Fake, Pair, Real, Told};
use crate::versions;

/// Commands that never start a shutdown, whether one is pending or not.
const REFUSED: &[&str] = &[
    "SHUTDOWN x",
    "SHUTDOWN NOW x",
    "SHUTDOWN SAVE NOSAVE",
    "SHUTDOWN ABORT NOW",
    "SHUTDOWN SAVE ABORT",
    "MULTI",
    "SHUTDOWN",
    "SHUTDOWN NOW",
    "EXEC",
    "EVAL_RO \"return redis.call('SHUTDOWN')\" 0",
    "CONFIG SET shutdown-timeout -1",
    "CONFIG SET shutdown-timeout x",
    "CONFIG SET shutdown-timeout 2147483648",
    "CONFIG GET shutdown-timeout",
];

/// Commands that abort a shutdown.
const ABORT: &[&str] = &["SHUTDOWN ABORT", "shutdown abort ABORT", "GET k"];

/// A master and its synchronised replica. Only the given requests make the stream longer.
fn begin(pair: &mut impl Pair) -> Told {
    for server in 0..2 {
        pair.say(server, "CONFIG SET repl-diskless-sync-delay 0");
        pair.say(server, "CONFIG SET repl-ping-replica-period 3600");
    }
    pair.follow(1);
    pair.until(1, "master_link_status:up");
    pair.say(0, "SET k 1");
    pair.say(0, "WAIT 1 5000");
    Told::default()
}

/// Whether INFO shows the remaining time; the number is not compared.
fn note_shutdown(pair: &mut impl Pair, told: &mut Told) {
    let info = pair.say(0, "INFO server");
    let shown = info.lines().filter(|line| line.starts_with("shutdown"));
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    told.note("INFO has", shown.map(name).collect());
}

/// The length of the stream.
fn stream_bytes(pair: &mut impl Pair) -> u64 {
    let info = pair.say(0, "INFO replication");
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("master_repl_offset:"));
    line.and_then(|offset| offset.parse().ok())
        .expect("a number")
}

/// The shutdown is aborted, then completed.
fn waits(pair: &mut impl Pair) -> Vec<String> {
    let mut told = begin(pair);
    told.say(pair, "nothing to call off", &on(0, ABORT));
    told.say(pair, "what is refused", &on(0, REFUSED));

    leave_behind(pair, 1, "1.5");
    let before = stream_bytes(pair);
    pair.tell_by(0, 0, "SHUTDOWN");
    let grown = stream_bytes(pair) - before;
    told.note("it asks the replica how far it is", vec![grown.to_string()]);
    pair.tell_by(0, 1, "SET k postponed");
    let answered = on(0, &["ROLE", "INFO replication", "CLIENT UNPAUSE", "GET k"]);
    told.say(pair, "reads are answered, writes held back", &answered);
    told.say(pair, "what is refused still", &on(0, REFUSED));
    note_shutdown(pair, &mut told);
    note_blocked(pair, &mut told);
    let heard = [0, 1].map(|client| pair.heard_by(0, client));
    told.note("nobody has heard anything", heard.into());
    told.say(pair, "it is called off", &on(0, &["SHUTDOWN ABORT"]));
    let heard = [0, 1].map(|client| pair.until_heard_by(0, client));
    told.note("who asked is told, who wrote goes on", heard.into());
    told.say(pair, "there is no more to call off", &on(0, ABORT));
    note_shutdown(pair, &mut told);
    pair.until_heard(1);
    pair.say(0, "WAIT 1 5000");
    told.ask(pair, "and all is as before");

    several_ask(pair, &mut told);
    pair.until_heard(1);
    pair.say(0, "WAIT 1 5000");

    pair.say(0, "SET k 10");
    leave_behind(pair, 1, "0.5");
    pair.tell_by(0, 0, "SHUTDOWN");
    pair.tell_by(0, 1, "SET k lost");
    pair.until_ended(0);
    let heard = [0, 1].map(|client| pair.heard_by(0, client));
    told.note("the server ends without a word", heard.into());
    told.say(pair, "the replica has everything", &on(1, &["GET k"]));
    told.steps
}

/// While one client waits for a shutdown, others that request one wait with it.
fn several_ask(pair: &mut impl Pair, told: &mut Told) {
    pair.say(0, "SET k 1");
    pair.tell(0, "CLIENT ID");
    let id = pair.until_heard(0);
    let id = id.trim().trim_start_matches(':');
    leave_behind(pair, 1, "1");
    pair.say(0, "CLIENT PAUSE 100000 WRITE");
    let before = stream_bytes(pair);
    pair.tell_by(0, 0, "SHUTDOWN NOSAVE");
    let grown = stream_bytes(pair) - before;
    told.note(
        "the stream stands still in a pause",
        vec![grown.to_string()],
    );
    pair.say(0, "CLIENT UNPAUSE");
    pair.tell_by(0, 1, "SHUTDOWN NOW");
    for _ in 0..3 {
        pair.pass();
    }
    note_blocked(pair, told);
    let unblock = format!("CLIENT UNBLOCK {id} ERROR");
    told.note("one is woken", vec![pair.say(0, &unblock)]);
    told.note("and hears", vec![pair.until_heard_by(0, 0)]);
    note_shutdown(pair, told);
    told.say(pair, "it is called off", &on(0, &["SHUTDOWN ABORT"]));
    told.note("the other hears", vec![pair.until_heard_by(0, 1)]);
    told.note("and the first no more", vec![pair.heard_by(0, 0)]);
}

/// The replica does not acknowledge in time.
fn runs_out_of_time(pair: &mut impl Pair) -> Vec<String> {
    let mut told = begin(pair);
    // A replica that waits for its snapshot has no data yet.
    pair.say(1, "REPLICAOF NO ONE");
    pair.until(0, "connected_slaves:0");
    pair.say(0, "CONFIG SET repl-diskless-sync-delay 60");
    pair.say(1, "SET other v");
    pair.follow(1);
    pair.until(0, "connected_slaves:1");
    pair.tell(0, "SHUTDOWN");
    note_shutdown(pair, &mut told);
    told.say(pair, "it is called off", &on(0, &["SHUTDOWN ABORT"]));
    told.note("who asked hears", vec![pair.until_heard(0)]);
    pair.say(0, "CONFIG SET repl-diskless-sync-delay 0");
    pair.until(1, "master_link_status:up");
    pair.say(0, "WAIT 1 5000");

    pair.say(0, "CONFIG SET shutdown-timeout 1");
    leave_behind(pair, 1, "4");
    pair.tell(0, "SHUTDOWN");
    note_shutdown(pair, &mut told);
    let late = on(0, &["CONFIG SET shutdown-timeout 10", "GET k"]);
    told.say(pair, "the time was set when it began", &late);
    pair.until_ended(0);
    told.note("the replica has not said anything", vec![pair.heard(1)]);
    told.steps
}

/// The shutdown is immediate.
fn is_at_once(pair: &mut impl Pair, timeout_s: u32, order: &str) -> Vec<String> {
    let mut told = begin(pair);
    pair.say(0, &format!("CONFIG SET shutdown-timeout {timeout_s}"));
    leave_behind(pair, 1, "3");
    pair.tell(0, order);
    pair.until_ended(0);
    told.note("it ends without a word", vec![pair.heard(0)]);
    told.note("the replica has not said anything", vec![pair.heard(1)]);
    told.steps
}

fn check(real: &[String], fake: &[String]) {
    assert_eq!(real.len(), fake.len());
    for (real, fake) in real.iter().zip(fake) {
        assert_eq!(fake, real);
    }
}

#[test]
fn a_master_waits_for_its_replica_as_a_real_one_does() {
    if versions::skips_test() {
        return;
    }
    check(&waits(&mut Real::start()), &waits(&mut Fake::start()));
}

#[test]
fn a_master_waits_no_longer_than_it_may() {
    let real = runs_out_of_time(&mut Real::start());
    check(&real, &runs_out_of_time(&mut Fake::start()));
}

#[test]
fn master_with_nothing_to_wait_for_shuts_down_immediately() {
    for (timeout_s, order) in [(10, "SHUTDOWN NOW"), (0, "SHUTDOWN")] {
        let real = is_at_once(&mut Real::start(), timeout_s, order);
        check(&real, &is_at_once(&mut Fake::start(), timeout_s, order));
    }
}
