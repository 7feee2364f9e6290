//! Conversations on several connections, one request per line. Both servers must behave the same.
//!
//! A line is a request on the connection whose number it starts with, `2: PING`; on the first
//! without one. `$2` stands for the client id of the second. Words with spaces are in double
//! quotes, and `\n` there is a line break. With `~` only the types of the replies have to be equal.
//! `sleep N` waits N milliseconds.

mod clients;
mod monitor;
mod own_events;
mod random;
mod tracking;

use std::time::Duration;

use crate::requests;
use crate::talk::Talk;
use crate::versions;
use crate::wire::{Likeness, words};

files!("talks": blocking, clients, config, databases, eviction, monitor, notifications, pubsub, resp3, tracking);

fn check(cases: &[&str]) {
    if versions::skips_test() {
        return;
    }
    let mut talk = Talk::start();
    let mut failures = Vec::new();
    for case in cases {
        talk.clear();
        for line in requests(case) {
            let (likeness, spoken) = match line.strip_prefix('~') {
                Some(line) => (Likeness::Shape, line),
                None => (Likeness::Bytes, line),
            };
            let differences = match spoken.strip_prefix("sleep ") {
                Some(ms) => {
                    let ms = ms.parse().expect("a line `sleep N` has a number");
                    talk.sleep(Duration::from_millis(ms), likeness)
                }
                None => {
                    let (number, request) = match spoken.split_once(": ") {
                        Some((number, request)) if number.len() == 1 => {
                            (number.parse().expect("a connection has a number"), request)
                        }
                        _ => (1, spoken),
                    };
                    talk.say(number, &words(&request.replace("\\n", "\n"), '"'), likeness)
                }
            };
            if !differences.is_empty() && !versions::excuses(spoken) {
                let differences = differences.join("\n");
                failures.push(format!("{line}\n{differences}\n  in: {}", case.trim()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
