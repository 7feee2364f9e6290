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
            () if (&self.locklab, self.format) != (&other.locklab, other.format) => {
                Some("was written by another version of Locklab")
            }
            () if self.build != other.build => {
                Some("was written by another build; run all shards with the same program")
            }
            () if self.work != other.work => {
                Some("is of other work: other scenarios, seeds or options")
            }
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
                        "shard {shard} is given twice: {} and {name}",
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
                    .with_context(|| format!("{name}:{}: this line is damaged", number + 1))?;
                let twice = before.entry(stage).or_default().insert(part, result);
                ensure!(
                    twice.is_none(),
                    "{name}:{}: another shard has this part too",
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
                bail!("shard {number}/{} is missing", first.of);
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
mod tests {
    use super::*;

    fn header(work: u64, shard: Option<Shard>) -> Header {
        Header::of(&work, shard, &["sweep".into()]).expect("it can be read")
    }

    /// A folder that is removed at the end of a test that passes.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let name = format!("locklab-ledger-{}-{test}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("the temporary folder can be written");
            Self(folder)
        }

        fn shard(&self, number: usize, of: usize, work: u64, parts: &[usize]) -> PathBuf {
            let path = self.0.join(format!("{number}-{of}-{work}.jsonl"));
            let header = header(work, Some(Shard { number, of }));
            let mut ledger = Ledger::open(&path, &header, true).expect("it opens");
            for part in parts {
                ledger.add("runs", *part, part).expect("it is written");
            }
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                fs::remove_dir_all(&self.0).expect("is ours");
            }
        }
    }

    #[test]
    fn interrupted_work_resumes_and_other_work_begins_anew() {
        let folder = Folder::new("resume");
        let path = folder.0.join("work.jsonl");
        let open = |header: &Header| {
            let mut ledger = Ledger::open(&path, header, false).expect("it opens");
            let done: BTreeMap<usize, u64> = ledger.take("runs");
            (ledger, done)
        };
        let (mut ledger, done) = open(&header(1, None));
        assert!(done.is_empty());
        ledger.add("runs", 1, &7_u64).expect("it is written");
        ledger.add("runs", 0, &8_u64).expect("it is written");
        // As if the process was killed while it wrote the second line.
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(&path, &text[..text.len() - 5]).expect("it is written");

        // Another command line for the same work.
        let words = vec!["sweep".into(), "--jobs".into(), "1".into()];
        let other_words = Header {
            words,
            ..header(1, None)
        };
        assert_eq!(open(&other_words).1, BTreeMap::from([(1, 7)]));
        assert_eq!(open(&header(1, None)).1, BTreeMap::from([(1, 7)]));

        let rebuilt = Header {
            build: "0".into(),
            ..header(1, None)
        };
        for other in [
            rebuilt,
            header(2, None),
            header(1, Some(Shard { number: 1, of: 2 })),
        ] {
            let mut ledger = Ledger::open(&path, &header(1, None), true).expect("it opens");
            ledger.add("runs", 1, &7_u64).expect("it is written");
            assert!(open(&other).1.is_empty(), "{other:?}");
        }
    }

    #[test]
    fn all_shards_join_to_the_whole_and_fewer_or_others_do_not() {
        let folder = Folder::new("join");
        let one = folder.shard(1, 2, 1, &[0, 2]);
        let two = folder.shard(2, 2, 1, &[1]);
        let join = |paths: &[&PathBuf]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            let joined = Ledger::join(&header(1, None), &paths);
            joined.map(|(mut ledger, _)| {
                ledger
                    .take::<usize>("runs")
                    .into_values()
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(join(&[&two, &one]).expect("they are all"), [0, 1, 2]);
        let refused = |paths: &[&PathBuf], told: &str| {
            let error = join(paths).expect_err(told).to_string();
            assert!(error.contains(told), "{error}");
        };
        refused(&[&two], "shard 1/2 is missing");
        refused(&[&one, &two, &two], "shard 2/2 is given twice");
        refused(&[&one, &folder.shard(2, 3, 1, &[])], "is shard 1/2 and ");
        refused(&[&one, &folder.shard(2, 2, 2, &[])], "is of other work");
        let rebuilt = Header {
            build: "0123456789abcdef".into(),
            ..header(1, Some(Shard { number: 2, of: 2 }))
        };
        let path = folder.0.join("rebuilt.jsonl");
        Ledger::open(&path, &rebuilt, true).expect("it opens");
        refused(&[&one, &path], "was written by another build");
        let overlapping = folder.shard(2, 2, 1, &[1, 2]);
        refused(&[&one, &overlapping], "another shard has this part too");
        let text = fs::read_to_string(&one).expect("it is there");
        fs::write(&one, text.replacen("\"result\":2", "\"result\":3", 1)).expect("it is written");
        refused(&[&one, &two], ":3: this line is damaged");
    }

    #[test]
    fn a_line_with_any_flipped_bit_is_refused() {
        let entry = Entry {
            stage: "runs".into(),
            part: 3,
            result: 7,
        };
        let line = line(&entry).expect("it is JSON");
        let line = line.trim_end().as_bytes();
        assert!(serde_json::from_slice::<Value>(line).is_ok());
        let read = |line: &[u8]| read_line::<Entry<u64>>(str::from_utf8(line).ok()?);
        assert_eq!(read(line).map(|entry| entry.part), Some(3));
        for bit in 0..8 * line.len() {
            let mut flipped = line.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped).is_none(), "{bit}");
        }
    }
}
