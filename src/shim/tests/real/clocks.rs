//! A Redis server with wrong clocks.

use std::fs;

use locklab_shim::{ClockFile, ClockReader};
use locklab_testing::until;
use locklab_values::units::{NS_PER_S, NS_PER_US};
use nix::time::{ClockId, clock_gettime};

use crate::server::{Plan, Server, is_there};

const S_NS: i64 = NS_PER_S.cast_signed();

struct Clocked {
    server: Server,
    clocks: ClockFile,
    reader: ClockReader,
    _plan: Plan,
}

fn start(test: &str) -> Clocked {
    let mut plan = Plan::new(test);
    let path = plan.folder.join("clock");
    let clocks = ClockFile::create(&path).unwrap();
    let reader = ClockReader::open(&path).unwrap();
    plan.clock = Some(path);
    Clocked {
        server: plan.start(),
        clocks,
        reader,
        _plan: plan,
    }
}

impl Clocked {
    /// The server's time, which lies between two readings of ours.
    #[track_caller]
    fn time_us(&self) -> u64 {
        let before_us = self.reader.now().wall_ns / NS_PER_US;
        let time_us = self.server.time_us();
        let after_us = self.reader.now().wall_ns / NS_PER_US;
        assert!(
            (before_us..=after_us).contains(&time_us),
            "{time_us} is not from {before_us} to {after_us}"
        );
        time_us
    }
}

fn true_mono_ns() -> i64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    time.tv_sec() * S_NS + time.tv_nsec()
}

#[test]
fn time_and_leases_follow_a_step() {
    if !is_there() {
        return;
    }
    let mut host = start("step");
    let right_us = host.time_us();
    host.server.ask("SET lock x PX 10000");
    assert_eq!(host.server.ask_one("GET lock"), "x");
    host.clocks.step_wall(11 * S_NS).unwrap();
    assert!(host.time_us() >= right_us + 11_000_000);
    assert_eq!(host.server.ask_one("GET lock"), "(nil)");

    host.server.ask("SET lock y PX 5000");
    host.clocks.step_wall(-60 * S_NS).unwrap();
    assert!(host.time_us() < right_us);
    assert!(host.server.ask_number("PTTL lock") > 50_000);
    assert_eq!(host.server.ask_one("GET lock"), "y");
}

#[test]
fn fast_clock_gains_time_and_keeps_it_when_its_rate_is_right_again() {
    if !is_there() {
        return;
    }
    let mut host = start("drift");
    let start_us = host.time_us();
    host.clocks.set_drift_ppm(500_000).unwrap();
    let fast_since_ns = true_mono_ns();
    let fast_for_ns = until(|| match true_mono_ns() - fast_since_ns {
        enough_ns if enough_ns >= 300_000_000 => Ok(enough_ns),
        _ => Err("300 ms have not passed"),
    });
    let fast_us = host.time_us();
    assert!(fast_us - start_us >= fast_for_ns.cast_unsigned() / NS_PER_US * 13 / 10);

    assert_eq!(host.clocks.set_drift_ppm(0).unwrap(), 500_000);
    let offset_ns = host.clocks.record().wall_offset_ns;
    assert!(offset_ns >= fast_for_ns / 2);
    let times_us: Vec<u64> = (0..100).map(|_| host.time_us()).collect();
    assert!(times_us[0] > fast_us);
    assert!(times_us.is_sorted());
    host.clocks.step_wall(0).unwrap();
    assert_eq!(host.clocks.record().wall_offset_ns, offset_ns);
}

/// A lease ends by the wall clock, so an almost stopped clock preserves it.
#[test]
fn a_slow_clock_prolongs_a_lease() {
    if !is_there() {
        return;
    }
    let mut host = start("slow");
    host.clocks.set_drift_ppm(-999_000).unwrap();
    host.server.ask("SET lock x PX 100");
    let since_ns = true_mono_ns();
    until(|| match true_mono_ns() - since_ns {
        200_000_000.. => Ok(()),
        _ => Err("200 ms have not passed"),
    });
    assert_eq!(host.server.ask_one("GET lock"), "x");
}

/// The allocator's thread waits until a time of day. When the clock was stepped back, it used
/// 100 % of a processor, before the library knew of its wait.
#[test]
fn a_step_back_leaves_no_thread_spinning() {
    if !is_there() {
        return;
    }
    let mut host = start("spin");
    let Some(thread) = until(|| allocator_thread(host.server.id())) else {
        eprintln!("SKIPPED: this Redis has no thread of jemalloc");
        return;
    };
    host.clocks.step_wall(-3_600 * S_NS).unwrap();
    // Memory that is freed gives the thread work.
    let fill = "for i = 1, 20000 do redis.call('SET', i, string.rep('x', 1000)) end";
    for _ in 0..3 {
        host.server.ask(&format!("EVAL \"{fill}\" 0"));
        host.server.ask("FLUSHALL");
    }
    let ran_ns = || {
        let stat = fs::read_to_string(format!("{thread}/schedstat")).unwrap();
        stat.split(' ').next().unwrap().parse::<i64>().unwrap()
    };
    let (since_ns, ran_before_ns) = (true_mono_ns(), ran_ns());
    until(|| match true_mono_ns() - since_ns {
        500_000_000.. => Ok(()),
        _ => Err("half a second has not passed"),
    });
    let ran_ns = ran_ns() - ran_before_ns;
    let passed_ns = true_mono_ns() - since_ns;
    assert!(
        ran_ns < passed_ns / 10,
        "it ran for {ran_ns} ns of {passed_ns} ns"
    );
}

/// The folder of the thread in `/proc`; `None` if a server without it has all its threads.
fn allocator_thread(process: u32) -> Result<Option<String>, &'static str> {
    let tasks = format!("/proc/{process}/task");
    let mut names = Vec::new();
    for task in fs::read_dir(&tasks).unwrap() {
        let task = task.unwrap().path().display().to_string();
        let name = fs::read_to_string(format!("{task}/comm")).unwrap_or_default();
        if name.starts_with("jemalloc") {
            return Ok(Some(task));
        }
        names.push(name);
    }
    // The threads of Redis have their names soon after they start.
    match names.iter().filter(|name| name.starts_with("bio_")).count() {
        0..3 => Err("the server has not named its threads"),
        _ => Ok(None),
    }
}
