//! The first line of a ledger: what the work is, and which build does it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::line;
use crate::Shard;
use locklab_results::FORMAT;
use locklab_results::recording::VERSION;

/// The first line of a ledger: what the work is, and what does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of Locklab.
    pub(super) locklab: String,
    /// The version of the file format; see [`FORMAT`].
    pub(super) format: u32,
    /// The hash of the program's file: the results of another build are not reused, since its
    /// verdicts may differ.
    pub(super) build: String,
    /// The hash of everything that is run.
    pub(super) work: String,
    /// The shard; absent: the whole work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The command line without the program, which `locklab shards merge` reads to report on the whole.
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
        let header = line::next(&mut BufReader::new(file))
            .with_context(|| format!("cannot read {name}"))?
            .and_then(|line| line::read(&line));
        header.with_context(|| {
            format!("{name}:1: this is not a shard's ledger, a .jsonl file that --shard wrote")
        })
    }

    /// Whether both are of the same work, whatever their command lines.
    pub(super) fn resumes(&self, other: &Header) -> bool {
        let words = other.words.clone();
        Header {
            words,
            ..self.clone()
        } == *other
    }

    /// Whether both are of shards of the same work, whatever builds wrote them.
    pub fn is_beside(&self, other: &Header) -> bool {
        let of = |header: &Header| header.shard.map(|shard| shard.of);
        self.work == other.work && of(self) == of(other)
    }

    /// Whether the same build wrote both.
    pub fn is_of_the_build_of(&self, other: &Header) -> bool {
        (&self.locklab, self.format, &self.build) == (&other.locklab, other.format, &other.build)
    }

    /// Why the ledger of `other` cannot be joined with that of `self`; the words follow its name.
    pub(super) fn why_not_joined(&self, other: &Header) -> Option<&'static str> {
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
