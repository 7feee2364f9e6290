//! A file of finished parts, in JSON Lines: interrupted work resumes from it, and the ledgers of all
//! shards are joined to the whole.
//!
//! Its first line says what the work is. A line is added for each finished part; when these lines have
//! grown, they are compacted to one for each job. So the file grows with the number of jobs, not with
//! that of runs. Results are read one at a time.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use locklab_vecmap::{VecMap, VecSet};

mod header;
mod line;
mod places;

pub use self::header::Header;
pub use self::line::{Done, Line};
pub use self::places::Places;
use super::Shard;
use super::store::beside;

/// Lines of single parts are compacted when they have so many bytes, and as many as the compacted
/// ones: the file has at most twice its compacted size and this.
pub const COMPACT_AFTER: u64 = 1 << 20;

/// The finished parts of some work, and the file that has them.
#[derive(Debug)]
pub struct Ledger {
    header: Header,
    /// The files with what was finished before, and whose shard each is.
    sources: Vec<(PathBuf, Option<Shard>)>,
    /// The stages of which anything was finished before.
    stages: VecSet<String>,
    /// `None` if it was joined from several.
    own: Option<Own>,
}

/// The file to which finished parts are added.
#[derive(Debug)]
struct Own {
    path: PathBuf,
    file: File,
    /// The bytes that were there when it was last written as a whole.
    compacted: u64,
    /// The bytes that were added since then.
    added: u64,
}

impl Ledger {
    /// Opens the ledger of this work. A file of other work is discarded, and so are a damaged line
    /// and the lines after it; if `fresh`, everything is discarded.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn open(path: &Path, header: &Header, fresh: bool) -> io::Result<Self> {
        let mut before = match File::open(path) {
            Ok(file) if !fresh => Some(BufReader::new(file)),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => None,
        };
        let first = match &mut before {
            Some(file) => line::next(file)?.and_then(|line| line::read::<Header>(&line)),
            None => None,
        };
        if !first.is_some_and(|first| first.resumes(header)) {
            before = None;
        }
        let mut stages = VecSet::new();
        let own = Own::replace(path, header, |out| {
            let Some(file) = &mut before else {
                return Ok(());
            };
            while let Some(text) = line::next(file)? {
                let Some(found) = line::read::<Line>(&text) else {
                    break;
                };
                // More may be done now: rounds of further seeds.
                if !matches!(found, Line::Complete { .. }) {
                    writeln!(out, "{text}")?;
                }
                stages.extend(found.done().map(str::to_owned));
            }
            Ok(())
        })?;
        Ok(Self {
            header: header.clone(),
            sources: vec![(path.to_owned(), header.shard)],
            stages,
            own: Some(own),
        })
    }

    /// Joins the ledgers of all shards of this work; returns how many shards there are, too.
    ///
    /// # Errors
    ///
    /// If one cannot be read, is damaged, or is of other work or of another build; if a shard is
    /// missing or given twice. The error names the file.
    pub fn join(header: &Header, paths: &[PathBuf]) -> anyhow::Result<(Self, usize)> {
        let mut stages = VecSet::new();
        let mut shards: VecMap<usize, (Shard, &Path)> = VecMap::new();
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
            each_line(path, |_, found| {
                stages.extend(found.done().map(str::to_owned));
                Ok(())
            })?;
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
            let missing = (1..=first.of).filter(|number| !shards.contains_key(number));
            let missing: Vec<usize> = missing.collect();
            if !missing.is_empty() {
                bail!(
                    "{} missing; give the ledgers of all shards",
                    are(&missing, first.of)
                );
            }
        }
        let count = shards.len();
        let sources = shards.into_values();
        let sources = sources.map(|(shard, path)| (path.to_owned(), Some(shard)));
        let joined = Self {
            header: header.clone(),
            sources: sources.collect(),
            stages,
            own: None,
        };
        Ok((joined, count))
    }

    /// Whether anything of a stage was finished before.
    pub fn has(&self, stage: &str) -> bool {
        self.stages.contains(stage)
    }

    /// Calls `take` with everything of a stage that was finished before, and with the shard that did it.
    /// What it refuses with a reason is discarded; if shards are joined, it is an error.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or shards are joined and `take` refuses a line. The error names it.
    pub fn each(
        &self,
        stage: &str,
        take: &mut dyn FnMut(Option<Shard>, Done) -> Result<(), String>,
    ) -> anyhow::Result<()> {
        if !self.has(stage) {
            return Ok(());
        }
        for (path, shard) in &self.sources {
            each_line(path, |number, found| {
                let Line::Done(done) = found else {
                    return Ok(());
                };
                if done.stage != stage {
                    return Ok(());
                }
                match take(*shard, done) {
                    Err(why) if self.own.is_none() => bail!(
                        "{}:{number}: {why}; run the shard again with --fresh",
                        path.display()
                    ),
                    _ => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// Writes how many runs a stage has here.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn plan(&mut self, stage: &str, runs: u64) -> io::Result<()> {
        self.write(&planned(stage, runs))
    }

    /// Writes finished parts.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn add(&mut self, done: Done) -> io::Result<()> {
        self.write(&Line::Done(done))
    }

    /// Writes that everything is done.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn complete(&mut self, runs: u64) -> io::Result<()> {
        self.write(&Line::Complete { runs })
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let Some(own) = &mut self.own else {
            return Ok(());
        };
        let text = line::write(line)?;
        own.file.write_all(text.as_bytes())?;
        own.added += text.len() as u64;
        own.file.flush()
    }

    /// Whether so much was added that it is to be compacted.
    pub fn is_long(&self) -> bool {
        let own = self.own.as_ref();
        own.is_some_and(|own| own.added > COMPACT_AFTER.max(own.compacted))
    }

    /// Writes a stage, of which so many runs are to be made if anybody wants to know, anew: what is
    /// finished of it is `done`. Those who read the file see what was there before, or all that is there now.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn compact(
        &mut self,
        stage: &str,
        plan: Option<u64>,
        done: &mut dyn Iterator<Item = io::Result<Done>>,
    ) -> io::Result<()> {
        let Some(own) = &mut self.own else {
            return Ok(());
        };
        let mut before = BufReader::new(File::open(&own.path)?);
        line::next(&mut before)?;
        *own = Own::replace(&own.path, &self.header, |out| {
            while let Some(text) = line::next(&mut before)? {
                if line::read::<Line>(&text).is_some_and(|found| !found.is_of(stage)) {
                    writeln!(out, "{text}")?;
                }
            }
            if let Some(runs) = plan {
                out.write_all(line::write(&planned(stage, runs))?.as_bytes())?;
            }
            for done in done {
                out.write_all(line::write(&Line::Done(done?))?.as_bytes())?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

impl Own {
    /// Writes a temporary file beside it, and then puts it in its place: nothing is lost if the process is
    /// killed here.
    fn replace(
        path: &Path,
        header: &Header,
        lines: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(beside(&name));
        let write = || -> io::Result<File> {
            let mut out = BufWriter::new(File::create(&beside)?);
            out.write_all(line::write(header)?.as_bytes())?;
            lines(&mut out)?;
            let file = out.into_inner()?;
            if header.shard.is_some() {
                // Another machine is going to read it.
                file.sync_data()?;
            }
            fs::rename(&beside, path)?;
            Ok(file)
        };
        let file = write().inspect_err(|_| {
            // Remove an incomplete file. The first error is the one that counts.
            let _ = fs::remove_file(&beside);
        })?;
        Ok(Own {
            path: path.to_owned(),
            compacted: file.metadata()?.len(),
            file,
            added: 0,
        })
    }
}

fn planned(stage: &str, runs: u64) -> Line {
    let stage = stage.to_owned();
    Line::Planned { stage, runs }
}

/// Calls `take` with the number and the contents of every line after the header.
///
/// # Errors
///
/// That of `take`; if the file cannot be read, or a line is damaged. The error names it.
pub fn each_line(
    path: &Path,
    mut take: impl FnMut(usize, Line) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mut file = BufReader::new(file);
    for number in 1.. {
        let text = line::next(&mut file).with_context(|| format!("cannot read {name}"))?;
        let Some(text) = text else { break };
        if number == 1 {
            continue;
        }
        let found = line::read(&text).with_context(|| {
            format!(
                "{name}:{number}: this line is damaged; run the shard again, and it resumes before \
                 this line"
            )
        })?;
        take(number, found)?;
    }
    Ok(())
}

/// `shard 3/8 is`, or `shards 3/8 and 5/8 are`.
pub fn are(numbers: &[usize], of: usize) -> String {
    let names: Vec<String> = numbers.iter().map(|n| format!("{n}/{of}")).collect();
    match &names[..] {
        [one] => format!("shard {one} is"),
        [others @ .., last] => format!("shards {} and {last} are", others.join(", ")),
        [] => "no shard is".into(),
    }
}

#[cfg(test)]
mod tests;
