//! Counts the instructions of some workloads with callgrind, and compares the counts with those in
//! the tree.
//!
//! A count does not depend on how busy the machine is, so a change of a few percent shows. It does
//! depend on the compiler: figures of another compiler are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use locklab_evidence::thousands;
use serde::{Deserialize, Serialize};

use crate::{release, tool};

/// The figures in the tree.
const FIGURES: &str = "benches/instructions.json";

/// Renews the figures.
const RENEW: &str = "cargo xtask bench instructions --write";

/// What callgrind writes about each workload, for `callgrind_annotate`.
const PROFILES: &str = "target/locklab/instructions";

/// A count may differ from its figure by this much. Two counts of one build differ by a few
/// hundredths of a percent: the standard library draws the seeds of its hash tables for each
/// process. Nothing else varies, since valgrind places everything at the same addresses each time.
const TOLERANCE_PERCENT: u64 = 3;

/// The workloads of `benches/instructions/main.rs`, and how often each is performed: enough that
/// what a seed draws averages out.
const WORKLOADS: &[(&str, u64)] = &[
    ("campaign", 3),
    ("echo", 5),
    ("judging", 3),
    ("k1", 100),
    ("redlock", 30),
];

/// Instructions for one repetition of each workload, and the compiler that made them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    rustc: String,
    instructions: BTreeMap<String, u64>,
}

/// Counts the instructions of every workload, and compares them with the figures in the tree, or replaces these. Where
/// they cannot be counted, says why and does nothing.
/// Fails if a workload does not build or run; in a comparison also if there are no figures in the tree, or
/// a count differs from its figure.
pub fn run(is_written: bool) -> Result<()> {
    if let Err(why) = provide_valgrind() {
        println!("skipped: no instructions are counted here: {why:#}");
        return Ok(());
    }
    release::build()?;
    let counted = Figures {
        rustc: compiler()?,
        instructions: count_all()?,
    };
    for (workload, instructions) in &counted.instructions {
        println!(
            "{workload:<10}{:>14} instructions",
            thousands(*instructions)
        );
    }
    match is_written {
        true => write(&counted),
        false => compare(&counted, &read()?),
    }
}

/// Makes sure that there is a valgrind.
fn provide_valgrind() -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the figures are of Linux on x86-64");
    }
    if tool::is_on_path("valgrind") {
        return Ok(());
    }
    let lines = ["apt-get update", "apt-get install --yes valgrind"];
    tool::install(&lines).context("valgrind is missing")
}

fn compiler() -> Result<String> {
    Ok(tool::said(Command::new("rustc").arg("--version"))?
        .trim()
        .to_owned())
}

/// The instructions for one repetition of each workload. They run at the same time.
fn count_all() -> Result<BTreeMap<String, u64>> {
    fs::create_dir_all(PROFILES).with_context(|| format!("create {PROFILES}"))?;
    let started = WORKLOADS.iter().map(|(workload, repetitions)| {
        let counting = start_counting(workload, *repetitions)?;
        Ok((workload, repetitions, counting))
    });
    let started: Vec<_> = started.collect::<Result<_>>()?;
    let counts = started
        .into_iter()
        .map(|(workload, repetitions, counting)| {
            let output = counting.wait_with_output().context("valgrind")?;
            let said = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                bail!("{workload}: valgrind: {}\n{said}", output.status);
            }
            let path = profile(workload);
            let profile = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
            let total = total(&profile).with_context(|| format!("{path} has no total"))?;
            Ok(((*workload).to_owned(), total / repetitions))
        });
    counts.collect()
}

fn start_counting(workload: &str, repetitions: u64) -> Result<Child> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg("--toggle-collect=locklab_instructions::measured*")
        .arg(format!("--callgrind-out-file={}", profile(workload)))
        .args(["target/ci/locklab-instructions", workload])
        .arg(repetitions.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    valgrind.spawn().context("start valgrind")
}

fn profile(workload: &str) -> String {
    format!("{PROFILES}/{workload}.callgrind")
}

/// The instructions that a profile counts in all; `None` if it counts none.
fn total(profile: &str) -> Option<u64> {
    let totals = { profile.lines() }.find_map(|line| line.strip_prefix("totals: "))?;
    totals.trim().parse().ok().filter(|total| *total > 0)
}

fn read() -> Result<Figures> {
    if !Path::new(FIGURES).exists() {
        bail!("there is no {FIGURES}; write it: {RENEW}");
    }
    let text = fs::read_to_string(FIGURES).with_context(|| format!("read {FIGURES}"))?;
    parse(&text).context(FIGURES)
}

fn parse(text: &str) -> Result<Figures> {
    Ok(serde_json::from_str(text)?)
}

fn write(figures: &Figures) -> Result<()> {
    let text = serde_json::to_string_pretty(figures)? + "\n";
    fs::write(FIGURES, text).with_context(|| format!("write {FIGURES}"))
}

/// Compares counts with figures of the same compiler.
/// Fails with a line for each workload that differs.
fn compare(counted: &Figures, kept: &Figures) -> Result<()> {
    if counted.rustc != kept.rustc {
        println!(
            "not compared: {FIGURES} has the figures of {}, and this is {}",
            kept.rustc, counted.rustc
        );
        return Ok(());
    }
    let [counted, kept] = [counted, kept].map(|it| &it.instructions);
    let workloads: BTreeSet<&String> = counted.keys().chain(kept.keys()).collect();
    let differing = workloads.into_iter().filter_map(|workload| {
        let what = match (counted.get(workload), kept.get(workload)) {
            (Some(&count), Some(&figure)) => differs(count, figure)?,
            (Some(_), None) => format!("there is no figure in {FIGURES}"),
            (None, _) => format!("{FIGURES} has a figure, but it is not counted"),
        };
        Some(format!("{workload}: {what}\n"))
    });
    let differing: String = differing.collect();
    ensure!(differing.is_empty(), "{differing}if that is meant: {RENEW}");
    Ok(())
}

fn differs(count: u64, figure: u64) -> Option<String> {
    let difference = count.abs_diff(figure);
    let comparison = if count > figure { "more" } else { "fewer" };
    (difference * 100 > figure * TOLERANCE_PERCENT).then(|| {
        format!(
            "{} instructions, {:.1} % {comparison} than the {} in {FIGURES}",
            thousands(count),
            difference as f64 * 100.0 / figure as f64,
            thousands(figure),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rustc: &str, instructions: &[(&str, u64)]) -> Figures {
        let instructions = instructions
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        Figures {
            rustc: rustc.to_owned(),
            instructions: instructions.collect(),
        }
    }

    #[test]
    fn a_count_beyond_three_percent_fails_with_both_figures_and_the_remedy() {
        let check = |count, expected: Option<&str>| {
            let counted = figures("1.95", &[("k1", count)]);
            let kept = figures("1.95", &[("k1", 100_000)]);
            let result = compare(&counted, &kept).map_err(|error| error.to_string());
            let line = expected.map(|line| format!("k1: {line}\nif that is meant: {RENEW}"));
            assert_eq!(result.err(), line);
        };
        for count in [97_000, 99_999, 100_000, 103_000] {
            check(count, None);
        }
        let more = "103,100 instructions, 3.1 % more than the 100,000 in benches/instructions.json";
        check(103_100, Some(more));
        let fewer =
            "96,900 instructions, 3.1 % fewer than the 100,000 in benches/instructions.json";
        check(96_900, Some(fewer));
    }

    #[test]
    fn figures_of_another_compiler_are_not_compared_and_a_missing_one_fails() {
        let kept = figures("1.95", &[("echo", 5), ("k2", 7)]);
        assert!(compare(&figures("1.96", &[("echo", 9)]), &kept).is_ok());
        let error = compare(&figures("1.95", &[("echo", 5), ("k1", 7)]), &kept);
        let error = error.unwrap_err().to_string();
        let workloads = error
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0));
        assert_eq!(
            workloads.collect::<Vec<_>>(),
            ["k1", "k2", "if that is meant"]
        );
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let kept = figures("rustc 1.95.0", &[("echo", 5_000_000), ("k1", 700_000)]);
        let text = serde_json::to_string_pretty(&kept).unwrap();
        assert_eq!(parse(&text).unwrap(), kept);
        for wrong in ["", "{}", r#"{"rustc":"1","instructions":{"k1":-1}}"#] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse(r#"{"rustc":"1","instructions":{},"k1":1}"#).is_err());
    }

    #[test]
    fn a_profile_without_instructions_has_no_total() {
        let profile = |totals: &str| format!("version: 1\nevents: Ir\n\nfn=(1) f\n{totals}\n");
        assert_eq!(total(&profile("totals: 1234")), Some(1234));
        assert_eq!(total(&profile("totals: 0")), None);
        assert_eq!(total(&profile("")), None);
    }

    #[test]
    fn the_tree_has_figures_of_every_workload() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let kept = parse(&fs::read_to_string(root.join(FIGURES)).unwrap()).unwrap();
        let kept: Vec<&str> = kept.instructions.keys().map(String::as_str).collect();
        let counted: Vec<&str> = WORKLOADS.iter().map(|(workload, _)| *workload).collect();
        assert_eq!(kept, counted);
    }
}
