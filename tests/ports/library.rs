//! A participant that is a program with the library. It reads orders from standard input, and writes an
//! answer for each to standard output.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use crate::participant::{Order, Participant};
use crate::{LEASE_MS, root};

/// Starts the program, which has to say `ready` first.
pub fn start(words: &[String], servers: &[SocketAddr]) -> Participant {
    let urls: Vec<String> = servers
        .iter()
        .map(|server| format!("redis://{server}"))
        .collect();
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .env("REDIS_URL", &urls[0])
        .env("REDIS_URLS", urls.join(","))
        .env("LOCKLAB_LEASE_MS", LEASE_MS.to_string())
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("start {}: {error}", words.join(" ")));
    let mut stdin = child.stdin.take().expect("it is piped");
    let stdout = child.stdout.take().expect("it is piped");
    let (sender, answers) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let child = Killed(child);
    let order = move |order: Order| {
        let _of_this_participant = &child;
        let _ = writeln!(stdin, "{}", order.word());
        let _ = stdin.flush();
    };
    let participant = Participant {
        order: Box::new(order),
        answers,
    };
    participant.get_ready();
    participant
}

/// A process that ends with its owner.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
