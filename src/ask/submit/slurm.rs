//! The scripts of a job on Slurm: an array with an element for each shard, and a job that joins them.
//!
//! The ledgers tell whether a shard is finished, not the exit codes of elements: a shard of `check` may
//! end with 2, and a killed element has none. So the merge runs after all elements however they ended,
//! and first submits those again that are not finished.

use std::path::{Path, PathBuf};

use locklab_values::shell::quoted;

/// A job that is to be submitted.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// Its folder, with the program in it: an absolute path.
    pub(crate) folder: &'a Path,
    /// Where its command runs: an absolute path.
    pub(crate) directory: &'a Path,
    /// The command, without the program.
    pub(crate) words: &'a [String],
    /// The number of shards.
    pub(crate) shards: usize,
    /// How many elements run at the same time; `None`: as many as there is room for.
    pub(crate) at_once: Option<usize>,
    /// How often a shard is submitted at most.
    pub(crate) attempts: usize,
    /// Options of `sbatch` for both jobs.
    pub(crate) resources: &'a [String],
}

/// The program in the folder of a job.
pub(crate) const PROGRAM: &str = "locklab";

/// The script that submits a job: with the numbers of shards, and of the attempt.
pub(crate) const SUBMIT: &str = "submit.sh";

impl Job<'_> {
    /// The name and the text of each script.
    pub(crate) fn scripts(&self) -> [(&'static str, String); 3] {
        [
            ("array.sh", self.array()),
            ("merge.sh", self.merge()),
            (SUBMIT, self.submit()),
        ]
    }

    /// The numbers of all shards, for `--array`.
    pub(crate) fn all(&self) -> String {
        format!("1-{}", self.shards)
    }

    /// The command line of a shard, whose number is in a variable of the shell.
    fn array(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        format!(
            "{}# However often it is started, a shard goes on from its ledger.\n\
             exec {} {} \\\n    --shard \"$SLURM_ARRAY_TASK_ID/{}\" --out {}\"$SLURM_ARRAY_TASK_ID\"\n",
            self.head("shard-%a.log"),
            self.below(PROGRAM),
            words.join(" "),
            self.shards,
            self.below("shard-"),
        )
    }

    fn merge(&self) -> String {
        let (program, folder) = (self.below(PROGRAM), text_of(self.folder));
        let folder = quoted(&folder);
        format!(
            "{}if unfinished=$({program} shards status --unfinished {folder}); then\n    \
                 exec {program} shards merge {folder} --out {}\n\
             fi\n\
             # Without a number no shard has begun.\n\
             if [ -z \"$unfinished\" ] || [ \"$1\" -ge {} ]; then\n    \
                 echo \"not finished after attempt $1: shards ${{unfinished:-of any number}}\" >&2\n    \
                 exit 1\n\
             fi\n\
             exec sh {} \"$unfinished\" \"$(($1 + 1))\"\n",
            self.head("merge.log"),
            self.below("result"),
            self.attempts,
            self.below(SUBMIT),
        )
    }

    fn submit(&self) -> String {
        let at_once = self.at_once.map(|number| format!("%{number}"));
        format!(
            "#!/bin/sh\n\
             # Submits shards, such as 1-8 or 2,5, and what joins all. The second word counts attempts.\n\
             set -eu\n\
             array=$(sbatch --parsable --array=\"$1{}\" {})\n\
             array=${{array%%;*}}\n\
             merge=$(sbatch --parsable --dependency=\"afterany:$array\" {} \"$2\")\n\
             echo \"submitted: array $array, merge ${{merge%%;*}}\"\n",
            at_once.unwrap_or_default(),
            self.below("array.sh"),
            self.below("merge.sh"),
        )
    }

    /// The beginning of a script with its options, whose output goes to this file of the log.
    fn head(&self, log: &str) -> String {
        let command = match self.words {
            [group, command, ..] if group == "study" => command,
            [command, ..] => command,
            [] => "",
        };
        let name = match log {
            "merge.log" => format!("locklab-{command}-merge"),
            _ => format!("locklab-{command}"),
        };
        // A percent sign begins a number of the job.
        let folder = text_of(self.folder).replace('%', "%%");
        let options = [
            format!("--job-name={name}"),
            format!("--chdir={}", text_of(self.directory)),
            format!("--output={folder}/log/{log}"),
            "--open-mode=append".into(),
            "--requeue".into(),
            "--ntasks=1".into(),
        ];
        let options = options.iter().chain(self.resources);
        let options: String = options
            .map(|option| format!("#SBATCH {}\n", quoted(option)))
            .collect();
        format!("#!/bin/sh\n{options}")
    }

    /// A path in the folder, as a word of the shell.
    fn below(&self, name: &str) -> String {
        quoted(&text_of(&self.folder.join(name)))
    }
}

/// Why this path cannot be written in a script, if it cannot: Slurm's own options know no way to.
pub(crate) fn why_not(path: &Path) -> Option<String> {
    let is_plain = |text: &str| !text.contains(['\'', '"', '\\', '\n']);
    let path = path.to_str().map(PathBuf::from);
    match path {
        Some(path) if is_plain(&text_of(&path)) => None,
        _ => Some("Slurm takes no path with quotes, backslashes or line ends".into()),
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
