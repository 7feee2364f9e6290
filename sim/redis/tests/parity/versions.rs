//! A `redis-server` of another version than the node's: known differences are skipped, and
//! each skipped comparison is reported on standard error.
//!
//! A comparison is excused only if the replies do differ and the difference is listed here:
//! an unknown difference of another version fails. A test gets its name from its thread, so
//! `--test-threads=1` excuses nothing.

use std::cell::Cell;
use std::io::Write;
use std::sync::LazyLock;
use std::thread;

use locklab_redis::VERSION;

/// A difference between 7.0.15 and later versions, all observed with Redis 8.2.3.
struct Known {
    /// The tests whose names begin with this.
    tests: &'static str,
    /// The requests that begin with one of these; if empty, the whole tests.
    requests: &'static [&'static str],
    /// The difference.
    why: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        tests: "absent::",
        requests: &[],
        why: "it has more commands",
    },
    Known {
        tests: "cases::diagnostics::",
        requests: &["MEMORY USAGE"],
        why: "smaller objects",
    },
    Known {
        tests: "cases::keys::scans",
        requests: &["SCAN  COUNT"],
        why: "an empty cursor is refused",
    },
    Known {
        tests: "cases::",
        requests: &["OBJECT ENCODING"],
        why: "small lists and sets are listpacks, and strings are embedded up to other lengths",
    },
    Known {
        tests: "cases::lists::places",
        requests: &["LREM l"],
        why: "the smallest integer has no absolute value",
    },
    Known {
        tests: "cases::server::",
        requests: &["CLIENT SETINFO", "HELLO"],
        why: "HELLO names the version, and CLIENT has more subcommands",
    },
    Known {
        tests: "cases::transactions::transactions",
        requests: &["EXEC"],
        why: "HELLO names the version",
    },
    Known {
        tests: "cases::zsets::",
        requests: &["ZRANGE", "ZINCRBY", "ZSCORE"],
        why: "numbers are read and written by another algorithm",
    },
    Known {
        tests: "scripts::",
        requests: &["EVAL", "GET k2"],
        why: "a script sees the version and `os`, and numbers are written by another algorithm",
    },
    Known {
        tests: "talks::blocking::",
        requests: &[
            "BLPOP a 1e18",
            "BLPOP a 1e400",
            "BLPOP a infinity",
            "2: EXEC",
            "EVAL \"return redis.call('blpop'",
        ],
        why: "time-outs have other limits, and scripts may not block",
    },
    Known {
        tests: "talks::clients::",
        requests: &["CLIENT NO-TOUCH", "3: HELLO"],
        why: "CLIENT has more to say, and HELLO names the version",
    },
    Known {
        tests: "talks::notifications::",
        requests: &["EXEC", "SET k v", "FLUSHALL"],
        why: "what a client hears of its own commands comes in another order",
    },
    Known {
        tests: "talks::own_events::",
        requests: &[],
        why: "what a client hears of its own commands comes in another order",
    },
    Known {
        tests: "talks::pubsub::messages_to_oneself",
        requests: &["EVAL", "EXEC", "PUBLISH"],
        why: "what a client hears of its own commands comes in another order",
    },
    Known {
        tests: "talks::resp3::",
        requests: &["HELLO"],
        why: "HELLO names the version",
    },
    Known {
        tests: "talks::tracking::",
        requests: &[],
        why: "what a client hears of its own commands comes in another order",
    },
    Known {
        tests: "handover::",
        requests: &[],
        why: "INFO and the log of a replica have other lines",
    },
    Known {
        tests: "replication_state::",
        requests: &[],
        why: "INFO has other lines",
    },
    Known {
        tests: "replication::a_master_passes_on",
        requests: &[],
        why: "floats and scripts are passed on in another form",
    },
    Known {
        tests: "shutdown::a_master_waits_for_its_replica",
        requests: &[],
        why: "INFO has other lines",
    },
    Known {
        tests: "random::any_sequence",
        requests: &[],
        why: "among random commands are those that differ",
    },
    Known {
        tests: "talks::random::",
        requests: &[],
        why: "among random commands are those that differ",
    },
];

/// The version of the server that the node is compared with; reported once if it is not the
/// node's.
static REAL: LazyLock<String> = LazyLock::new(|| {
    let version = locklab_testing::version();
    if version != VERSION {
        say(&format!(
            "the real server is {version}, the node is like {VERSION}: \
             what is known to differ is skipped"
        ));
    }
    version
});

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

/// The reason why this version differs.
fn known(version: &str, test: &str, request: Option<&str>) -> Option<&'static str> {
    let applies = |known: &&Known| {
        test.starts_with(known.tests)
            && match request {
                None => known.requests.is_empty(),
                Some(request) => known
                    .requests
                    .iter()
                    .any(|start| request.starts_with(start)),
            }
    };
    let found = KNOWN.iter().find(applies)?;
    (version != VERSION).then_some(found.why)
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
    let (test, request) = ("cases::keys::types", Some("OBJECT ENCODING l"));
    assert!(known("8.2.3", test, request).is_some());
    assert_eq!(known(VERSION, test, request), None);
    assert_eq!(known("8.2.3", test, Some("TYPE l")), None);
    assert_eq!(known("8.2.3", "cases::lists::places", None), None);
    assert!(known("8.2.3", "absent::x", None).is_some());
    assert_eq!(known(VERSION, "absent::x", None), None);
}
