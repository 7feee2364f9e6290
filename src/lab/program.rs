//! How this program is started, for the command lines that it prints.

use locklab_values::shell::quoted;

/// The words of a shell that start this program.
#[derive(Debug, Clone)]
pub struct Program {
    /// For a line to paste in the current shell and folder.
    words: String,
    /// On a machine where it is installed.
    name: String,
}

impl Program {
    /// The program that is running, by the path with which it was started.
    pub fn running() -> Self {
        let path = std::env::args_os().next();
        let path = path.map_or("locklab".into(), |path| path.to_string_lossy().into_owned());
        Self {
            words: quoted(&path),
            name: path.rsplit('/').next().unwrap_or_default().into(),
        }
    }

    /// A program that is started with these words.
    pub fn started_with(words: &str) -> Self {
        let (words, name) = (words.into(), words.into());
        Self { words, name }
    }

    /// The words that start it on a machine where it is installed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command of this program, as a line to paste.
    pub fn line<Word: AsRef<str>>(&self, arguments: &[Word]) -> String {
        let words = arguments.iter().map(|word| quoted(word.as_ref()));
        let words: Vec<String> = [self.words.clone()].into_iter().chain(words).collect();
        words.join(" ")
    }

    /// The command line that runs a scenario with one seed.
    pub fn run_line(&self, scenario: &str, sets: &[String], seed: u64) -> String {
        self.line(&run_words(scenario, sets, seed))
    }
}

/// The arguments that run a scenario with these overrides and this seed.
pub fn run_words(scenario: &str, sets: &[String], seed: u64) -> Vec<String> {
    let sets = sets.iter().flat_map(|set| ["--set".into(), set.clone()]);
    { ["run".into(), scenario.into()].into_iter() }
        .chain(sets)
        .chain(["--seed".into(), seed.to_string()])
        .collect()
}
