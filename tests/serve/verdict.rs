//! Verdicts on locks, and orders on standard input.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use locklab_testing::until;

use crate::{Client, connect_to, serve};

/// A program that takes orders on standard input.
struct Ordered {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    ports: Vec<u16>,
    out: PathBuf,
}

impl Ordered {
    fn new(name: &str, options: &[&str]) -> Self {
        let out = std::env::temp_dir().join(format!("locklab-{name}-{}", std::process::id()));
        let mut child = serve(&["--port", "0", "--control", "-"])
            .args(options)
            .arg("--out")
            .arg(&out)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut ordered = Ordered {
            orders: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            ports: Vec::new(),
            out,
        };
        let port = |line: &String| line.split([':', ' ']).nth(1)?.parse().ok();
        ordered.ports = ordered.answer().0.iter().filter_map(port).collect();
        ordered
    }

    fn judging(name: &str) -> Self {
        Ordered::new(name, &["--judge"])
    }

    /// The lines before the last, and the last.
    fn answer(&mut self) -> (Vec<String>, String) {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let count = self.answers.read_line(&mut line).expect("UTF-8");
            assert_ne!(count, 0, "it ended after {lines:?}");
            let line = line.trim_end().to_owned();
            if line == "OK" || line.starts_with("ERR ") {
                return (lines, line);
            }
            lines.push(line);
        }
    }

    fn orders(&mut self, order: &str) -> (Vec<String>, String) {
        let orders = self.orders.as_mut().expect("it is open");
        writeln!(orders, "{order}").expect("it reads");
        self.answer()
    }

    #[track_caller]
    fn order(&mut self, order: &str) -> Vec<String> {
        let (lines, last) = self.orders(order);
        assert_eq!(last, "OK", "{order}");
        lines
    }

    fn client(&self, node: usize) -> Client {
        connect_to(([127, 0, 0, 1], self.ports[node]).into())
    }

    /// The verdict's line about a property.
    #[track_caller]
    fn judges(&mut self, word: &str, expected: &[&str]) {
        let lines = self.order("LAB.VERDICT lock");
        assert_eq!(lines[0], word, "{lines:#?}");
        for expected in expected {
            let found = lines.iter().any(|line| line.contains(expected));
            assert!(found, "{expected} is not in {lines:#?}");
        }
        let picture = lines.iter().find_map(|line| line.strip_prefix("picture "));
        assert_eq!(picture.is_some(), word == "violated", "{lines:#?}");
        if let Some(picture) = picture {
            let picture = std::fs::read_to_string(picture).expect("it was drawn");
            assert!(picture.contains("c2"), "{picture}");
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        // It may have ended by itself, and drawn nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.out);
    }
}

impl Client {
    fn request(&mut self, words: &[&str]) {
        let parts = words.iter();
        let parts = parts.map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request = format!("*{}\r\n{}", words.len(), parts.collect::<String>());
        self.send(request.as_bytes());
    }

    /// Takes the lock as this owner; whether it was free.
    fn takes(&mut self, owner: &str, ttl_ms: &str) -> bool {
        self.request(&["SET", "lock", owner, "NX", "PX", ttl_ms]);
        self.line() != "$-1"
    }

    /// A reply of one line.
    fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("a reply");
            line.extend(byte);
        }
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    #[track_caller]
    fn releases(&mut self, owner: &str, removed: &str) {
        let script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
        self.request(&["EVAL", script, "1", "lock", owner]);
        assert_eq!(self.line(), removed);
    }

    /// Asks for the lock until the lease of its holder is over.
    fn waits(&mut self, owner: &str, ttl_ms: &str) {
        until(|| self.takes(owner, ttl_ms).then_some(()).ok_or("it is held"));
    }
}

#[test]
fn lock_that_excludes_holds() {
    let mut served = Ordered::judging("excludes");
    let (mut first, mut second) = (served.client(0), served.client(0));
    assert!(first.takes("one", "60000"));
    assert!(!second.takes("two", "60000"));
    first.releases("one", ":1");
    assert!(second.takes("two", "60000"));
    served.judges("holds", &["belief: holds", "lease: holds", "c2 is two"]);
}

#[test]
fn late_release_shows_that_two_were_in() {
    let mut served = Ordered::judging("two-in");
    let (mut first, mut second) = (served.client(0), served.client(0));
    assert!(first.takes("one", "20"));
    second.waits("two", "60000");
    // Nobody knows yet whether the first has given up.
    let lines = served.order("LAB.VERDICT lock").join("\n");
    let doubt = "nothing shows whether c1";
    assert!(
        !lines.contains("violated") && lines.contains(doubt),
        "{lines}"
    );
    first.releases("one", ":0");
    served.judges("violated", &["belief: violated: c2 was granted"]);
    let lines = served.order("LAB.VERDICT lock").join("\n");
    assert!(!lines.contains("lease: violated"), "{lines}");
}

#[test]
fn release_of_anothers_lock_is_seen() {
    let mut served = Ordered::judging("foreign");
    let (mut first, mut second) = (served.client(0), served.client(0));
    assert!(first.takes("one", "20"));
    second.waits("two", "60000");
    first.request(&[
        "EVAL",
        "return redis.call('del', KEYS[1])",
        "1",
        "lock",
        "one",
    ]);
    assert_eq!(first.line(), ":1");
    served.judges("violated", &["foreign-release: violated"]);
}

#[test]
fn step_of_a_clock_breaks_the_lease() {
    let mut served = Ordered::judging("step");
    let (mut first, mut second) = (served.client(0), served.client(0));
    assert!(first.takes("one", "60000"));
    served.order("LAB.CLOCK n1 STEP +61s");
    assert!(second.takes("two", "60000"));
    served.judges("violated", &["lease: violated: c2 was granted"]);
}

/// The release may have left before the pause was over.
#[test]
fn what_a_fault_hides_is_inconclusive() {
    let mut served = Ordered::judging("hidden");
    let (mut first, mut second) = (served.client(0), served.client(0));
    assert!(first.takes("one", "20"));
    served.order("LAB.PAUSE n1 50");
    second.waits("two", "60000");
    first.releases("one", ":0");
    served.judges(
        "inconclusive",
        &["belief: inc", "a fault held requests back"],
    );
}

#[test]
fn lock_on_several_nodes_is_that_of_the_majority() {
    let mut served = Ordered::new("majority", &["--judge", "--nodes", "3"]);
    let two = |node| [served.client(node), served.client(node)];
    let mut clients: Vec<[Client; 2]> = (0..3).map(two).collect();
    let mut takes = |owner: usize, node: usize| {
        let name = ["one", "two"][owner];
        clients[node][owner].takes(name, "60000")
    };
    // A minority is no grant.
    assert!(takes(1, 2) && takes(0, 0) && takes(0, 1) && !takes(0, 2));
    served.judges("inconclusive", &["lease: inconclusive"]);
    served.order("LAB.CLOCK n1 STEP +61s");
    assert!(takes(1, 0) && !takes(1, 1));
    served.judges(
        "violated",
        &["lease: violated: c1 was granted", "c1 is two"],
    );
}

#[test]
fn orders_on_standard_input_are_answered_until_it_ends() {
    let mut served = Ordered::new("orders", &[]);
    assert_eq!(served.order("LAB.SERVERS").len(), 1);
    let mut problem = |order: &str| served.orders(order).1;
    assert_eq!(
        problem("LAB.PAUSE n1 soon"),
        "ERR LAB.PAUSE: invalid duration `soon`; write 500, 500ms, 2.5s or 1m"
    );
    assert_eq!(
        problem("LAB.VERDICT lock"),
        "ERR nobody looks on; start with --judge"
    );
    drop(served.orders.take());
    let ended = until(|| match served.child.try_wait() {
        Ok(Some(status)) => Ok(status),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn port_in_use_says_who_to_ask() {
    let served = Ordered::new("port", &[]);
    let port = served.ports[0].to_string();
    let output = serve(&["--port", &port]).output().expect("it starts");
    let problem = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        problem.contains(&format!("ss -ltnp sport = :{port}")),
        "{problem}"
    );
}
