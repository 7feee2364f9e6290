//! Discovery of the master through the sentinels: the procedure of Redis's "Guidelines for
//! Sentinel clients".
//!
//! The client asks the sentinels in turn; the first reply decides, and that sentinel is asked
//! first the next time. The client then asks the named node for its role, since a sentinel's
//! information may be outdated. A subscription to `+switch-master` triggers the next search.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use super::connection::{Connection, Reply};
use crate::{Duration, Env, timeout};
use locklab_history::Name;

/// The name under which the sentinels of a scenario know their master.
pub const MASTER: &str = "mymaster";

/// The guidelines ask for a short time, "in the order of a few hundred milliseconds".
pub const SENTINEL_LIMIT: Duration = Duration::from_millis(300);

/// How long the subscriber waits before it tries the next sentinel.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(1);

/// The server to which a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This node, in any role.
    Node(Name),
    /// The node that these sentinels know as [`MASTER`].
    Master {
        /// The sentinels.
        sentinels: Rc<[Name]>,
    },
}

impl Target {
    /// The target of a client for `name` where these sentinels know the [`MASTER`].
    pub fn of(name: &Name, sentinels: &Rc<[Name]>) -> Target {
        match &**name {
            MASTER if !sentinels.is_empty() => Target::Master {
                sentinels: sentinels.clone(),
            },
            _ => Target::Node(name.clone()),
        }
    }
}

/// The search for the master.
pub(super) struct Discovery<E: Env> {
    env: E,
    sentinels: Rc<[Name]>,
    /// The sentinel that answered last.
    first: usize,
    /// The number of switches that the sentinels have published.
    switches: Rc<Cell<u64>>,
    /// The number of switches at the last search for the master.
    known: u64,
    listens: bool,
}

impl<E: Env> Discovery<E> {
    pub(super) fn new(env: E, sentinels: Rc<[Name]>) -> Self {
        Self {
            env,
            sentinels,
            first: 0,
            switches: Rc::default(),
            known: 0,
            listens: false,
        }
    }

    /// Whether no sentinel has published a switch since the last search.
    pub(super) fn is_current(&self) -> bool {
        self.known == self.switches.get()
    }

    /// Connects to the master.
    ///
    /// # Errors
    /// If no sentinel knows the master, it cannot be reached, or it is not a master.
    pub(super) async fn connect(&mut self) -> io::Result<Connection<E::Stream>> {
        if !self.listens {
            self.listens = true;
            let listening = listen(
                self.env.clone(),
                self.sentinels.clone(),
                self.switches.clone(),
            );
            self.env.spawn(listening);
        }
        self.known = self.switches.get();
        let master = self.find().await?;
        let mut connection = Connection::new(self.env.connect(&master).await?);
        match connection.call(&[b"ROLE"]).await? {
            Reply::Array(items) if items.first().is_some_and(|role| role.is("master")) => {
                Ok(connection)
            }
            _ => Err(io::Error::other(format!("{master} is not the master yet"))),
        }
    }

    /// Asks the sentinels in turn.
    async fn find(&mut self) -> io::Result<Name> {
        let count = self.sentinels.len();
        for turn in 0..count {
            let index = (self.first + turn) % count;
            let asking = ask(&self.env, &self.sentinels[index]);
            if let Ok(Ok(Some(master))) = timeout(&self.env, Some(SENTINEL_LIMIT), asking).await {
                self.first = index;
                return Ok(master);
            }
        }
        Err(io::Error::other("no sentinel knows the master"))
    }
}

async fn ask<E: Env>(env: &E, sentinel: &Name) -> io::Result<Option<Name>> {
    let mut connection = Connection::new(env.connect(sentinel).await?);
    let question: [&[u8]; 3] = [b"SENTINEL", b"get-master-addr-by-name", MASTER.as_bytes()];
    match connection.call(&question).await? {
        Reply::Nil => Ok(None),
        Reply::Array(address) if matches!(address[..], [Reply::Bulk(_), _]) => {
            let host = address[0].value().flatten();
            Ok(host.map(Name::from))
        }
        reply => Err(io::Error::other(format!(
            "{sentinel} answered with {reply:?}"
        ))),
    }
}

/// Counts the switches that the sentinels publish, for as long as the process lives.
async fn listen<E: Env>(env: E, sentinels: Rc<[Name]>, switches: Rc<Cell<u64>>) {
    for sentinel in sentinels.iter().cycle() {
        // The next sentinel may be reachable after any error.
        let _ = follow(&env, sentinel, &switches).await;
        env.sleep(RESUBSCRIBE_AFTER).await;
    }
}

async fn follow<E: Env>(env: &E, sentinel: &Name, switches: &Cell<u64>) -> io::Result<()> {
    let subscribing = async {
        let mut connection = Connection::new(env.connect(sentinel).await?);
        connection.subscribe("+switch-master").await?;
        io::Result::Ok(connection)
    };
    // Without a timeout a sentinel that is cut off would block the subscription to all others.
    let subscribed = timeout(env, Some(SENTINEL_LIMIT), subscribing).await;
    let mut connection = subscribed.map_err(|late| io::Error::other(late.to_string()))??;
    loop {
        connection.receive().await?;
        switches.set(switches.get() + 1);
    }
}
