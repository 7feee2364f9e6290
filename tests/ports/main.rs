//! Libraries and their ports: each library with a port in the catalogue does the same exercises as the
//! port, on real servers, and the requests that reach the servers are compared.
//!
//! `cargo xtask clients --ports` installs the libraries, and names them in `LOCKLAB_PORTS`; without it
//! only the parts of the comparison are tested. A difference fails, unless the library's `client.toml`
//! has exactly this difference with a reason. A difference there that no longer exists fails too.
//!
//! `participant.rs` is the one interface to both, `library.rs` and `port.rs` implement it, `exercise.rs` has
//! the exercises, `request.rs`, `words.rs` and `rounds.rs` turn requests into words that two implementations
//! can share, and `compare.rs` knows which difference has a reason. Nothing here knows a library: all that is
//! special to one is data in its `client.toml`. `docs/clients.md` has what was learned.

mod compare;
mod description;
mod exercise;
mod library;
mod monitor;
mod participant;
mod port;
mod request;
mod rounds;
mod words;

use std::path::Path;

use description::Port;
use exercise::{Phase, Session};
use participant::Participant;

/// The lease of all locks here: long enough that a slow machine renews it in time.
const LEASE_MS: u64 = 3000;

/// How often a library and its port are compared while they differ.
const COMPARISONS: usize = 3;

/// The libraries to compare, separated by commas: `redisson`, or one of its locks, `redisson/RLock`.
const NAMES: &str = "LOCKLAB_PORTS";

#[test]
fn libraries_and_ports_send_the_same_requests() {
    let names = std::env::var(NAMES).unwrap_or_default();
    if names.is_empty() {
        println!("skipped: {NAMES} names no library; see `cargo xtask clients --ports`");
    }
    let mut unexplained = Vec::new();
    for chosen in names.split(',').filter(|name| !name.is_empty()) {
        let (name, title) = chosen.split_once('/').unwrap_or((chosen, ""));
        let is_chosen = |port: &Port| title.is_empty() || port.title == title;
        for port in description::ports(name).into_iter().filter(is_chosen) {
            println!("{name}: {} and {}", port.title, port.lock_name());
            unexplained.extend(lasting_differences(name, &port));
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n\n"));
}

#[test]
fn each_lock_names_the_libraries_of_which_it_is_a_port() {
    for entry in locklab_locks::CATALOGUE {
        let is_of_it = |port: &Port| port.lock_name() == entry.name;
        let names = description::names().into_iter();
        let ported = names.filter(|name| description::ports(name).iter().any(is_of_it));
        let libraries: Vec<String> = ported.map(|name| description::library(&name)).collect();
        assert_eq!(entry.libraries, libraries, "{}", entry.name);
    }
}

/// What is not explained in any of up to three comparisons: on a busy machine a lease may be over before its holder
/// uses it.
fn lasting_differences(name: &str, port: &Port) -> Vec<String> {
    let mut unexplained = differences(name, port);
    for _ in 1..COMPARISONS {
        if !unexplained.is_empty() {
            println!(
                "  compared again, since this differed:\n{}",
                unexplained.join("\n")
            );
            unexplained = differences(name, port);
        }
    }
    unexplained
}

/// What is not explained of the differences between a library's lock and its port.
fn differences(name: &str, port: &Port) -> Vec<String> {
    let (library, ported) = std::thread::scope(|scope| {
        let library = scope.spawn(|| seen(port, |servers| library::start(&port.run, servers)));
        let ported = seen(port, |servers| {
            port::start(&port.spec(), port.mode(), servers)
        });
        (
            library.join().expect("the library does the exercises"),
            ported,
        )
    });
    let mut unexplained = compare::unexplained(port, &library, &ported);
    unexplained.extend(compare::wrong_gaps(port, &library, &ported));
    if let Some(reason) = &port.more_renewals {
        println!("  more renewals: {reason}");
    }
    for chance in &port.by_chance {
        println!("  {}: only the answers: {}", chance.phase, chance.reason);
    }
    for without in &port.without {
        println!("  without `{}`: {}", without.text, without.reason);
    }
    for alike in &port.alike {
        println!(
            "  `{}` for `{}`: {}",
            alike.port, alike.library, alike.reason
        );
    }
    for difference in &port.differences {
        println!("  {}: {}", difference.phase, difference.reason);
    }
    { unexplained.into_iter() }
        .map(|it| format!("{name}, {}: {it}", port.title))
        .collect()
}

/// The exercises, done by two participants on servers of their own.
fn seen(port: &Port, start: impl Fn(&[std::net::SocketAddr]) -> Participant) -> Vec<Phase> {
    let mut session = Session::start(port);
    exercise::all(&mut session, port, start)
}

/// The root of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_port_is_a_lock_of_the_catalogue() {
    let mut count = 0;
    for name in description::names() {
        for port in description::ports(&name) {
            assert_eq!(port.spec().entry().name, port.lock_name(), "{name}");
            assert!(port.nodes > 0 && !port.run.is_empty(), "{name}");
            for difference in &port.differences {
                assert!(difference.reason.len() > 20, "{name}: {}", difference.phase);
                assert_ne!(difference.library, difference.port, "{name}");
            }
            count += 1;
        }
    }
    assert!(count > 0);
}
