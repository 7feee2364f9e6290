//! Nodes, replicas and sentinels over real TCP, for `locklab serve`: a Redis for tests.
//!
//! Each server has a thread of its own, as each `redis-server` is a process of its own.
//! What runs there is [`locklab_redis::server`]'s; `topology` says who is where, and here
//! the threads are started and watched.

use std::io;
use std::net::TcpListener;
use std::num::{NonZeroU32, NonZeroU64};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use locklab_history::Name;
use locklab_redis::sentinel::Monitor;
use locklab_redis::server::{Builder, Machine, Stop};
use locklab_redis::{ExtensionReply, Imitated, Persistence, SentinelServer, Server};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::order::texts;
use crate::served::{Bench, Outcome, Served};
use crate::topology::{Place, Role};
use crate::witness::Witness;

/// How long a replica that comes later waits for others: Redis's `repl-diskless-sync-delay`.
const SYNC_DELAY: Duration = Duration::from_secs(5);

/// Why serving ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// SHUTDOWN was called on the last node.
    ShutDown,
    /// A signal asked for it.
    Interrupted,
}

/// What the threads tell the one that watches them.
pub enum Event {
    /// A signal came.
    Interrupted,
    /// A node ended: as it should, unable to serve, or with a panic.
    Ended(thread::Result<io::Result<()>>),
}

/// What all servers have in common.
pub struct Settings {
    /// The most connections of a node at a time.
    pub max_clients: NonZeroU32,
    /// The `maxmemory` of a node in bytes; absent: no limit.
    pub max_memory: Option<NonZeroU64>,
    /// The server that nodes imitate.
    pub imitated: Imitated,
    /// The data that nodes keep over a crash.
    pub persistence: Persistence,
    /// How long a master does not answer until it is down for a sentinel.
    pub down_after: Duration,
    /// The laboratory whose commands nodes take, if they take any.
    pub served: Option<Served>,
    /// Who looks on at the nodes.
    pub witness: Option<Witness>,
}

/// Serves everybody in their places until a signal's [`Event`] arrives, or every node was
/// shut down. If there is a bench for each place, servers are started and crashed there.
///
/// # Errors
///
/// If a thread or its event loop cannot be started.
///
/// # Panics
///
/// If a server does: the panic goes on in the caller.
pub fn serve(
    places: Vec<Place>,
    settings: &Settings,
    benches: Vec<Bench>,
    (sender, events): (Sender<Event>, Receiver<Event>),
) -> anyhow::Result<End> {
    let is_node = |place: &&Place| place.role != Role::Sentinel;
    let nodes = places.iter().filter(is_node).count();
    let serves = serves(&places, settings);
    let mut benches = benches.into_iter();
    let servers = places.into_iter().zip(serves).map(|(place, serve)| -> Run {
        match benches.next() {
            Some(bench) => Box::new(move || bench.run(serve)),
            None => Box::new(move || serve(place.listener, &Machine::diskless(), &Stop::default())),
        }
    });
    watch(servers.collect(), nodes, &sender, &events)
}

/// What a process of a server does.
type Serve = Box<dyn Fn(TcpListener, &Machine, &Stop) -> io::Result<()> + Send>;

/// The server of each place.
fn serves(places: &[Place], settings: &Settings) -> Vec<Serve> {
    let monitors = monitors(places, settings.down_after);
    let mut node = Server::builder()
        .max_clients(settings.max_clients)
        .imitate(settings.imitated)
        .persistence(settings.persistence.clone());
    if let Some(bytes) = settings.max_memory {
        node = node.max_memory(bytes);
    }
    let is_replica = |place: &Place| matches!(place.role, Role::Replica { .. });
    if !places.iter().any(is_replica) {
        // Otherwise nobody waits five seconds for more replicas: there will be none.
        node = node.sync_delay(SYNC_DELAY);
    }
    let serve = |place: &Place| -> Serve {
        let node = match place.role {
            Role::Sentinel => {
                let sentinel = SentinelServer::builder().announce(place.address);
                let monitors = monitors.iter().cloned();
                let sentinel =
                    monitors.fold(sentinel, |sentinel, monitor| sentinel.monitor(monitor));
                return Box::new(move |listener, machine, stop| {
                    sentinel.clone().serve_on(listener, machine, stop)
                });
            }
            Role::Master { .. } => node.clone(),
            Role::Replica { of } => node.clone().replica_of(of),
        };
        let node = match &settings.served {
            Some(served) => with_commands(node, served.clone(), place.name.clone()),
            None => node,
        };
        let node = match &settings.witness {
            Some(witness) => node.watch(witness.of(&place.name)),
            None => node,
        };
        Box::new(move |listener, machine, stop| node.serve_on(listener, machine, stop))
    };
    places.iter().map(serve).collect()
}

/// A node that takes the commands of the laboratory.
fn with_commands(node: Builder, served: Served, name: Name) -> Builder {
    node.extend(move |words, stop| {
        let words = texts(words);
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let is_ours = words.first()?.to_ascii_uppercase().starts_with("LAB.");
        is_ours.then(|| match served.execute_at(&name, &words, stop) {
            Ok(Outcome::Done) => ExtensionReply::Ok,
            Ok(Outcome::Lines(lines)) => ExtensionReply::Lines(lines),
            Err(problem) => ExtensionReply::Error(format!("ERR {problem}")),
        })
    })
}

/// What every sentinel monitors: each master, as more than half of the sentinels see it.
fn monitors(places: &[Place], down_after: Duration) -> Vec<Monitor> {
    let is_sentinel = |place: &&Place| place.role == Role::Sentinel;
    let quorum = places.iter().filter(is_sentinel).count() / 2 + 1;
    let monitor = |place: &Place| match &place.role {
        Role::Master { name: Some(name) } => Some(Monitor {
            down_after,
            // The example of Redis's documentation, "A quick tutorial".
            failover_timeout: Duration::from_secs(60),
            ..Monitor::new(name, place.address.into(), quorum)
        }),
        _ => None,
    };
    places.iter().filter_map(monitor).collect()
}

/// What a server's thread does. A node's returns when it was shut down.
type Run = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Runs each server on a thread until `nodes` of them have returned, one has failed, or a
/// signal came. Threads that are still running end with the program.
fn watch(
    servers: Vec<Run>,
    nodes: usize,
    sender: &Sender<Event>,
    events: &Receiver<Event>,
) -> anyhow::Result<End> {
    for (server, number) in servers.into_iter().zip(1..) {
        let sender = sender.clone();
        let body = move || {
            let ended = panic::catch_unwind(AssertUnwindSafe(server));
            // If nobody watches, the program is about to end.
            let _ = sender.send(Event::Ended(ended));
        };
        let thread = thread::Builder::new().name(format!("n{number}"));
        thread.spawn(body).context("cannot start a thread")?;
    }
    for _ in 0..nodes {
        match events
            .recv()
            .context("no thread is left to report an end")?
        {
            Event::Interrupted => return Ok(End::Interrupted),
            Event::Ended(Ok(served)) => served.context("cannot serve")?,
            Event::Ended(Err(panicked)) => panic::resume_unwind(panicked),
        }
    }
    Ok(End::ShutDown)
}

/// Raises the limit on open files as far as it goes, and no further than so many clients of each of these servers
/// need; returns how many each can have (`adjustOpenFilesLimit`). A node with a bench may need a socket at either end of
/// the proxy for each client, too.
///
/// # Errors
///
/// If no client could connect.
pub fn allow_clients(
    wanted: NonZeroU32,
    servers: usize,
    have_benches: bool,
) -> anyhow::Result<NonZeroU32> {
    let descriptors = Descriptors {
        servers: servers as u64,
        sockets: if have_benches { 3 } else { 1 },
    };
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return Ok(wanted);
    };
    let needed = descriptors.of(wanted.get()).min(hard);
    let raised = needed > soft && setrlimit(Resource::RLIMIT_NOFILE, needed, hard).is_ok();
    let limit = if raised { needed } else { soft };
    let fit = NonZeroU32::new(descriptors.clients(limit)).with_context(|| {
        let least = descriptors.of(1);
        format!("at most {limit} files may be open; raise `ulimit -n` to at least {least}")
    })?;
    Ok(fit.min(wanted))
}

/// The file descriptors that servers need.
struct Descriptors {
    servers: u64,
    /// For each client.
    sockets: u64,
}

impl Descriptors {
    /// What Redis keeps for itself besides its clients, `CONFIG_MIN_RESERVED_FDS`.
    const RESERVED: u64 = 32;

    /// Those of so many clients of each server.
    fn of(&self, clients: u32) -> u64 {
        let of_one = u64::from(clients).saturating_mul(self.sockets) + Self::RESERVED;
        of_one.saturating_mul(self.servers)
    }

    /// How many clients each server can have with so many descriptors.
    fn clients(&self, limit: u64) -> u32 {
        let left = (limit / self.servers).saturating_sub(Self::RESERVED);
        u32::try_from(left / self.sockets).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn watched(servers: Vec<Run>, nodes: usize) -> anyhow::Result<End> {
        let (sender, events) = mpsc::channel();
        watch(servers, nodes, &sender, &events)
    }

    fn run(body: fn() -> io::Result<()>) -> Run {
        Box::new(body)
    }

    fn goes_on() -> Run {
        run(|| {
            loop {
                thread::park();
            }
        })
    }

    #[test]
    fn each_server_has_as_many_clients_as_its_share_of_descriptors() {
        let clients = |limit, servers, sockets| Descriptors { servers, sockets }.clients(limit);
        // As Redis.
        assert_eq!(clients(200, 1, 1), 168);
        assert_eq!(clients(32, 1, 1), 0);
        assert_eq!(clients(1_000, 5, 1), 168);
        assert_eq!(clients(1_000, 5, 3), 56);
        assert_eq!(clients(u64::MAX, 1, 1), u32::MAX);
        for (servers, sockets) in [(1, 1), (5, 3)] {
            let descriptors = Descriptors { servers, sockets };
            assert_eq!(descriptors.clients(descriptors.of(10_000)), 10_000);
        }
    }

    #[test]
    fn it_ends_with_the_last_node() {
        let servers = vec![run(|| Ok(())), run(|| Ok(())), goes_on()];
        assert_eq!(watched(servers, 2).unwrap(), End::ShutDown);
    }

    #[test]
    fn a_server_that_cannot_serve_ends_all() {
        let fails = run(|| Err(io::ErrorKind::OutOfMemory.into()));
        let error = watched(vec![goes_on(), fails], 2).unwrap_err();
        assert_eq!(error.to_string(), "cannot serve");
    }

    #[test]
    fn a_panic_of_one_server_is_a_panic_of_all() {
        let servers = || vec![goes_on(), run(|| panic!("a bug"))];
        let panicked = panic::catch_unwind(|| watched(servers(), 2));
        let message = panicked.unwrap_err();
        assert_eq!(message.downcast_ref(), Some(&"a bug"));
    }
}
