//! The processes of a real run: what the hidden subcommand `process` does.
//!
//! A process reads its job from its standard input and reports events on its standard output.
//! It ends with the testbed that started it.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::pin::pin;
use std::process;
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use locklab_shim::ClockReader;
use locklab_values::random::Stream;
use locklab_vecmap::VecSet;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getppid, setgid, setgroups, setuid};
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};

use super::child_protocol::{
    Accessed, ChildMessage, ClientJob, Command, DrillJob, Drilled, ForeignJob, GuardJob, Job,
    ResourceJob, Role, ServerKind,
};
use super::foreign::{leftovers, shown};
use super::{orphans, score, stamp};
use crate::real_env::{Clocks, RealEnv, read_clock};
use locklab_env::Env;
use locklab_env::observe::Observer;
use locklab_history::{ClockKind, Event, Failpoint, Name, RESOURCE};
use locklab_locks::Locker;
use locklab_model::workload::WorkloadKind;
use locklab_runner::workload::adds::{Adder, FinalRead};
use locklab_runner::workload::client::LabClient;
use locklab_runner::workload::resource;

/// Executes the job given on standard input. If it cannot, it reports the reason to the testbed,
/// and returns `false`.
pub fn main() -> bool {
    let done = work();
    if let Err(error) = &done {
        // If the testbed is gone, the message is not needed.
        let _ = send_message(&ChildMessage::Failed(error.to_string()));
    }
    done.is_ok()
}

fn work() -> io::Result<()> {
    let job: Job = receive().map_err(|error| {
        io::Error::other(format!(
            "no job of a Locklab run on standard input: {error}"
        ))
    })?;
    if !matches!(job.role, Role::Janitor { .. }) {
        end_with_bench(job.bench)?;
    }
    match job.role {
        Role::Client(job) => block_on(client(*job)),
        Role::Resource(job) => block_on(serve(job)),
        Role::Guard(guard) => Err(become_program(guard, job.bench)),
        Role::Foreign(job) => Err(become_foreign(job)),
        Role::Drill(job) => drill(*job),
        Role::Janitor { folder } => outlive_bench(&folder),
    }
}

/// Asks the kernel to end this process with the testbed.
fn end_with_bench(bench: u32) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // If the testbed ended before the request, the request does not end this process.
    match getppid().as_raw().cast_unsigned() == bench {
        true => Ok(()),
        false => Err(io::Error::other("the bench is gone")),
    }
}

/// Replaces this process. The request to the kernel survives: the program ends with the testbed. What it logs goes to
/// its standard output.
fn become_program(job: GuardJob, bench: u32) -> io::Error {
    let prepare = || {
        wait_by_wall_clock(job.clock.as_deref(), job.until_ns)?;
        if let Some(account) = job.account {
            setgroups(&[])?;
            setgid(account.gid.into())?;
            setuid(account.uid.into())?;
            // Another user's process has to ask anew.
            end_with_bench(bench)?;
        }
        match job.kind {
            ServerKind::Postgres => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
            ServerKind::Redis | ServerKind::ZooKeeper => Ok(process::Stdio::inherit()),
        }
    };
    let errors = match prepare() {
        Ok(errors) => errors,
        Err(error) => return error,
    };
    process::Command::new(job.program)
        .args(job.arguments)
        .envs(job.environment)
        .stderr(errors)
        .exec()
}

/// Waits for the beginning, and replaces this process by a foreign program, whose lines go to the testbed
/// from its standard output and from the descriptor `LOCKLAB_FD`.
fn become_foreign(job: ForeignJob) -> io::Error {
    let told = fcntl(io::stdout(), FcntlArg::F_DUPFD(3));
    let ready = told.map_err(io::Error::from).and_then(|told| {
        if await_begin()? == 0 {
            // The last message of this process: what follows on its output is the program's.
            say_begun(read_clock(ClockKind::Monotonic))?;
        }
        Ok(told)
    });
    let told = match ready {
        Ok(told) => told,
        Err(error) => return error,
    };
    let error = process::Command::new(&job.program)
        .args(job.arguments)
        .envs(job.environment)
        .env("LOCKLAB_FD", told.to_string())
        .env("LOCKLAB_FILE", format!("/proc/{}/fd/{told}", process::id()))
        .stdin(process::Stdio::null())
        .exec();
    io::Error::new(
        error.kind(),
        format!("cannot run `{}`: {error}", job.program),
    )
}

/// Replaces this process by a program that follows orders, or follows them with a lock of the catalogue.
fn drill(job: DrillJob) -> io::Result<()> {
    match job.is {
        Drilled::Lock {
            lock,
            nodes,
            name,
            clock,
        } => {
            let clocks = clocks(clock.as_deref())?;
            block_on(score::own::follow(*lock, nodes, &name, clocks))
        }
        Drilled::Program { name, arguments } => Err(process::Command::new(name)
            .args(arguments)
            .envs(job.environment)
            .exec()),
    }
}

/// Waits until the host's wall clock shows this reading, as a service manager does: setting the
/// clock forward ends the wait. If there was a wait, reports to the testbed how late it ended.
fn wait_by_wall_clock(clock: Option<&Path>, until_ns: u64) -> io::Result<()> {
    const NAP: Duration = Duration::from_millis(1);
    let clocks = clocks(clock)?;
    let left_ns = || until_ns.saturating_sub(clocks.now_ns(ClockKind::Wall));
    let mut due_ns = None;
    while left_ns() > 0 {
        due_ns = Some(read_clock(ClockKind::Monotonic) + NAP.as_nanos() as u64);
        thread::sleep(NAP);
    }
    due_ns.map_or(Ok(()), say_begun)
}

/// Reports that this process begins now, and was to begin at `due_ns`.
fn say_begun(due_ns: u64) -> io::Result<()> {
    let at_ns = read_clock(ClockKind::Monotonic);
    send_message(&ChildMessage::Began { due_ns, at_ns })
}

/// Waits for the end of the testbed, and deletes its folder.
fn outlive_bench(folder: &Path) -> io::Result<()> {
    /// The servers of the run, which are killed at the same time, may still write to it.
    const ATTEMPTS: u32 = 50;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    leftovers::end(folder);
    for _ in 0..ATTEMPTS {
        if orphans::delete_after_owner(folder).is_ok() && !folder.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    orphans::delete_after_owner(folder)
}

/// Uses one thread: a stopped process stops as a whole, and locks need not be `Send`.
fn block_on(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work)
}

async fn client(job: ClientJob) -> io::Result<()> {
    let stream = match job.earlier_starts {
        0 => job.name.to_string(),
        starts => format!("{}#{}", job.name, starts + 1),
    };
    let reporter = Reporter {
        name: job.name.clone(),
        clocks: clocks(job.clock.as_deref())?,
        watched: Rc::new(job.watched),
        calls: Rc::new(Cell::new(job.calls)),
        grants: Rc::new(Cell::new(job.grants)),
    };
    let env = RealEnv::new(job.addresses, job.seed, &stream)
        .watched(reporter.points())
        .behind_proxy(job.source)
        .with_clocks(reporter.clocks.clone())
        .with_sentinels(job.sentinels.into())
        .with_client_options(job.options)
        .with_late_timers(job.timers_late)
        .with_databases(job.kind == ServerKind::Postgres);
    let clocks = reporter.clocks.clone();
    let random = Stream::new(job.seed, &format!("workload/{stream}"));
    let workload = job.workload.of(&job.name);
    await_begin()?;
    match workload.kind {
        WorkloadKind::Lock => {
            let lock = job.lock.build(env.clone(), &job.nodes);
            let locker = Locker::new(env.clone(), lock, reporter.clone());
            let client = LabClient {
                name: job.name,
                env,
                observer: reporter,
                locker,
                workload,
                random,
            };
            unless_stalled(clocks, client.run()).await;
        }
        WorkloadKind::Adds => {
            let final_read = FinalRead::of(&job.name);
            let adder = Adder {
                origin_ns: env.now_ns(ClockKind::Monotonic),
                name: job.name,
                env,
                observer: reporter,
                master: job.nodes[0].clone(),
                workload,
                random,
            };
            unless_stalled(clocks, adder.run(final_read)).await;
        }
    }
    send_message(&ChildMessage::Finished)?;
    // The process lives on, with what the lock has left running, until the testbed ends it.
    std::future::pending().await
}

/// Runs a client's task, which stands still as long as its host's clock file says so; what it has spawned goes on.
async fn unless_stalled(clocks: Clocks, task: impl Future<Output = ()>) {
    /// How long it stands still without looking whether the stall is over.
    const NAP: Duration = Duration::from_millis(1);
    let (mut task, mut nap) = (pin!(task), pin!(tokio::time::sleep(Duration::ZERO)));
    poll_fn(move |context| {
        while clocks.is_stalled() {
            if nap.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            nap.as_mut().reset(tokio::time::Instant::now() + NAP);
        }
        task.as_mut().poll(context)
    })
    .await;
}

/// Reports that this client is ready, and waits for the time at which all begin, which it returns; 0:
/// immediately.
fn await_begin() -> io::Result<u64> {
    send_message(&ChildMessage::Ready)?;
    if let Command::Begin { at_ns } = receive()? {
        let left_ns = at_ns.saturating_sub(read_clock(ClockKind::Monotonic));
        thread::sleep(Duration::from_nanos(left_ns));
        if at_ns > 0 {
            say_begun(at_ns)?;
        }
        return Ok(at_ns);
    }
    Ok(0)
}

fn clocks(file: Option<&Path>) -> io::Result<Clocks> {
    Ok(match file {
        None => Clocks::default(),
        Some(file) => Clocks::set_by(ClockReader::open(file)?),
    })
}

async fn serve(job: ResourceJob) -> io::Result<()> {
    let listener = TcpListener::bind(job.address).await?;
    let shown = Rc::new(RefCell::new(shown::Contents::new(job.register.clone())));
    let register = Rc::new(RefCell::new(job.register));
    let reporter = Reporter {
        name: RESOURCE.into(),
        clocks: clocks(job.clock.as_deref())?,
        watched: Rc::default(),
        calls: Rc::default(),
        grants: Rc::default(),
    };
    for (address, client) in job.gates {
        let (shown, reporter) = (shown.clone(), reporter.clone());
        let gate = TcpListener::bind(address).await?;
        spawn_local(async move {
            while let Ok((stream, _)) = gate.accept().await {
                // Fails only if the peer is gone already.
                let _ = stream.set_nodelay(true);
                let (client, shown, reporter) = (client.clone(), shown.clone(), reporter.clone());
                let report = move |key: &[u8], event| reporter.accessed(key, event);
                spawn_local(shown::serve(stream, client, shown, report));
            }
        });
    }
    send_message(&ChildMessage::Ready)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn_local(resource::serve(stream, register.clone(), reporter.clone()));
    }
}

/// Reports the events of a process to the testbed.
#[derive(Clone)]
struct Reporter {
    name: Name,
    clocks: Clocks,
    watched: Rc<VecSet<Failpoint>>,
    calls: Rc<Cell<u32>>,
    grants: Rc<Cell<u32>>,
}

impl Reporter {
    fn accessed(&self, key: &[u8], event: Event) {
        say_or_end(&ChildMessage::Accessed(Accessed {
            key: String::from_utf8_lossy(key).into(),
            record: stamp::record(&self.name, &self.clocks, event),
        }));
    }
}

impl Observer for Reporter {
    fn record(&self, event: Event) {
        say_or_end(&ChildMessage::Record(stamp::record(
            &self.name,
            &self.clocks,
            event,
        )));
    }

    /// Blocks the whole process at a watched failpoint, so that a fault takes effect exactly here.
    async fn reach(&self, point: Failpoint) {
        if self.watched.contains(&point) {
            say_or_end(&ChildMessage::Reached(point));
            if receive::<Command>().is_err() {
                std::process::exit(1);
            }
            // Here it stands still, if a stall was due.
            tokio::task::yield_now().await;
        }
    }

    fn next_call(&self) -> u32 {
        increment(&self.calls)
    }

    fn next_grant(&self) -> u32 {
        increment(&self.grants)
    }
}

fn increment(number: &Cell<u32>) -> u32 {
    number.set(number.get() + 1);
    number.get()
}

/// Writes and flushes a message: it reaches the testbed even if the process dies now.
fn send_message(message: &ChildMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Writes a message; if the testbed no longer reads, ends the process.
fn say_or_end(said: &ChildMessage) {
    if send_message(said).is_err() {
        std::process::exit(1);
    }
}

fn receive<T: DeserializeOwned>() -> io::Result<T> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
