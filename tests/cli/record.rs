//! `locklab record`: what is measured on this machine, and that nothing is left behind.

#[cfg(target_os = "linux")]
mod clocks;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use locklab_redis::Server;
use locklab_testing::until;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use toml::Table;

use crate::bench::{Bench, Done};

fn table(text: &str) -> Table {
    text.parse()
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A master and a replica that has its data.
fn pair() -> (Server, Server) {
    let master = Server::builder().sync_delay(Duration::ZERO).start();
    let master = master.expect("a port is free");
    let replica = master.replica().expect("a port is free");
    (master, replica)
}

#[test]
fn a_server_its_replica_and_a_disk_are_measured_and_nothing_is_left() {
    let bench = Bench::new("record-redis");
    let (master, replica) = pair();
    let record = |out: &str| {
        bench.locklab(&[
            "record",
            "--for",
            "300ms",
            "--redis",
            &master.url(),
            "--replica",
            &replica.url(),
            "--write-key",
            "probe",
            "--fsync",
            ".",
            "--out",
            out,
        ])
    };
    // The replica may need a moment until it has the history of its master.
    let mut attempt = 0;
    until(|| {
        attempt += 1;
        let done = record(&format!("out-{attempt}"));
        match done.code {
            Some(0) => Ok(()),
            _ => Err(done.told()),
        }
    });
    let out = format!("out-{attempt}");
    let files: Vec<String> = bench.files();
    let foreign = files.iter().filter(|name| !name.starts_with("out-"));
    assert_eq!(foreign.count(), 0, "{files:?}");
    let text = bench.read(&format!("{out}/environment.toml"));
    let environment = table(&text);
    let network = environment["network"].as_table().expect("a network");
    assert!(network.contains_key("latency_ms"), "{text}");
    assert!(
        text.contains("From the reply to a write until the replica had it"),
        "{text}"
    );
    for list in ["latency.txt", "replication-lag.txt", "fsync.txt"] {
        let values = bench.read(&format!("{out}/{list}"));
        let values = values.lines().filter(|line| !line.starts_with('#'));
        let values: Vec<f64> = values.map(|line| line.parse().expect("a number")).collect();
        assert!(!values.is_empty(), "{list}");
        assert!(values.iter().all(|ms| *ms >= 0.0), "{list}: {values:?}");
    }
    let keys = ask(&master, "EXISTS probe");
    assert_eq!(keys, ":0\r\n");
    let again = record(&out);
    assert_eq!(again.code, Some(1), "{}", again.told());
    assert!(
        again.in_one_line().contains("choose another folder"),
        "{}",
        again.told()
    );
}

/// What a server answers to an inline command, in one line.
fn ask(server: &Server, command: &str) -> String {
    let mut stream = std::net::TcpStream::connect(server.address()).expect("it listens");
    let limit = Some(Duration::from_secs(10));
    stream.set_read_timeout(limit).expect("a time limit");
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .expect("it reads");
    let mut answer = String::new();
    let mut stream = BufReader::new(stream);
    stream.read_line(&mut answer).expect("it answers");
    answer
}

#[test]
fn a_key_of_somebody_else_is_neither_written_nor_deleted() {
    let bench = Bench::new("record-key");
    let (master, replica) = pair();
    assert_eq!(ask(&master, "SET theirs 7"), "+OK\r\n");
    let told = |key: &str| {
        let redis = ["record", "--for", "100ms", "--redis", &master.url()];
        let replica = ["--replica", &replica.url(), "--write-key", key];
        bench.locklab(&[&redis[..], &replica].concat())
    };
    until(|| match told("other").code {
        Some(0) => Ok(()),
        _ => Err("the replica is not there yet"),
    });
    let done = told("theirs");
    assert_eq!(done.code, Some(1), "{}", done.told());
    assert!(
        done.err.contains("the key `theirs` exists"),
        "{}",
        done.told()
    );
    assert_eq!(ask(&master, "STRLEN theirs"), ":1\r\n");
    assert_eq!(bench.files(), [""; 0]);
}

#[test]
fn a_password_is_used_and_never_written() {
    let bench = Bench::new("record-password");
    let (master, _) = pair();
    assert_eq!(ask(&master, "CONFIG SET requirepass s3cret"), "+OK\r\n");
    let address = master.address();
    let record = |login: &str, variable: &str| {
        let url = format!("redis://{login}{address}");
        let mut command = bench.command(&["record", "--for", "100ms", "--redis", &url]);
        command.env("REDISCLI_AUTH", variable);
        Done::from(command.output().expect("the program runs"))
    };
    for (login, variable) in [
        (":s3cret@", ""),
        ("default:s3cret@", "wrong"),
        ("", "s3cret"),
    ] {
        let done = record(login, variable);
        assert_eq!(done.code, Some(0), "{}", done.told());
        // On a busy machine every round trip may be one that does not count.
        assert!(
            done.out.contains(&format!("redis://{address}")),
            "{}",
            done.out
        );
        assert!(!done.told().contains("s3cret"), "{}", done.told());
    }
    for (login, expected) in [
        ("", "answers PING with `NOAUTH"),
        (":other@", "check user and password"),
    ] {
        let done = record(login, "");
        assert_eq!((done.code, &*done.out), (Some(1), ""), "{}", done.told());
        assert!(done.in_one_line().contains(expected), "{}", done.told());
        assert!(!done.told().contains("other"), "{}", done.told());
    }
}

#[test]
fn two_servers_that_are_no_pair_are_refused() {
    let bench = Bench::new("record-pair");
    let ((master, replica), (other, _)) = (pair(), pair());
    for (one, two, expected) in [
        (&replica, &master, "the role of"),
        (&master, &other, "the role of"),
        (
            &other,
            &replica,
            "it replicates another server, or has not begun",
        ),
    ] {
        let done = bench.locklab(&["record", "--redis", &one.url(), "--replica", &two.url()]);
        assert_eq!((done.code, &*done.out), (Some(1), ""), "{}", done.told());
        assert!(done.in_one_line().contains(expected), "{}", done.told());
    }
}

/// Starts to record for an hour, and waits until it does: until it has synced its file twice.
fn recording(bench: &Bench, arguments: &[&str]) -> Child {
    let arguments = [&["record", "--for", "1h", "--fsync", "."], arguments].concat();
    let mut command = bench.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("the program starts");
    let appended =
        |name: &String| name.starts_with("locklab-record-") && bench.read(name).len() > 128;
    until(|| match bench.files().iter().any(appended) {
        true => Ok(()),
        false => Err("it has not synced anything"),
    });
    child
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id"))
}

/// Waits until SIGSTOP has arrived: SIGCONT would take it back on a busy machine.
fn await_stop(child: &Child) {
    let stopped = waitpid(pid(child), Some(WaitPidFlag::WUNTRACED));
    let is_stopped = matches!(stopped, Ok(WaitStatus::Stopped(_, Signal::SIGSTOP)));
    assert!(is_stopped, "{stopped:?}");
}

fn send(child: &Child, signal: Signal) {
    kill(pid(child), signal).expect("it is there");
}

#[test]
fn a_process_that_was_stopped_has_paused() {
    let bench = Bench::new("record-stopped");
    let child = recording(&bench, &["--json", "--pause-above", "150"]);
    send(&child, Signal::SIGSTOP);
    await_stop(&child);
    std::thread::sleep(Duration::from_millis(200));
    send(&child, Signal::SIGCONT);
    send(&child, Signal::SIGINT);
    let done = Done::from(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, Some(130), "{}", done.told());
    let result = done.json();
    let pause = &result["causes"][0];
    assert_eq!(pause["name"], "pause");
    let all_ms = pause["values_ms"].as_array().expect("a list");
    let longest_ms = all_ms.last().and_then(serde_json::Value::as_f64);
    // Up to a beat of it was not late, the signal takes a moment, and a busy machine makes it longer.
    assert!(
        longest_ms.is_some_and(|ms| (190.0..60_000.0).contains(&ms)),
        "{all_ms:?}"
    );
    let environment = result["environment"].as_str().expect("a text");
    let cause = &table(environment)["cause"]["pause"];
    assert_eq!(cause["fault"].as_str(), Some("pause"));
    assert!(cause["duration_ms"]["values"].as_array().is_some());
    assert_eq!(bench.files(), [""; 0]);
}

#[test]
fn ctrl_c_writes_what_was_seen_so_far() {
    let bench = Bench::new("record-interrupted");
    let child = recording(&bench, &["--out", "out"]);
    send(&child, Signal::SIGINT);
    let done = Done::from(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, Some(130), "{}", done.told());
    let files = bench.files();
    assert!(
        files.iter().all(|name| name.starts_with("out/")),
        "{files:?}"
    );
    let environment = table(&bench.read("out/environment.toml"));
    let about = environment["about"].as_str().unwrap_or_default();
    assert!(about.contains("watched for"), "{about}");
}
