//! How far shards are, from their ledgers alone. Nothing here is a result: `merge` checks everything
//! again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use locklab_vecmap::VecMap;
use serde::Serialize;

use super::Shard;
use super::ledger::{Header, Line, each_line};

/// The shards of some work.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The command line, without the program and the options of a single shard.
    pub words: Vec<String>,
    /// Every shard, in the order of their numbers.
    pub shards: Vec<ShardStatus>,
}

/// One shard.
#[derive(Debug, Clone, Serialize)]
pub struct ShardStatus {
    /// Which one.
    pub shard: Shard,
    /// How far it is.
    #[serde(flatten)]
    pub state: State,
    /// The finished runs.
    pub runs: u64,
    /// The runs of the stages that were begun.
    pub planned: u64,
    /// Its ledger, if it has begun.
    pub ledger: Option<PathBuf>,
    /// How long ago the ledger was last written.
    #[serde(skip)]
    pub age: Option<Duration>,
}

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum State {
    /// There is no ledger.
    NotBegun,
    /// Something is left to do.
    Unfinished,
    /// It says that it has done everything.
    Complete,
    /// Its ledger cannot be joined: it was written by another build than that of the first shard.
    OtherBuild,
    /// Its ledger cannot be read to the end; the shard resumes before that.
    Damaged {
        /// Where, and what is wrong.
        why: String,
    },
}

impl State {
    /// For people.
    pub fn name(&self) -> &str {
        match self {
            State::NotBegun => "not begun",
            State::Unfinished => "unfinished",
            State::Complete => "complete",
            State::OtherBuild => "of another build",
            State::Damaged { .. } => "damaged",
        }
    }
}

impl Status {
    /// Whether all shards are complete.
    pub fn is_complete(&self) -> bool {
        self.shards.iter().all(|it| it.state == State::Complete)
    }

    /// The numbers of the shards that are not complete.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> {
        let unfinished = self.shards.iter();
        let unfinished = unfinished.filter(|it| it.state != State::Complete);
        unfinished.map(|it| it.shard.number)
    }
}

/// How far the shards are whose ledgers are these, or in these folders: each work by itself.
///
/// # Errors
///
/// If there is no ledger of a shard, one cannot be read, or a shard is there twice.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Status>> {
    let mut works: Vec<(Header, VecMap<Shard, PathBuf>)> = Vec::new();
    for path in ledgers(paths)? {
        let header = Header::read(&path)?;
        let Some(shard) = header.shard else {
            bail!("{} is not of a shard", path.display());
        };
        let place = works.iter().position(|(first, _)| first.is_beside(&header));
        let place = place.unwrap_or_else(|| {
            works.push((header, VecMap::new()));
            works.len() - 1
        });
        if let Some(first) = works[place].1.insert(shard, path.clone()) {
            bail!(
                "shard {shard} is there twice: {} and {}",
                first.display(),
                path.display()
            );
        }
    }
    works.into_iter().map(status).collect()
}

/// The ledgers of shards among these files, and in these folders, in the order of their names.
///
/// # Errors
///
/// If one cannot be read, or a folder has none.
pub fn ledgers(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        let read = find(path, &mut found);
        read.with_context(|| format!("cannot read the folder {}", path.display()))?;
        if found.is_empty() {
            bail!(
                "no shard has begun: there is no ledger below {}",
                path.display()
            );
        }
        found.sort();
        all.append(&mut found);
    }
    Ok(all)
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        // Not what a link points to: it could be a folder above.
        if entry.file_type()?.is_dir() {
            find(&path, found)?;
        } else if name.to_str().is_some_and(is_of_a_shard) {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether this is the name of a shard's ledger: `run-shard-1-of-4.jsonl`.
fn is_of_a_shard(name: &str) -> bool {
    let of = name.strip_suffix(".jsonl").and_then(|stem| {
        let (_, numbers) = stem.rsplit_once("-shard-")?;
        numbers.split_once("-of-")
    });
    of.is_some_and(|(number, of)| format!("{number}/{of}").parse::<Shard>().is_ok())
}

fn status((first, ledgers): (Header, VecMap<Shard, PathBuf>)) -> anyhow::Result<Status> {
    let of = first.shard.map_or(0, |shard| shard.of);
    let shards = (1..=of).map(|number| {
        let shard = Shard { number, of };
        match ledgers.get(&shard) {
            Some(path) => read_shard(shard, path, &first),
            None => Ok(ShardStatus {
                shard,
                state: State::NotBegun,
                runs: 0,
                planned: 0,
                ledger: None,
                age: None,
            }),
        }
    });
    Ok(Status {
        shards: shards.collect::<anyhow::Result<_>>()?,
        words: command(&first.words),
    })
}

fn read_shard(shard: Shard, path: &Path, first: &Header) -> anyhow::Result<ShardStatus> {
    let mut planned: VecMap<String, u64> = VecMap::new();
    let mut done: VecMap<String, u64> = VecMap::new();
    let mut state = State::Unfinished;
    let read = each_line(path, |_, line| {
        match line {
            Line::Planned { stage, runs } => drop(planned.insert(stage, runs)),
            Line::Done(part) => *done.entry(part.stage).or_default() += part.runs,
            Line::Complete { .. } => state = State::Complete,
        }
        Ok(())
    });
    if let Err(error) = read {
        let why = error.to_string();
        state = State::Damaged { why };
    }
    if !first.is_of_the_build_of(&Header::read(path)?) {
        state = State::OtherBuild;
    }
    // Rounds of further seeds are not planned.
    let done = done
        .iter()
        .filter(|(stage, _)| planned.contains_key(*stage));
    let written = fs::metadata(path).and_then(|about| about.modified());
    Ok(ShardStatus {
        shard,
        state,
        runs: done.map(|(_, runs)| runs).sum(),
        planned: planned.values().sum(),
        ledger: Some(path.to_owned()),
        age: written.ok().and_then(|written| written.elapsed().ok()),
    })
}

/// The command line of a shard without what makes it one.
fn command(words: &[String]) -> Vec<String> {
    let mut command = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match &**word {
            "--shard" | "--out" => drop(words.next()),
            word if word.starts_with("--shard=") || word.starts_with("--out=") => {}
            _ => command.push(word.clone()),
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shards_ledger_is_known_by_its_name() {
        for name in ["run-shard-1-of-4.jsonl", "sweep-0a-shard-12-of-12.jsonl"] {
            assert!(is_of_a_shard(name), "{name}");
        }
        for name in [
            "run.jsonl",
            "seed-1.jsonl",
            "run-shard-5-of-4.jsonl",
            "run-shard-1-of-4.part77",
            "run-shard-1-of-4.csv",
        ] {
            assert!(!is_of_a_shard(name), "{name}");
        }
    }

    #[test]
    fn the_command_is_told_without_its_shard() {
        let words = [
            "study", "sweep", "k1", "--shard", "1/4", "--seeds", "5", "--out=x",
        ];
        assert_eq!(
            command(&words.map(String::from)),
            ["study", "sweep", "k1", "--seeds", "5"]
        );
    }
}
