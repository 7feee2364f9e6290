//! Clocks that are wrong on purpose: those of the recorder by a preloaded library, that of the server by
//! its machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use locklab_redis::Server;
use locklab_redis::server::{Machine, Stop};
use locklab_shim::ClockFile;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{await_stop, send};
use crate::bench::{Bench, Done};

const MS: i64 = 1_000_000;

/// A recorder with a clock that can be changed, and the server that it asks.
struct Recorder {
    child: Child,
    clock: ClockFile,
    machine: Machine,
    stop: Stop,
    server: std::thread::JoinHandle<()>,
    /// What the server is asked.
    asked: BufReader<TcpStream>,
}

impl Recorder {
    fn start(bench: &Bench) -> Recorder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let (machine, stop) = (Machine::default(), Stop::default());
        let (its, until) = (machine.clone(), stop.clone());
        let server = std::thread::spawn(move || {
            let served = Server::builder().serve_on(listener, &its, &until);
            served.expect("it serves");
        });
        let asked = monitor(address);
        let library = locklab_shim::install(&bench.folder).expect("Linux has it");
        let path = bench.folder.join("clock");
        let clock = ClockFile::create(&path).expect("a new file");
        let url = format!("redis://{address}");
        let options = [
            "record",
            "--for",
            "1h",
            "--json",
            "--pause-above",
            "150",
            "--redis",
            &url,
        ];
        let mut command = bench.command(&options);
        command.envs(locklab_shim::environment(&library, Some(&path), None));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn().expect("the program starts");
        let mut recorder = Recorder {
            child,
            clock,
            machine,
            stop,
            server,
            asked,
        };
        // It asks for the time when it connects, and when it has begun to record.
        recorder.await_times(3);
        recorder
    }

    /// Waits until it has asked for the time so often.
    fn await_times(&mut self, times: usize) {
        let mut seen = 0;
        while seen < times {
            let mut line = String::new();
            self.asked.read_line(&mut line).expect("it asks");
            seen += usize::from(line.contains("\"TIME\""));
        }
    }

    /// Ends it; returns the sizes of the events of each cause.
    fn end(self) -> impl Fn(&str) -> Vec<f64> {
        send(&self.child, Signal::SIGINT);
        let done = Done::from(self.child.wait_with_output().expect("it ends"));
        self.stop.signal();
        self.server.join().expect("it does not panic");
        assert_eq!(done.code, Some(130), "{}", done.told());
        let result = done.json();
        move |name: &str| {
            let causes = result["causes"].as_array().into_iter().flatten();
            let mut causes = causes.filter(|cause| cause["name"] == name);
            let cause = causes
                .next()
                .unwrap_or_else(|| panic!("{name} in {result}"));
            let values = cause["values_ms"].as_array().into_iter().flatten();
            values.filter_map(Value::as_f64).collect()
        }
    }
}

/// A connection that is told what the server is asked.
fn monitor(address: SocketAddr) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let limit = Some(Duration::from_secs(30));
    stream.set_read_timeout(limit).expect("a time limit");
    stream.write_all(b"MONITOR\r\n").expect("it reads");
    let mut stream = BufReader::new(stream);
    let mut answer = String::new();
    stream.read_line(&mut answer).expect("it answers");
    assert_eq!(answer, "+OK\r\n");
    stream
}

#[test]
fn steps_of_both_clocks_are_told_apart() {
    let bench = Bench::new("record-steps");
    let mut recorder = Recorder::start(&bench);
    recorder
        .clock
        .step_wall(2_000 * MS)
        .expect("it can be written");
    recorder.machine.step_clock(-3_000_000);
    // The first one may have been on its way.
    recorder.await_times(2);
    let seen = recorder.end();
    let near = |all: &[f64], expected: f64| all.len() == 1 && (all[0] - expected).abs() < 500.0;
    let (ours, its) = (
        seen("clock-step-forwards"),
        seen("node-clock-step-backwards"),
    );
    assert!(near(&ours, 2000.0), "{ours:?}");
    assert!(near(&its, 3000.0), "{its:?}");
    for quiet in [
        "clock-step-backwards",
        "node-clock-step-forwards",
        "suspend",
    ] {
        assert_eq!(seen(quiet), [0.0; 0], "{quiet}");
    }
}

#[test]
fn a_suspended_machine_is_told_from_a_pause() {
    let bench = Bench::new("record-suspended");
    let mut recorder = Recorder::start(&bench);
    send(&recorder.child, Signal::SIGSTOP);
    await_stop(&recorder.child);
    recorder.clock.freeze().expect("it can be written");
    std::thread::sleep(Duration::from_millis(250));
    recorder.clock.thaw().expect("it can be written");
    send(&recorder.child, Signal::SIGCONT);
    let seen = recorder.end();
    let suspends = seen("suspend");
    assert!(
        suspends.len() == 1 && (250.0..60_000.0).contains(&suspends[0]),
        "{suspends:?}"
    );
    assert_eq!(seen("clock-step-forwards"), [0.0; 0]);
}
