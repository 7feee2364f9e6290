//! INFO: its fields and counters after the same requests.

use crate::data::{cases, words};
use crate::pair::Pair;
use crate::versions;

/// The replies of both servers to INFO, as lines.
fn info(pair: &mut Pair, sections: &str) -> [Vec<String>; 2] {
    let line = words(&format!("INFO {sections}"));
    let line: Vec<&[u8]> = line.iter().map(Vec::as_slice).collect();
    let (real, fake) = pair.replies(0, &line);
    [real, fake].map(|reply| {
        let text = String::from_utf8_lossy(&reply);
        let lines = text.split("\r\n").filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with('$'));
        lines.map(str::to_owned).collect()
    })
}

/// The names in a section of the file.
fn fields(section: &str) -> Vec<String> {
    let mut cases = cases(include_str!("info/fields.txt")).into_iter();
    let case = cases.find(|case| case.section == section);
    case.expect("the file has this section").lines
}

/// The name of a field; the whole line of a section.
fn name(line: &str) -> String {
    line.split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn fields_and_their_order_match_redis() {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(1);
    for sections in [
        "",
        "all",
        "everything",
        "default",
        "stats",
        "server clients",
        "nope",
    ] {
        let [real, fake] = info(&mut pair, sections);
        let is_time = |name: &String| name.starts_with("cmdstat_time");
        let real: Vec<String> = real.iter().map(|line| name(line)).collect();
        let fake: Vec<String> = fake.iter().map(|line| name(line)).collect();
        let mut rest = real.iter().filter(|name| !is_time(name));
        for name in fake.iter().filter(|name| !name.starts_with("cmdstat_")) {
            assert!(
                rest.any(|other| other == name),
                "INFO {sections}: {name} is not there, or not in this place"
            );
        }
        let is_section = |name: &&String| name.starts_with("# ") && *name != "# Latencystats";
        let sections_of = |names: &[String]| -> Vec<String> {
            names.iter().filter(is_section).cloned().collect()
        };
        assert_eq!(sections_of(&fake), sections_of(&real), "INFO {sections}");
    }
}

#[test]
fn fields_without_measurements_equal_those_of_redis() {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(1);
    let script = words("SCRIPT LOAD `return 1`");
    let script: Vec<&[u8]> = script.iter().map(Vec::as_slice).collect();
    pair.replies(0, &script);
    let [real, fake] = info(&mut pair, "everything");
    for name in fields("without measurements, and equal to those of redis") {
        let line = |lines: &[String]| {
            let start = format!("{name}:");
            lines.iter().find(|line| line.starts_with(&start)).cloned()
        };
        // The clock of the tests is a client of the real server alone, an administrator one of
        // the node.
        let (real, fake) = (line(&real), line(&fake));
        assert!(real.is_some(), "{name} is not in Redis");
        assert_eq!(fake, real);
    }
    for name in fields("only measured") {
        let has = |line: &String| line.starts_with(&format!("{name}:"));
        assert!(real.iter().any(has) && fake.iter().any(has), "{name}");
    }
}

#[test]
fn malformed_requests_are_errors_too() {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(1);
    for bytes in [&b"*x\r\n"[..], b"*1\r\nfoo\r\n", b"SET \"x\r\n"] {
        let same = pair.compare_raw(bytes);
        same.expect("both refuse it alike");
    }
    let [real, fake] = info(&mut pair, "errorstats");
    assert_eq!(fake, real);
}

#[test]
fn synchronisations_are_counted() {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(1);
    let config = words("CONFIG SET repl-diskless-sync no");
    let config: Vec<&[u8]> = config.iter().map(Vec::as_slice).collect();
    pair.replies(0, &config);
    let count = |pair: &mut Pair, step: &str| {
        let counts = info(pair, "stats").map(|lines| {
            let synced = |line: &String| line.starts_with("sync_");
            lines.into_iter().filter(synced).collect::<Vec<_>>()
        });
        assert_eq!(counts[1], counts[0], "{step}");
    };
    for request in ["PSYNC ? -1\r\n", "PSYNC abc 5\r\n", "PSYNC abc -1\r\n"] {
        pair.send(request.as_bytes());
        count(&mut pair, request);
    }
    pair.send_with_id(|id| format!("PSYNC {id} 1\r\n"));
    count(&mut pair, "the right history");
}

#[test]
fn the_query_buffer_is_shown() {
    if versions::skips_test() {
        return;
    }
    let mut pair = Pair::start(1);
    for bytes in [
        "*2\r\n$3\r\nGET\r\n$10\r\nabc",
        "*2\r\n$3\r\nGET\r\n",
        "*2\r\n$3\r\nGET\r\n$1",
        "*22\r",
        "PING\r\nPING",
        "BLPOP nope 0\r\nPING\r\nPI",
    ] {
        pair.send(bytes.as_bytes());
    }
    let (real, fake) = pair.replies(0, &[b"CLIENT", b"LIST"]);
    let [real, fake] = [real, fake].map(|list| {
        let list = String::from_utf8_lossy(&list).into_owned();
        let words = list.split_whitespace();
        let sizes = words.filter_map(|word| word.strip_prefix("qbuf="));
        sizes.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(fake, real);
}
