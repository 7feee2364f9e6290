//! What a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file.
//!
//! ```no_run
//! locklab_drill::ready(&["lock", "unlock"]);
//! for order in locklab_drill::orders() {
//!     let answer = match &*order.word { "lock" => …, _ => … };
//!     order.answered(answer);
//! }
//! ```

use std::fmt::Display;
use std::io::stdin;
use std::time::Duration;

/// How a call ended.
pub enum Answer {
    Ok,
    /// Granted, and the library says for how many milliseconds.
    Granted {
        valid_ms: f64,
    },
    /// Without an error: another has the lock.
    No,
    Error(String),
}

impl Answer {
    pub fn error(error: impl Display) -> Answer {
        Answer::Error(error.to_string())
    }
}

/// What the drill is to do.
#[derive(Clone)]
pub struct Order {
    pub id: u64,
    pub word: String,
    pub wait_ms: Option<u64>,
    pub ms: Option<u64>,
}

impl Order {
    /// Orders are flat objects of words and whole numbers.
    fn read(line: &str) -> Order {
        let value = |name: &str| {
            let (_, value) = line.split_once(&format!("\"{name}\":"))?;
            let value = value.trim_start_matches('"');
            value.split(|it: char| !it.is_alphanumeric()).next()
        };
        Order {
            id: value("id")
                .and_then(|id| id.parse().ok())
                .expect("an order has an id"),
            word: value("do").expect("an order has a word").to_owned(),
            wait_ms: value("wait_ms").and_then(|ms| ms.parse().ok()),
            ms: value("ms").and_then(|ms| ms.parse().ok()),
        }
    }

    pub fn answered(&self, answer: Answer) {
        let (r, more) = match answer {
            Answer::Ok => ("ok", String::new()),
            Answer::Granted { valid_ms } => ("ok", format!(r#","valid_ms":{valid_ms}"#)),
            Answer::No => ("no", String::new()),
            Answer::Error(class) => {
                let is_plain = |it: char| !it.is_control() && !matches!(it, '"' | '\\');
                let class: String = class.chars().filter(|it| is_plain(*it)).collect();
                ("error", format!(r#","class":"{class}""#))
            }
        };
        println!(r#"{{"id":{},"r":"{r}"{more}}}"#, self.id);
    }
}

/// Says what the library has a call for.
pub fn ready(can: &[&str]) {
    println!(r#"{{"event":"ready","can":{can:?}}}"#);
}

/// The library has told its user that the lock is lost.
pub fn lost(how: &str) {
    println!(r#"{{"event":"lost","how":"{how}"}}"#);
}

/// The orders, until the standard input ends.
pub fn orders() -> impl Iterator<Item = Order> {
    stdin()
        .lines()
        .map_while(Result::ok)
        .map(|line| Order::read(&line))
}

/// The lease that is to be asked for.
pub fn lease() -> Duration {
    Duration::from_millis(variable("LOCKLAB_LEASE_MS").parse().expect("a number"))
}

/// The servers.
pub fn urls() -> Vec<String> {
    variable("REDIS_URLS")
        .split(',')
        .map(str::to_owned)
        .collect()
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
