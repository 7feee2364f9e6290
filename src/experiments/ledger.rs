//! A file of finished parts, in JSON Lines: interrupted work resumes from it, and the ledgers of all
//! shards are joined to the whole.
//!
//! Its first line says what the work is; each other line is a part that is finished. Every line
//! begins with a checksum of its rest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Shard;
use locklab_results::FORMAT;
use locklab_results::recording::VERSION;

/// The first line of a ledger: what the work is, and what does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of Locklab.
    locklab: String,
    /// The version of the file format; see [`FORMAT`].
    format: u32,
    /// The hash of the program's file: the results of another build are not reused, since its
    /// verdicts may differ.
    build: String,
    /// The hash of everything that is run.
    work: String,
    /// The shard; absent: the whole work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The command line without the program, which `locklab merge` reads to report on the whole.
    pub words: Vec<String>,
}

impl Header {
    /// The header for this work, done by the running program.
    ///
    /// # Errors
    ///
    /// If the program's own file cannot be read.
    pub fn of(
        work: &impl Serialize,
        shard: Option<Shard>,
        words: &[String],
    ) -> anyhow::Result<Self> {
        let build = this_build().context("cannot read this program's own file")?;
        let work = serde_json::to_string(work)?;
        Ok(Self {
            locklab: VERSION.into(),
            format: FORMAT,
            build: format!("{build:016x}"),
            work: format!("{:016x}", xxh3_64(work.as_bytes())),
            shard,
            words: words.to_vec(),
        })
    }

    /// The header of a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not a ledger.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let first = BufReader::new(file).lines().next();
        let header = first.and_then(|line| read_line(&line.ok()?));
        header.with_context(|| {
            format!("{name}:1: this is not a shard's ledger, a .jsonl file that --shard wrote")
        })
    }

    /// Whether both are of the same work, whatever their command lines.
    fn resumes(&self, other: &Header) -> bool {
        let words = other.words.clone();
        Header {
            words,
            ..self.clone()
        } == *other
    }

    /// Why the ledger of `other` cannot be joined with that of `self`.
    fn why_not_joined(&self, other: &Header) -> Option<&'static str> {
        match () {
            () if (&self.locklab, self.format) != (&other.locklab, other.format) => Some(
                "was written by another version of Locklab; run all shards with the same program",
            ),
            () if self.build != other.build => {
                Some("was written by another build; run all shards with the same program")
            }
            () if self.work != other.work => Some(
                "is of other work: other scenarios, seeds or options; run all shards with the same ones",
            ),
            () => None,
        }
    }
}

/// The hash of the running program's file.
fn this_build() -> io::Result<u64> {
    let mut file = File::open(std::env::current_exe()?)?;
    let (mut hasher, mut piece) = (Xxh3::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.digest()),
            count => hasher.update(&piece[..count]),
        }
    }
}

/// A finished part of the work.
#[derive(Serialize, Deserialize)]
struct Entry<T> {
    stage: String,
    part: usize,
    result: T,
}

/// The finished parts of a stage, by their place in it.
type Parts = BTreeMap<usize, Value>;

/// The finished parts of some work, and the file that has them.
#[derive(Debug)]
pub struct Ledger {
    /// Those that were finished before, by stage.
    before: BTreeMap<String, Parts>,
    /// `None` if it was joined from several.
    file: Option<File>,
}

impl Ledger {
    /// Opens the ledger of this work. A file of other work is discarded, and so are a damaged line
    /// and the lines after it; if `fresh`, everything is discarded.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn open(path: &Path, header: &Header, fresh: bool) -> io::Result<Self> {
        let mut lines = match File::open(path) {
            Ok(file) if !fresh => Some(BufReader::new(file).lines()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => None,
        };
        let mut before: BTreeMap<String, Parts> = BTreeMap::new();
        let first = lines
            .as_mut()
            .and_then(|lines| read_line::<Header>(&lines.next()?.ok()?));
        if first.is_some_and(|first| first.resumes(header)) {
            let lines = lines.into_iter().flatten();
            let entries = lines.map_while(|line| read_line::<Entry<Value>>(&line.ok()?));
            for Entry {
                stage,
                part,
                result,
            } in entries
            {
                before.entry(stage).or_default().insert(part, result);
            }
        }
        // Write a temporary file first, so that nothing is lost if the process is killed here.
        let beside = path.with_extension(format!("part{}", std::process::id()));
        let mut file = File::create(&beside)?;
        file.write_all(line(header)?.as_bytes())?;
        for (stage, parts) in &before {
            for (part, result) in parts {
                file.write_all(
                    line(&Entry {
                        stage: stage.clone(),
                        part: *part,
                        result,
                    })?
                    .as_bytes(),
                )?;
            }
        }
        fs::rename(&beside, path)?;
        let file = Some(file);
        Ok(Self { before, file })
    }

    /// Joins the ledgers of all shards of this work; returns how many shards there are, too.
    ///
    /// # Errors
    ///
    /// If one cannot be read, is damaged, or is of other work or of another build; if a shard is
    /// missing or given twice. The error names the file.
    pub fn join(header: &Header, paths: &[PathBuf]) -> anyhow::Result<(Self, usize)> {
        let mut before: BTreeMap<String, Parts> = BTreeMap::new();
        let mut shards: BTreeMap<usize, (Shard, &Path)> = BTreeMap::new();
        for path in paths {
            let name = path.display();
            let found = Header::read(path)?;
            if let Some(why) = header.why_not_joined(&found) {
                bail!("{name} {why}");
            }
            let shard = found
                .shard
                .with_context(|| format!("{name} is not of a shard"))?;
            match shards.insert(shard.number, (shard, path)) {
                Some((other, first)) if other == shard => {
                    bail!(
                        "shard {shard} is given twice: {} and {name}; leave one out",
                        first.display()
                    );
                }
                Some((other, first)) => bail!(
                    "{} is shard {other} and {name} shard {shard}",
                    first.display()
                ),
                None => {}
            }
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            for (number, text) in BufReader::new(file).lines().enumerate().skip(1) {
                let entry = text.ok().and_then(|text| read_line::<Entry<Value>>(&text));
                let Entry {
                    stage,
                    part,
                    result,
                } = entry
                    .with_context(|| format!("{name}:{}: this line is damaged; run the shard again, and it resumes before this line", number + 1))?;
                let twice = before.entry(stage).or_default().insert(part, result);
                ensure!(
                    twice.is_none(),
                    "{name}:{}: another shard has this part too; run both shards again with --fresh",
                    number + 1
                );
            }
        }
        if let Some((first, path)) = shards.values().next() {
            let other = shards.values().find(|(shard, _)| shard.of != first.of);
            if let Some((shard, beside)) = other {
                bail!(
                    "{} is shard {first} and {} shard {shard}",
                    path.display(),
                    beside.display()
                );
            }
            let missing = (1..=first.of).find(|number| !shards.contains_key(number));
            if let Some(number) = missing {
                bail!(
                    "shard {number}/{} is missing; give the ledgers of all shards",
                    first.of
                );
            }
        }
        Ok((Self { before, file: None }, shards.len()))
    }

    /// The parts of a stage that were finished before. Entries that do not have its type are
    /// discarded.
    pub fn take<T: DeserializeOwned>(&mut self, stage: &str) -> BTreeMap<usize, T> {
        let parts = self.before.remove(stage).unwrap_or_default().into_iter();
        parts
            .filter_map(|(part, result)| Some((part, serde_json::from_value(result).ok()?)))
            .collect()
    }

    /// Whether there is anything of a stage.
    pub fn has(&self, stage: &str) -> bool {
        self.before.contains_key(stage)
    }

    /// Writes a finished part.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn add(&mut self, stage: &str, part: usize, result: &impl Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let stage = stage.to_owned();
        file.write_all(
            line(&Entry {
                stage,
                part,
                result,
            })?
            .as_bytes(),
        )?;
        file.flush()
    }
}

/// A line of a ledger: `{"sum":"…",` and the rest of the object, of which the sum is the hash.
fn line(entry: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(entry)?;
    let rest = &json["{".len()..];
    Ok(format!("{START}{}{AFTER_SUM}{rest}\n", sum(rest)))
}

/// `None` for a line that is not exactly what was written.
fn read_line<T: DeserializeOwned>(line: &str) -> Option<T> {
    let (found, rest) = line.strip_prefix(START)?.split_once(AFTER_SUM)?;
    if found != sum(rest) {
        return None;
    }
    serde_json::from_str(&format!("{{{rest}")).ok()
}

const START: &str = "{\"sum\":\"";
const AFTER_SUM: &str = "\",";

fn sum(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests;
