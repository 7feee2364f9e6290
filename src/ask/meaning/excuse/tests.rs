//! Violations with what happened before them, and whether that excuses them.

use super::*;
use locklab_check::history_builder::{HistoryBuilder, MS};
use locklab_history::{ClockKind, HARMLESS_COMMANDS, PacketFault};
use locklab_model::fault::expand;
use locklab_model::scenario::parse;
use locklab_runner::run::Run;

/// The excuse for a property that such a history violates.
fn excused(property: Property, history: HistoryBuilder, extra: &str) -> Option<Excuse> {
    excused_in(property, history.ends(3000).history(), extra)
}

fn excused_in(property: Property, history: History, extra: &str) -> Option<Excuse> {
    let text = format!(
        "title = \"a program\"\nhorizon_ms = 5000\ntopology = {{ nodes = 1, clients = 2 }}\n\
         lock.name = \"set-nx-px\"\nlock.ttl_ms = 1000\n{extra}"
    );
    let scenario = parse("t.toml", &text, &[]).expect("a sound scenario");
    let run = Run {
        history,
        ..Run::default()
    };
    let run = JudgedRun::of(run, expand(&scenario.fault, 0), &scenario);
    let all = excuses(Shown::from(&run), &scenario);
    let found = all.iter().find(|(violated, _)| *violated == property);
    found
        .unwrap_or_else(|| panic!("{property} is not violated"))
        .1
}

fn granted(history: HistoryBuilder, ms: u64, client: &'static str) -> HistoryBuilder {
    let history = history.tries(ms - 5, client).granted(ms, client);
    history.holds_for(ms, client, ClockKind::Monotonic, 1000)
}

/// c1 is granted the lock, this happens, and c2 is granted it within c1's lease.
fn overlap(happens: impl Fn(HistoryBuilder) -> HistoryBuilder, extra: &str) -> Option<Excuse> {
    let before = granted(HistoryBuilder::default().tries(1, "n1"), 100, "c1");
    excused(Property::Lease, granted(happens(before), 900, "c2"), extra)
}

#[test]
fn a_lease_does_not_survive_what_its_servers_or_its_holder_suffer() {
    assert_eq!(overlap(|history| history, ""), None);
    let step = |history: HistoryBuilder| history.steps(300, "n1", 2000);
    assert_eq!(overlap(step, ""), Some(Excuse::ServerClock));
    let of_client = |history: HistoryBuilder| history.steps(300, "c1", 2000);
    assert_eq!(overlap(of_client, ""), None);
    let slow = |history: HistoryBuilder| history.drifts(300, "c1", -300_000);
    assert_eq!(overlap(slow, ""), Some(Excuse::HolderClock));
    let suspend = |history: HistoryBuilder| history.suspends(300, "c1").resumes(800, "c1");
    assert_eq!(overlap(suspend, ""), Some(Excuse::HolderSuspended));
    let failover = |history: HistoryBuilder| history.fault_begins(300, "n1", "failover");
    assert_eq!(overlap(failover, ""), Some(Excuse::FailedOver));
    let command = |history: HistoryBuilder| history.fault_begins(300, "n1", "command");
    for (line, excuse) in [
        ("DEL lock", Some(Excuse::Operator)),
        ("script flush", None),
        ("CLIENT KILL TYPE normal", None),
    ] {
        let entered = format!(
            "fault.command = {{ kind = \"command\", on = \"n1\", at_ms = 300, command = \"{line}\" }}"
        );
        assert_eq!(overlap(command, &entered), excuse, "{line}");
    }
    let listed = HARMLESS_COMMANDS.map(|word| format!("`{word}`"));
    let (last, others) = listed.split_last().expect("there are some");
    let told = format!("{} and {last}", others.join(", "));
    assert!(
        include_str!("../../../../docs/attack.md").contains(&told),
        "{told}"
    );
    let pause = |history: HistoryBuilder| {
        history
            .fault_begins(300, "c1", "pause")
            .fault_ends(800, "c1", "pause")
    };
    assert_eq!(overlap(pause, ""), None);
}

/// c1 renews its lease of a second until it is paused, and c2 is granted the lock.
#[test]
fn who_cannot_renew_its_lease_cannot_know_that_it_is_over() {
    let excuse = |paused_ms: u64, goes_on_ms: u64, released_ms: u64| {
        let before = HistoryBuilder::default().tries(95, "c1").granted(100, "c1");
        let paused = before.fault_begins(paused_ms, "c1", "pause");
        let goes_on = |history: HistoryBuilder| history.fault_ends(goes_on_ms, "c1", "pause");
        let history = match goes_on_ms < 1500 {
            true => granted(goes_on(paused), 1500, "c2"),
            false => goes_on(granted(paused, 1500, "c2")),
        };
        let history = history.releases(released_ms, "c1");
        excused(Property::Lease, history, "")
    };
    assert_eq!(excuse(600, 2500, 2520), Some(Excuse::HolderStopped));
    // Too short to miss a renewal; over by then; and it goes on for more than a lease.
    assert_eq!(excuse(1300, 2500, 2520), None);
    assert_eq!(excuse(600, 1490, 1600), None);
    assert_eq!(excuse(600, 1600, 2700), None);
    // One with a deadline knows.
    let pause = |history: HistoryBuilder| history.fault_begins(300, "c1", "pause");
    assert_eq!(overlap(pause, ""), None);
}

#[test]
fn what_a_server_keeps_it_does_not_forget() {
    let fault = |kind: &'static str| {
        move |history: HistoryBuilder| {
            history
                .fault_begins(300, "n1", kind)
                .fault_ends(400, "n1", kind)
        }
    };
    for (kept, kill, crash) in [
        ("none", true, true),
        ("aof-everysec", false, true),
        ("aof-always", false, false),
    ] {
        let kept = format!("node.persistence = \"{kept}\"");
        let lost = |is_lost: bool| is_lost.then_some(Excuse::MemoryLost);
        assert_eq!(overlap(fault("kill"), &kept), lost(kill), "{kept}");
        assert_eq!(overlap(fault("crash"), &kept), lost(crash), "{kept}");
    }
}

#[test]
fn a_node_that_is_killed_while_its_disk_is_full_loses_what_it_granted_meanwhile() {
    let killed = |disk: &'static str, until_ms| {
        move |history: HistoryBuilder| {
            let full = history.fault_begins(150, disk, "disk-full");
            let over = full.fault_ends(until_ms, disk, "disk-full");
            let killed = over.fault_begins(300, "n1", "kill");
            killed.fault_ends(400, "n1", "kill")
        }
    };
    let kept = "node.persistence = \"aof-everysec\"";
    assert_eq!(overlap(killed("n1", 300), kept), Some(Excuse::MemoryLost));
    assert_eq!(overlap(killed("n1", 250), kept), None);
    assert_eq!(overlap(killed("n2", 300), kept), None);
}

#[test]
fn what_is_granted_while_the_server_is_down_it_has_not_granted() {
    let crash = |history: HistoryBuilder| history.fault_begins(300, "n1", "crash");
    assert_eq!(overlap(crash, ""), None);
}

#[test]
fn a_fault_before_the_grant_excuses_nothing() {
    let before = HistoryBuilder::default().steps(10, "n1", 2000);
    let history = granted(granted(before, 100, "c1"), 900, "c2");
    assert_eq!(excused(Property::Lease, history, ""), None);
}

/// c1 reads, this happens, c2 is granted the lock after c1's lease and writes, and so does c1.
fn late_write(
    happens: impl Fn(HistoryBuilder) -> HistoryBuilder,
    ends: impl Fn(HistoryBuilder) -> HistoryBuilder,
) -> Option<Excuse> {
    let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
    let taken = granted(happens(before), 1200, "c2").reads(1210, "c2", 0);
    let written = ends(taken.writes(1220, "c2", 0)).writes(1600, "c1", 0);
    excused(Property::Resource, written, "")
}

#[test]
fn who_stood_still_past_its_lease_may_write_and_who_did_not_may_not() {
    let nothing = |history: HistoryBuilder| history;
    assert_eq!(late_write(nothing, nothing), None);
    let pauses = |history: HistoryBuilder| history.fault_begins(200, "c1", "pause");
    let resumes = |history: HistoryBuilder| history.fault_ends(1590, "c1", "pause");
    assert_eq!(late_write(pauses, resumes), Some(Excuse::WriterStopped));
    let sides = ["c1", RESOURCE];
    let slow = PacketFault::Slow {
        extra_ns: 1000 * MS,
    };
    let slows = |history: HistoryBuilder| history.links_fail(200, "slow", sides, slow);
    assert_eq!(late_write(slows, nothing), Some(Excuse::WriteDelayed));
    let other = |history: HistoryBuilder| history.fault_begins(200, "c2", "pause");
    assert_eq!(late_write(other, nothing), None);
}

/// c1 tells no grants; it is paused while it works, or in an earlier round.
#[test]
fn a_pause_excuses_the_write_of_its_own_round_only() {
    let written = |paused_ms, resumes_ms, reads_ms| {
        let paused = HistoryBuilder::default()
            .reads(50, "c1", 0)
            .fault_begins(paused_ms, "c1", "pause");
        let resumes = |history: HistoryBuilder| history.fault_ends(resumes_ms, "c1", "pause");
        let history = match resumes_ms < reads_ms {
            true => resumes(paused)
                .reads(reads_ms, "c1", 0)
                .reads(reads_ms + 10, "c2", 0),
            false => resumes(
                paused
                    .reads(reads_ms, "c1", 0)
                    .reads(reads_ms + 10, "c2", 0),
            ),
        };
        let history = history.writes(3100, "c2", 0).writes(3200, "c1", 0);
        excused(Property::LostUpdate, history, "")
    };
    assert_eq!(written(60, 3050, 60), Some(Excuse::WriterStopped));
    assert_eq!(written(60, 3000, 3020), None);
}

#[test]
fn a_short_stop_does_not_excuse_long_work() {
    let pauses = |history: HistoryBuilder| history.fault_begins(200, "c1", "pause");
    let resumes = |ms| move |history: HistoryBuilder| history.fault_ends(ms, "c1", "pause");
    // It pauses at 200 ms, and its write at 1,600 ms is 500 ms late.
    let paused_until = |ms| {
        let pauses = |history| resumes(ms)(pauses(history));
        late_write(pauses, |history| history)
    };
    assert_eq!(paused_until(699), None);
    assert_eq!(paused_until(700), Some(Excuse::WriterStopped));
}

#[test]
fn a_lease_that_was_extended_or_released_is_not_over() {
    let write = |before: HistoryBuilder| {
        let paused = before.fault_begins(920, "c1", "pause");
        let resumed = paused.fault_ends(1190, "c1", "pause");
        let taken = granted(resumed, 1200, "c2").reads(1210, "c2", 0);
        let written = taken.writes(1220, "c2", 0).writes(1250, "c1", 0);
        excused(Property::LostUpdate, written, "")
    };
    let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
    let is_late = Some(Excuse::WriterStopped);
    assert_eq!(write(before.clone()), is_late);
    let extended = before.prolongs(900, "c1", ClockKind::Monotonic, 1000);
    assert_eq!(write(extended.clone()), None);
    let released = extended.releases(910, "c1");
    assert_eq!(write(released), None);
}

/// c2 has read before c1's late write, and writes after it.
#[test]
fn who_overwrites_a_late_write_is_not_blamed_either() {
    let overwrites = |pauses: bool| {
        let before = granted(HistoryBuilder::default(), 100, "c1").reads(110, "c1", 0);
        let before = match pauses {
            true => before.fault_begins(200, "c1", "pause"),
            false => before,
        };
        let read = granted(before, 1200, "c2").reads(1210, "c2", 0);
        let late = match pauses {
            true => read.fault_ends(1215, "c1", "pause"),
            false => read,
        };
        let history = late.writes(1220, "c1", 0).writes(1300, "c2", 0);
        excused(Property::LostUpdate, history, "")
    };
    assert_eq!(overwrites(true), Some(Excuse::WriterStopped));
    assert_eq!(overwrites(false), None);
}

#[test]
fn a_token_that_the_resource_compares_leaves_no_excuse() {
    let history = |token| {
        let before = HistoryBuilder::default().tries(95, "c1");
        let before = match token {
            Some(token) => before.granted_with_token(100, "c1", token),
            None => before.granted(100, "c1"),
        };
        let paused = before.reads(110, "c1", 0).fault_begins(200, "c1", "pause");
        let taken = granted(paused, 1200, "c2").reads(1210, "c2", 0);
        taken
            .writes(1220, "c2", 0)
            .fault_ends(1590, "c1", "pause")
            .writes(1600, "c1", 0)
    };
    let fencing = "lock.fencing_token = true\nresource.fencing = \"writes\"";
    let of = |token, extra| excused(Property::LostUpdate, history(token), extra);
    assert_eq!(of(Some(1), fencing), None);
    // Nor if it shows none.
    let mut unshown = history(Some(1)).ends(3000).history();
    for record in &mut unshown.records {
        if let Event::Access { token, .. } = &mut record.event {
            *token = None;
        }
    }
    assert_eq!(excused_in(Property::LostUpdate, unshown, fencing), None);
    assert_eq!(of(Some(1), ""), Some(Excuse::WriterStopped));
    assert_eq!(of(None, fencing), Some(Excuse::WriterStopped));
    // A read is not compared, and the write after it would be refused.
    let regresses = |extra, accesses: fn(HistoryBuilder) -> HistoryBuilder| {
        let before = HistoryBuilder::default()
            .tries(95, "c1")
            .granted_with_token(100, "c1", 1)
            .fault_begins(200, "c1", "pause")
            .tries(1190, "c2")
            .granted_with_token(1200, "c2", 2)
            .writes(1220, "c2", 0)
            .fault_ends(1590, "c1", "pause");
        excused(Property::TokenRegression, accesses(before), extra)
    };
    let writes = |history: HistoryBuilder| history.writes(1600, "c1", 1);
    let reads = |history: HistoryBuilder| history.reads(1600, "c1", 1);
    assert_eq!(regresses("", writes), Some(Excuse::WriterStopped));
    assert_eq!(regresses(fencing, reads), Some(Excuse::WriterStopped));
    assert_eq!(regresses(fencing, writes), None);
}
