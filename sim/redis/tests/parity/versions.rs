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

/// A difference between 7.0.15 and later versions.
struct Known {
    /// The tests whose names begin with this.
    tests: &'static str,
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
        let why = lines.next().and_then(|line| line.strip_prefix("why: "));
        Known {
            tests,
            why: why.expect("a section has a reason"),
            requests: lines.collect(),
        }
    });
    known.collect()
});

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
    let (test, request) = ("cases::keys", Some("OBJECT ENCODING l"));
    assert!(known("8.2.3", test, request).is_some());
    assert_eq!(known(VERSION, test, request), None);
    assert_eq!(known("8.2.3", test, Some("TYPE l")), None);
    assert_eq!(known("8.2.3", "cases::lists", None), None);
    assert!(known("8.2.3", "absent::x", None).is_some());
    assert_eq!(known(VERSION, "absent::x", None), None);
}
