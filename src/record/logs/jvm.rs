//! HotSpot's logs: the unified one of JDK 9 and later, and the lines of JDK 8 about stopped threads.
//!
//! A safepoint is the whole time for which the application stands still: reaching it, and what is done
//! there, a collection or something else. So a collection is a part of the safepoint that the log has after it, if
//! their times agree. Others count: the safepoint of a collection may not be in the log.

use super::old::Old;
use super::{Covered, Said, Unread};
use crate::calendar::iso_s;

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// By the clock of the machine, and by the time since the start.
    covered: [Covered; 2],
    pauses_ms: Vec<f64>,
    /// Collections since the last safepoint.
    collections: Vec<Collection>,
    stalls_ms: Vec<f64>,
    old: Old,
    unread: Unread,
}

/// A time by the clock of the machine, and since the start.
type Now = [Option<f64>; 2];

#[derive(Debug)]
struct Collection {
    ms: f64,
    /// When it began, in old logs, or ended.
    at: Now,
}

/// What rounding, and the time that writing a line takes, may add.
const SLACK_MS: f64 = 10.0;

impl Collection {
    /// Whether it can be a part of a safepoint of this length that ended at this time.
    fn is_within(&self, ms: f64, end: Now) -> bool {
        let of_clocks = self.at.into_iter().zip(end);
        let mut apart = of_clocks.filter_map(|(at, end)| Some((end? - at?) * 1e3));
        let is_then = apart
            .next_back()
            .is_none_or(|apart_ms| (0.0..=ms + SLACK_MS).contains(&apart_ms));
        is_then && self.ms <= ms * 1.01 + 0.1
    }
}

impl Log {
    pub(super) fn add(&mut self, number: u64, line: &str) {
        for (covered, at_s) in self.covered.iter_mut().zip(times_s(line)) {
            if let Some(at_s) = at_s {
                covered.add(at_s);
            }
        }
        if let Some((number, line)) = self.old.lost(number) {
            self.unread.add(number, &line);
        }
        let at = self.now();
        let before = self.collections.len();
        let collections = &mut self.collections;
        self.old
            .add(number, line, |ms| collections.push(Collection { ms, at }));
        let is_understood = collections.len() > before;
        if let Some(ms) = safepoint_ms(line).or_else(|| stopped_ms(line)) {
            self.safepoint(ms);
        } else if let Some(ms) = stall_ms(line) {
            self.stalls_ms.push(ms);
        } else if let Some(ms) = collection_ms(line) {
            self.collections.push(Collection { ms, at });
        } else if !is_understood && may_be_a_pause(line) {
            self.unread.add(number, line);
        }
    }

    /// Takes a safepoint that ended just now, and with it the collections before that are parts of it.
    fn safepoint(&mut self, ms: f64) {
        let now = self.now();
        while self
            .collections
            .pop_if(|it| it.is_within(ms, now))
            .is_some()
        {}
        self.keep_collections();
        self.pauses_ms.push(ms);
    }

    /// Counts the collections of which the log has no safepoint.
    fn keep_collections(&mut self) {
        let rest = self.collections.drain(..);
        self.pauses_ms.extend(rest.map(|it| it.ms));
    }

    /// The time of the last line that had one, by each clock.
    fn now(&self) -> Now {
        self.covered.each_ref().map(|it| it.last_s)
    }

    pub(super) fn said(mut self) -> Said {
        self.keep_collections();
        if let Some((number, line)) = self.old.lost(u64::MAX) {
            self.unread.add(number, &line);
        }
        let [machine, start] = self.covered;
        Said {
            pauses_ms: self.pauses_ms,
            stalls_ms: self.stalls_ms,
            // The time since the start is never set.
            covered: match machine.lines > start.lines {
                true => machine,
                false => start,
            },
            unread: self.unread,
        }
    }
}

/// `Allocation Stall (query-481) 315.305ms`, `Relocation Stall (main) 52.1ms` of ZGC: one thread waited.
fn stall_ms(line: &str) -> Option<f64> {
    number(stall(line)?.strip_suffix("ms")?)
}

/// The last word of such a line.
fn stall(line: &str) -> Option<&str> {
    let what = ["Allocation Stall (", "Relocation Stall ("];
    let place = what.iter().find_map(|it| line.find(it))?;
    // Not the cause of a collection.
    if line[..place].ends_with('(') {
        return None;
    }
    line.split_whitespace().next_back()
}

/// Whether a line that was not understood may tell how long something stood still.
fn may_be_a_pause(line: &str) -> bool {
    let mut depth = 0_u32;
    // What is in parentheses is a cause or a size.
    let said: String = line
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *c != ')'
        })
        .collect();
    let said = said.to_lowercase();
    let is_long = said.split([' ', ',', ':']).any(|word| {
        let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &word[number.len()..];
        matches!(unit, "ns" | "us" | "ms" | "s") && number.parse::<f64>().is_ok()
    });
    let stops = ["pause", "stall", "stopped"]
        .iter()
        .any(|it| said.contains(it));
    said.contains("pacing accrued") || is_long && stops || is_cut_off(line)
}

/// Whether a line that was not understood begins like one that tells how long something stood still.
fn is_cut_off(line: &str) -> bool {
    let begins = ["Safepoint \"", "application threads were stopped:"];
    let last = pause(line).or_else(|| stall(line));
    let is_in_number = last.is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
    begins.iter().any(|it| line.contains(it)) || is_in_number
}

/// `Safepoint "G1CollectForAllocation", Time since last: …, Total: 2102072 ns`
fn safepoint_ms(line: &str) -> Option<f64> {
    let (_, after) = line.split_once("Safepoint \"")?;
    let (_, total) = after.split_once("Total:")?;
    let ns: u64 = before_unit(total, "ns")?.parse().ok()?;
    Some(locklab_values::units::fractional_ms_from_ns(ns))
}

/// `Total time for which application threads were stopped: 0.0012345 seconds, …` of JDK 8 to 12. Some
/// write the decimal comma of their locale.
fn stopped_ms(line: &str) -> Option<f64> {
    let (_, after) = line.split_once("application threads were stopped:")?;
    Some(number(before_unit(after, "seconds")?)? * 1e3)
}

/// The number before its unit, without which it may be cut off.
fn before_unit<'t>(text: &'t str, unit: &str) -> Option<&'t str> {
    let (number, after) = text.trim_start().split_once(' ')?;
    after.starts_with(unit).then_some(number)
}

/// `GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->2M(32M) 2.019ms`; generational ZGC says
/// first whether it is young: `GC(0) y: Pause Mark Start 0.009ms`.
fn collection_ms(line: &str) -> Option<f64> {
    number(pause(line)?.strip_suffix("ms")?)
}

/// The last word of such a line, and of one that tells of the begin.
fn pause(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("GC(")?;
    let (_, after) = after.split_once(')')?;
    let after = after.trim_start();
    let what = ["Y: ", "y: ", "O: "]
        .iter()
        .find_map(|it| after.strip_prefix(it));
    let what = what.unwrap_or(after);
    what.strip_prefix("Pause ")?.split_whitespace().next_back()
}

/// The time of a line in seconds, since 1970 and since the start: `[2026-11-25T15:24:13.123+0000]`, `[0.194s]`,
/// `[194ms]`, and of JDK 8 `2026-11-25T15:24:13.123+0000: 0.194: …`.
fn times_s(line: &str) -> [Option<f64>; 2] {
    let decorations = || {
        line.split('[')
            .skip(1)
            .filter_map(|it| it.split(']').next())
            .map(str::trim)
    };
    let head = line.split("Total time").next().unwrap_or(line);
    let mut words = head.split(": ").map(|it| it.trim_end_matches(':'));
    let mut word = words.next();
    let date_s = word.and_then(iso_s);
    if date_s.is_some() {
        word = words.next();
    }
    let is_time = |word: &&str| {
        word.bytes()
            .all(|c| c.is_ascii_digit() || b".,".contains(&c))
    };
    let since_start = decorations().find_map(decoration_s);
    [
        decorations().find_map(iso_s).or(date_s),
        since_start.or_else(|| word.filter(is_time).and_then(number)),
    ]
}

fn decoration_s(text: &str) -> Option<f64> {
    let (digits, per_second) = match text {
        _ if text.ends_with("ms") => (text.strip_suffix("ms")?, 1e3),
        _ if text.ends_with("ns") => (text.strip_suffix("ns")?, 1e9),
        _ if text.ends_with('s') => (text.strip_suffix('s')?, 1.0),
        _ => return None,
    };
    Some(number(digits)? / per_second)
}

/// A number with digits first: `inf` and `nan` are none.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| text.replace(',', ".").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::super::{Runtime, pauses};
    use super::*;

    #[test]
    fn each_form_of_a_line_is_read() {
        let read = |line: &str| {
            let safepoint = safepoint_ms(line).or_else(|| stopped_ms(line));
            let [since_1970, since_start] = times_s(line);
            (since_1970.or(since_start), safepoint, collection_ms(line))
        };
        for (line, expected) in [
            (
                "[0.194s][info][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 178665023 ns, \
                 Reaching safepoint: 5338 ns, Cleanup: 8432 ns, At safepoint: 2088302 ns, Total: 2102072 ns",
                (Some(0.194), Some(2.102_072), None),
            ),
            (
                "[194ms][info][gc ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->2M(32M) 2.019ms",
                (Some(0.194), None, Some(2.019)),
            ),
            (
                "[1970-01-01T00:00:02.500+0000][gc,phases] GC(7) y: Pause Mark Start 0.009ms",
                (Some(2.5), None, Some(0.009)),
            ),
            // Of ZGC, JDK 17 with -Xlog:gc*.
            (
                "[0.501s][info][gc,phases   ] GC(0) Pause Mark Start 0.006ms",
                (Some(0.501), None, Some(0.006)),
            ),
            (
                "[0.187s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
                (Some(0.187), None, None),
            ),
            (
                "[0.2s][gc,phases] GC(0)   Pre Evacuate: 0.1ms",
                (Some(0.2), None, None),
            ),
            (
                "[0.2s][gc] GC(8) Concurrent Mark Cycle 2.336ms",
                (Some(0.2), None, None),
            ),
            // JDK 8, as its documentation and others' logs show it; no such JVM was at hand.
            (
                "1970-01-01T01:00:03.000+0100: 151.126: Total time for which application threads were \
                 stopped: 0.0012500 seconds, Stopping threads took: 0.0000360 seconds",
                (Some(3.0), Some(1.25), None),
            ),
            (
                "151.126: Total time for which application threads were stopped: 0,0012500 seconds",
                (Some(151.126), Some(1.25), None),
            ),
            (
                "1970-01-01T00:00:04.000+0000:Total time for which application threads were stopped: \
                 0.0010000 seconds",
                (Some(4.0), Some(1.0), None),
            ),
            ("Application time: 0.5 seconds", (None, None, None)),
            (
                "668.806: [GC (Allocation Failure) [PSYoungGen: 328070K->55019K(503808K)], 0.31 secs] \
                 [Times: user=0.43 sys=0.12, real=0.31 secs]",
                (Some(668.806), None, None),
            ),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    // A program that allocates for a second, in a small heap: JDK 17.0.15, -Xmx32m, and
    // -Xlog:gc,safepoint:file=… ; the same with -Xlog:gc*, of which the first collections are kept.
    const SAFEPOINTS: &[u8] = include_bytes!("../fixtures/jdk17-safepoints.log");
    const COLLECTIONS: &[u8] = include_bytes!("../fixtures/jdk17-collections.log");

    #[test]
    fn of_a_real_log_safepoints_count_once() {
        let events = pauses(Runtime::Jvm, SAFEPOINTS)
            .expect("it has pauses")
            .pauses;
        let text = String::from_utf8_lossy(SAFEPOINTS);
        let lines = text
            .lines()
            .filter(|line| line.contains("[safepoint"))
            .count();
        assert_eq!(events.count(), lines);
        assert!(text.matches("Pause Young").count() > 3);
    }

    #[test]
    fn of_a_real_log_without_safepoints_pauses_count() {
        let events = pauses(Runtime::Jvm, COLLECTIONS)
            .expect("it has pauses")
            .pauses;
        let text = String::from_utf8_lossy(COLLECTIONS);
        // Each pause has a line when it starts, and another when it ends.
        assert_eq!(events.count(), text.matches(" Pause Young ").count() / 2);
    }
}
