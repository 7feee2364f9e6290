//! Pauses that a runtime wrote down itself, in its log.

mod go;
mod jvm;
mod node;
mod old;

use std::io::{self, BufRead};

use serde::Serialize;

use super::events::Events;
use super::values::Values;

/// The runtime that wrote a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// HotSpot's log of collections or of safepoints.
    Jvm,
    /// Node, with `--trace-gc`.
    Node,
    /// Go, with `GODEBUG=gctrace=1`.
    Go,
}

/// Why a log says nothing.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It cannot be read.
    #[error("cannot read it")]
    Io(#[from] io::Error),
    /// It has no line of the form that its runtime writes.
    #[error("{} has no pause; {}", .0.log(), .0.how_to_write())]
    NoPause(Runtime),
    /// Its pauses have no times, so that nobody knows how often they happen.
    #[error("its pauses have no times; {}", .0.how_to_write())]
    NoTimes(Runtime),
    /// All its times are the same.
    #[error("all its times are the same, so how often it pauses is unknown; give a longer log")]
    NoSpan,
    /// It is a file of gzip.
    #[error("it is compressed; unpack it first (gunzip)")]
    Compressed,
    /// .NET wrote it: a trace, or counters.
    #[error(
        "it is {0} of .NET; collect a trace (dotnet-trace collect --profile gc-collect), list its pauses (PerfView's \
         GCStats has them), and write a line for each, the seconds at which it began and those it lasted: \
         12.5: Total time for which application threads were stopped: 0.25 seconds"
    )]
    DotNet(&'static str),
    /// Its clock was set while it was written, say at the start of the machine.
    #[error(
        "its times jump by {} days; cut the log there, or write it with the time since the start (uptime)",
        .days.round()
    )]
    Jumps {
        /// How far.
        days: f64,
    },
}

impl Runtime {
    fn log(self) -> &'static str {
        match self {
            Runtime::Jvm => "a log of a JVM",
            Runtime::Node => "a trace of Node",
            Runtime::Go => "a trace of Go",
        }
    }

    fn how_to_write(self) -> &'static str {
        match self {
            Runtime::Jvm => {
                "write it with -Xlog:gc,safepoint:file=gc.log (JDK 9 and later), or with \
                 -Xloggc:gc.log -XX:+PrintGCApplicationStoppedTime -XX:+PrintGCTimeStamps (JDK 8), or as \
                 Node's standard output with --trace-gc"
            }
            Runtime::Node => "write it with node --trace-gc, and standard output in a file",
            Runtime::Go => "write it with GODEBUG=gctrace=1, and standard error in a file",
        }
    }
}

/// What a log says.
#[derive(Debug, Clone, PartialEq)]
pub struct Pauses {
    /// What wrote it.
    pub runtime: Runtime,
    /// Times for which all threads stood still.
    pub pauses: Events,
    /// Times for which one thread stood still, until there was memory for it.
    pub stalls: Events,
    /// Lines that may tell of pauses and were not understood.
    pub unread: Unread,
}

/// Lines that were not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub lines: u64,
    /// The first: its number, and itself.
    pub first: Option<(u64, String)>,
}

impl Unread {
    fn add(&mut self, number: u64, line: &str) {
        self.lines += 1;
        self.first.get_or_insert_with(|| (number, line.to_owned()));
    }
}

/// The times that a log has by one clock: how much time it covers.
#[derive(Debug, Default)]
struct Covered {
    last_s: Option<f64>,
    /// The last time of each process that may have written a part of it, in ascending order.
    ends_s: Vec<f64>,
    seconds: f64,
    /// How many lines had a time.
    lines: u64,
    /// The longest times between two of one process, in descending order.
    gaps_s: Vec<f64>,
    /// How many processes began.
    begun: usize,
    /// The last time of the process that wrote last.
    latest_s: Option<f64>,
    /// How often another process wrote than before.
    turns: usize,
}

/// What a log said, in the lines of its runtime.
#[derive(Debug)]
struct Said {
    pauses_ms: Vec<f64>,
    stalls_ms: Vec<f64>,
    covered: Covered,
    unread: Unread,
}

impl Said {
    /// How many times something stood still.
    fn count(&self) -> usize {
        self.pauses_ms.len() + self.stalls_ms.len()
    }
}

/// How a file of gzip begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// How files of .NET begin, and what they are.
const DOT_NET: [(&[u8], &str); 2] = [
    (b"Nettrace", "a trace"),
    (
        b"Timestamp,Provider,Counter Name,",
        "a file of counters, which has sums and no single pause,",
    ),
];

/// Threads of one process may write their lines in another order than that of their times.
const DISORDER_S: f64 = 1.0;

/// As many processes of one log are told apart.
const MOST_PROCESSES: usize = 100;

/// No log is silent for a year.
const LONGEST_GAP_S: f64 = 366.0 * 86_400.0;

impl Covered {
    /// Takes the time of the next line: of the process that wrote last before that time, or of one that began anew.
    fn add(&mut self, at_s: f64) {
        self.lines += 1;
        self.last_s = Some(at_s);
        let earlier = self
            .ends_s
            .partition_point(|end_s| *end_s <= at_s + DISORDER_S);
        match self.ends_s[..earlier].last_mut() {
            Some(end_s) => {
                let gap_s = (at_s - *end_s).max(0.0);
                self.turns += usize::from(Some(*end_s) != self.latest_s);
                self.seconds += gap_s;
                *end_s = end_s.max(at_s);
                self.latest_s = Some(*end_s);
                let longer = self.gaps_s.partition_point(|it| *it >= gap_s);
                if longer < MOST_PROCESSES {
                    self.gaps_s.truncate(MOST_PROCESSES - 1);
                    self.gaps_s.insert(longer, gap_s);
                }
            }
            None => {
                self.begun += 1;
                self.ends_s.truncate(MOST_PROCESSES - 1);
                self.ends_s.insert(0, at_s);
                self.latest_s = Some(at_s);
            }
        }
    }

    /// The time that is covered, of each process. If they write by turns, the first line of each may seem to be that of
    /// one that wrote long before: as many of the longest gaps count for nothing.
    fn seconds(&self) -> f64 {
        let between = match self.turns > 2 * self.begun {
            true => self.gaps_s.iter().take(self.begun).sum(),
            false => 0.0,
        };
        self.seconds - between
    }
}

/// The pauses in a log, and how much time it covers. A log that should be a JVM's may be Node's.
///
/// # Errors
///
/// If it cannot be read, or does not say what is asked.
pub fn pauses(runtime: Runtime, mut log: impl BufRead) -> Result<Pauses, LogError> {
    let mut jvm = jvm::Log::default();
    let mut node = node::Log::default();
    let mut go = go::Log::default();
    let mut line = Vec::new();
    // A log may have bytes of other programs, which need not be text.
    let mut number = 0;
    while log.read_until(b'\n', &mut line)? > 0 {
        if number == 0 && line.starts_with(GZIP) {
            return Err(LogError::Compressed);
        }
        let of_dot_net = DOT_NET.iter().find(|(start, _)| line.starts_with(start));
        if let (0, Some((_, what))) = (number, of_dot_net) {
            return Err(LogError::DotNet(what));
        }
        number += 1;
        let text = String::from_utf8_lossy(&line);
        match runtime {
            Runtime::Jvm | Runtime::Node => {
                jvm.add(number, text.trim_end());
                node.add(number, text.trim_end());
            }
            Runtime::Go => go.add(number, text.trim_end()),
        }
        line.clear();
    }
    let (of_jvm, of_node) = (jvm.said(), node.said());
    let (runtime, said) = match runtime {
        Runtime::Go => (runtime, go.said()),
        _ if of_jvm.count() < of_node.count() => (Runtime::Node, of_node),
        _ => (runtime, of_jvm),
    };
    let Said {
        mut pauses_ms,
        stalls_ms,
        covered,
        unread,
    } = said;
    // Shorter than the log's last digit.
    pauses_ms.retain(|ms| *ms > 0.0);
    if pauses_ms.is_empty() && stalls_ms.is_empty() {
        return Err(LogError::NoPause(runtime));
    }
    let watched_s = covered.seconds();
    if watched_s <= 0.0 {
        return Err(match covered.lines {
            0 => LogError::NoTimes(runtime),
            _ => LogError::NoSpan,
        });
    }
    if let Some(gap_s) = covered.gaps_s.first().filter(|it| **it > LONGEST_GAP_S) {
        return Err(LogError::Jumps {
            days: gap_s / 86_400.0,
        });
    }
    let events = |durations_ms: Vec<f64>| Events {
        watched_s,
        durations_ms: Values::of(durations_ms),
    };
    Ok(Pauses {
        runtime,
        pauses: events(pauses_ms),
        stalls: events(stalls_ms),
        unread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_begins_anew_covers_no_time_backwards() {
        let mut covered = Covered::default();
        for at_s in [10.0, 12.0, 1.0, 4.0] {
            covered.add(at_s);
        }
        assert_eq!(covered.seconds, 5.0);
    }

    #[test]
    fn processes_that_write_by_turns_cover_the_time_of_each() {
        let mut log = String::new();
        for second in 0..60 {
            for start in [10, 1000, 86_400] {
                let at = start + second;
                log += &format!(
                    "[{at}.000s][info][gc] GC({second}) Pause Young (Normal) 6M->2M(32M) 20.0ms\n"
                );
            }
        }
        let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has pauses");
        assert_eq!((read.pauses.count(), read.pauses.watched_s), (180, 174.0));
        // Threads that overtake one another are no processes.
        let mut covered = Covered::default();
        for at_s in [1.0, 1.002, 1.001, 5.0, 5.002, 5.001, 9.0] {
            covered.add(at_s);
        }
        assert_eq!(covered.seconds(), 8.0);
        // Newest first: as many processes as lines.
        let mut covered = Covered::default();
        (0..10_000)
            .rev()
            .for_each(|at_s| covered.add(f64::from(2 * at_s)));
        assert_eq!(
            (covered.seconds, covered.ends_s.len()),
            (0.0, MOST_PROCESSES)
        );
    }

    /// What stands of a number before the end of the file is another number.
    #[test]
    fn of_a_line_that_is_cut_off_nothing_is_read_and_it_is_told() {
        for (runtime, line, value) in [
            (
                Runtime::Jvm,
                "[1.0s][info][safepoint] Safepoint \"ZMarkStart\", Time since last: 9 ns, Total: 2102072 ns",
                "2102072",
            ),
            (
                Runtime::Jvm,
                "1.0: Total time for which application threads were stopped: 0.1003470 seconds",
                "0.1003470",
            ),
            (
                Runtime::Jvm,
                "1.0: [GC (Allocation Failure) 1000K->900K(2027264K), 0.0543270 secs]",
                "0.0543270",
            ),
            (
                Runtime::Jvm,
                "[1.0s][info][gc] Allocation Stall (main) 9500.25ms",
                "9500.25",
            ),
            (
                Runtime::Jvm,
                "[1.0s][info][gc] GC(0) Pause Full (System.gc()) 5M->2M(9M) 31.250ms",
                "31.250",
            ),
            (
                Runtime::Node,
                "[7:0x5] 1000 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 10.25 / 0.00 ms",
                "10.25",
            ),
            (
                Runtime::Node,
                "[7:0x5] 1000 ms: pause=10.25 mutator=11.7",
                "10.25",
            ),
            (
                Runtime::Go,
                "gc 1 @1.0s 0%: 0.043+0.42+0.11 ms clock",
                "0.11",
            ),
        ] {
            let at = [("1.0s", "0.1s"), ("1.0:", "0.1:"), ("1000 ms", "10 ms")];
            let first = at.iter().fold(line.to_owned(), |line, (at, before)| {
                line.replace(at, before)
            });
            let place = line.find(value).expect("it is there");
            let whole =
                pauses(runtime, format!("{first}\n{line}\n").as_bytes()).expect("it has pauses");
            for end in [1, 2, value.len()] {
                let cut = format!("{first}\n{}", &line[..place + end]);
                let read = pauses(runtime, cut.as_bytes()).expect("it has pauses");
                let count = |read: &Pauses| read.pauses.count() + read.stalls.count();
                assert_eq!(2 * count(&read), count(&whole), "{cut}");
                assert_eq!(read.unread.lines, 1, "{cut}");
            }
        }
    }

    #[test]
    fn a_log_of_two_clocks_covers_the_time_of_one_and_a_jump_is_refused() {
        let stopped = "Total time for which application threads were stopped: 0.1 seconds";
        let two_clocks = format!(
            "2015-02-25T12:47:08.000+0100: 6616.500: {stopped}\n\
             6616.889: [GC concurrent-root-region-scan-start]\n\
             2015-02-25T12:47:18.000+0100: 6626.500: {stopped}\n"
        );
        let read = pauses(Runtime::Jvm, two_clocks.as_bytes()).expect("it has pauses");
        assert_eq!((read.pauses.count(), read.pauses.watched_s), (2, 10.0));
        let jump = format!(
            "1970-01-01T00:00:08.000+0000: {stopped}\n2026-02-25T12:47:18.000+0000: {stopped}\n"
        );
        let error = pauses(Runtime::Jvm, jump.as_bytes()).expect_err("it jumps");
        let expected = "its times jump by 20510 days; cut the log there";
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn stops_of_one_thread_are_read_and_lines_that_may_be_pauses_are_counted() {
        let log = "[0.5s][info][safepoint] Safepoint \"ZMarkStart\", Total: 10000 ns\n\
                   [1.0s][info][gc       ] Allocation Stall (main (1)) 9500.000ms\n\
                   [1.1s][info][gc       ] Relocation Stall (renewal) 52.1ms\n\
                   [1.2s][info][gc       ] GC(8) Major Collection (Allocation Stall) 164M(43%)->138M(36%) 0.2s\n\
                   [1.3s][info][gc,phases] GC(8) Pre Evacuate Pause: 0.1ms\n\
                   [1.4s][info][gc,stats ] Allocation pacing accrued:\n\
                   [1.5s][info][gc,start ] GC(9) Pause Young (Normal) (G1 Evacuation Pause)\n\
                   [2.0s][info][safepoint] Safepoint \"ZMarkEnd\", Total: 20000 ns\n";
        let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has pauses");
        assert_eq!(read.pauses.durations_ms.sorted_ms(), [0.01, 0.02]);
        assert_eq!(read.stalls.durations_ms.sorted_ms(), [52.1, 9500.0]);
        assert_eq!(read.unread.lines, 2);
        let (number, line) = read.unread.first.expect("there are two");
        assert_eq!(number, 5);
        assert!(line.ends_with("Pre Evacuate Pause: 0.1ms"), "{line}");
    }

    #[test]
    fn a_trace_of_node_is_told_from_a_log_of_a_jvm() {
        let log = "[1:0x5] 1000 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 0.9 / 0.0 ms  (average mu = 1.000) x\n\
                   [1:0x5] 3000 ms: Scavenge 2.5 (3.9) -> 2.1 (4.9) MB, 1.9 / 0.0 ms  (average mu = 1.000) x\n";
        let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has pauses");
        assert_eq!(read.runtime, Runtime::Node);
        assert_eq!(read.pauses.durations_ms.sorted_ms(), [0.9, 1.9]);
        assert_eq!(read.pauses.watched_s, 3.0);
    }

    #[test]
    fn a_log_that_says_nothing_is_refused_with_a_remedy() {
        for (runtime, log, expected) in [
            (Runtime::Jvm, "", "write it with -Xlog:gc,safepoint"),
            (
                Runtime::Jvm,
                "\u{0}\u{ff}\n[0.1s][info][gc] Using G1\n",
                "has no pause",
            ),
            (
                Runtime::Jvm,
                "[gc] GC(0) Pause Full (System.gc()) 5M->2M(9M) 3.2ms\n",
                "have no times",
            ),
            (Runtime::Go, "gc 1 of 2\n", "GODEBUG=gctrace=1"),
            (
                Runtime::Jvm,
                "0.134: [GC pause (young), 0.00631825 secs]\n",
                "all its times are the same, so how often it pauses is unknown",
            ),
        ] {
            let error = pauses(runtime, log.as_bytes()).expect_err(log);
            assert!(error.to_string().contains(expected), "{error}");
        }
        // What the remedy for .NET says can be read.
        for log in [
            "Nettrace\u{14}\0\0\0!FastSerialization.1",
            "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n",
        ] {
            let error = pauses(Runtime::Jvm, log.as_bytes())
                .expect_err(log)
                .to_string();
            let (what, line) = error.split_once("it lasted: ").expect("a remedy");
            assert!(what.contains("of .NET; collect a trace"), "{error}");
            let log = format!("0.5: GC\n{line}\n");
            let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has a pause");
            assert_eq!(read.pauses.durations_ms.sorted_ms(), [250.0]);
        }
        let error = pauses(Runtime::Jvm, &[0x1f, 0x8b, 8][..]).expect_err("it is compressed");
        assert!(error.to_string().contains("unpack it first"), "{error}");
    }

    #[test]
    fn a_collection_whose_safepoint_is_not_in_the_log_counts() {
        for (log, expected) in [
            // It ended before the log did.
            (
                "1.0: Total time for which application threads were stopped: 0.0004 seconds\n\
                 1.5: [GC pause (young), 0.2500000 secs]\n2.0: [GC concurrent-mark-start]\n",
                &[0.4, 250.0][..],
            ),
            // It is not a part of a longer one a second later.
            (
                "1.0: [GC pause (young), 0.02 secs]\n\
                 2.5: Total time for which application threads were stopped: 0.5 seconds\n",
                &[20.0, 500.0],
            ),
            // One within the other, and both within the safepoint.
            (
                "[1.000s][gc,start] GC(2) Pause Young (Allocation Failure)\n\
                 [1.007s][gc] GC(3) Pause Full (Allocation Failure) 74M->10M(92M) 6,987ms\n\
                 [1.007s][gc] GC(2) Pause Young (Allocation Failure) 74M->10M(92M) 7.118ms\n\
                 [1.007s][safepoint] Total time for which application threads were stopped: 0.0073 seconds\n",
                &[7.3],
            ),
        ] {
            let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has pauses");
            assert_eq!(read.pauses.durations_ms.sorted_ms(), expected, "{log}");
        }
    }

    #[test]
    fn a_number_in_a_statistic_is_no_time() {
        let log = "2015-01-09T23:56:50.868+0000: 14.110: [GCBefore GC:\nTotal Free Space: 1252704256\n\
                   , 0.03 secs]\n2015-01-09T23:56:51.868+0000: 15.110: [GC 1K->1K(2K), 0.1 secs]\n";
        let read = pauses(Runtime::Jvm, log.as_bytes()).expect("it has pauses");
        assert_eq!(read.pauses.watched_s, 1.0);
    }
}
