//! `locklab attack`: a program of somebody else, whose lock is attacked.

use clap::Args;
use serde_json::json;

use crate::attack::{self, DRAWN, OWN, PAUSE};
use crate::options::many::Many;
use crate::options::number::whole;
use crate::options::seeds::{self, Seeds};
use crate::options::server::Server;
use crate::options::setting::set_completer;
use crate::options::{Ask, Context, PerRun, completer_with, fault_parser};
use crate::run::Run;
use locklab_lab::{Exit, conduct};
use locklab_real::{Clients, Program};

const EXAMPLES: &str = "\
Examples:
  locklab attack -- python worker.py
  locklab attack --scenario kleppmann/k10 --seeds 0..5 -- node worker.js
  locklab attack --fault pause --fault partition --clients 3 -- ./worker
  locklab attack --scenario attack/pause --set fault.pause.after='c1 SET'
                 -- ./worker
  locklab attack --nodes 5 -- java -cp app.jar Worker
  locklab attack --replicas 2 --sentinels 3 -- python worker.py
  locklab attack --cluster -- python worker.py
  locklab attack --tls -- python worker.py
  locklab attack --scenario attack/pause --key orders:lock -- ./worker

Each client is a copy of the command, with the addresses of the servers in its
environment: REDIS_URL, REDIS_URLS, REDIS_SENTINELS, REDIS_CLUSTER,
LOCKLAB_HOST, LOCKLAB_RESOURCE. A program that tells nothing is judged by what
its nodes saw of one key, its lock. docs/attack.md says what a program can show
and tell, so that more can be judged.

Exit codes: 0 all predictions came true; 1 usage; 2 a violation that the lock
should have prevented; 3 none, and too few runs to show that there is none; 70
a bug in Locklab; 130 interrupted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Hosts, network and faults: scenarios that ship, or files; by default attack/pause, a pause
    /// longer than the lease, and attack/drawn, faults drawn at random
    #[arg(long = "scenario", value_name = "SCENARIO", add = completer_with(&OWN))]
    scenarios: Vec<String>,
    /// Draw only these kinds of fault (attack/drawn); may be given several times
    #[arg(long = "fault", value_name = "FAULT", hide_possible_values = true,
          value_parser = fault_parser(), conflicts_with = "scenarios")]
    faults: Vec<String>,
    /// Independent Redis nodes
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=99))]
    nodes: Option<u16>,
    /// Replicas of each node
    #[arg(long, value_name = "N", value_parser = whole::<u16>(0..=9))]
    replicas: Option<u16>,
    /// Sentinels
    #[arg(long, value_name = "N", value_parser = whole::<u16>(0..=99))]
    sentinels: Option<u16>,
    /// A Redis Cluster: three masters with a replica each, unless --nodes and --replicas say otherwise, that
    /// notice a failure after a second
    #[arg(long, conflicts_with = "sentinels")]
    cluster: bool,
    /// The nodes speak TLS with the program, which then has to tell what it does: nobody else knows
    #[arg(long, conflicts_with_all = ["replicas", "sentinels", "cluster"])]
    tls: bool,
    /// Copies of the program
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=99))]
    clients: Option<u16>,
    /// The key of the program's lock, if it neither shows nor tells anything and the wire shows several
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Run with this seed only
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = seeds::one)]
    seed: Option<u64>,
    /// Run with the seeds 0..N, or A..B, the end excluded; by default one
    #[arg(long, value_name = "N|A..B", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Override a value of the scenario; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE", add = set_completer())]
    sets: Vec<String>,
    /// The most runs at the same time; by default eight for each core, since most of a run is
    /// waiting. There are fewer while runs are late
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=64))]
    at_once: Option<u16>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    per_run: PerRun,
    #[command(flatten)]
    pub(crate) many: Many,
}

impl Options {
    /// The scenarios.
    fn scenarios(&self) -> Vec<String> {
        match (&self.scenarios[..], &self.faults[..]) {
            ([], []) => [PAUSE, DRAWN].map(str::to_owned).to_vec(),
            ([], _) => vec![DRAWN.to_owned()],
            (scenarios, _) => scenarios.to_vec(),
        }
    }

    /// The overrides of the scenarios.
    fn overrides(&self) -> Vec<String> {
        let numbers = [
            ("nodes", self.nodes),
            ("replicas", self.replicas),
            ("sentinels", self.sentinels),
            ("clients", self.clients),
        ];
        let numbers = numbers
            .into_iter()
            .filter_map(|(what, number)| Some(format!("topology.{what}={}", number?)));
        let mut sets: Vec<String> = numbers.collect();
        if !self.faults.is_empty() {
            sets.push(format!("campaign.faults={}", json!(self.faults)));
        }
        if self.tls {
            sets.push("node.tls=true".to_owned());
        }
        sets.extend(self.sets.iter().cloned());
        match self.cluster {
            true => attack::in_cluster(sets),
            false => sets,
        }
    }
}

impl Ask for Options {
    fn many(&mut self) -> Option<&mut Many> {
        Some(&mut self.many)
    }

    fn answer(&self, context: &Context) -> anyhow::Result<Exit> {
        let Some((name, arguments)) = self.command.split_first() else {
            unreachable!("clap requires a command")
        };
        attack::find(name)?;
        let seeds = match (self.seed, &self.seeds) {
            (Some(seed), _) => seed..seed + 1,
            (None, Some(seeds)) => seeds.range(),
            (None, None) => 0..1,
        };
        let scenarios = attack::load(&self.scenarios(), &self.overrides(), seeds)?;
        let program = Program {
            name: name.clone(),
            arguments: arguments.to_vec(),
            key: self.key.clone(),
        };
        attack::check(&program, &scenarios)?;
        locklab_real::adopt_orphans();
        let session = self.many.session(context)?;
        let run = Run::plan(
            scenarios,
            Some(self.server.programs()?),
            self.per_run.detail(),
        )?;
        let at_once = { self.at_once.map(usize::from) }.unwrap_or(8 * session.threads);
        conduct(
            &run.with_clients(Clients::Foreign(program), at_once),
            &session,
        )
    }
}
