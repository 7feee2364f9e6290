//! The handle with which a run controls its proxy.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use locklab_history::Name;
use locklab_link::{LinkRule, RuleId};
use locklab_vecmap::VecMap;
use tokio::sync::mpsc::UnboundedSender;

use crate::direct::Direct;
use crate::model::{Dropped, Network, Segment};
use crate::options::Options;
use crate::relay::{self, Act, Command, Relay};
use crate::watch::Watch;

/// A running proxy, on a thread of its own.
///
/// Every call takes effect before it returns. Data that a process writes after the call is treated
/// according to the call. Data from before the call has left already, if the machine's loopback has
/// delivered it and the proxy had room for it.
///
/// Dropping the proxy closes its sockets and ends its thread.
#[derive(Debug)]
pub struct Proxy {
    /// `None` only while the proxy is dropped.
    commands: Option<UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy to which no server is published yet.
    ///
    /// # Errors
    /// `InvalidInput` if two hosts share an address, or `latency` or `loss` is impossible;
    /// otherwise if the machine cannot start another thread.
    pub fn start(options: Options) -> io::Result<Proxy> {
        options.check()?;
        let (commands, orders) = tokio::sync::mpsc::unbounded_channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("locklab-proxy".into())
            .spawn(move || relay::run(options, orders, &ready))?;
        is_ready
            .recv()
            .map_err(|_| io::Error::other("the proxy's thread ended"))??;
        Ok(Proxy {
            commands: Some(commands),
            thread: Some(thread),
        })
    }

    /// Accepts connections to `server` on each first address, on behalf of a process that listens on
    /// the second one. When the call returns, the proxy listens. A server that is already published
    /// moves to these addresses; its existing connections stay as they are.
    ///
    /// # Errors
    /// `InvalidInput` if no host is called `server`; otherwise if a public address cannot be bound.
    pub fn publish(&self, server: &Name, addresses: &[(SocketAddr, SocketAddr)]) -> io::Result<()> {
        for (public, real) in addresses.iter().copied() {
            let name = server.clone();
            if self.call(move |relay| relay.move_real(&name, public, real))? {
                continue;
            }
            self.publish_on(server, TcpListener::bind(public)?, real)?;
        }
        let kept: Vec<SocketAddr> = addresses.iter().map(|(public, _)| *public).collect();
        let name = server.clone();
        self.call(move |relay| relay.withdraw_except(&name, &kept));
        Ok(())
    }

    /// Accepts connections to `server` on a listener that is bound already, on behalf of a process
    /// that listens on `real`.
    ///
    /// # Errors
    /// `InvalidInput` if no host is called `server`; otherwise if the listener cannot be used.
    pub fn publish_on(
        &self,
        server: &Name,
        listener: TcpListener,
        real: SocketAddr,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let public = listener.local_addr()?;
        let name = server.clone();
        self.call(move |relay| relay.publish(name, listener, public, real))
    }

    /// From now on `server` serves the connections of `client` itself while no fault is in force, without
    /// the latency, the loss and the record of the proxy's. A fault of a link, of power or of a
    /// connection, and a suspension, takes all such connections back before it begins.
    pub fn lend(&self, client: &Name, server: &Name, direct: impl Direct + Send + 'static) {
        let (client, server) = (client.clone(), server.clone());
        self.call(move |relay| relay.lend_to(server, client, Box::new(direct)));
    }

    /// Withdraws `server`, whose process has ended: from now on the kernel refuses connections to
    /// it. Its existing connections remain until their sockets end.
    pub fn withdraw(&self, server: &Name) {
        let name = server.clone();
        self.call(move |relay| relay.withdraw_except(&name, &[]));
    }

    /// Installs a fault on links. It applies to what leaves from now on; names that are not
    /// hosts match nothing.
    pub fn install(&self, rule: LinkRule<Name>) -> RuleId {
        self.strike(|network, _| network.install(rule))
    }

    /// Ends a fault on links. Held segments are sent at their next retransmission.
    pub fn lift(&self, rule: RuleId) {
        self.call(move |relay| relay.act(|network, _| network.lift(rule)));
    }

    /// Cuts the power of `host`: nothing goes in or out, data that it still had to send is
    /// lost, and its kernel forgets its connections. Data that has already left arrives.
    ///
    /// To be called before its process is killed; otherwise the process's kernel says goodbye
    /// on the process's behalf. The process notices nothing on its sockets.
    pub fn cut_power(&self, host: &Name) {
        let host = host.clone();
        self.strike(move |network, now_ns| network.cut_power(&host, now_ns));
    }

    /// Ends a [`Proxy::cut_power`], however often that was called. A peer's next segment on an
    /// old connection, if it gets through, is answered with a reset.
    pub fn restore_power(&self, host: &Name) {
        let host = host.clone();
        self.call(move |relay| relay.act(|network, _| network.restore_power(&host)));
    }

    /// Resets all connections of `host`, at both ends: what is under way on them is lost. Its
    /// power and its links stay as they are.
    pub fn reset(&self, host: &Name) {
        let host = host.clone();
        self.strike(move |network, _| network.reset(&host));
    }

    /// Suspends `host`: arriving data waits as if in its network card, it sends nothing, and its
    /// retransmission timers stop. Each call needs its own [`Proxy::wake`].
    pub fn suspend(&self, host: &Name) {
        let host = host.clone();
        self.strike(move |network, now_ns| network.suspend(&host, now_ns));
    }

    /// Ends a [`Proxy::suspend`]; without one it has no effect.
    pub fn wake(&self, host: &Name) {
        let host = host.clone();
        self.call(move |relay| relay.act(|network, now_ns| network.wake(&host, now_ns)));
    }

    /// From now on this watch, made on the proxy's thread, sees what passes.
    pub fn watch(&self, make: impl FnOnce() -> Box<dyn Watch> + Send + 'static) {
        self.call(move |relay| relay.act(|network, _| network.watch(make())));
    }

    /// The segments with data since the last call, in the order in which they left; none unless
    /// [`Keep::Messages`](crate::Keep) was asked for. A segment that is still in transit has no
    /// time of arrival and gets none later.
    ///
    /// Not more than [`MAX_MESSAGES`](crate::MAX_MESSAGES) segments, and not more than
    /// [`MAX_MESSAGE_BYTES`](crate::MAX_MESSAGE_BYTES) of data, are kept between two calls:
    /// the first ones.
    pub fn take_messages(&self) -> Vec<Segment> {
        self.call(|relay| relay.act(|network, _| network.take_messages()))
    }

    /// The segments that were to be kept, and for which there was no room; none if all were.
    pub fn dropped(&self) -> Option<Dropped> {
        self.call(|relay| relay.act(|network, _| network.dropped()))
    }

    /// The port from which the proxy has connected to a server, for each
    /// [`Segment::connection`](crate::Segment): as which client the server knows it.
    pub fn dialled(&self) -> VecMap<u64, u16> {
        self.call(|relay| relay.dialled())
    }

    /// Begins a fault, with every connection at the proxy.
    fn strike<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Network, u64) -> R + Send + 'static,
    ) -> R {
        self.send(Command::Strike, move |relay| relay.act(change))
    }

    /// Carries out `act` on the proxy's thread and returns its answer.
    ///
    /// # Panics
    /// If the proxy's thread has panicked.
    fn call<R: Send + 'static>(&self, act: impl FnOnce(&Rc<Relay>) -> R + Send + 'static) -> R {
        self.send(Command::Act, act)
    }

    fn send<R: Send + 'static>(
        &self,
        command: fn(Act) -> Command,
        act: impl FnOnce(&Rc<Relay>) -> R + Send + 'static,
    ) -> R {
        let (answer, answered) = mpsc::channel();
        let act: Act = Box::new(move |relay| {
            let _ = answer.send(act(relay));
        });
        if let Some(commands) = &self.commands {
            let _ = commands.send(command(act));
        }
        let answer = answered.recv();
        answer.expect("the proxy's thread runs until the proxy is dropped")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
