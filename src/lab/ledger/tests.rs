//! What a ledger keeps, and what it refuses.

use locklab_vecmap::VecMap;
use serde_json::Value;
use serde_json::value::to_raw_value;

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
            add(&mut ledger, *part, *part as u64);
        }
        path
    }
}

/// A part of one run with this result.
fn part(stage: &str, part: usize, result: u64) -> Done {
    Done {
        stage: stage.into(),
        parts: Places::one(part),
        runs: 1,
        result: to_raw_value(&result).expect("it is JSON"),
    }
}

/// Adds it.
fn add(ledger: &mut Ledger, number: usize, result: u64) {
    let added = ledger.add(part("runs", number, result));
    added.expect("it is written");
}

/// What a ledger has, by part.
fn done(ledger: &Ledger) -> VecMap<usize, u64> {
    let mut found = VecMap::new();
    let each = ledger.each("runs", &mut |_, done| {
        let result = done.result.get().parse().expect("a number");
        found.extend(done.parts.iter().map(|part| (part, result)));
        Ok(())
    });
    each.expect("it can be read");
    found
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
        let ledger = Ledger::open(&path, header, false).expect("it opens");
        let done = done(&ledger);
        (ledger, done)
    };
    let (mut ledger, before) = open(&header(1, None));
    assert!(before.is_empty());
    add(&mut ledger, 1, 7);
    add(&mut ledger, 0, 8);
    // As if the process was killed while it wrote the second line.
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, &text[..text.len() - 5]).expect("it is written");

    // Another command line for the same work.
    let words = vec!["sweep".into(), "--jobs".into(), "1".into()];
    let other_words = Header {
        words,
        ..header(1, None)
    };
    assert_eq!(open(&other_words).1, VecMap::from([(1, 7)]));
    assert_eq!(open(&header(1, None)).1, VecMap::from([(1, 7)]));

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
        add(&mut ledger, 1, 7);
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
        joined.map(|(ledger, _)| done(&ledger).into_values().collect::<Vec<_>>())
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
    let of_five = [1, 4].map(|number| folder.shard(number, 5, 1, &[]));
    refused(
        &[&of_five[0], &of_five[1]],
        "shards 2/5, 3/5 and 5/5 are missing",
    );
    let text = fs::read_to_string(&one).expect("it is there");
    fs::write(&one, text.replacen("\"result\":2", "\"result\":3", 1)).expect("it is written");
    refused(&[&one, &two], ":3: this line is damaged");
}

#[test]
fn a_line_with_any_flipped_bit_is_refused() {
    let line = line::write(&Line::Done(part("runs", 3, 7))).expect("it is JSON");
    let line = line.trim_end().as_bytes();
    assert!(serde_json::from_slice::<Value>(line).is_ok());
    let read = |line: &[u8]| line::read::<Line>(str::from_utf8(line).ok()?);
    let Some(Line::Done(whole)) = read(line) else {
        panic!("it is not read as it was written");
    };
    assert_eq!((whole.stage.as_str(), whole.runs), ("runs", 1));
    assert_eq!((whole.parts, whole.result.get()), (Places::one(3), "7"));
    for bit in 0..8 * line.len() {
        let mut flipped = line.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_none(), "{bit}");
    }
}

#[test]
fn compacting_leaves_other_stages_as_they_are() {
    let folder = Folder::new("compact");
    let path = folder.0.join("work.jsonl");
    let mut ledger = Ledger::open(&path, &header(1, None), false).expect("it opens");
    for stage in ["twice", "runs", "twice"] {
        let added = ledger.add(part(stage, 0, 1));
        added.expect("it is written");
    }
    let all = Ok(part("runs", 0, 9));
    let compacted = ledger.compact("runs", Some(5), &mut [all].into_iter());
    compacted.expect("it is written");
    add(&mut ledger, 4, 8);
    let mut found = Vec::new();
    each_line(&path, |number, line| {
        found.push((number, line.done().map(str::to_owned)));
        Ok(())
    })
    .expect("it is whole");
    let names: Vec<_> = { found.iter() }.map(|(_, name)| name.as_deref()).collect();
    assert_eq!(
        names,
        [
            Some("twice"),
            Some("twice"),
            None,
            Some("runs"),
            Some("runs")
        ]
    );
    let ledger = Ledger::open(&path, &header(1, None), false).expect("it opens");
    assert_eq!(done(&ledger), VecMap::from([(0, 9), (4, 8)]));
}

#[test]
fn no_flipped_bit_of_a_shard_enters_the_result() {
    let folder = Folder::new("flip");
    let one = folder.shard(1, 2, 1, &[0, 2]);
    let two = folder.shard(2, 2, 1, &[1, 3]);
    let paths = [one, two];
    let header = header(1, None);
    Ledger::join(&header, &paths).expect("they are whole");
    let bytes = fs::read(&paths[1]).expect("it is there");
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << bit;
            fs::write(&paths[1], &flipped).expect("it is written");
            let joined = Ledger::join(&header, &paths);
            if place + 1 == bytes.len() {
                let (ledger, _) = joined.expect("the last line counts as not written");
                let parts = done(&ledger).into_keys();
                assert_eq!(parts.collect::<Vec<_>>(), [0, 1, 2]);
                continue;
            }
            let Err(error) = joined else {
                panic!("bit {bit} of byte {place} was not noticed");
            };
            let error = error.to_string();
            let name = paths[1].display().to_string();
            assert!(error.starts_with(&name), "byte {place}: {error}");
        }
    }
}

#[test]
fn a_ledger_that_cannot_be_written_leaves_no_file() {
    let folder = Folder::new("unwritten");
    // In the place of a folder no file can be put.
    let path = folder.0.join("taken.jsonl");
    fs::create_dir(&path).expect("it is new");
    Ledger::open(&path, &header(1, None), true).expect_err("it is taken");
    assert_eq!(fs::read_dir(&folder.0).expect("it is there").count(), 1);
}
