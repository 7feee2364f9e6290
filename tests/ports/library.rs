//! A participant that is a program with the library: a drill, whose protocol is in `docs/score.md`.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};

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
            if let Some(answer) = answer(&line)
                && sender.send(answer).is_err()
            {
                return;
            }
        }
    });
    let child = Killed(child);
    let mut orders = 0;
    let order = move |order: Order| {
        let _of_this_participant = &child;
        orders += 1;
        let line = json!({ "id": orders, "do": order.word() });
        let _ = writeln!(stdin, "{line}");
        let _ = stdin.flush();
    };
    let participant = Participant {
        order: Box::new(order),
        answers,
    };
    participant.get_ready();
    participant
}

/// What a line says: `ready`, or how a call ended.
fn answer(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let word = line.get("r").or_else(|| line.get("event"))?.as_str()?;
    // What was lost nobody asked for.
    (word != "lost").then(|| word.to_owned())
}

/// A process that ends with its owner.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
