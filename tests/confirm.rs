//! Scenarios on real Redis: real servers, real processes, real signals, real time.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use locklab_history::{Access, Event, History, Phase, Record};
use locklab_model::fault::expand;
use locklab_model::scenario::Scenario;
use locklab_real::series::run_undisturbed;
use locklab_real::{ConfirmError, Programs, RealRedis, run_with, throughput};
use locklab_runner::run::Run;
use locklab_runner::simulate::{Keep, simulate};
use locklab_testing::{script, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Claim K1: the holder is paused for three times its lease between reading and writing. It
/// does nothing else in between, so a later pause would miss this place.
const K1: &str = r#"
    title = "the holder is paused for longer than its lease"
    horizon_ms = 3000

    [lock]
    name = "set-nx-px"
    ttl_ms = 300
    retry_delay_ms = 50
    retry_jitter_ms = 0

    [workload.client.c2]
    start_ms = 250

    [fault.gc]
    kind = "pause"
    on = "c1"
    after = "c1 read"
    duration_ms = 900
"#;

#[test]
fn a_pause_longer_than_the_lease_lets_a_stale_write_through() {
    let run = confirm(K1).unwrap();
    assert_eq!(
        writes(&run.history),
        [("c2", 0, Accepted(1)), ("c1", 0, Accepted(2))]
    );
    // The simulator gives the same result for the same scenario.
    let scenario = parse(K1);
    let simulated =
        simulate(&scenario, 1, &expand(&scenario.fault, 1), Keep::default()).expect("it ends");
    assert_eq!(writes(&simulated.history), writes(&run.history));
    // The pause took effect at its place, and c1 recorded no event while it lasted.
    let [begins_ns, ends_ns] = [Phase::Begins, Phase::Ends].map(|phase| at_ns(&run, "gc", phase));
    assert!(ends_ns - begins_ns >= 900_000_000);
    let c1 = run.history.records.iter().filter(|r| *r.host == *"c1");
    let (before, after): (Vec<_>, Vec<_>) = c1
        .filter(|r| !matches!(r.event, Event::Fault { .. }))
        .inspect(|r| assert!(r.at_ns < begins_ns || r.at_ns > ends_ns))
        .partition(|r| r.at_ns < begins_ns);
    assert_eq!(before.len(), 5, "acquire, belief, read");
    assert_eq!(after.len(), 7, "write, belief, a release in vain, the end");
    let version = run.server_version.as_deref().unwrap_or_default();
    assert!(version.split('.').count() >= 3);
}

#[test]
fn a_fenced_resource_refuses_the_stale_write() {
    let fenced = K1.replace("ttl_ms = 300", "ttl_ms = 300\nfencing_token = true")
        + "[resource]\nfencing = \"writes\"\n[network]\nlatency_ms = 7\n";
    let run = confirm(&fenced).unwrap();
    assert_eq!(
        writes(&run.history),
        [("c2", 0, Accepted(1)), ("c1", 0, Refused)]
    );
}

#[test]
fn killed_holder_leaves_its_lock_and_continues_its_numbering_after_restart() {
    let run = confirm(
        r#"
        title = "the holder dies and comes back"
        horizon_ms = 3000
        topology.clients = 1
        lock = { name = "set-nx-px", ttl_ms = 300, retry_delay_ms = 50 }
        [fault.oom]
        kind = "kill"
        on = ["c1", "resource"]
        after = "c1 wrote"
        duration_ms = 100
        [fault.never]
        kind = "pause"
        on = "n1"
        after = "c1 acquired #9"
        "#,
    )
    .unwrap();
    let records = &run.history.records;
    // Restarted after 100 ms, it waits until its own earlier lease of 300 ms ends, which
    // began after it had sent the request. Redis counts whole milliseconds.
    let grants = records.iter().filter_map(|r| match r.event {
        Event::BeliefBegins { grant, .. } => Some((grant, r.at_ns)),
        _ => None,
    });
    let grants: Vec<_> = grants.collect();
    let [(1, _), (2, again_ns)] = grants[..] else {
        panic!("two grants expected: {grants:?}");
    };
    assert!(matches!(records[0].event, Event::Invoke { call: 1, .. }));
    assert!(again_ns - records[0].at_ns >= 298_000_000);
    let calls = records.iter().filter_map(|r| match r.event {
        Event::Invoke { call, .. } => Some(call),
        _ => None,
    });
    let calls: Vec<u32> = calls.collect();
    assert!(
        calls.iter().copied().eq(1..=calls.len() as u32),
        "{calls:?}"
    );
    // The resource crashed too, and remembers its version.
    assert_eq!(
        writes(&run.history),
        [("c1", 0, Accepted(1)), ("c1", 1, Accepted(2))]
    );
    assert!(at_ns(&run, "oom", Phase::Ends) - at_ns(&run, "oom", Phase::Begins) >= 100_000_000);
    assert!(at_ns(&run, "never", Phase::Missed) <= run.history.end_ns);
}

#[test]
fn a_node_that_starts_again_has_forgotten_the_lock() {
    let run = confirm(
        r#"
        title = "a node without a disk dies under a long lease"
        horizon_ms = 5000
        lock = { name = "set-nx-px", ttl_ms = 60000, retry_delay_ms = 20 }
        [workload]
        hold_ms = 2000
        client.c2 = { start_ms = 400, hold_ms = 0 }
        [fault.oom]
        kind = "kill"
        on = "n1"
        after = "c1 read"
        delay_ms = 40
        duration_ms = 50
        [fault.swap]
        kind = "pause"
        on = "n1"
        at_ms = 1000
        duration_ms = 50
        "#,
    )
    .unwrap();
    assert_eq!(
        writes(&run.history),
        [("c2", 0, Accepted(1)), ("c1", 0, Accepted(2))]
    );
    let oom_ns = at_ns(&run, "oom", Phase::Begins);
    let belief = |r: &&Record| *r.host == *"c2" && matches!(r.event, Event::BeliefBegins { .. });
    let c2 = run.history.records.iter().find(belief);
    assert!(c2.unwrap().at_ns > oom_ns);
    assert!(at_ns(&run, "swap", Phase::Ends) - at_ns(&run, "swap", Phase::Begins) >= 50_000_000);
}

#[test]
fn horizon_ends_the_run_and_its_stopped_processes() {
    let short = K1
        .replace("horizon_ms = 3000", "horizon_ms = 200")
        .replace("duration_ms = 900", "");
    let run = confirm(&short).unwrap();
    let end_ms = run.history.end_ns / 1_000_000;
    assert!((200..1200).contains(&end_ms), "{end_ms} ms");
    assert_eq!(writes(&run.history), []);
}

#[test]
fn scenario_that_real_redis_cannot_run_is_rejected_by_name() {
    let monotonic = format!("{K1}[node]\nclock = \"monotonic\"\n");
    let error = confirm(&monotonic).unwrap_err();
    assert!(matches!(error, ConfirmError::NodeClock), "{error:?}");
    assert!(error.to_string().contains("--on simulator"));
}

#[test]
fn programs_that_are_missing_or_wrong_are_named() {
    let scenario = parse(K1);
    let schedule = expand(&scenario.fault, 0);
    let run = |programs| {
        run_with(
            &RealRedis::new(programs),
            &scenario,
            0,
            &schedule,
            Keep::default(),
        )
        .unwrap_err()
    };
    let error = run(Programs {
        redis_server: "/nowhere/redis-server".into(),
        ..programs()
    });
    assert!(matches!(error, ConfirmError::NoRedis { .. }), "{error:?}");
    assert!(error.to_string().contains("apt-get install redis-server"));
    let error = run(Programs {
        redis_server: "/bin/cat".into(),
        ..programs()
    });
    assert!(matches!(error, ConfirmError::NotRedis { .. }), "{error:?}");
    let error = run(Programs {
        locklab: "/nowhere/locklab".into(),
        ..programs()
    });
    assert!(matches!(error, ConfirmError::Start { .. }), "{error:?}");
    let error = run(Programs {
        locklab: "/bin/echo".into(),
        ..programs()
    });
    assert!(matches!(error, ConfirmError::Died { .. }), "{error:?}");
}

#[test]
fn nothing_is_left_after_a_run() {
    let mut bench = Bench::start("over", 300);
    let family = bench.await_pause();
    assert!(bench.process.wait().unwrap().success());
    assert_eq!(survivors(&family), []);
    assert!(folders_of(bench.process.id()).is_empty());
}

#[test]
fn nothing_is_left_after_a_bench_that_was_killed() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let mut bench = Bench::start("killed", 600_000);
        let family = bench.await_pause();
        kill(Pid::from_raw(bench.process.id() as i32), signal).unwrap();
        // Neither waits for the horizon, and one of them can clean up itself.
        until(|| match bench.process.try_wait().unwrap() {
            Some(_) => Ok(()),
            None => Err(format!("it goes on after {signal}")),
        });
        // The kernel kills them immediately, and they disappear soon after.
        until(|| match &survivors(&family)[..] {
            [] => Ok(()),
            some => Err(format!("after {signal}: {some:?}")),
        });
        until(|| match &folders_of(bench.process.id())[..] {
            [] => Ok(()),
            some => Err(format!("after {signal}: {some:?}")),
        });
    }
}

/// The bench, or the bench and all its processes, are killed when it has made so many files.
#[test]
fn the_next_start_deletes_the_folder_of_a_bench_killed_at_any_moment() {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let temporary = temporary.join(format!("moments-{}", std::process::id()));
    fs::create_dir(&temporary).unwrap();
    for files in 1..=6 {
        for family_too in [false, true] {
            let mut bench = Bench::start_in("moments", 60_000, &temporary);
            until_at_once(|| {
                let own = folders_in(&temporary, bench.process.id()).into_iter();
                own.map(|folder| 1 + count(&folder)).sum::<usize>() >= files
            });
            let mut killed = vec![bench.process.id()];
            if family_too {
                let children = processes().into_iter();
                let children = children.filter(|process| process.parent == bench.process.id());
                killed.splice(0..0, children.map(|process| process.id));
            }
            for id in killed {
                // A process may have ended with its parent.
                let _ = kill(Pid::from_raw(id as i32), Signal::SIGKILL);
            }
            bench.process.wait().unwrap();
        }
    }
    let mut next = Bench::start_in("moments-next", 300, &temporary);
    assert!(next.process.wait().unwrap().success());
    until(|| match count(&temporary) {
        0 => Ok(()),
        files => Err(format!("{files} files in {}", temporary.display())),
    });
    fs::remove_dir(&temporary).unwrap();
}

/// The files and folders below this one.
fn count(folder: &Path) -> usize {
    // A file may be deleted before it is read.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| 1 + count(&entry.path())).sum()
}

/// Waits without a pause, to meet a moment.
fn until_at_once(happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < deadline, "it never happened");
    }
}

/// Every setting whose servers are installed grants some locks; the test does not check how many.
#[test]
fn the_throughput_of_every_setting_is_measured() {
    let effort = throughput::Effort {
        clients: 2,
        times: 1,
        lasts: Duration::from_millis(20),
    };
    let (programs, stop) = (programs(), AtomicBool::new(false));
    let is_there = |it: &&throughput::Setting| it.version(&programs).is_ok();
    let there: Vec<_> = { throughput::SETTINGS.iter() }
        .filter(is_there)
        .copied()
        .collect();
    let is_redis = |it: &&throughput::Setting| matches!(it, throughput::Setting::Redis { .. });
    let redis: Vec<_> = throughput::SETTINGS.iter().filter(is_redis).collect();
    assert!(there.iter().filter(is_redis).eq(redis), "{there:?}");
    let measured = throughput::measure(&programs, &there, effort, &stop, &|| {});
    let measured = measured.expect("they answer");
    let settings: Vec<_> = measured.iter().map(|one| one.setting).collect();
    assert_eq!(settings, there);
    for one in measured {
        assert!(
            one.per_second.len() == 1 && one.per_second[0] > 0.0 && !one.taken_us.is_empty(),
            "{one:?}"
        );
    }
}

/// Its cells are counts, and no prediction is said to hold after two runs.
#[test]
fn a_cell_of_the_matrix_is_played_on_a_real_server() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("matrix-on-redis");
    fs::create_dir_all(&folder).expect("it can be made");
    // It notes with what it is started.
    let (server, starts) = (folder.join("server"), folder.join("starts"));
    let noting = format!(
        "#!/bin/sh\necho \"$1\" >> '{}'\nexec {} \"$@\"\n",
        starts.display(),
        locklab_testing::program().to_string_lossy()
    );
    script(&server, &noting);
    let output = Command::new(env!("CARGO_BIN_EXE_locklab"))
        .args(["study", "matrix", "--lock", "set-nx-px ()"])
        .args(["--problem", "outlives", "--on", "redis", "--seeds", "2"])
        .args(["--json", "--out"])
        .arg(&folder)
        .arg("--server")
        .arg(&server)
        .output()
        .expect("it is built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let cell = &told["results"][0];
    assert_eq!(cell["violated"], 2, "{told:#}");
    let page = fs::read_to_string(folder.join("matrix/redis-matrix.md")).expect("it is written");
    assert!(page.contains("2 of 2 runs"), "{page}");
    let starts = fs::read_to_string(starts).expect("it was started");
    let served = starts.lines().filter(|it| it.ends_with("redis.conf"));
    assert!(served.count() >= 2, "{starts}");
    let environment = told["environment"].as_str().unwrap_or_default();
    assert!(page.contains(&format!(", on {environment}")), "{page}");
    fs::remove_dir_all(folder).expect("it is there");
}

fn confirm(scenario: &str) -> Result<Run, ConfirmError> {
    let scenario = parse(scenario);
    let schedule = expand(&scenario.fault, 1);
    let real = RealRedis::new(programs());
    run_undisturbed(&real, &scenario, 1, &schedule, Keep::MESSAGES)
}

fn parse(scenario: &str) -> Scenario {
    toml::from_str(scenario).unwrap()
}

fn programs() -> Programs {
    Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        redis_server: locklab_testing::program().into(),
        ..Programs::find().expect("this program has a path")
    }
}

/// The response of the resource to a write.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Accepted(u64),
    Refused,
}
use Answer::{Accepted, Refused};

/// The writes that reached the resource: the client, the version it was computed from, the
/// response.
fn writes(history: &History) -> Vec<(&str, u64, Answer)> {
    let write = |event| match event {
        &Event::Access {
            ref client,
            access: Access::Write { based_on, version },
            accepted,
            ..
        } => {
            let answer = if accepted { Accepted(version) } else { Refused };
            Some((&**client, based_on, answer))
        }
        _ => None,
    };
    history
        .records
        .iter()
        .filter_map(|r| write(&r.event))
        .collect()
}

/// The time at which a fault reached this phase, in nanoseconds since the start of the run.
fn at_ns(run: &Run, name: &str, wanted: Phase) -> u64 {
    let here = |event: &Event| matches!(event, Event::Fault { fault, phase, .. } if **fault == *name && *phase == wanted);
    let record = run.history.records.iter().find(|r| here(&r.event));
    record
        .unwrap_or_else(|| panic!("{name} never came to {wanted:?}"))
        .at_ns
}

/// `locklab run` as a separate process, with a scenario that only its horizon ends: c1 is
/// stopped and never continued.
struct Bench {
    process: Child,
    file: PathBuf,
}

impl Bench {
    fn start(name: &str, horizon_ms: u64) -> Self {
        Self::start_in(name, horizon_ms, &std::env::temp_dir())
    }

    /// With this folder for temporary files.
    fn start_in(name: &str, horizon_ms: u64, temporary: &Path) -> Self {
        let horizon = format!("horizon_ms = {horizon_ms}");
        let scenario = K1
            .replace("horizon_ms = 3000", &horizon)
            .replace("duration_ms = 900", "");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}.toml", std::process::id()));
        fs::write(&file, scenario).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_locklab"))
            .args(["run".as_ref(), file.as_os_str()])
            .args(["--on", "redis"])
            .env("TMPDIR", temporary)
            // A process that survived the bench would keep the test's own output open.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, file }
    }

    /// Waits until c1 is stopped in the middle of the run; returns the processes of the run.
    fn await_pause(&self) -> Vec<Process> {
        // Otherwise a look for them afterwards proves nothing.
        until(|| match folders_of(self.process.id()).is_empty() {
            false => Ok(()),
            true => Err("the run has no folder"),
        });
        let family = until(|| {
            let mut family = processes();
            family.retain(|process| process.parent == self.process.id());
            match family.iter().any(|process| process.state == "T") {
                true => Ok(family),
                false => Err("the fault never struck"),
            }
        });
        assert_eq!(family.len(), 5, "c1, c2, n1, resource, janitor");
        family
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// A process of this machine, identified by its id and start time, because ids are reused.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    state: String,
    /// In clock ticks since the machine was started.
    started: u64,
}

/// The processes among these that are still alive.
fn survivors(family: &[Process]) -> Vec<Process> {
    let mut alive = processes();
    alive.retain(|process| {
        let same = |one: &Process| one.id == process.id && one.started == process.started;
        process.state != "Z" && family.iter().any(same)
    });
    alive
}

/// The folders of the runs of this bench.
fn folders_of(bench: u32) -> Vec<PathBuf> {
    folders_in(&std::env::temp_dir(), bench)
}

/// Those with this folder for temporary files.
fn folders_in(temporary: &Path, bench: u32) -> Vec<PathBuf> {
    let prefix = format!("locklab-run-{bench}-");
    let entries = fs::read_dir(temporary).unwrap().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(&prefix)
    });
    paths
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    // A process may have ended before it is read.
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| process(&stat)).collect()
}

/// Reads `/proc/ID/stat`: `ID (name) state parent …`, the start time is the 22nd.
fn process(stat: &str) -> Option<Process> {
    let (id, _) = stat.split_once(' ')?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Process {
        id: id.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        state: fields[0].into(),
        started: fields.get(19)?.parse().ok()?,
    })
}
