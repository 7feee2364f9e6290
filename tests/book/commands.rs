//! Runs the commands of a chapter, and compares their output with the text.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ROOT;
use super::markdown::{Block, Page};

/// The programs that a block marked `sh` may call: Locklab, and what looks at its files.
const PROGRAMS: [&str; 6] = ["locklab", "cat", "grep", "head", "ls", "tail"];

/// The words that a command in a block marked `sh notest` must have one of, and why no test runs
/// it.
const UNTESTED: &[(&str, &str)] = &[
    ("redis", "needs a redis-server"),
    ("--redis", "needs a redis-server"),
    ("attack", "needs a redis-server"),
    ("confirm", "needs a redis-server"),
    ("measure", "needs a redis-server"),
    ("score", "needs a redis-server"),
    ("serve", "runs until Ctrl-C"),
    ("submit", "needs Slurm"),
    ("night", "takes half an hour"),
    ("reproduce", "takes minutes"),
    ("matrix", "takes minutes"),
    ("campaign", "takes minutes"),
    ("cost", "takes minutes"),
    ("--all", "takes half a minute"),
    ("--fenced", "takes a minute"),
    ("--pairs", "takes minutes"),
    ("--strategies", "takes minutes"),
    ("--campaign", "takes half a minute"),
];

/// The environment variables of commands in CI.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("CI_NODE_INDEX", "1"),
    ("CI_NODE_TOTAL", "2"),
    ("GITHUB_SHA", "5d41402abc4b2a76b9719d911017c592ae2f1e3d"),
    ("SHARD", "2"),
];

/// Runs a chapter's commands; returns where it is wrong.
pub fn try_out(page: &Page) -> Vec<String> {
    let folder = Folder::new(page);
    let mut mistakes = Vec::new();
    // The output of the commands of the previous block.
    let mut printed: Option<String> = None;
    for block in page.blocks() {
        let info: Vec<&str> = block.info.iter().map(String::as_str).collect();
        let mistake = match info[..] {
            ["sh"] => {
                let ran = folder.run(&block);
                printed = ran.as_ref().ok().cloned();
                ran.map(drop)
            }
            ["sh", "notest"] => {
                printed = None;
                refuse_what_a_test_could_run(&block)
            }
            ["bash" | "console" | "shell", ..] | ["sh", ..] => Err((
                block.line,
                "mark a block of commands `sh`, or `sh notest`".into(),
            )),
            ["text"] => printed
                .as_deref()
                .map_or(Ok(()), |text| occurs(&block, text)),
            _ => {
                printed = None;
                folder.write(&block);
                Ok(())
            }
        };
        if let Err((line, mistake)) = mistake {
            mistakes.push(format!("{}:{line}: {mistake}", page.path.display()));
        }
    }
    mistakes
}

/// The commands of a page that [`try_out`] runs.
pub fn tried(page: &Page) -> Vec<String> {
    let blocks = page.blocks().into_iter();
    let blocks = blocks.filter(|block| block.info == ["sh"]);
    let commands = blocks.flat_map(|block| commands(&block));
    commands.map(|(_, command)| command).collect()
}

/// A line of the page, and what is wrong there.
type Mistake = (usize, String);

/// The folder of a chapter, removed in the end. Besides what the chapter writes it has the
/// published `reports`.
struct Folder {
    root: PathBuf,
}

impl Folder {
    fn new(page: &Page) -> Folder {
        let chapter = page.path.file_stem().expect("a file").to_string_lossy();
        let name = format!("locklab-book-{}-{chapter}", std::process::id());
        let folder = Folder {
            root: std::env::temp_dir().join(name),
        };
        fs::create_dir_all(folder.work()).expect("the temporary folder can be written");
        let programs = folder.root.join("bin");
        fs::create_dir(&programs).expect("the folder is empty");
        let locklab = Path::new(env!("CARGO_BIN_EXE_locklab"));
        symlink(locklab, programs.join("locklab")).expect("a link");
        let reports = Path::new(ROOT).join("reports");
        symlink(reports, folder.work().join("reports")).expect("a link");
        folder.commit();
        folder
    }

    /// Makes the folder a clone with a commit, from which seeds may be derived.
    fn commit(&self) {
        let committer = [
            "-c",
            "user.name=reader",
            "-c",
            "user.email=reader@example.org",
        ];
        let commit = ["commit", "--quiet", "--allow-empty", "--message=First"];
        for words in [
            &["init", "--quiet"][..],
            &[&committer[..], &commit].concat(),
        ] {
            let status = Command::new("git")
                .args(words)
                .current_dir(self.work())
                .status();
            assert!(status.expect("git is installed").success(), "{words:?}");
        }
    }

    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Runs the lines of a block; returns what they print on both streams.
    fn run(&self, block: &Block) -> Result<String, Mistake> {
        let mut printed = String::new();
        for (line, command) in commands(block) {
            let program = command.split_whitespace().next().unwrap_or_default();
            if !PROGRAMS.contains(&program) {
                let remedy = "mark the block `sh notest`";
                return Err((line, format!("no test runs `{program}`: {remedy}")));
            }
            let expected = exit_code(&command).map_err(|mistake| (line, mistake))?;
            let done = self.shell(&command);
            let text = [done.stdout, done.stderr].concat();
            let text = String::from_utf8(text).expect("UTF-8");
            let code = done.status.code();
            // A busy machine may make too few runs in the time.
            let is_short = command.contains("--budget") && code == Some(3);
            if code != Some(expected) && !is_short {
                let code = code.map_or("a signal".into(), |code| code.to_string());
                let mistake =
                    format!("`{command}` exits with {code}, not {expected}; it prints\n{text}");
                return Err((line, mistake));
            }
            printed += &text;
        }
        Ok(printed)
    }

    fn shell(&self, command: &str) -> std::process::Output {
        let path = format!("{}:/usr/bin:/bin", self.root.join("bin").display());
        Command::new("sh")
            .args(["-c", command])
            .current_dir(self.work())
            .env_clear()
            .env("PATH", path)
            .envs(ENVIRONMENT)
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell")
    }

    /// Writes the file that a block names in its first line, if it names one.
    fn write(&self, block: &Block) {
        let name = block.lines.first().and_then(|line| line.strip_prefix("# "));
        let Some(name) = name else { return };
        let (name, is_continued) = match name.strip_suffix(", continued") {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.contains(' ') || !name.contains('.') {
            return;
        }
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().expect("it is below")).expect("the folder can be written");
        let before = match is_continued {
            true => fs::read_to_string(&path).expect("an earlier block has written it"),
            false => String::new(),
        };
        let text = before + &block.lines.join("\n") + "\n";
        fs::write(path, text).expect("the folder can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder among temporary ones does no harm.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The commands of a block, each with the line in which it begins: a line that ends with a
/// backslash continues in the next.
fn commands(block: &Block) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, line) in block.lines.iter().enumerate() {
        let text = line.trim();
        match commands.last_mut().filter(|_| goes_on) {
            Some((_, command)) => *command = format!("{} {text}", command.trim_end_matches('\\')),
            None if text.is_empty() || text.starts_with('#') => {}
            None => commands.push((block.line + index, text.into())),
        }
        goes_on = text.ends_with('\\');
    }
    commands
}

/// The exit code that a command's comment states; 0 without one.
fn exit_code(command: &str) -> Result<i32, String> {
    let Some((_, stated)) = command.split_once("# exits with ") else {
        return Ok(0);
    };
    let number = stated.split(|letter: char| !letter.is_ascii_digit()).next();
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("`# exits with {stated}` states no exit code"))
}

/// Refuses a command that a test could run, in a block that no test runs.
fn refuse_what_a_test_could_run(block: &Block) -> Result<(), Mistake> {
    for (line, command) in commands(block) {
        let mut words = command.split_whitespace();
        let is_locklab = words.next() == Some("locklab");
        let is_excused = words.any(|word| UNTESTED.iter().any(|(untested, _)| *untested == word));
        if is_locklab && !is_excused {
            return Err((
                line,
                format!("a test could run `{command}`: mark the block `sh`"),
            ));
        }
    }
    Ok(())
}

/// Whether a block occurs in what was printed, whole words of it.
fn occurs(block: &Block, printed: &str) -> Result<(), Mistake> {
    let printed = format!(" {} ", in_one_line(printed));
    let expected = format!(" {} ", in_one_line(&block.lines.join("\n")));
    let mut rest = &printed[..];
    for piece in expected.split('…') {
        match rest.find(piece) {
            // The next piece may begin with the space that ends this one.
            Some(place) => rest = &rest[place + piece.trim_end().len()..],
            None => {
                let piece = piece.trim();
                let mistake = format!("`{piece}` was not printed, or not in this place:{rest}");
                return Err((block.line, mistake));
            }
        }
    }
    Ok(())
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The findings in a page with this text.
fn check(name: &str, text: &str, expected: &[&str]) {
    let page = Page {
        path: format!("{name}.md").into(),
        text: text.into(),
    };
    let mistakes = try_out(&page);
    assert_eq!(mistakes.len(), expected.len(), "{mistakes:?}");
    for (mistake, expected) in mistakes.iter().zip(expected) {
        let expected = format!("{name}.md:{expected}");
        assert!(mistake.starts_with(&expected), "{mistake}\n{expected}");
    }
}

#[test]
fn correct_page_has_no_findings() {
    let text = "\
```toml
# my.toml
title = \"Mine\"
```
```toml
# my.toml, continued
[lock]
name = \"setnx\"
```
```sh
# Overrides come after the file.
locklab run my.toml \\
    --seeds 0..2
locklab study rare kleppmann/k1 --budget 1ms
locklab run my.toml --set lock.nme=x  # exits with 1
```
```text
my   Mine
… unknown key \"nme\" …
```
```sh notest
cargo build
locklab run my.toml --on redis
```
```text
This was printed by no test.
```
";
    check("true", text, &[]);
}

#[test]
fn wrong_page_has_all_expected_findings() {
    let text = "\
```sh
locklab list lokcs
```
```sh
locklab list faults  # exits with 2
```
```sh
locklab list faults
```
```text
pause … earthquake
```
```text
partition … pause
```
```text
pau
```
```sh
cargo build
```
```sh notest
locklab list faults
```
```console
$ locklab list faults
```
";
    check(
        "wrong",
        text,
        &[
            "2: `locklab list lokcs` exits with 1, not 0",
            "5: `locklab list faults  # exits with 2` exits with 0, not 2",
            "11: `earthquake` was not printed",
            "14: `pause` was not printed, or not in this place",
            "17: `pau` was not printed",
            "20: no test runs `cargo`",
            "23: a test could run `locklab list faults`",
            "26: mark a block of commands `sh`",
        ],
    );
}
