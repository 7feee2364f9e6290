//! Nodes over real TCP, for `locklab serve`: a Redis for tests.
//!
//! Each node has a thread of its own, as each `redis-server` is a process of its own.
//! What a node answers is [`locklab_sim::redis`]'s; `node` carries its bytes, `client`
//! is one connection's sending side, and here the threads are started and watched.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use anyhow::Context;
use locklab_sim::redis::NodeConfig;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

mod client;
mod node;

use crate::env::machine::read_clock;
use crate::history::ClockKind;

/// What one node allows its clients, all together and each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time: `maxclients`.
    pub clients: usize,
    /// Bytes that a client may send without completing a request that can be handled:
    /// `client-query-buffer-limit`.
    pub query_bytes: usize,
    /// Bytes of replies that are kept for a client that does not read them.
    pub output_bytes: usize,
    /// Bytes of both kinds for all clients together: `maxmemory-clients`.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            clients: 10_000,
            // Redis's 1 GB would let a few clients take a test machine's memory; this
            // is room for the largest value that a test has any business with.
            query_bytes: 64 << 20,
            output_bytes: 64 << 20,
            total_bytes: 512 << 20,
        }
    }
}

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

/// Listens on `nodes` ports from `port` on, or on any free ones if that is 0.
///
/// # Errors
///
/// If a port is in use, or there is none of that number.
pub fn listen(ip: IpAddr, port: u16, nodes: u16) -> anyhow::Result<Vec<TcpListener>> {
    let ports = (0..nodes).map(|index| match port {
        0 => Some(0),
        _ => port.checked_add(index),
    });
    let listener = |its_port: Option<u16>| {
        let its_port = its_port
            .with_context(|| format!("{nodes} nodes from port {port} on need ports above 65535"))?;
        let address = SocketAddr::from((ip, its_port));
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
    };
    ports.map(listener).collect()
}

/// Serves a node on each listener until a signal's [`Event`] arrives, or every node was
/// shut down.
///
/// # Errors
///
/// If a thread or its event loop cannot be started.
///
/// # Panics
///
/// If a node does: the panic goes on in the caller.
pub fn serve(
    listeners: Vec<TcpListener>,
    limits: Limits,
    (sender, events): (Sender<Event>, Receiver<Event>),
) -> anyhow::Result<End> {
    allow_descriptors(limits.clients.saturating_mul(listeners.len()));
    let start_ns = read_clock(ClockKind::Wall) ^ u64::from(std::process::id());
    let nodes = listeners.into_iter().zip(0..).map(|(listener, index)| {
        // Every start of a node has its own run id.
        let config = NodeConfig {
            run_id_seed: start_ns.wrapping_add(index),
        };
        move || node::run(listener, config, limits)
    });
    watch(nodes.collect(), &sender, &events)
}

/// Runs each function on a thread until all have returned, one has failed, or a signal
/// came. Threads that are still running end with the program.
fn watch<F>(nodes: Vec<F>, sender: &Sender<Event>, events: &Receiver<Event>) -> anyhow::Result<End>
where
    F: FnOnce() -> io::Result<()> + Send + 'static,
{
    let mut running = nodes.len();
    for (node, number) in nodes.into_iter().zip(1..) {
        let sender = sender.clone();
        let body = move || {
            let ended = panic::catch_unwind(AssertUnwindSafe(node));
            // If nobody watches, the program is about to end.
            let _ = sender.send(Event::Ended(ended));
        };
        let thread = thread::Builder::new().name(format!("n{number}"));
        thread.spawn(body).context("cannot start a thread")?;
    }
    while running > 0 {
        match events.recv().context("nobody is left to tell of an end")? {
            Event::Interrupted => return Ok(End::Interrupted),
            Event::Ended(Ok(served)) => served.context("cannot serve")?,
            Event::Ended(Err(panicked)) => panic::resume_unwind(panicked),
        }
        running -= 1;
    }
    Ok(End::ShutDown)
}

/// Raises the limit on open files as far as it goes, and no further than needed
/// (`adjustOpenFilesLimit`). With fewer, clients beyond them wait to be accepted.
fn allow_descriptors(clients: usize) {
    // What Redis keeps for itself besides, `CONFIG_MIN_RESERVED_FDS`.
    const RESERVED: u64 = 32;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    let wanted = (clients as u64).saturating_add(RESERVED).min(hard);
    if wanted > soft {
        // It is an improvement, not a necessity.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn watched(nodes: Vec<fn() -> io::Result<()>>) -> anyhow::Result<End> {
        let (sender, events) = mpsc::channel();
        watch(nodes, &sender, &events)
    }

    #[test]
    fn it_ends_with_the_last_node() {
        assert_eq!(watched(vec![|| Ok(()), || Ok(())]).unwrap(), End::ShutDown);
    }

    #[test]
    fn a_node_that_cannot_serve_ends_all() {
        let fails = || Err(io::ErrorKind::OutOfMemory.into());
        let goes_on = || loop {
            thread::park();
        };
        let error = watched(vec![goes_on, fails]).unwrap_err();
        assert_eq!(error.to_string(), "cannot serve");
    }

    #[test]
    fn a_panic_of_one_node_is_a_panic_of_all() {
        let goes_on = || loop {
            thread::park();
        };
        let panicked = panic::catch_unwind(|| watched(vec![goes_on, || panic!("a bug")]));
        let message = panicked.unwrap_err();
        assert_eq!(message.downcast_ref(), Some(&"a bug"));
    }

    #[test]
    fn ports_follow_each_other_and_end_at_65535() {
        let error = listen(LOOPBACK, 65_535, 2).unwrap_err();
        let expected = "2 nodes from port 65535 on need ports above 65535";
        // The first of the two may be in use on this machine.
        assert!([expected, "cannot listen on 127.0.0.1:65535"].contains(&&*error.to_string()));
        assert_eq!(listen(LOOPBACK, 0, 3).unwrap().len(), 3);
    }
}
