//! Servers on real ports, on threads of the calling process: a Redis for tests.
//!
//! ```
//! let redis = locklab_redis::Server::start()?; // on a free loopback port, until dropped
//! let replica = redis.replica()?;
//! assert_eq!(redis.url(), format!("redis://{}", redis.address()));
//! assert_ne!(redis.address(), replica.address());
//! # Ok::<(), locklab_redis::server::StartError>(())
//! ```
//!
//! Each server has its own thread, as each `redis-server` is its own process, and expires
//! keys by the machine's clock. It listens on a loopback address by default. Dropping it
//! closes its connections, frees its port, and waits for its thread. This is the only module
//! of the crate that does input and output.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

mod any_port;
mod extension;
mod machine;
mod news;
mod node;
mod other_clients;
mod sentinel;
mod sockets;
mod thread;
mod watch;

use crate::Imitated;
use crate::engine::{
    EvictionPolicy, ExtensionReply, Files, Node, NodeConfig, Parameters, Persistence,
};
pub use any_port::bind;
use extension::Extension;
pub use machine::Machine;
pub use sentinel::{SentinelBuilder, SentinelServer};
pub use thread::Stop;
use thread::Thread;
pub use watch::Watch;
use watch::Watcher;

/// A Redis node that listens on a port until it is dropped or a client calls SHUTDOWN.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    builder: Builder,
    machine: Machine,
    thread: Thread,
}

/// The configuration of a [`Server`].
#[derive(Clone, Debug)]
pub struct Builder {
    address: SocketAddr,
    max_clients: NonZeroU32,
    max_memory: Option<NonZeroU64>,
    persistence: Persistence,
    replica_of: Option<SocketAddr>,
    sync_delay: Duration,
    imitated: Imitated,
    extension: Option<Extension>,
    watcher: Watcher,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1, with an empty keyspace.
    ///
    /// # Errors
    ///
    /// If the machine has no free port or cannot start another thread.
    pub fn start() -> Result<Server, StartError> {
        Server::builder().start()
    }

    /// A builder for a server that differs from [`Server::start`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a replica of this server, on a free port of the same address.
    ///
    /// # Errors
    ///
    /// If the machine has no free port or cannot start another thread.
    pub fn replica(&self) -> Result<Server, StartError> {
        let address = SocketAddr::new(self.address.ip(), 0);
        let builder = Server::builder().listen_on(address);
        builder.replica_of(self.address).start()
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL for clients: `redis://127.0.0.1:6379`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Ends the server as a kill of its process would, and restarts it on the same port, with
    /// the data that [`Persistence`] has kept and a new run id.
    ///
    /// # Errors
    ///
    /// If another process has taken the port, or the machine cannot start another thread.
    pub fn restart(&mut self) -> Result<(), StartError> {
        self.thread.stop();
        let listener = listen(self.address)?;
        self.thread = self.builder.spawn(listener, &self.machine)?;
        Ok(())
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_clients: NonZeroU32::new(10_000).expect("not zero"),
            max_memory: None,
            persistence: Persistence::default(),
            replica_of: None,
            sync_delay: Duration::ZERO,
            imitated: Imitated::default(),
            extension: None,
            watcher: Watcher::default(),
        }
    }
}

impl Builder {
    /// Listens on this port of 127.0.0.1. 0, the default, means a free port.
    pub fn port(self, port: u16) -> Self {
        let address = SocketAddr::new(self.address.ip(), port);
        self.listen_on(address)
    }

    /// Listens on this address. Any client that reaches it has full access to the server and
    /// can fill the machine's memory: prefer a loopback address.
    pub fn listen_on(self, address: SocketAddr) -> Self {
        Builder { address, ..self }
    }

    /// The maximum number of simultaneous connections; 10,000 by default.
    pub fn max_clients(self, max_clients: NonZeroU32) -> Self {
        Builder {
            max_clients,
            ..self
        }
    }

    /// `maxmemory`: with keys that would take more in Redis, commands that need memory are refused. No limit by
    /// default.
    pub fn max_memory(self, bytes: NonZeroU64) -> Self {
        Builder {
            max_memory: Some(bytes),
            ..self
        }
    }

    /// The data to keep in memory over [`Server::restart`]; nothing by default.
    pub fn persistence(self, persistence: Persistence) -> Self {
        Builder {
            persistence,
            ..self
        }
    }

    /// Starts as a replica of the server at this address.
    pub fn replica_of(self, master: SocketAddr) -> Self {
        Builder {
            replica_of: Some(master),
            ..self
        }
    }

    /// The server to imitate; Redis 7.0 by default.
    pub fn imitate(self, imitated: Imitated) -> Self {
        Builder { imitated, ..self }
    }

    /// Adds commands to those of Redis: `answer` gets the words of each request that names none of
    /// these, on the server's thread, with the signal at which the server ends. `None` leaves it
    /// an unknown command.
    pub fn extend(
        self,
        answer: impl Fn(&[&[u8]], &Stop) -> Option<ExtensionReply> + Send + Sync + 'static,
    ) -> Self {
        Builder {
            extension: Some(Extension::new(answer)),
            ..self
        }
    }

    /// Lets somebody look on while clients' requests are executed.
    pub fn watch(self, watch: impl Watch + 'static) -> Self {
        Builder {
            watcher: Watcher(Some(Arc::new(watch))),
            ..self
        }
    }

    /// How long a replica that needs the whole data set waits for others that need it too:
    /// see [`Parameters::sync_delay`]. Zero by default; Redis waits five seconds.
    pub fn sync_delay(self, sync_delay: Duration) -> Self {
        Builder { sync_delay, ..self }
    }

    /// Starts the server on a thread.
    ///
    /// # Errors
    ///
    /// If it cannot listen on its address, or the machine cannot start another thread.
    pub fn start(self) -> Result<Server, StartError> {
        let listener = listen(self.address)?;
        let address = listener.local_addr().map_err(StartError::Thread)?;
        let machine = Machine::default();
        let thread = self.spawn(listener, &machine)?;
        Ok(Server {
            address,
            builder: self,
            machine,
            thread,
        })
    }

    /// Serves on the calling thread until a client calls SHUTDOWN, without a disk.
    ///
    /// # Errors
    ///
    /// If the event loop cannot be created.
    ///
    /// # Panics
    ///
    /// If the node panics.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        self.serve_on(listener, &Machine::diskless(), &Stop::default())
    }

    /// Serves on the calling thread, with the clock and the disk of `machine`, until a client
    /// calls SHUTDOWN or `stop` is signalled. A signal ends the server as a kill of its process
    /// would.
    ///
    /// # Errors
    ///
    /// If the event loop cannot be created.
    ///
    /// # Panics
    ///
    /// If the node panics.
    pub fn serve_on(
        &self,
        listener: TcpListener,
        machine: &Machine,
        stop: &Stop,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        // The script interpreter is bound to its thread, so the node is created here.
        let mut node = machine.with_files(|files| self.node(address, machine, files));
        if let Some(extension) = &self.extension {
            node.extend(extension.until(stop));
        }
        let surroundings = Surroundings {
            machine: machine.clone(),
            stop: stop.clone(),
            watcher: self.watcher.clone(),
        };
        thread::run(node::serve(listener, node, surroundings))
    }

    fn spawn(&self, listener: TcpListener, machine: &Machine) -> Result<Thread, StartError> {
        let address = listener.local_addr().map_err(StartError::Thread)?;
        let (builder, machine) = (self.clone(), machine.clone());
        let serve = move |stop| builder.serve_on(listener, &machine, &stop);
        Thread::start(&format!("redis {}", address.port()), serve)
    }

    /// Creates the node, starting from these files.
    fn node(&self, address: SocketAddr, machine: &Machine, files: &Files) -> Node {
        let mut node = Node::new(NodeConfig {
            run_id_seed: seed(),
            imitated: self.imitated,
        });
        let clock = machine.clone();
        node.read_clock(move || clock.now());
        let written = files.config.clone();
        node.configure_all(&written.unwrap_or_else(|| self.parameters(address)));
        node.load(files, machine.now().wall_us);
        node
    }

    fn parameters(&self, address: SocketAddr) -> Parameters {
        let parameters = Parameters::default()
            .port(address.port())
            .max_clients(self.max_clients)
            .sync_delay(self.sync_delay)
            .persistence(&self.persistence);
        let parameters = match self.max_memory {
            Some(bytes) => parameters.max_memory(bytes, EvictionPolicy::NoEviction),
            None => parameters,
        };
        match self.replica_of {
            Some(master) => parameters.replica_of(&master.ip().to_string(), master.port()),
            None => parameters,
        }
    }
}

/// What surrounds the process of a server.
struct Surroundings {
    machine: Machine,
    stop: Stop,
    watcher: Watcher,
}

/// The reason why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The server cannot listen.
    Listen {
        /// The address to listen on.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The system cannot provide another thread or socket.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Listen { address, source } => write!(
                f,
                "cannot listen on {address}: {source}; leave the port out, or give 0, to have a \
                 free one"
            ),
            StartError::Thread(source) => write!(
                f,
                "cannot run a server's thread: {source}; drop servers that are not needed any \
                 more, or raise the limits of `ulimit -u` and `ulimit -n`"
            ),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StartError::Listen { source, .. } | StartError::Thread(source) => Some(source),
        }
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    bind(address).map_err(|source| StartError::Listen { address, source })
}

/// 64 random bits, different at each start of a server.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
