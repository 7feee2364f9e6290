//! Transcripts: files of commands, and below each what it prints.
//!
//! A line that begins with `# ` begins a section, which has nothing in common with those before. Indented by two
//! spaces come the commands, behind `$ ` or another prompt; a line with `> ` continues one. Below it, indented too,
//! stands what it prints. Errors stand behind `2> `, an exit code in brackets. `…` stands for any text in a line; alone
//! for any lines that are neither errors nor a code; and `2> …` alone for any errors. All else is prose.
//!
//! With `LOCKLAB_TRANSCRIPTS=write` the file gets what is printed now where it differs.

use std::fs;
use std::path::Path;

/// A command, and what stands below it.
struct Step {
    line: usize,
    /// With its continuations.
    command: Vec<String>,
    expected: Vec<String>,
}

enum Item {
    Prose(String),
    Step(Step),
}

fn parse(text: &str, prompts: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let indented = line.strip_prefix("  ");
        let is_command = |line: &str| prompts.iter().any(|prompt| line.starts_with(prompt));
        match (indented, items.last_mut()) {
            (Some(text), _) if is_command(text) => items.push(Item::Step(Step {
                line: index + 1,
                command: vec![text.into()],
                expected: Vec::new(),
            })),
            (Some(text), Some(Item::Step(step)))
                if (text.starts_with("> ") || text == ">") && step.expected.is_empty() =>
            {
                step.command.push(text.into());
            }
            (Some(text), Some(Item::Step(step))) => step.expected.push(text.into()),
            // Of an output, if it goes on.
            (None, Some(Item::Step(step))) if line.is_empty() => step.expected.push(String::new()),
            (_, _) => items.push(Item::Prose(line.into())),
        }
    }
    items
}

/// Whether a text has these pieces, with anything in the place of each `…`.
fn fits(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.any(|at| fits(rest, &line[at..]))
        }),
    }
}

fn all_fit(expected: &[String], lines: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return lines.is_empty();
    };
    let is_error = |line: &&String| line.starts_with("2>");
    let is_code = |line: &&String| line.starts_with('[') && line.ends_with(']');
    let any = match &**first {
        "…" => { lines.iter() }
            .take_while(|line| !is_error(line) && !is_code(line))
            .count(),
        "2> …" => lines.iter().take_while(is_error).count(),
        _ => {
            let line = lines.split_first();
            return line.is_some_and(|(line, others)| fits(first, line) && all_fit(rest, others));
        }
    };
    (0..=any).any(|at| all_fit(rest, &lines[at..]))
}

/// Runs the commands of a file in a new `S` for each section; `run` gets the prompt and the command, and returns the
/// lines that it prints.
///
/// # Panics
///
/// If one prints something else.
pub fn check_transcript<S>(
    path: &Path,
    prompts: &[&str],
    section: impl Fn() -> S,
    run: impl Fn(&mut S, &str, &str) -> Vec<String>,
) {
    let text = fs::read_to_string(path).expect("the transcript is there");
    let mut state = section();
    let (mut new, mut wrong) = (Vec::new(), Vec::new());
    for item in parse(&text, prompts) {
        match item {
            Item::Prose(line) => {
                if line.starts_with("# ") {
                    state = section();
                }
                new.push(line);
            }
            Item::Step(mut step) => {
                let (prompt, first) = step.command[0].split_once(' ').expect("it has a prompt");
                let others = step.command[1..].iter();
                let others = others.map(|line| line.get(2..).unwrap_or_default());
                let command: Vec<&str> = [first].into_iter().chain(others).collect();
                let lines = run(&mut state, prompt, &command.join("\n"));
                let end = { step.expected.iter() }.rposition(|line| !line.is_empty());
                let blank = step.expected.split_off(end.map_or(0, |end| end + 1));
                if !all_fit(&step.expected, &lines) {
                    let (line, command) = (step.line, step.command.join("\n"));
                    let place = format!("{}:{line}", path.display());
                    wrong.push(format!("{place}: {command}\n{}\n", lines.join("\n")));
                    step.expected = lines;
                }
                let lines = [step.command, step.expected].concat().into_iter();
                new.extend(lines.map(|line| format!("  {line}").trim_end().to_owned()));
                new.extend(blank);
            }
        }
    }
    if std::env::var_os("LOCKLAB_TRANSCRIPTS").is_some_and(|what| what == "write") {
        fs::write(path, new.join("\n") + "\n").expect("it can be written");
    } else {
        let wrong = wrong.concat();
        assert!(wrong.is_empty(), "these print something else now:\n{wrong}");
    }
}

/// A test for each of these transcripts of a folder, by a function that gets its path; and one that the folder has no
/// others.
#[macro_export]
macro_rules! transcripts {
    ($folder:literal, $check:path: $($name:ident)*) => {
        const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder);

        $(
            #[test]
            fn $name() {
                let file = concat!(stringify!($name), ".txt");
                $check(&::std::path::Path::new(FOLDER).join(file));
            }
        )*

        #[test]
        fn every_transcript_has_a_test() {
            $crate::assert_transcripts(FOLDER.as_ref(), &[$(stringify!($name)),*]);
        }
    };
}

/// Checks that a folder has these transcripts and no others.
///
/// # Panics
///
/// If it has not.
pub fn assert_transcripts(folder: &Path, names: &[&str]) {
    let entries = fs::read_dir(folder).expect("a folder");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let transcripts = files.filter(|file| file.extension().is_some_and(|it| it == "txt"));
    let mut found: Vec<String> = transcripts
        .map(|file| {
            file.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    found.sort();
    assert_eq!(found, names, "in {}", folder.display());
}

#[test]
fn a_transcript_notices_what_differs() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    for (expected, printed, is_same) in [
        ("a\nb", "a\nb", true),
        ("a\nb", "a", false),
        ("a", "a\nb", false),
        ("a…c d…", "ab bc d", true),
        ("a…c", "acb", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("…", "", true),
        ("…", "a\n2> b", false),
        ("…\n2> …", "a\n2> b\n2> c", true),
        ("2> …", "2> b\n[1]", false),
        ("…\n[1]", "a\n[2]", false),
    ] {
        let same = all_fit(&lines(expected), &lines(printed));
        assert_eq!(same, is_same, "{expected:?} {printed:?}");
    }
}

#[test]
#[should_panic(expected = "file.txt:4: $ second\n3\n")]
fn a_step_that_differs_is_shown() {
    let folder = std::env::temp_dir().join(format!("locklab-transcript-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let path = folder.join("file.txt");
    fs::write(&path, "# One\n  $ first\n  1\n  $ second\n  2\n").expect("it can be written");
    let section = || 0;
    check_transcript(&path, &["$ "], section, |count, _, command| {
        *count += command.len() / 5;
        vec![(*count + usize::from(command == "second")).to_string()]
    });
}

#[test]
#[should_panic(expected = "file")]
fn a_transcript_without_a_test_is_named() {
    let folder = std::env::temp_dir().join(format!("locklab-transcripts-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    fs::write(folder.join("no-transcript.toml"), "").expect("it can be written");
    assert_transcripts(&folder, &[]);
    fs::write(folder.join("file.txt"), "").expect("it can be written");
    assert_transcripts(&folder, &[]);
}
