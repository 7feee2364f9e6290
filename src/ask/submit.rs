//! `locklab shards submit`: the shards of a command, and their merge, as jobs of a cluster's scheduler.

mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use self::slurm::Job;
use crate::options::number::whole;
use crate::options::{Ask, Context, arguments};
use locklab_lab::Exit;
use locklab_lab::output::{self, status};

const EXAMPLES: &str = "\
Examples:
  locklab shards submit --slurm --shards 8 --folder jobs/k1 --time 1:00:00
               --mem 1G -- study sweep kleppmann/k1 --seeds 10000000
  locklab shards submit --slurm --shards 8 --folder jobs/k1 --dry-run
               -- study sweep kleppmann/k1
  locklab shards status jobs/k1

The folder has to be one that all machines share. It gets this program, which
all shards run, three scripts, a folder and a log for each shard, and at last
`result`: what the command writes without shards. A shard that was preempted,
killed, or had too little time goes on from its ledger. Submit the same again
to resume a job that gave up.

Exit codes: 0 it is submitted; 1 usage, or what sbatch refuses.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Submit to Slurm: an array of jobs with an element for each shard, and a job that joins them
    #[arg(long, required = true)]
    slurm: bool,
    /// The number of shards
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=10_000))]
    shards: u16,
    /// Folder of the job, on a file system that all machines share
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Print the scripts, and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// How often a shard is submitted before the job gives up
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u16>(1..=1000))]
    attempts: u16,
    /// How many shards run at the same time; by default as many as there is room for
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=10_000))]
    at_once: Option<u16>,
    /// Cores of a shard, and its threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u16>(1..=1024),
          help_heading = "Resources")]
    cpus: u16,
    /// Time limit of a shard, as sbatch takes it: 30, 1:00:00, 2-0
    #[arg(long, value_name = "TIME", help_heading = "Resources")]
    time: Option<String>,
    /// Memory of a shard, as sbatch takes it: 500M, 2G
    #[arg(long, value_name = "SIZE", help_heading = "Resources")]
    mem: Option<String>,
    /// Partition
    #[arg(long, value_name = "NAME", help_heading = "Resources")]
    partition: Option<String>,
    /// Account
    #[arg(long, value_name = "NAME", help_heading = "Resources")]
    account: Option<String>,
    /// Quality of service
    #[arg(long, value_name = "NAME", help_heading = "Resources")]
    qos: Option<String>,
    /// Another option of sbatch, such as --constraint=avx2; may be given several times
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Resources"
    )]
    sbatch: Vec<String>,
    /// The command, one that makes many runs
    #[arg(value_name = "CMD", last = true, required = true)]
    words: Vec<String>,
}

impl Ask for Options {
    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let folder = std::path::absolute(&self.folder).context("cannot find the folder")?;
        let directory = std::env::current_dir().context("cannot find this folder")?;
        for path in [&folder, &directory] {
            if let Some(why) = slurm::why_not(path) {
                bail!("{}: {why}", path.display());
            }
        }
        let cpus = ["--jobs".to_owned(), self.cpus.to_string()];
        let of_shard = ["--shard", "1/1", "--out", "shard-1"].map(String::from);
        check(&self.words, &[&cpus[..], &of_shard].concat())?;
        let words = [&self.words[..], &cpus].concat();
        let resources = self.resources();
        if let Some(wrong) = resources.iter().find(|option| !is_plain(option)) {
            bail!("invalid option of sbatch `{wrong}`; write it as one word, such as --mem=2G");
        }
        let job = Job {
            folder: &folder,
            directory: &directory,
            words: &words,
            shards: self.shards.into(),
            at_once: self.at_once.map(usize::from),
            attempts: self.attempts.into(),
            resources: &resources,
        };
        let scripts = job.scripts();
        if self.dry_run {
            let texts = scripts.iter();
            let texts =
                texts.map(|(name, text)| format!("# {}\n{text}", folder.join(name).display()));
            output::print(texts.collect::<Vec<_>>().join("\n").trim_end())?;
            return Ok(Exit::AsPredicted);
        }
        write(&folder, &scripts)?;
        let submitted = Command::new("sh")
            .arg(folder.join(slurm::SUBMIT))
            .args([&job.all(), "1"])
            .output()
            .context("cannot start a shell")?;
        let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        ensure!(
            submitted.status.success(),
            "sbatch did not take the job: {}",
            told(&submitted.stderr)
        );
        output::print(&told(&submitted.stdout))?;
        let folder = self.folder.display().to_string();
        status!("{}", context.program.line(&["shards", "status", &folder]));
        Ok(Exit::AsPredicted)
    }
}

impl Options {
    /// The options of sbatch that they come to.
    fn resources(&self) -> Vec<String> {
        let named = [
            ("time", &self.time),
            ("mem", &self.mem),
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
        ];
        let named = named.into_iter();
        let named = named.filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        let cpus = format!("--cpus-per-task={}", self.cpus);
        { [cpus].into_iter().chain(named) }
            .chain(self.sbatch.iter().cloned())
            .collect()
    }
}

/// Whether this is one word for Slurm, which reads its options from lines.
fn is_plain(option: &str) -> bool {
    option.starts_with("--") && !option.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c))
}

/// Refuses a command that has no shards, or that a shard could not be told to do.
fn check(words: &[String], of_shard: &[String]) -> anyhow::Result<()> {
    let read = |words: &[String]| {
        let line = [&["locklab".to_owned()], words].concat();
        arguments::read(line.into_iter().map(Into::into))
    };
    let mut cli = read(words).context("the command is invalid")?;
    let many = cli.command.as_mut().and_then(|command| command.many());
    let many = many.with_context(|| format!("`{}` makes no runs that have shards", words[0]))?;
    ensure!(
        !many.fresh(),
        "leave --fresh out: a shard that is started again would discard what it has finished"
    );
    read(&[words, of_shard].concat())
        .context("a shard has --jobs, --shard and --out of its own")
        .map(drop)
}

/// Writes the scripts and this program. A folder with another job is refused: its shards would be
/// begun anew.
fn write(folder: &Path, scripts: &[(&str, String)]) -> anyhow::Result<()> {
    let advice = || format!("cannot write to the folder {}", folder.display());
    let own = std::env::current_exe().context("cannot find this program")?;
    let program = folder.join(slurm::PROGRAM);
    let is_same = |path: &Path, contents: &[u8]| match fs::read(path) {
        Ok(found) => found == contents,
        Err(_) => true,
    };
    let mut same = scripts.iter();
    let same = same.all(|(name, text)| is_same(&folder.join(name), text.as_bytes()))
        && is_same(
            &program,
            &fs::read(&own).context("cannot read this program")?,
        );
    ensure!(
        same,
        "{} has another job, or that of another build; name another --folder",
        folder.display()
    );
    fs::create_dir_all(folder.join("log")).with_context(advice)?;
    for (name, text) in scripts {
        fs::write(folder.join(name), text).with_context(advice)?;
    }
    if !program.exists() {
        let beside = folder.join(format!(".locklab-{}", std::process::id()));
        let copied = fs::copy(&own, &beside).and_then(|_| fs::rename(&beside, &program));
        copied.with_context(advice)?;
    }
    Ok(())
}
