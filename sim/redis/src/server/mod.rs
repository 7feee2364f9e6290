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
//! Each server has a thread of its own, as each `redis-server` is a process of its own, and
//! expires keys by the machine's clock. It listens on a loopback address unless it is told
//! otherwise. Dropping it ends its connections, frees its port, and waits for its thread.
//! Of the crate's modules this is the only one that does input and output.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

mod node;
mod sentinel;
mod thread;

use crate::endpoint::Now;
use crate::engine::{Files, Node, NodeConfig, Parameters, Persistence};
pub use sentinel::{SentinelBuilder, SentinelServer};
use thread::{Stop, Thread};

/// A Redis node that listens on a port until it is dropped, or somebody calls SHUTDOWN.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    builder: Builder,
    disk: Disk,
    thread: Thread,
}

/// How a [`Server`] is started.
#[derive(Clone, Debug)]
pub struct Builder {
    address: SocketAddr,
    max_clients: NonZeroU32,
    persistence: Persistence,
    replica_of: Option<SocketAddr>,
    sync_delay: Duration,
}

/// What a server's process would leave on its disk.
type Disk = Arc<Mutex<Files>>;

impl Server {
    /// Starts a server on a free port of 127.0.0.1, with an empty keyspace.
    ///
    /// # Errors
    ///
    /// If the machine has no port or no thread left.
    pub fn start() -> Result<Server, StartError> {
        Server::builder().start()
    }

    /// A server to be, of which something is to differ from [`Server::start`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a replica of this server, on a free port of the same address.
    ///
    /// # Errors
    ///
    /// If the machine has no port or no thread left.
    pub fn replica(&self) -> Result<Server, StartError> {
        let address = SocketAddr::new(self.address.ip(), 0);
        let builder = Server::builder().listen_on(address);
        builder.replica_of(self.address).start()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as clients want it: `redis://127.0.0.1:6379`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Ends the server as a kill of its process would, and starts it again on the same port,
    /// with what [`Persistence`] has kept and under another run id.
    ///
    /// # Errors
    ///
    /// If somebody else has taken the port meanwhile, or the machine has no thread left.
    pub fn restart(&mut self) -> Result<(), StartError> {
        self.thread.stop();
        let listener = listen(self.address)?;
        self.thread = self.builder.spawn(listener, &self.disk)?;
        Ok(())
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_clients: NonZeroU32::new(10_000).expect("not zero"),
            persistence: Persistence::default(),
            replica_of: None,
            sync_delay: Duration::ZERO,
        }
    }
}

impl Builder {
    /// Listens on this port of 127.0.0.1. 0, the default: on a free one.
    pub fn port(self, port: u16) -> Self {
        let address = SocketAddr::new(self.address.ip(), port);
        self.listen_on(address)
    }

    /// Listens on this address. Whoever reaches it may do anything to the server, and fill
    /// the machine's memory: stay on the loopback.
    pub fn listen_on(self, address: SocketAddr) -> Self {
        Builder { address, ..self }
    }

    /// Takes so many connections at a time; 10,000 by default.
    pub fn max_clients(self, max_clients: NonZeroU32) -> Self {
        Builder {
            max_clients,
            ..self
        }
    }

    /// Keeps this over [`Server::restart`], in memory; nothing by default.
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

    /// Has a replica that needs the whole data set wait so long for others that need it too:
    /// see [`Parameters::sync_delay`]. Not at all by default, where Redis takes five seconds.
    pub fn sync_delay(self, sync_delay: Duration) -> Self {
        Builder { sync_delay, ..self }
    }

    /// Starts the server on a thread.
    ///
    /// # Errors
    ///
    /// If it cannot listen where it shall, or the machine has no thread left.
    pub fn start(self) -> Result<Server, StartError> {
        let listener = listen(self.address)?;
        let address = listener.local_addr().map_err(StartError::Thread)?;
        let disk = Disk::default();
        let thread = self.spawn(listener, &disk)?;
        Ok(Server {
            address,
            builder: self,
            disk,
            thread,
        })
    }

    /// Serves on the calling thread until somebody calls SHUTDOWN, without a disk.
    ///
    /// # Errors
    ///
    /// If there can be no event loop.
    ///
    /// # Panics
    ///
    /// If the node does.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let node = self.node(address, &Files::default());
        thread::run(node::serve(listener, node, None, Stop::default()))
    }

    fn spawn(&self, listener: TcpListener, disk: &Disk) -> Result<Thread, StartError> {
        let address = listener.local_addr().map_err(StartError::Thread)?;
        let (builder, disk) = (self.clone(), disk.clone());
        let serve = move |stop| {
            // The interpreter of scripts is the thread's, and so the node is made here.
            let node = builder.node(address, &lock(&disk));
            thread::run(node::serve(listener, node, Some(disk), stop))
        };
        Thread::start(&format!("redis {}", address.port()), serve)
    }

    /// The node, as it starts with these files.
    fn node(&self, address: SocketAddr, files: &Files) -> Node {
        let mut node = Node::new(NodeConfig {
            run_id_seed: seed(),
        });
        let written = files.config.clone();
        node.configure_all(&written.unwrap_or_else(|| self.parameters(address)));
        node.load(files, now().wall_us);
        node
    }

    fn parameters(&self, address: SocketAddr) -> Parameters {
        let parameters = Parameters::default()
            .port(address.port())
            .max_clients(self.max_clients)
            .sync_delay(self.sync_delay)
            .persistence(&self.persistence);
        match self.replica_of {
            Some(master) => parameters.replica_of(&master.ip().to_string(), master.port()),
            None => parameters,
        }
    }
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// It cannot listen.
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no room for one more thread, or socket.
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
    TcpListener::bind(address).map_err(|source| StartError::Listen { address, source })
}

fn lock(disk: &Disk) -> impl std::ops::DerefMut<Target = Files> {
    // A panic between two writes leaves whole ones.
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 64 bits that no other start of a server has.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The time by the machine's clocks.
fn now() -> Now {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Now {
        // A clock before 1970 shows 1970.
        wall_us: wall.map_or(0, |wall| wall.as_micros() as u64),
        monotonic: START.elapsed(),
    }
}
