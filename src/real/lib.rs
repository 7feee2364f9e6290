//! Runs scenarios on real Redis.
//!
//! Every node, replica and Sentinel is a separate `redis-server` on the loopback interface. Every
//! client and the resource is a separate process that runs the *same* code as in the simulator. All
//! their connections go through a proxy (`locklab_proxy`), which adds the network's latency and
//! injects the faults of links. A preloaded library (`locklab_shim`) sets the clocks of servers,
//! and logs the data that they sync, for power failures.
//! The result is a [`History`](locklab_history::History), so real runs are judged by the same
//! checks as simulated ones. True time is the machine's `CLOCK_MONOTONIC`, which all its processes
//! share. A thread notices when the machine stood still (`heartbeat.rs`); such a run is discarded and
//! counted, never judged.
//!
//! No process outlives the testbed. However the testbed ends, normally, by Ctrl-C or by SIGKILL,
//! the kernel kills its processes, stopped ones too: each requested that (`PR_SET_PDEATHSIG`)
//! before it began its work. Only Linux has this request, so real runs need Linux. A process that outlives
//! the testbed (`Role::Janitor`) deletes its folder. If that was killed too, the next run does
//! (`orphans.rs`): a folder has an owner as long as a process holds a lock on it.
//!
//! # Addresses
//!
//! Every host has a loopback address of its own, from which its connections come (`bind-source-addr`),
//! and a hidden one on which its server listens. All others know the address at which the proxy listens,
//! and servers announce it. So the proxy knows both ends of each connection, and whatever Sentinel or a
//! replica learns of addresses leads through it.
//!
//! To a connector the proxy's `connect` succeeds at once. Our own clients therefore wait for a byte that
//! says that the connection is open; a Redis server sees a connection over which nothing comes.
//!
//! # Faults
//!
//! | a fault | how a real run brings it about |
//! |---|---|
//! | pause | SIGSTOP, SIGCONT |
//! | suspend | the same; the proxy holds what arrives, and the clock file stops the monotonic clock |
//! | kill | SIGKILL; until the process is ready again the kernel refuses connections |
//! | crash | the proxy falls silent for the host, SIGKILL, and every file is cut to what was synced; peers that use an old connection afterwards are reset |
//! | reset, partition, slow-link, loss | the proxy, by the same model of a link as the simulator |
//! | clock-step, clock-rate | the clock file: `redis-server` and foreign programs read it, and wait by it, through the preloaded library, our own processes through `Env` |
//! | failover | an operator's command, past the proxy |
//!
//! # What real Redis taught
//!
//! - **A client that was stopped reads its timers first.** `epoll_wait` returns without events when a
//!   stopped process continues (signal(7)), so tokio takes timeouts for over before it reads the replies
//!   that are there. In the simulator a reply that is there wins. `Machine::sleep` lets the runtime look at
//!   its sockets once more; without it `kleppmann/k13-unchecked` violates nothing on real Redis. A
//!   client library whose timers run in a thread of their own may behave either way.
//! - **A client that only blocks a connection** got another program in its process, because what a
//!   single client does otherwise was left out of its job (`problems/no-connection`).
//! - **A client that has finished lives on.** The testbed ended its process, and with it the watchdog
//!   that keeps a forgotten lock alive (`redisson/forgotten`).
//! - **A service manager's timer** does not start with the process that waits, but when power returns.
//!   On a busy machine a process that began 40 ms late waited that much longer, by a clock that had
//!   already jumped (`kleppmann/k12`). The testbed now reads the host's clock when it starts the
//!   process.
//! - **A command that moves keys** (`MIGRATE`) connects without `bind-source-addr`, so that the proxy would not know whose
//!   connection it is: it is given the address behind the proxy. A node of a cluster that is started again refuses all
//!   requests for two seconds (`CLUSTERDOWN`), and one that is elected without a replica of its own refuses writes under
//!   `min-replicas-to-write`.
//! - **A step back of the clock** makes jemalloc's background thread spin in a real server, since it
//!   waits until a time of day; the library converts that wait.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use locklab_history::Schedule;
use locklab_locks::Servers;
use locklab_model::scenario::{Drawn, Imitate, Scenario};
use locklab_results::recording::Environment;
use locklab_runner::backend::Backend;
use locklab_runner::run::Run;
use locklab_runner::simulate::Keep;

#[cfg(target_os = "linux")]
mod account;
#[cfg(target_os = "linux")]
mod addresses;
#[cfg(target_os = "linux")]
pub mod calibrate;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod child_protocol;
mod clients;
#[cfg(target_os = "linux")]
mod clocks;
pub mod comparison;
#[cfg(target_os = "linux")]
mod conductor;
#[cfg(target_os = "linux")]
mod disks;
mod error;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod heartbeat;
pub mod jitter;
#[cfg(target_os = "linux")]
mod kept;
mod limits;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod operator;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod passing;
#[cfg(target_os = "linux")]
mod plan;
mod postgres;
#[cfg(target_os = "linux")]
mod postgres_server;
mod probe;
#[cfg(target_os = "linux")]
pub mod process;
pub mod real_env;
#[cfg(target_os = "linux")]
mod redis_cluster;
#[cfg(target_os = "linux")]
mod redis_server;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
pub mod score;
pub mod series;
#[cfg(target_os = "linux")]
mod servers;
pub mod simulated;
#[cfg(target_os = "linux")]
mod stamp;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
pub mod throughput;
mod tls;
mod zookeeper;
#[cfg(target_os = "linux")]
mod zookeeper_server;

#[cfg(target_os = "linux")]
use self::foreign::untranslated;
#[cfg(target_os = "linux")]
pub use self::replay::why_not_repeated;
pub use clients::{Clients, Program};
pub use error::ConfirmError;
pub use postgres::Postgres;
pub use zookeeper::ZooKeeper;

/// The programs that a real run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Locklab itself, executed with the hidden subcommand `process`.
    pub locklab: PathBuf,
    /// The Redis server; a name without `/` is searched for on the `PATH`.
    pub redis_server: PathBuf,
    /// ZooKeeper, for locks on a coordination service.
    pub zookeeper: ZooKeeper,
    /// PostgreSQL, for locks on a database.
    pub postgres: Postgres,
}

impl Programs {
    /// The Redis server that is taken unless another is named.
    pub const REDIS_SERVER: &'static str = "redis-server";

    /// The running program, `redis-server` or the value of `LOCKLAB_REDIS_SERVER`, [`ZooKeeper::find`]
    /// and [`Postgres::find`].
    ///
    /// # Errors
    ///
    /// If the system does not report the path of this program.
    pub fn find() -> Result<Self, ConfirmError> {
        let locklab = env::current_exe().map_err(ConfirmError::OwnProgram)?;
        let redis_server = env::var_os("LOCKLAB_REDIS_SERVER")
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| Self::REDIS_SERVER.into());
        Ok(Self {
            locklab,
            redis_server: redis_server.into(),
            zookeeper: ZooKeeper::find(),
            postgres: Postgres::find(),
        })
    }
}

/// Why real Redis, of whatever version, does not support a scenario, so that [`run_with`] would
/// refuse it; `None` if it does.
pub fn why_not(scenario: &Scenario) -> Option<ConfirmError> {
    let Drawn { scenario, schedule } = scenario.drawn(0);
    limits::check(&scenario, &schedule).err()
}

/// As [`why_not`], on these servers: a scenario may need a version of them.
pub fn why_not_with(programs: &Programs, scenario: &Scenario) -> Option<ConfirmError> {
    why_not(scenario).or_else(|| {
        if scenario.node.imitate == Imitate::default() {
            return None;
        }
        let version = version(programs);
        version
            .and_then(|version| limits::check_version(scenario, &version))
            .err()
    })
}

/// Why a fault of a scenario cannot strike the clock of a program, as far as its file shows that, so that [`run_with`]
/// would refuse a run with one of these seeds; `None` if it may. See `docs/attack.md`.
#[cfg(target_os = "linux")]
pub fn why_untranslated(
    program: &Program,
    scenario: &Scenario,
    mut seeds: std::ops::Range<u64>,
) -> Option<ConfirmError> {
    seeds.find_map(|seed| {
        let Drawn { scenario, schedule } = scenario.drawn(seed);
        untranslated::check(program, &scenario, &schedule).err()
    })
}

/// Makes this process the parent of every process that a program of somebody else leaves behind, so that the end of its
/// run ends it. For a program that runs one attack at a time, and has no other children meanwhile.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() {
    foreign::leftovers::adopt();
}

/// Does nothing: elsewhere than on Linux no program is attacked.
#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() {}

/// The servers on which a real run of this scenario is, if they are not Redis.
pub fn other_servers(scenario: &Scenario) -> Option<&'static str> {
    match scenario.lock.servers() {
        Servers::Redis => None,
        Servers::Consensus => Some("ZooKeeper"),
        Servers::Database => Some("PostgreSQL"),
    }
}

/// Why a command that is to run all scenarios on real servers leaves this one out. Those on other servers than Redis
/// have to be named: these need not be installed, and their starts burden the machine, which delays the runs beside
/// them.
pub fn why_left_out(programs: &Programs, scenario: &Scenario) -> Option<String> {
    match (why_not_with(programs, scenario), other_servers(scenario)) {
        (None, Some(others)) => Some(format!(
            "it runs on real {others} servers: name it to run it there"
        )),
        (why_not, _) => why_not.map(|why| why.to_string()),
    }
}

/// The version of the Redis server.
///
/// # Errors
///
/// If it cannot be run, or this is not Linux.
#[cfg(target_os = "linux")]
pub fn version(programs: &Programs) -> Result<String, ConfirmError> {
    redis_server::version(&programs.redis_server)
}

/// Whether the Redis server loads the preloaded library, without which its clocks are right and its power losses harmless.
/// One that is linked statically does not, nor one whose C library is another or too old.
///
/// # Errors
///
/// If it cannot be run, or this is not Linux.
#[cfg(target_os = "linux")]
pub fn preloads(programs: &Programs) -> Result<bool, ConfirmError> {
    disks::preloads(programs)
}

/// The product and version of the servers of this scenario, as results have it: `7.0.15`, `ZooKeeper 3.8.0`,
/// `PostgreSQL 15.18`.
///
/// # Errors
///
/// If they are missing, or this is not Linux.
pub fn server_version(programs: &Programs, scenario: &Scenario) -> Result<String, ConfirmError> {
    match scenario.lock.servers() {
        Servers::Consensus => programs.zookeeper.version(),
        Servers::Database => programs.postgres.version(),
        Servers::Redis => version(programs),
    }
}

/// The same for several scenarios: each product once.
///
/// # Errors
///
/// If one is missing, or this is not Linux.
pub fn server_versions<'s>(
    programs: &Programs,
    scenarios: impl IntoIterator<Item = &'s Scenario>,
) -> Result<String, ConfirmError> {
    let mut versions = Vec::new();
    let mut asked = Vec::new();
    for scenario in scenarios {
        let servers = scenario.lock.servers();
        if !asked.contains(&servers) {
            asked.push(servers);
            versions.push(server_version(programs, scenario)?);
        }
    }
    Ok(versions.join(" and "))
}

/// Refuses: only Linux supports runs on real Redis.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn version(_: &Programs) -> Result<String, ConfirmError> {
    Err(ConfirmError::NotLinux)
}

/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn preloads(_: &Programs) -> Result<bool, ConfirmError> {
    Err(ConfirmError::NotLinux)
}

/// Real servers and processes on this machine; no two runs are alike.
#[derive(Debug, Clone)]
pub struct RealRedis {
    /// The programs to start.
    pub programs: Programs,
    /// What the clients are.
    pub clients: Clients,
    /// Set it to end every run early, with [`ConfirmError::Stopped`].
    pub stop: &'static AtomicBool,
}

impl RealRedis {
    /// Real servers and processes; runs are not interrupted.
    pub fn new(programs: Programs) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            programs,
            clients: Clients::Own,
            stop: &NEVER,
        }
    }
}

impl Backend for RealRedis {
    fn environment(&self) -> Environment {
        Environment::Redis
    }

    /// One: a run takes seconds.
    fn usual_seeds(&self, _: &Scenario) -> u64 {
        1
    }

    /// See [`run_with`].
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        schedule: &Schedule,
        keep: Keep,
    ) -> Result<Run, Box<dyn Error + Send + Sync>> {
        Ok(run_with(self, scenario, seed, schedule, keep)?)
    }
}

/// Runs `scenario` on real Redis. Blocks the calling thread until the run is over: its
/// processes end with that thread.
///
/// The seed determines the random choices of the programs (waits, lock values, workload), but
/// not how the machine schedules them, so two runs differ.
///
/// # Errors
///
/// A scenario that real Redis does not support is refused before anything is started; see
/// [`ConfirmError`].
#[cfg(target_os = "linux")]
pub fn run_with(
    real: &RealRedis,
    scenario: &Scenario,
    seed: u64,
    schedule: &Schedule,
    keep: Keep,
) -> Result<Run, ConfirmError> {
    limits::check(scenario, schedule)?;
    // What is started from here on is not what another run has left behind.
    let begins =
        matches!(real.clients, Clients::Foreign(_)).then(foreign::leftovers::UnderWay::begin);
    let version = server_version(&real.programs, scenario)?;
    limits::check_version(scenario, &version)?;
    if let Clients::Foreign(program) = &real.clients {
        limits::check_foreign(scenario, schedule)?;
        untranslated::check(program, scenario, schedule)?;
    }
    let testbed = testbed::Testbed::start(real, scenario, seed, schedule, keep)?;
    drop(begins);
    let conducted = conductor::conduct(testbed, scenario, schedule, real.stop)?;
    let finished = conducted.finished;
    Ok(Run {
        history: finished.history,
        full_ns: finished.full_ns,
        lateness: conducted.lateness,
        contents: finished.contents,
        program: real.clients.words(),
        notes: finished.notes,
        wrong_renewals: finished.wrong_renewals,
        moments: conducted.moments,
        locks: finished.locks,
        unshown: finished.unshown,
        lease_ns: finished.lease_ns,
        server_version: Some(version),
        ..Run::default()
    })
}

/// Refuses: only Linux supports runs on real Redis.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run_with(
    _real: &RealRedis,
    scenario: &Scenario,
    _seed: u64,
    schedule: &Schedule,
    _keep: Keep,
) -> Result<Run, ConfirmError> {
    limits::check(scenario, schedule)?;
    Err(ConfirmError::NotLinux)
}

/// The hidden subcommand `process`, which has a function only on Linux.
#[cfg(not(target_os = "linux"))]
pub mod process {
    /// Refuses; returns that this is a wrong use.
    pub fn main() -> bool {
        eprintln!("{}", super::ConfirmError::NotLinux);
        false
    }
}
