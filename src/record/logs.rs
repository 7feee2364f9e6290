//! Pauses that a runtime wrote down itself, in its log.

mod go;
mod jvm;

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
}

impl Runtime {
    fn log(self) -> &'static str {
        match self {
            Runtime::Jvm => "a log of a JVM",
            Runtime::Go => "a trace of Go",
        }
    }

    fn how_to_write(self) -> &'static str {
        match self {
            Runtime::Jvm => {
                "write it with -Xlog:gc,safepoint:file=gc.log (JDK 9 and later), or with \
                 -Xloggc:gc.log -XX:+PrintGCApplicationStoppedTime -XX:+PrintGCTimeStamps (JDK 8)"
            }
            Runtime::Go => "write it with GODEBUG=gctrace=1, and standard error in a file",
        }
    }
}

/// The times that a log has: how much time it covers.
#[derive(Debug, Default)]
struct Covered {
    last_s: Option<f64>,
    seconds: f64,
}

impl Covered {
    /// Takes the time of the next line. A time before the last one is that of a process that began
    /// anew.
    fn add(&mut self, at_s: f64) {
        if let Some(last_s) = self.last_s {
            self.seconds += (at_s - last_s).max(0.0);
        }
        self.last_s = Some(at_s);
    }
}

/// The pauses in a log, and how much time it covers.
///
/// # Errors
///
/// If it cannot be read, or does not say what is asked.
pub fn pauses(runtime: Runtime, mut log: impl BufRead) -> Result<Events, LogError> {
    let mut jvm = jvm::Log::default();
    let mut go = go::Log::default();
    let mut line = Vec::new();
    // A log may have bytes of other programs, which need not be text.
    while log.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        match runtime {
            Runtime::Jvm => jvm.add(text.trim_end()),
            Runtime::Go => go.add(text.trim_end()),
        }
        line.clear();
    }
    let (mut durations_ms, covered) = match runtime {
        Runtime::Jvm => jvm.pauses(),
        Runtime::Go => go.pauses(),
    };
    // Shorter than the log's last digit.
    durations_ms.retain(|ms| *ms > 0.0);
    if durations_ms.is_empty() {
        return Err(LogError::NoPause(runtime));
    }
    if covered.seconds <= 0.0 {
        return Err(LogError::NoTimes(runtime));
    }
    Ok(Events {
        watched_s: covered.seconds,
        durations_ms: Values::of(durations_ms),
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
        ] {
            let error = pauses(runtime, log.as_bytes()).expect_err(log);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
