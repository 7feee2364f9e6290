//! `locklab check`: its options.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use crate::check::mutants::Mutants;
use crate::check::suite::Filter;
use crate::check::{self, Check};
use crate::options::many::{Many, duration};
use crate::options::{Ask, Context, scenario_completer};
use locklab_lab::{Exit, conduct};

const EXAMPLES: &str = "\
Examples:
  locklab check                           the folders scenarios and regressions
  locklab check my/scenarios my/one.toml  folders and files; - is standard input
  locklab check --all                     all scenarios that ship
  locklab check --budget 5m --seed-from HEAD
                                          new seeds for each commit, for 5 min
  locklab check --shard 2/4               the second shard; see locklab shards
  locklab check --save-baseline main      save the result as a baseline …
  locklab check --baseline main           … and compare with it
  locklab check --compare before.json after.json
                                          two results: what newly fails?
  locklab check --mutants my/scenarios    would they notice a broken lock?
  locklab check --shrink                  the smallest scenario of each failure

Every scenario first runs twice with two seeds, to check that it is
deterministic. It then runs with as many seeds as its predictions need, and
with --budget with further seeds until the time is over. A recording (.jsonl)
is run again with its seed and its faults; every property that its scenario
predicts to hold must hold. To keep a failure as a regression test, copy its
recording into regressions/.

-E takes name(…), claim(…), lock(…), fault(…), property(…) and on(redis), with
! & | and parentheses; * matches any characters.

Options default to those of [profile.default] in locklab.toml, or of --profile.

A comparison runs nothing. It names what newly fails or holds, and which rates
differ by Fisher's exact test (p < 0.001); if something is worse it ends with 2.

Writes check.json, junit.xml, check.md, check.csv and badge.json (for
shields.io) into DIR/check; where GitHub Actions runs it, also annotations and
the job's summary.

Exit codes: 0 as predicted; 1 usage; 2 a verdict differs, or a run is not
deterministic; 3 inconclusive; 70 a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Scenarios, recordings, and folders of both; by default the folders scenarios and regressions
    #[arg(value_name = "PATH", add = scenario_completer())]
    paths: Vec<String>,
    /// All scenarios that ship
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Only the cases that match this expression
    #[arg(short = 'E', long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
    /// Derive the seeds from this commit, or from any text after `text:`, instead of 0, 1, 2, …
    #[arg(long, value_name = "REF")]
    seed_from: Option<String>,
    /// Put the known mistakes of each lock into its scenarios, and see whether one notices
    #[arg(long, conflicts_with_all = ["save_baseline", "baseline"])]
    mutants: bool,
    /// Shrink each run that shows why a property differs, into DIR/check/regressions
    #[arg(long, conflicts_with = "mutants")]
    shrink: bool,
    /// Save the result as the baseline NAME
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    save_baseline: Option<String>,
    /// Compare with the baseline NAME
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    baseline: Option<String>,
    /// Compare two results, each a check.json, and run nothing
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"],
          conflicts_with_all = ["paths", "all", "filter", "mutants", "shrink", "save_baseline", "baseline"])]
    compare: Option<Vec<PathBuf>>,
    /// The profile to use from locklab.toml
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    pub(crate) many: Many,
}

/// A name that is a file's.
fn plain_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    match !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain) {
        true => Ok(text.into()),
        false => Err(format!(
            "`{text}` cannot be the name of a file; write letters, digits, -, _ and ."
        )),
    }
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        if let Some([before, after]) = self.compare.as_deref() {
            return check::compare::files(before, after, self.many.stdout());
        }
        let profile = crate::check::suite::profile(self.profile.as_deref())?;
        let wrong = |error: String| anyhow!("locklab.toml: {error}");
        let mut many = self.many.clone();
        let mut suite = check::Options {
            paths: match self.paths.is_empty() {
                true => profile.paths,
                false => self.paths.clone(),
            },
            all: self.all,
            filter: self.filter.clone(),
            seed_from: self.seed_from.clone().or(profile.seed_from),
            is_shrinking: self.shrink,
            save_baseline: self.save_baseline.clone(),
            baseline: self.baseline.clone().or(profile.baseline),
        };
        if let (None, Some(filter)) = (&suite.filter, &profile.filter) {
            suite.filter = Some(filter.parse().map_err(wrong)?);
        }
        if let (None, Some(budget)) = (many.budget, &profile.budget) {
            many.budget = Some(duration(budget).map_err(wrong)?);
        }
        let session = many.session(context)?;
        if self.mutants {
            suite.baseline = None;
        }
        let check = Check::plan(suite, &session.store)?;
        match self.mutants {
            true => conduct(&Mutants::plan(&check)?, &session),
            false => conduct(&check, &session),
        }
    }
}
