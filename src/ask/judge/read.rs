//! Reads a history of any of the three forms, and judges it.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use locklab_check::{Property, judge_by};
use locklab_history::History;
use locklab_history::timeline::Timeline;
use locklab_judge::{
    Criterion, Evidence, Given, Intervals, KeyReport, LockHistory, ModelName, Verdict, by_search,
    jepsen, json_lines, judge_key, recorded,
};
use locklab_results::recording::{self, Recording};
use locklab_runner::{judged, recorded as recorded_run};
use locklab_vecmap::VecMap;

use crate::meaning::{self, Meaning};

/// What was found of each lock of a history.
pub(crate) struct Judged {
    /// The history without its locks.
    pub(crate) history: LockHistory,
    pub(crate) reports: Vec<KeyReport>,
    /// What happened around the first violation of exclusion.
    pub(crate) around: Option<History>,
}

/// A history as it was read.
pub(crate) enum Input {
    Log(LockHistory),
    Recording(Box<Recording>),
}

impl Input {
    /// Reads the bytes of a file. `name` is for errors.
    pub(crate) fn read(file: Vec<u8>, name: &Path, given: &Given) -> anyhow::Result<Self> {
        let file = plain(file).with_context(|| format!("{}:1", name.display()))?;
        let is_recording = file.trim_ascii_start().starts_with(b"{\"locklab\"");
        let is_lines = json_lines::is_one(&file);
        ensure!(
            given.pairs.is_none() || !is_recording && !is_lines,
            "{}:1: --pairs is about :value in Jepsen's histories, and this is none",
            name.display()
        );
        ensure!(
            given.permits.is_none() || !is_recording,
            "{}:1: a recording says how many permits its lock has; leave out --permits",
            name.display()
        );
        Ok(if is_recording {
            Self::Recording(Box::new(recording::read(&file, name)?))
        } else if is_lines {
            Self::Log(json_lines::read(file, name, given)?)
        } else if jepsen::is_one(&file) {
            Self::Log(jepsen::read(file, name, given)?)
        } else {
            bail!(
                "{}:1: this is not a history; begin it with {{\"lock-history\":1,\"model\":\"mutex\"}}, and \
                 see docs/judge.md",
                name.display()
            )
        })
    }

    /// What a recorded run means, whose faults are known.
    pub(crate) fn meaning(&self) -> Option<Meaning> {
        let Self::Recording(run) = self else {
            return None;
        };
        let scenario = recorded_run::scenario(run).ok()?;
        meaning::of_run(run, &scenario).into_iter().next()
    }

    /// The calls alone, in the form of any lock's log.
    pub(crate) fn into_log(self, model: Option<ModelName>) -> LockHistory {
        match self {
            Self::Log(history) => history,
            Self::Recording(recording) => recorded::history(&recording.history, 1, model),
        }
    }

    /// Judges it; the search for an order may try `budget` steps for each lock.
    pub(crate) fn judge(
        self,
        name: &Path,
        model: Option<ModelName>,
        budget: u64,
    ) -> anyhow::Result<Judged> {
        match self {
            Self::Log(mut history) => {
                let mut reports = Vec::new();
                let mut around = None;
                for key in std::mem::take(&mut history.keys) {
                    let (report, of_key) = judge_key(&history, key, budget);
                    reports.push(report);
                    around = around.or(of_key);
                }
                Ok(Judged {
                    history,
                    reports,
                    around,
                })
            }
            Self::Recording(recording) => of_recording(&recording, name, model, budget),
        }
    }
}

/// How files begin that are no plain text, and what to do.
const NOT_PLAIN: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "it is compressed; unpack it first (gunzip)"),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "it is compressed; unpack it first (unzstd)",
    ),
    (
        &[0xff, 0xfe],
        "it is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
    ),
    (
        &[0xfe, 0xff],
        "it is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
    ),
];

/// The text without the mark with which some editors begin it.
fn plain(mut file: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if let Some((_, what)) = NOT_PLAIN.iter().find(|(start, _)| file.starts_with(start)) {
        bail!("{what}");
    }
    if file.starts_with("\u{feff}".as_bytes()) {
        file.drain(.."\u{feff}".len());
    }
    Ok(file)
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut file = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut file)
            .context("cannot read standard input")?;
        return Ok(file);
    }
    let cannot = || {
        format!(
            "cannot read {}; give a history, or - for standard input",
            path.display()
        )
    };
    let found = std::fs::metadata(path).with_context(cannot)?;
    ensure!(
        found.is_file(),
        "{} is no regular file; use - for a pipe",
        path.display()
    );
    std::fs::read(path).with_context(cannot)
}

/// A recording is judged as `locklab run` judges it, and an order of its calls is searched for.
fn of_recording(
    recording: &Recording,
    name: &Path,
    model: Option<ModelName>,
    budget: u64,
) -> anyhow::Result<Judged> {
    let scenario =
        recorded_run::scenario(recording).with_context(|| format!("{}:1", name.display()))?;
    let bounds = judged::bounds(&scenario);
    let timeline = Timeline::of(&recording.history);
    let lines = |at_ns: u64| {
        let records = &recording.history.records;
        let from = records.partition_point(|record| record.at_ns < at_ns);
        let end = records.partition_point(|record| record.at_ns <= at_ns);
        // The first line is the header.
        (from..end).map(|record| record as u32 + 2)
    };
    let judged = judge_by(&timeline, &bounds, &Property::ALL).into_iter();
    let judged = judged.map(|(property, verdict)| {
        let verdict = Verdict::of(verdict, |it| {
            let lines = lines(it.at_ns);
            Evidence::new(it, lines)
        });
        (Criterion::Checked(property), verdict)
    });
    let mut verdicts: VecMap<Criterion, Verdict> = judged.collect();
    let history = recorded::history(&recording.history, bounds.nodes, model);
    let key = &history.keys[0];
    let linearizable = by_search(&history, key, budget);
    let mut not_searched = None;
    match linearizable {
        Ok(verdict) => drop(verdicts.insert(Criterion::Linearizable, verdict)),
        Err(why) => not_searched = Some(why),
    }
    let report = KeyReport {
        key: key.key.clone(),
        calls: key.calls.len(),
        exclusion: Criterion::Checked(Property::Lease),
        verdicts: verdicts.into_iter().collect(),
        not_searched,
    };
    let around = match report.verdict(report.exclusion) {
        Some(Verdict::Violated(evidence)) => {
            Some(Intervals::of(key, history.header.model).around(evidence))
        }
        _ => None,
    };
    Ok(Judged {
        reports: vec![report],
        history,
        around,
    })
}
