//! `locklab serve`: Redis nodes for any client.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::options::Ask;
use crate::options::number::{bytes, whole};
use locklab_lab::Exit;
use locklab_lab::output::{self, status};
use locklab_redis::{Fsync, Imitated, Persistence, server};
use locklab_serve::servers::{self, Event, Settings};
use locklab_serve::topology::{self, Place, Topology};
use locklab_serve::witness::Witness;
use locklab_serve::{Bench, Judging, Record, Scheduled, Served, control, schedule};

mod lines;
mod verdict;

const EXAMPLES: &str = "\
Examples:
  locklab serve               a Redis on 127.0.0.1:6379
  locklab serve --nodes 5     five independent ones, for Redlock: 6379 to 6383
  locklab serve --replicas 2 --sentinels 3
                              a master on 6379, its replicas on 6380 and 6381,
                              and sentinels on 6382 to 6384 that fail it over
  locklab serve --port 0      on a free port; it is printed
  redis-cli -p 6382 SENTINEL GET-MASTER-ADDR-BY-NAME mymaster
                              the master as a sentinel knows it; those of
                              further nodes are mymaster2, mymaster3 and so on
  redis-cli -p 6379 SHUTDOWN  ends that node only; the program ends with the
                              last one
  locklab serve --nodes 3 --control 7000
                              takes faults at port 7000, as commands of Redis
  redis-cli -p 7000 LAB.HELP  all of them; some:
  redis-cli -p 7000 LAB.CLOCK n3 STEP +11s
  redis-cli -p 7000 LAB.PAUSE n1 500
  redis-cli -p 7000 LAB.PARTITION n2 EXCEPT clients
  redis-cli -p 7000 LAB.LATENCY n1 50 FROM
  redis-cli -p 7000 LAB.KILL n1
  locklab serve --fault 'LAB.CRASH n1 at 5s' --fault 'LAB.RESTART n1 at 7s'
                              takes them at these times
  locklab serve --port 0 --control - --judge
                              takes them as lines on standard input, for a test
                              framework, and judges locks: LAB.VERDICT lock

Standard output has a line for each server: its address and its initial role.
With --control the last line is that port's. Faults need Linux; servers are then
called n1, n2, a replica of n1 is n1r1, and sentinels are s1, s2.

With --control - the line OK follows, and after each order what it asked for, a
line each, and then OK, or ERR and what is wrong. The program ends with its
standard input.

Data is kept in memory and is lost when the node ends. A client may lift
--maxmemory with CONFIG SET, as with a Redis without a password. A client may
have 64 MB of an incomplete request, or of unread replies; one that exceeds this
is disconnected. A data set of more than 256 MB does not reach a replica.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How many nodes, each on its own port and with its own data
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = whole::<u16>(1..=256))]
    nodes: u16,
    /// How many replicas each node has
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = whole::<u16>(0..=16))]
    replicas: u16,
    /// How many sentinels monitor the nodes
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = whole::<u16>(0..=16))]
    sentinels: u16,
    /// How long a node must be silent before a sentinel considers it down
    #[arg(long, value_name = "MS", default_value_t = 5_000,
          value_parser = whole::<u32>(1..=u32::MAX.into()))]
    down_after_ms: u32,
    /// Port of the first node; the other nodes, replicas and sentinels use the ports after
    /// it. 0: any free ports
    #[arg(long, value_name = "P", default_value_t = 6379, value_parser = whole::<u16>(0..=65535))]
    port: u16,
    /// Loopback address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", value_parser = loopback)]
    bind: IpAddr,
    /// Most connections that a node accepts at a time
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = whole::<u32>(1..=u32::MAX.into()))]
    maxclients: u32,
    /// Memory of a node's keys, as Redis counts it, beyond which it refuses commands that need
    /// more: bytes, or with a unit of Redis such as 1gb; 0: no limit
    #[arg(long, value_name = "SIZE", default_value = "256mb", value_parser = bytes)]
    maxmemory: u64,
    /// File for the lines of standard output, which is there from when the servers are ready until
    /// they end
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Server to imitate: redis-7.0, redis-8.4 (adds DELEX) or valkey-9.0 (adds DELIFEQ)
    #[arg(long, value_name = "SERVER", default_value = "redis-7.0")]
    imitate: Imitated,
    /// Port that takes faults while servers run, as commands LAB.… of Redis; 0: a free port; -:
    /// standard input
    #[arg(long, value_name = "P", value_parser = control, allow_hyphen_values = true)]
    control: Option<Control>,
    /// Nodes take these commands too, about themselves: LAB.PAUSE 500
    #[arg(long)]
    faults: bool,
    /// A fault at a time after the start: 'LAB.PAUSE n1 500 at 5s'
    #[arg(long, value_name = "COMMAND", value_parser = Scheduled::parse)]
    fault: Vec<Scheduled>,
    /// File for a line of JSON about each fault
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Look on at what clients do, so that LAB.VERDICT can judge their locks
    #[arg(long)]
    judge: bool,
    /// Folder for the picture of a violation that LAB.VERDICT finds
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
    /// What nodes keep over a crash: nothing, or an append-only file as it was last synced,
    /// before each reply or each second
    #[arg(long, value_name = "KIND", default_value = "none")]
    persistence: Kept,
}

/// What a node keeps over a crash.
#[derive(Clone, Copy, ValueEnum)]
enum Kept {
    None,
    AofAlways,
    AofEverysec,
}

impl From<Kept> for Persistence {
    fn from(kept: Kept) -> Persistence {
        match kept {
            Kept::None => Persistence::Nothing,
            Kept::AofAlways => Persistence::AppendOnly(Fsync::Always),
            Kept::AofEverysec => Persistence::AppendOnly(Fsync::EverySecond),
        }
    }
}

/// Where faults are ordered.
#[derive(Clone, Copy)]
enum Control {
    /// At a port.
    Port(u16),
    /// On standard input.
    Lines,
}

fn control(text: &str) -> Result<Control, String> {
    if text == "-" {
        return Ok(Control::Lines);
    }
    let port = text.parse().map(Control::Port);
    port.map_err(|_| "a port from 0 to 65535 is needed, or - for standard input".to_owned())
}

impl Options {
    fn takes_faults(&self) -> bool {
        self.control.is_some() || self.faults || !self.fault.is_empty()
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.sentinels == 0 || self.replicas > 0,
            "--sentinels {} needs at least one replica; add --replicas 1",
            self.sentinels
        );
        let keeps = !matches!(self.persistence, Kept::None);
        let only_with_faults = [
            ("--record", self.record.is_some()),
            ("--persistence", keeps),
            ("--judge", self.judge),
        ];
        for (option, is_given) in only_with_faults {
            ensure!(
                !is_given || self.takes_faults(),
                "{option} is of use only with faults; add --control 0, --faults or --fault"
            );
        }
        ensure!(
            !self.judge || self.replicas == 0,
            "locks are judged on one node, or on several without replicas; leave out --replicas {} or --judge",
            self.replicas
        );
        ensure!(
            !self.takes_faults() || self.bind == Ipv4Addr::LOCALHOST,
            "faults need the address 127.0.0.1; leave out --bind {}",
            self.bind
        );
        Ok(())
    }
}

/// Parses an address that is reachable only from this machine.
fn loopback(text: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = text
        .parse()
        .map_err(|_| "an IP address is needed, such as 127.0.0.1 or ::1".to_owned())?;
    match ip.is_loopback() {
        true => Ok(ip),
        false => Err(
            "this is not a loopback address: the nodes are for tests, and any client that \
             reaches them can run scripts and fill this machine's memory"
                .to_owned(),
        ),
    }
}

impl Ask for Options {
    fn answer(&self, _: &crate::options::Context) -> anyhow::Result<Exit> {
        self.check()?;
        let (sender, events) = mpsc::channel();
        let interrupts = sender.clone();
        ctrlc::set_handler(move || {
            // If the receiver is gone, the program is about to end.
            let _ = interrupts.send(Event::Interrupted);
        })
        .context("cannot listen for Ctrl-C")?;
        let topology = Topology {
            ip: self.bind,
            port: self.port,
            nodes: self.nodes,
            replicas: self.replicas,
            sentinels: self.sentinels,
        };
        let asked = NonZeroU32::new(self.maxclients).context("--maxclients is above 0")?;
        let max_clients = servers::allow_clients(asked, topology.count(), self.takes_faults())?;
        if max_clients < asked {
            status!(
                "A node accepts at most {max_clients} clients, not {asked}; for more, raise `ulimit -n`."
            );
        }
        let mut places = topology::listen(&topology)?;
        let lines = places
            .iter()
            .map(|Place { address, role, .. }| format!("{address} {role}\n"));
        let lines = lines.collect::<String>();
        let witness = self.judge.then(Witness::default);
        let (served, benches) = match self.takes_faults() {
            true => self.take_faults(&mut places, lines, witness.clone())?,
            false => {
                self.tell(&lines)?;
                (None, Vec::new())
            }
        };
        match (self.control, &served) {
            (Some(Control::Lines), Some(served)) => {
                lines::take(served.clone(), sender.clone()).context("cannot start a thread")?;
            }
            _ => status!("Serving until Ctrl-C, or SHUTDOWN."),
        }
        let settings = Settings {
            max_clients,
            max_memory: NonZeroU64::new(self.maxmemory),
            imitated: self.imitate,
            persistence: self.persistence.into(),
            down_after: Duration::from_millis(self.down_after_ms.into()),
            served: served.filter(|_| self.faults),
            witness,
        };
        let served = servers::serve(places, &settings, benches, (sender, events));
        if let Some(file) = &self.ready_file {
            // If somebody else has removed it, it is gone.
            let _ = fs::remove_file(file);
        }
        served?;
        // Either way the command succeeded, as with `redis-server`.
        Ok(Exit::AsPredicted)
    }
}

impl Options {
    /// Says where the servers are: each accepts connections.
    fn tell(&self, lines: &str) -> anyhow::Result<()> {
        if let Some(file) = &self.ready_file {
            // Whoever waits for the file reads it whole.
            let mut begun = file.clone().into_os_string();
            begun.push(format!(".{}", std::process::id()));
            let written = fs::write(&begun, lines).and_then(|()| fs::rename(&begun, file));
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        output::print(lines)
    }

    /// Puts the servers behind a proxy, prints the addresses, and takes faults from now on.
    fn take_faults(
        &self,
        places: &mut [Place],
        mut lines: String,
        witness: Option<Witness>,
    ) -> anyhow::Result<(Option<Served>, Vec<Bench>)> {
        // Who writes an order on standard input knows it.
        let say = match self.control {
            Some(Control::Lines) => |_: &str| (),
            _ => |line: &str| status!("{line}"),
        };
        let record = Record::new(self.record.as_deref(), say)?;
        let judging = witness.map(|witness| self.judging(witness)).transpose()?;
        let (served, benches) = Served::new(places, record, judging)?;
        if let Some(Control::Port(port)) = self.control {
            let address = SocketAddr::new(self.bind, port);
            let listener =
                server::bind(address).with_context(|| topology::cannot_listen(address))?;
            lines.push_str(&format!("{} control\n", listener.local_addr()?));
            control::listen(listener, served.clone()).context("cannot start a thread")?;
        }
        self.tell(&lines)?;
        schedule::run(self.fault.clone(), served.clone()).context("cannot start a thread")?;
        Ok((Some(served), benches))
    }

    fn judging(&self, witness: Witness) -> anyhow::Result<Judging> {
        let nodes = usize::from(self.nodes);
        let out = std::path::absolute(&self.out).context("cannot find the current folder")?;
        let pictures = std::sync::atomic::AtomicU32::new(1);
        Ok(Judging {
            witness,
            judge: Box::new(move |witness, key| {
                let number = pictures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let name = format!("serve-{}-{number}.svg", std::process::id());
                verdict::judge(&witness.seen(key)?, nodes, &out, &name)
            }),
        })
    }
}
