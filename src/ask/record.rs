//! `locklab record`: what threatens a lock on the user's own machines, measured there.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Error, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::options::number::whole;
use crate::options::{Ask, interrupt};
use locklab_lab::data::document;
use locklab_lab::output::{self, Stdout, status};
use locklab_lab::progress::Progress;
use locklab_lab::{Exit, layout};
use locklab_record::driver::{Plan, Url, record as measure};
use locklab_record::environment::{
    self, Cause, Lists, ahead, causes, lists, number, seconds, sizes,
};
use locklab_record::{Live, Log, Often, Pauses, Recorded, Runtime, pauses};
use locklab_values::durations::parse_ms;
use locklab_values::units::ns_from_fractional_ms;
use locklab_values::untrusted;

const EXAMPLES: &str = "\
Examples:
  locklab record                            pauses and clocks, for a minute
  locklab record --for 1h --redis redis://10.0.0.5:6379 --out measured
  locklab record --redis redis://10.0.0.5 --replica redis://10.0.0.6
                 --write-key locklab-record
  locklab record --fsync /var/lib/redis     the disk of a node
  locklab record --gc-log gc.log            the pauses in a JVM's log
  locklab record --for 10m --gctrace app.err --out measured

Run it where a client of the lock runs, without root. It writes an environment
file for `locklab study risk`: each cause that was seen, how often, how long,
and how that is known; and in comments what was not seen. Without --out the file
is on standard output, and the table on standard error.

Redis is asked with PING, TIME and INFO. Nothing is written to it unless
--write-key names a key; that key must not exist, and is deleted in the end. A
password is written redis://user:password@host, or is in REDISCLI_AUTH.

Logs: a JVM's with -Xlog:gc,safepoint:file=gc.log (JDK 9 and later) or
-Xloggc:gc.log -XX:+PrintGCApplicationStoppedTime -XX:+PrintGCTimeStamps (JDK
8; without the second option collections alone); Node's standard output with
--trace-gc; Go's standard error with GODEBUG=gctrace=1. Lines that may be pauses
and were not understood are reported. Logs alone need no time: this machine is
then watched only if --for, --redis or --fsync says so.

Ctrl-C ends it early, and writes what was seen so far.

Exit codes: 0 recorded; 1 usage; 130 interrupted, and recorded.";

/// The environment file in the folder of `--out`.
const FILE: &str = "environment.toml";

/// How long this machine is watched if nothing else is said.
const A_MINUTE: Duration = Duration::from_secs(60);

/// The longest time; every answer of a server is kept in memory.
const A_DAY: Duration = Duration::from_secs(86_400);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How long to watch this machine: 500ms, 60s, 5m or 1h [default: 60s, but not for logs alone]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    lasts: Option<Duration>,
    /// Redis server to ask, the master: redis://user:password@host:port/database
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Its replica, to see how far it is behind
    #[arg(long, value_name = "URL", requires = "redis")]
    replica: Option<String>,
    /// Key to write on the master and look for on the replica; it must not exist
    #[arg(long, value_name = "KEY", requires = "replica")]
    write_key: Option<String>,
    /// Requests a second to the server
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=1000))]
    rate: u32,
    /// Milliseconds by which a wake-up is late that counts as a pause
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = whole::<u32>(1..=60_000))]
    pause_above: u32,
    /// Folder in which to append to a file and sync it; the file is removed
    #[arg(long, value_name = "DIR")]
    fsync: Option<PathBuf>,
    /// Log of a JVM, or of Node with --trace-gc; may be given several times, for several processes alike
    #[arg(long, value_name = "FILE")]
    gc_log: Vec<PathBuf>,
    /// Standard error of a Go program with GODEBUG=gctrace=1; may be given several times
    #[arg(long, value_name = "FILE")]
    gctrace: Vec<PathBuf>,
    /// Folder for environment.toml and the lists of values
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        if let Some(out) = &self.out {
            let file = out.join(FILE);
            ensure!(
                !file.exists(),
                "{} exists; choose another folder with --out, or remove it",
                file.display()
            );
        }
        let begun = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut logs = Vec::new();
        logs.extend(read_logs(Runtime::Jvm, &self.gc_log)?);
        logs.extend(read_logs(Runtime::Go, &self.gctrace)?);
        let stop = interrupt::flag()?;
        let recorded = Recorded {
            begun_s: begun.map_or(0, |it| it.as_secs()),
            live: match self.watches(&logs) {
                true => Some(self.watch(stop)?),
                false => None,
            },
            logs,
        };
        self.write(&recorded)?;
        Ok(match stop.load(Ordering::Relaxed) {
            true => Exit::Interrupted,
            false => Exit::AsPredicted,
        })
    }
}

impl Options {
    /// Whether this machine is watched, or logs alone are read.
    fn watches(&self, logs: &[Log]) -> bool {
        self.lasts.is_some() || self.redis.is_some() || self.fsync.is_some() || logs.is_empty()
    }

    fn watch(&self, stop: &'static std::sync::atomic::AtomicBool) -> anyhow::Result<Live> {
        let plan = Plan {
            lasts: self.lasts.unwrap_or(A_MINUTE),
            pause_above_ms: self.pause_above,
            redis: url("--redis", self.redis.as_deref())?,
            pings_per_second: self.rate,
            replica: url("--replica", self.replica.as_deref())?,
            write_key: self.write_key.clone(),
            fsync: self.fsync.clone(),
        };
        let progress = Progress::of("recording", "seconds", plan.lasts.as_secs());
        let told = Cell::new(0);
        let live = measure(&plan, stop, &|passed_s| {
            let passed = passed_s as u64;
            progress.add(passed.saturating_sub(told.replace(passed)));
        });
        progress.clear();
        Ok(live?)
    }

    fn write(&self, recorded: &Recorded) -> anyhow::Result<()> {
        let table = layout::rows(&rows(recorded));
        for unread in recorded.logs.iter().flat_map(|log| &log.unread) {
            status!(
                "not understood, and pauses may be among them: {}",
                untrusted::line(unread)
            );
        }
        if let Some(out) = &self.out {
            fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
            for list in lists(recorded) {
                write_file(&out.join(list.file), &list.text)?;
            }
            write_file(
                &out.join(FILE),
                &environment::write(recorded, Lists::Beside),
            )?;
        }
        match (self.json, &self.out) {
            (true, _) => {
                Stdout::Json.tell(&table)?;
                output::print_json(&as_json(recorded))?;
            }
            (false, None) => {
                status!("{table}");
                output::print_exactly(&environment::write(recorded, Lists::Inline))?;
            }
            (false, Some(_)) => Stdout::Text.tell(&table)?,
        }
        if let Some(out) = &self.out {
            status!("written to {}", out.join(FILE).display());
        }
        Ok(())
    }
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The URL of an option. An error does not repeat it, since it may have a password.
fn url(option: &str, text: Option<&str>) -> anyhow::Result<Option<Url>> {
    let parsed = text.map(|text| Url::parse(text).map_err(Error::msg));
    let url = parsed.transpose().context(format!("invalid {option}"))?;
    // As in redis-cli.
    let password = std::env::var("REDISCLI_AUTH").ok();
    Ok(url.map(|url| Url {
        password: url.password.or(password.filter(|it| !it.is_empty())),
        ..url
    }))
}

/// `500ms`, `60s`, `5m` or `1h`.
fn time(text: &str) -> Result<Duration, String> {
    let time = parse_ms(text).map(|ms| Duration::from_nanos(ns_from_fractional_ms(ms) as u64));
    time.filter(|time| !time.is_zero() && *time <= A_DAY)
        .ok_or_else(|| format!("invalid time `{text}`; write 500ms, 60s, 5m or 1h, at most 24h"))
}

/// What logs have, those of each runtime together.
fn read_logs(runtime: Runtime, files: &[PathBuf]) -> anyhow::Result<Vec<Log>> {
    let mut logs: Vec<Log> = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let log = File::open(file).with_context(|| format!("cannot read {name}"))?;
        let read = pauses(runtime, BufReader::new(log)).with_context(|| name.clone())?;
        let unread = described(&read, &name);
        match logs.iter_mut().find(|log| log.runtime == read.runtime) {
            Some(log) => {
                log.files.push(name);
                log.pauses = log.pauses.and(&read.pauses);
                log.stalls = log.stalls.and(&read.stalls);
                log.unread.extend(unread);
            }
            None => logs.push(Log {
                runtime: read.runtime,
                files: vec![name],
                pauses: read.pauses,
                stalls: read.stalls,
                unread: unread.into_iter().collect(),
            }),
        }
    }
    Ok(logs)
}

/// The lines of a log that were not understood; `None` if there are none.
fn described(read: &Pauses, name: &str) -> Option<String> {
    const LONGEST: usize = 100;
    let (number, line) = read.unread.first.as_ref()?;
    let line: String = line.chars().take(LONGEST).collect();
    Some(match read.unread.lines {
        1 => format!("{name}, line {number}: “{line}”"),
        lines => format!("{name}, {lines} lines, the first is line {number}: “{line}”"),
    })
}

/// A row for each cause, seen or not, and for each other measurement.
fn rows(recorded: &Recorded) -> Vec<[String; 4]> {
    let mut rows = vec![["what", "seen", "how often (95 %)", "how long"].map(String::from)];
    rows.extend(causes(recorded).iter().map(of_cause));
    let Some(live) = &recorded.live else {
        return rows;
    };
    let lag = live.lag.as_ref();
    let latency = live.latency.as_ref();
    let visible = lag.map(|it| &it.visible_ms).filter(|it| it.count() > 0);
    for (name, values) in [
        ("latency, one way", latency.map(|it| &it.one_way_ms)),
        ("replica behind", lag.map(|it| &it.behind_ms)),
        ("write on the replica", visible),
        ("fsync", live.fsync_ms.as_ref()),
    ] {
        rows.extend(values.map(|it| {
            [
                name.into(),
                it.count().to_string(),
                String::new(),
                sizes(it),
            ]
        }));
    }
    if let Some(clock) = &live.peer_clock {
        let difference = format!("{} (± {})", ahead(clock.ahead_ms), number(clock.within_ms));
        rows.push([
            "clock of the server".into(),
            clock.asked.to_string(),
            String::new(),
            difference,
        ]);
    }
    rows
}

fn of_cause(cause: &Cause) -> [String; 4] {
    let often = match cause.events.often() {
        Often::Every {
            mean_s,
            low_s,
            high_s,
        } => format!(
            "every {} ({} to {})",
            seconds(mean_s),
            seconds(low_s),
            seconds(high_s)
        ),
        Often::AtLeast(mean_s) => format!("at most every {}", seconds(mean_s)),
    };
    [
        cause.name.into(),
        cause.events.count().to_string(),
        often,
        match cause.events.count() {
            0 => String::new(),
            _ => sizes(&cause.events.durations_ms),
        },
    ]
}

fn as_json(recorded: &Recorded) -> Value {
    let cause = |cause: &Cause| {
        let mut entry = json!(cause);
        entry["often"] = json!(cause.events.often());
        entry["values_ms"] = json!(cause.events.durations_ms.sorted_ms());
        entry
    };
    document(
        "record",
        json!({
            "recorded": recorded,
            "causes": causes(recorded).iter().map(cause).collect::<Vec<_>>(),
            "environment": environment::write(recorded, Lists::Inline),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_is_at_most_a_day() {
        for (text, expected_ms) in [
            ("300ms", Some(300)),
            ("60s", Some(60_000)),
            ("24h", Some(86_400_000)),
            ("25h", None),
            ("0ms", None),
            ("ms", None),
            ("60", None),
            ("-1s", None),
        ] {
            let expected = expected_ms.map(Duration::from_millis);
            assert_eq!(time(text).ok(), expected, "{text}");
        }
    }
}
