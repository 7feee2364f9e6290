//! Results that are written as they arrive: a file of JSON lines, one for each finished part, from
//! which work that was interrupted continues.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use locklab_model::scenario::Scenario;
use locklab_results::recording::VERSION;
use locklab_results::{Detail, FORMAT, Seeding};

/// The identity of a sweep: the scenario, its overrides, the grid, the seeds, and the build of
/// Locklab.
#[derive(Debug, Serialize)]
pub struct Plan<'a> {
    /// The scenario with its overrides.
    pub sweep: &'a Scenario,
    /// The overrides, as given.
    pub sets: &'a [String],
    /// The axes of the grid, as given.
    pub axes: &'a [String],
    /// The first seed of the first cell.
    #[serde(skip_serializing_if = "is_zero")]
    pub first_seed: u64,
    /// The number of runs of each cell.
    pub seeds: u64,
    /// How the seeds of the cells are chosen.
    pub seeding: Seeding,
    /// What is kept of each run. Results with less are not continued.
    #[serde(skip)]
    pub detail: Detail,
    /// Identifies the running program: cells of another build are not reused, since its
    /// verdicts may differ.
    #[serde(skip)]
    pub build: u64,
}

/// Most sweeps begin with seed 0. They keep the identity that they had before others did not.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

impl Plan<'_> {
    /// Eight hexadecimal digits that identify the plan, independent of the build.
    pub fn id(&self) -> String {
        let plan = serde_json::json!({ "locklab": VERSION, "plan": self });
        format!("{:08x}", xxh3_64(plan.to_string().as_bytes()) as u32)
    }

    /// The first line of its [`Ledger`].
    pub fn header(&self) -> String {
        let build = format!("{:016x}", self.build);
        let line = serde_json::json!({
            "locklab": VERSION,
            "format": FORMAT,
            "build": build,
            "detail": self.detail,
            "plan": self,
        });
        line.to_string()
    }
}

/// The [`Plan::build`] of the running program: the hash of its file.
pub fn this_build() -> io::Result<u64> {
    let mut file = File::open(std::env::current_exe()?)?;
    let (mut hasher, mut piece) = (Xxh3::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.digest()),
            count => hasher.update(&piece[..count]),
        }
    }
}

/// An open results file.
#[derive(Debug)]
pub struct Ledger {
    file: File,
}

#[derive(Serialize, Deserialize)]
struct Entry<T> {
    place: usize,
    cell: T,
}

impl<T: Serialize> Entry<T> {
    /// The line of a file: `{"sum":"…","place":…`, where the sum is the hash of the rest.
    fn line(&self) -> serde_json::Result<String> {
        let json = serde_json::to_string(self)?;
        let rest = &json["{".len()..];
        Ok(format!("{START}{}{AFTER_SUM}{rest}\n", sum(rest)))
    }
}

impl<T: DeserializeOwned> Entry<T> {
    /// `None` for a line that is not exactly what was written.
    fn read(line: &str) -> Option<Self> {
        let (found, rest) = line.strip_prefix(START)?.split_once(AFTER_SUM)?;
        if found != sum(rest) {
            return None;
        }
        serde_json::from_str(&format!("{{{rest}")).ok()
    }
}

const START: &str = "{\"sum\":\"";
const AFTER_SUM: &str = "\",";

fn sum(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

impl Ledger {
    /// Opens the results of the work that `header` identifies, in one line, and returns the parts
    /// that are already done, by their place in the work. A file with another header is discarded,
    /// and so are a damaged line and the lines after it; if `fresh`, everything is discarded.
    pub fn open<T: Serialize + DeserializeOwned>(
        path: &Path,
        header: &str,
        fresh: bool,
    ) -> io::Result<(Self, BTreeMap<usize, T>)> {
        let done = if fresh {
            BTreeMap::new()
        } else {
            read(path, header)?
        };
        // Write a temporary file first, so that nothing is lost if the process is killed here.
        let beside = path.with_extension(format!("part{}", std::process::id()));
        let mut file = File::create(&beside)?;
        writeln!(file, "{header}")?;
        let mut ledger = Self { file };
        for (place, cell) in &done {
            ledger.add(*place, cell)?;
        }
        fs::rename(&beside, path)?;
        Ok((ledger, done))
    }

    /// Writes a finished part.
    pub fn add<T: Serialize>(&mut self, place: usize, cell: &T) -> io::Result<()> {
        let line = Entry { place, cell }.line()?;
        self.file.write_all(line.as_bytes())?;
        self.file.flush()
    }
}

fn read<T: DeserializeOwned>(path: &Path, header: &str) -> io::Result<BTreeMap<usize, T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut lines = BufReader::new(file).lines();
    if !matches!(lines.next(), Some(Ok(line)) if line == header) {
        return Ok(BTreeMap::new());
    }
    let entries = lines.map_while(|line| Entry::read(&line.ok()?));
    Ok(entries.map(|entry| (entry.place, entry.cell)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;
    use locklab_results::Cell;

    #[test]
    fn an_interrupted_sweep_goes_on_and_another_begins_anew() {
        let folder = std::env::temp_dir().join(format!("locklab-ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let path = folder.join("sweep.jsonl");
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let axes = ["lock.ttl_ms=1,2".to_string()];
        let plan = |seeds| Plan {
            sweep: &scenario,
            sets: &[],
            axes: &axes,
            first_seed: 0,
            seeds,
            seeding: Seeding::Common,
            detail: Detail::Counts,
            build: 1,
        };
        let cell = Cell {
            fingerprint: 7,
            ..Cell::default()
        };

        let open = |plan: Plan<'_>| Ledger::open::<Cell>(&path, &plan.header(), false);
        let (mut ledger, done) = open(plan(10)).expect("opens");
        assert_eq!(done.len(), 0);
        ledger.add(1, &cell).expect("writes");
        ledger.add(0, &cell).expect("writes");
        // As if the process was killed while it wrote the second line.
        let text = std::fs::read_to_string(&path).expect("is there");
        std::fs::write(&path, &text[..text.len() - 5]).expect("writes");

        let (_, done) = open(plan(10)).expect("opens");
        assert_eq!(done, BTreeMap::from([(1, cell)]));
        let rebuilt = Plan {
            build: 2,
            ..plan(10)
        };
        assert_eq!(rebuilt.id(), plan(10).id());
        let (_, done) = open(rebuilt).expect("opens");
        assert_eq!(done.len(), 0);
        let in_detail = Plan {
            detail: Detail::Runs,
            ..plan(10)
        };
        let (_, done) = open(in_detail).expect("opens");
        assert_eq!(done.len(), 0);
        let (_, done) = open(plan(11)).expect("opens");
        assert_eq!(done.len(), 0);
        std::fs::remove_dir_all(&folder).expect("is ours");
    }

    #[test]
    fn a_line_with_any_flipped_bit_is_none() {
        let cell = Cell {
            fingerprint: 7,
            ..Cell::default()
        };
        let line = Entry { place: 3, cell }.line().expect("it is JSON");
        let line = line.trim_end().as_bytes();
        assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
        let read = |line: &[u8]| Entry::<Cell>::read(str::from_utf8(line).ok()?);
        assert_eq!(read(line).map(|entry| entry.place), Some(3));
        for bit in 0..8 * line.len() {
            let mut flipped = line.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped).is_none(), "{bit}");
        }
    }
}
