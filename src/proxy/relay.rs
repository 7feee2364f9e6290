//! The thread that owns the sockets: it reports their events to the model, and executes the model's
//! operations on them.
//!
//! Each socket has a task ([`port`]). The thread's main loop ([`thread`]) carries out commands,
//! accepts connections, and waits for the model's next event.

mod lent;
mod port;
mod servers;
mod thread;
mod timer;

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use locklab_history::Name;
use locklab_vecmap::VecMap;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

use self::lent::Borrower;
use self::port::Port;
use self::servers::{Arrival, Servers};
use self::timer::Timer;
use crate::clock::now_ns;
use crate::model::{ConnectionId, Effect, End, Network, Payload};
use crate::options::{Greeting, Host, Options};

pub(crate) use thread::run;

/// Something for the proxy's thread to do.
pub(crate) enum Command {
    Act(Act),
    /// A fault begins: every connection has to be here before.
    Strike(Act),
}

pub(crate) type Act = Box<dyn FnOnce(&Rc<Relay>) + Send>;

/// The byte for hosts that wait for a greeting.
const GREETING: Bytes = Bytes::from_static(&[1]);

/// The most bytes that one read takes: the largest segment.
const READ_BYTES: usize = 1 << 16;

/// The shared state of the tasks of the proxy's thread.
pub(crate) struct Relay {
    hosts: VecMap<Name, Host>,
    names: VecMap<IpAddr, Name>,
    gates: VecMap<SocketAddr, Name>,
    network: RefCell<Network>,
    servers: RefCell<Servers>,
    /// The servers that serve connections without the proxy.
    borrowers: RefCell<VecMap<Name, Borrower>>,
    /// The sockets at the ends of connections.
    ports: RefCell<VecMap<End, Rc<Port>>>,
    /// The public address to which each connection goes.
    targets: RefCell<VecMap<u64, SocketAddr>>,
    /// The port from which the proxy has connected to a server, for each connection.
    dialled: RefCell<VecMap<u64, u16>>,
    timer: Timer,
    /// The read buffer of a task.
    buffer: RefCell<Box<[u8]>>,
}

impl Relay {
    fn new(options: &Options) -> io::Result<Self> {
        let names = options.hosts.iter();
        Ok(Self {
            hosts: options.hosts.clone(),
            names: names.map(|(name, host)| (host.ip, name.clone())).collect(),
            gates: options.gates.clone(),
            network: RefCell::new(Network::new(options)),
            servers: RefCell::default(),
            borrowers: RefCell::default(),
            ports: RefCell::default(),
            targets: RefCell::default(),
            dialled: RefCell::default(),
            timer: Timer::new()?,
            buffer: RefCell::new(vec![0; READ_BYTES].into()),
        })
    }

    /// Changes the model, now, and does what follows from it.
    pub(crate) fn act<R>(self: &Rc<Self>, change: impl FnOnce(&mut Network, u64) -> R) -> R {
        let answer = change(&mut self.network.borrow_mut(), now_ns());
        self.settle();
        answer
    }

    /// Does everything that is due.
    fn settle(self: &Rc<Self>) {
        loop {
            let effect = {
                let mut network = self.network.borrow_mut();
                network.advance(now_ns());
                network.next_effect()
            };
            match effect {
                Some(effect) => self.perform(effect),
                None => break,
            }
        }
        self.timer.set(self.network.borrow().next_ns());
    }

    fn perform(self: &Rc<Self>, effect: Effect) {
        match effect {
            Effect::Connect(connection) => {
                spawn_local(self.clone().connect(connection));
            }
            Effect::Greet(connection) => self.at(connection.connector(), |port| {
                if port.greeting == Greeting::Waits {
                    port.write(GREETING)
                } else {
                    Ok(())
                }
            }),
            Effect::Write(end, payload) => self.at(end, |port| port.write_payload(payload)),
            Effect::EndStream(end) => self.at(end, Port::end_stream),
            Effect::Reset(end) => {
                if let Some(port) = self.take_port(end) {
                    port.reset();
                }
            }
            Effect::Detach(end) => {
                if let Some(port) = self.take_port(end) {
                    port.detach();
                }
            }
        }
    }

    /// Does something to the socket of `end`, if it has one. An error breaks the connection.
    fn at(&self, end: End, act: impl FnOnce(&Port) -> io::Result<()>) {
        let port = self.ports.borrow().get(&end).cloned();
        if let Some(port) = port
            && act(&port).is_err()
        {
            port.reset();
            self.ports.borrow_mut().remove(&end);
            self.network.borrow_mut().on_broken(end, now_ns());
        }
    }

    /// The port from which the proxy has connected to a server, for each connection.
    pub(crate) fn dialled(&self) -> VecMap<u64, u16> {
        self.dialled.borrow().clone()
    }

    /// Handles a host's connection to the public address of `server`. A host that is not part of
    /// the run is rejected.
    fn accepted(self: &Rc<Self>, arrival: Arrival) {
        let by_gate = self.gates.get(&arrival.public);
        let by_source = || self.names.get(&arrival.from.ip());
        let Some(connector) = by_gate.or_else(by_source).cloned() else {
            return;
        };
        let greeting = match self.hosts.get(&connector) {
            Some(host) => host.greeting,
            None => Greeting::None,
        };
        let Some(arrival) = self.lend(&connector, arrival) else {
            return;
        };
        let server = arrival.server;
        let opened = self.network.borrow_mut().open(connector, server, now_ns());
        let mut targets = self.targets.borrow_mut();
        targets.insert(opened.number(), arrival.public);
        drop(targets);
        self.attach(opened.connector(), arrival.stream, greeting);
        self.settle();
    }

    /// The SYN of a connection has arrived at its server.
    async fn connect(self: Rc<Self>, connection: ConnectionId) {
        // Kept, since the SYN of a connection may arrive again, at the next process.
        let public = self.targets.borrow().get(&connection.number()).copied();
        let real = public.and_then(|public| self.servers.borrow().real(public));
        let stream = match real {
            Some(real) => TcpStream::connect(real).await.ok(),
            None => None,
        };
        if let Some(stream) = stream {
            if let Ok(address) = stream.local_addr() {
                let mut dialled = self.dialled.borrow_mut();
                dialled.insert(connection.number(), address.port());
            }
            self.attach(connection.server(), stream, Greeting::None);
            self.act(|network, now_ns| network.connected(connection, now_ns));
        } else {
            self.act(|network, now_ns| network.refused(connection, now_ns));
        }
    }

    fn attach(self: &Rc<Self>, end: End, stream: TcpStream, greeting: Greeting) {
        // Fails only if the peer is gone already, which the port will notice.
        let _ = stream.set_nodelay(true);
        let port = Rc::new(Port::new(stream, greeting));
        port.run(spawn_local(port::run(self.clone(), end, port.clone())));
        self.ports.borrow_mut().insert(end, port);
    }

    /// Handles the first `len` bytes of the buffer, which the process at `end` has written.
    fn on_write(self: &Rc<Self>, end: End, len: usize, port: &Port) {
        let bytes = self.buffer.borrow().get(..len).map(Bytes::copy_from_slice);
        if let Some(bytes) = bytes {
            let payload = Payload::new(bytes, &port.meter);
            self.act(|network, now_ns| network.on_write(end, payload, now_ns));
        }
    }

    fn take_port(&self, end: End) -> Option<Rc<Port>> {
        self.ports.borrow_mut().remove(&end)
    }
}
