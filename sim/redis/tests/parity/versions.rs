//! A server other than Redis 7.0.15: the node imitates the nearest that it can, known differences are skipped, and
//! each skipped comparison is reported on standard error.
//!
//! A comparison is excused only if the replies do differ and the difference is listed here:
//! an unknown difference of another version fails. A test gets its name from its thread, so
//! `--test-threads=1` excuses nothing.

use std::cell::Cell;
use std::io::Write;
use std::sync::LazyLock;
use std::thread;

use locklab_redis::{Imitated, NodeConfig, VERSION};

/// A difference between a node and other servers.
struct Known {
    /// The tests whose names begin with this.
    tests: &'static str,
    /// The servers whose names begin with one of these; if empty, all.
    servers: Vec<&'static str>,
    /// The requests that begin with one of these; if empty, the whole tests.
    requests: Vec<&'static str>,
    /// The difference.
    why: &'static str,
}

/// The known differences, from the file `versions.txt`.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let sections = include_str!("versions.txt").split("\n## ").skip(1);
    let known = sections.map(|section| {
        let mut lines = section.lines().filter(|line| !line.is_empty());
        let tests = lines.next().unwrap_or_default();
        let (about, requests): (Vec<_>, Vec<_>) =
            lines.partition(|line| line.starts_with("why: ") || line.starts_with("on: "));
        let mut about = about.into_iter();
        let servers = { about.clone() }.find_map(|line| line.strip_prefix("on: "));
        let why = about.find_map(|line| line.strip_prefix("why: "));
        Known {
            tests: tests.trim_start_matches("any"),
            servers: servers.map_or(Vec::new(), |names| names.split(' ').collect()),
            why: why.expect("a section has a reason"),
            requests,
        }
    });
    known.collect()
});

/// The server that the node is compared with, `redis-7.0.15`; reported once if it is another one.
static REAL: LazyLock<String> = LazyLock::new(|| {
    let real = locklab_testing::server().join("-");
    if real != own() {
        say(&format!(
            "the real server is {real}, the node imitates {}: what is known to differ is skipped",
            imitated(&real)
        ));
    }
    real
});

/// The server that the node is like, to the byte.
fn own() -> String {
    format!("redis-{VERSION}")
}

/// The nearest that a node can imitate.
fn imitated(real: &str) -> Imitated {
    match real {
        valkey if valkey.starts_with("valkey-") => Imitated::Valkey9_0,
        redis if redis.starts_with("redis-7.0.") => Imitated::Redis7_0,
        _ => Imitated::Redis8_4,
    }
}

/// A node that is like the real server.
pub fn node_config() -> NodeConfig {
    NodeConfig {
        imitated: imitated(&REAL),
        ..NodeConfig::default()
    }
}

/// Whether the real server is one of these.
pub fn is_one_of(servers: &str) -> bool {
    servers.split(' ').any(|server| REAL.starts_with(server))
}

thread_local! {
    static SKIPPED: Skipped = const { Skipped(Cell::new(0)) };
}

/// The number of skipped comparisons of a test; reported when its thread ends.
struct Skipped(Cell<u32>);

impl Drop for Skipped {
    fn drop(&mut self) {
        let (count, test) = (self.0.get(), test());
        if count > 0 {
            say(&format!("{test}: {count} skipped in all"));
        }
    }
}

/// Whether the difference in the replies to a request is known for this version; if so, it is
/// reported as skipped.
pub fn excuses(request: &str) -> bool {
    skip(known(&REAL, &test(), Some(request)), request)
}

/// Whether this test is known to have a different result with this version; if so, it is
/// reported as skipped.
pub fn skips_test() -> bool {
    skip(known(&REAL, &test(), None), "the whole test")
}

fn skip(why: Option<&str>, what: &str) -> bool {
    if let Some(why) = why {
        SKIPPED.with(|skipped| skipped.0.set(skipped.0.get() + 1));
        say(&format!("{}: skipped: {what}: {why}", test()));
    }
    why.is_some()
}

/// The reason why this server differs.
fn known(real: &str, test: &str, request: Option<&str>) -> Option<&'static str> {
    let applies = |known: &&Known| {
        let mut servers = known.servers.iter();
        test.starts_with(known.tests)
            && (servers.len() == 0 || servers.any(|server| real.starts_with(server)))
            && match request {
                None => known.requests.is_empty(),
                Some(request) => known
                    .requests
                    .iter()
                    .any(|start| request.starts_with(start)),
            }
    };
    let found = KNOWN.iter().find(applies)?;
    (real != own()).then_some(found.why)
}

fn test() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Bypasses the test harness, which captures `eprintln!` in a passing test.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "parity: {text}");
}

#[test]
fn only_listed_differences_between_versions_are_allowed() {
    let (test, request, own) = ("cases::keys", Some("OBJECT ENCODING l"), own());
    assert!(known("redis-8.2.3", test, request).is_some());
    assert_eq!(known(&own, test, request), None);
    assert_eq!(known("redis-8.2.3", test, Some("TYPE l")), None);
    assert_eq!(known("redis-8.2.3", "cases::lists", None), None);
    assert!(known("redis-8.2.3", "absent::x", None).is_some());
    assert_eq!(known(&own, "absent::x", None), None);
    let (test, request) = ("cases::later", Some("DELIFEQ k v"));
    assert!(known("valkey-8.1.8", test, request).is_some());
    assert_eq!(known("valkey-9.1.2", test, request), None);
}
