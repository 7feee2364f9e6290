//! A real Slurm cluster on the loopback: a controller, and nodes that are all this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use crate::{Process, free_ports, until};

/// The programs that it needs.
const PROGRAMS: [&str; 4] = ["slurmctld", "slurmd", "sbatch", "scontrol"];

/// How often the queue is looked at. Each time is a process.
const POLL: Duration = Duration::from_millis(200);

/// Five minutes, far longer than needed.
const MOST_POLLS: usize = 1500;

/// Why a test on real Slurm does not run; `None` if it does. It takes a minute and a large package, so
/// it runs with `LOCKLAB_LONG` only.
pub fn why_no_slurm() -> Option<String> {
    if env::var_os("LOCKLAB_LONG").is_none() {
        return Some("LOCKLAB_LONG=1 runs it".into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| env::split_paths(&path).any(|it| it.join(program).is_file());
    if let Some(missing) = PROGRAMS.iter().find(|program| !is_there(program)) {
        return Some(format!(
            "there is no {missing}: apt-get install slurmctld slurmd slurm-client"
        ));
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| {
        use std::os::unix::fs::MetadataExt;
        it.uid() == 0
    });
    (!is_root).then(|| "slurmd starts jobs as root only".into())
}

/// A controller and two nodes of two processors each. Dropping this cancels all jobs, and ends it.
#[derive(Debug)]
pub struct Slurm {
    folder: PathBuf,
    processes: Vec<Process>,
}

impl Slurm {
    /// The names of the nodes.
    pub const NODES: [&str; 2] = ["n1", "n2"];

    /// Starts a cluster with its files in this folder, and waits until its nodes are idle.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start(folder: &Path) -> Self {
        fs::create_dir_all(folder.join("state")).expect("a folder");
        let [controller, ports @ ..] = free_ports::<3>();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux");
        let host = host.trim().split('.').next().unwrap_or_default();
        let mut lines = configuration(folder, controller);
        for (name, port) in Self::NODES.iter().zip(ports) {
            lines.push(format!(
                "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000"
            ));
        }
        lines.push("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP".into());
        fs::write(folder.join("slurm.conf"), lines.join("\n") + "\n").expect("it can be written");
        let mut slurm = Slurm {
            folder: folder.to_owned(),
            processes: vec![],
        };
        slurm.daemon("slurmctld", &["-D"]);
        for name in Self::NODES {
            slurm.daemon("slurmd", &["-D", "-N", name]);
        }
        until(|| match slurm.ask("sinfo", &["-h", "-N", "-o", "%T"]) {
            Some(states) if states.lines().eq(["idle", "idle"]) => Ok(()),
            states => Err(format!(
                "the nodes are {states:?}; see {}",
                folder.display()
            )),
        });
        slurm
    }

    /// Where its clients find it: the value of `SLURM_CONF`.
    pub fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// Waits until no job is left.
    ///
    /// # Panics
    ///
    /// If some are left after minutes, with what they wait for.
    pub fn wait(&self) {
        let mut jobs = String::new();
        for _ in 0..MOST_POLLS {
            jobs = { self.ask("squeue", &["-h", "-o", "%i %T %r %N"]) }.expect("it answers");
            if jobs.trim().is_empty() {
                return;
            }
            std::thread::sleep(POLL);
        }
        panic!("jobs are left: {jobs}");
    }

    /// What a client of Slurm prints; `None` if it fails.
    pub fn ask(&self, program: &str, words: &[&str]) -> Option<String> {
        let asked = Command::new(program)
            .args(words)
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null())
            .output();
        let asked = asked.ok().filter(|asked| asked.status.success())?;
        String::from_utf8(asked.stdout).ok()
    }

    fn daemon(&mut self, program: &str, words: &[&str]) {
        let mut command = Command::new(program);
        command.args(words).env("SLURM_CONF", self.conf());
        let process = Process::start(&mut command).expect("it starts");
        self.processes.push(process);
    }
}

/// Without munge, accounting and control groups, which need more than a process.
fn configuration(folder: &Path, port: u16) -> Vec<String> {
    let folder = folder.display();
    vec![
        "ClusterName=locklab".into(),
        "SlurmctldHost=localhost(127.0.0.1)".into(),
        format!("SlurmctldPort={port}"),
        "SlurmUser=root".into(),
        "AuthType=auth/none".into(),
        "CredType=cred/none".into(),
        "MpiDefault=none".into(),
        "ProctrackType=proctrack/linuxproc".into(),
        "TaskPlugin=task/none".into(),
        "JobAcctGatherType=jobacct_gather/none".into(),
        "SelectType=select/cons_res".into(),
        "SelectTypeParameters=CR_CPU".into(),
        // It looks every second for what can start, instead of every minute.
        "SchedulerParameters=sched_interval=1".into(),
        // As many processors as are configured, however many there are.
        "SlurmdParameters=config_overrides".into(),
        "ReturnToService=2".into(),
        format!("StateSaveLocation={folder}/state"),
        format!("SlurmdSpoolDir={folder}/spool-%n"),
        format!("SlurmctldPidFile={folder}/slurmctld.pid"),
        format!("SlurmdPidFile={folder}/slurmd-%n.pid"),
        format!("SlurmctldLogFile={folder}/slurmctld.log"),
        format!("SlurmdLogFile={folder}/slurmd-%n.log"),
    ]
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let jobs = self.ask("squeue", &["-h", "-o", "%A"]).unwrap_or_default();
        for job in jobs.split_whitespace() {
            self.ask("scancel", &[job]);
        }
        // A job outlives the daemon that started it. This may run during a panic: it only waits.
        let is_empty = |jobs: Option<String>| jobs.is_none_or(|jobs| jobs.trim().is_empty());
        let _ = crate::try_until(|| match is_empty(self.ask("squeue", &["-h"])) {
            true => Ok(()),
            false => Err(()),
        });
        self.processes.iter_mut().for_each(Process::end);
    }
}
