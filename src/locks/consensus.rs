//! `consensus`: ZooKeeper's recipe for locks, on a service that is linearizable and may
//! lose a minority of its members.
//!
//! 1. Create an ephemeral sequential node below the lock's path.
//! 2. List the nodes below it. If ours is the lowest, the lock is ours.
//! 3. Else watch the next lower one, and go to 2 when it is gone.
//!
//! Release deletes the node. The node lives as long as its session, which ends when the service
//! receives nothing from the client for the session's timeout; a background task pings. The
//! node's number is the fencing token: it increases with every grant.
//!
//! The recipe gives its user no deadline: the service notifies a client that its session has
//! ended, but a client that is partitioned or paused does not get this notification.
//!
//! The service is that of the simulator, or ZooKeeper in a real run: [`Env::coordination`] says which. The
//! steps above are the same code for both. What differs is the session (`session.rs`): its
//! protocol, and how a request whose answer is lost is repeated without being executed twice.

use std::cell::RefCell;
use std::rc::Rc;

use self::session::{Failure, Session};
use self::simulated::SimulatedSession;
use super::algorithm::{
    self, Algorithm, Bound, CONNECTING, CatalogueEntry, Facts, InvalidParams, NOT_ON_REDIS,
    Servers, require,
};
use super::lock::{DynLock, Grant, Lock, LockError, Owner, Request};
use locklab_env::{Coordination, Duration, Env, zookeeper};
use locklab_history::Topology;
use locklab_history::{Failpoint, Name};
use locklab_vecmap::VecMap;

mod service;
mod session;
mod simulated;

/// The parent path of the lock's nodes.
const PATH: &str = "/lock";

/// `consensus` as one process uses it, with sessions of this kind.
struct Consensus<E: Env, S> {
    env: E,
    members: Vec<Name>,
    params: Params,
    session: RefCell<Option<Rc<S>>>,
    /// The nodes of the owners that are in the queue.
    queue: RefCell<VecMap<Owner, QueueNode>>,
}

/// A node of this process.
#[derive(Clone)]
struct QueueNode {
    path: String,
    number: u64,
    /// The next lower node at the last listing.
    behind: Option<String>,
}

impl<E: Env, S: Session<E>> Consensus<E, S> {
    fn new(env: E, members: &[Name], params: &Params) -> Self {
        Self {
            env,
            members: members.to_vec(),
            params: params.clone(),
            session: RefCell::default(),
            queue: RefCell::default(),
        }
    }

    /// The current session; opened if there is none or the last one has ended.
    async fn session(&self) -> Result<Rc<S>, Failure> {
        let current = self.session.borrow().clone();
        if let Some(session) = current.filter(|session| session.is_open()) {
            return Ok(session);
        }
        // The session's nodes ended with it.
        self.queue.borrow_mut().clear();
        let timeout = Duration::from_millis(self.params.session_ms);
        let opened = S::open(self.env.clone(), &self.members, timeout).await?;
        let session = Rc::new(opened);
        *self.session.borrow_mut() = Some(session.clone());
        Ok(session)
    }

    /// Step 1: the owner's node in the queue, created if there is none.
    async fn place(&self, session: &S, owner: Owner) -> Result<QueueNode, Failure> {
        let standing = self.queue.borrow().get(&owner).cloned();
        if let Some(place) = standing {
            return Ok(place);
        }
        let (path, number) = session.create(&format!("{PATH}/c")).await?;
        let place = QueueNode {
            path,
            number,
            behind: None,
        };
        self.queue.borrow_mut().insert(owner, place.clone());
        Ok(place)
    }

    async fn leave(&self, owner: Owner) {
        let place = self.queue.borrow_mut().remove(&owner);
        let session = self.session.borrow().clone();
        if let (Some(place), Some(session)) = (place, session) {
            // If this fails, the end of the session removes the node.
            let _ = session.delete(&place.path).await;
        }
    }
}

impl<E: Env, S: Session<E>> Lock for Consensus<E, S> {
    async fn connect(&self) {
        // If this fails, so does the first attempt, which reports the reason.
        let _ = self.session().await;
    }

    async fn attempt(&self, request: Request) -> Result<Grant, LockError> {
        let session = self.session().await?;
        let mut place = self.place(&session, request.owner).await?;
        // Step 2.
        let nodes = session.children(PATH).await?;
        let lower = nodes.iter().filter(|(_, number)| *number < place.number);
        let behind = lower.max_by_key(|(_, number)| *number);
        place.behind = behind.map(|(path, _)| path.clone());
        if place.behind.is_some() {
            let number = place.number;
            self.queue.borrow_mut().insert(request.owner, place);
            return Err(LockError::taken(format!("node {number} is not the lowest")));
        }
        self.queue.borrow_mut().remove(&request.owner);
        let is_listed = nodes.iter().any(|(_, number)| *number == place.number);
        if !is_listed {
            return Err(LockError::taken("the session ended while we waited"));
        }
        Ok(Grant {
            owner: request.owner,
            token: place.path,
            deadline: None,
            fencing_token: self.params.fencing_token.then_some(place.number),
        })
    }

    /// Step 3.
    async fn wait(&self, request: Request, _: &LockError) {
        let place = self.queue.borrow().get(&request.owner).cloned();
        let session = self.session.borrow().clone();
        match (place.and_then(|place| place.behind), session) {
            (Some(lower), Some(session)) => {
                self.env.reach(Failpoint::Waiting).await;
                session.watch(&lower, request.wait).await;
            }
            // No node to watch: the service was unreachable.
            _ => {
                let pause = Duration::from_millis(super::RETRY_DELAY_MS);
                request.pass(&self.env, pause).await;
            }
        }
    }

    async fn give_up(&self, request: Request) {
        self.leave(request.owner).await;
    }

    /// There is no lease to extend; checks whether the node still exists.
    async fn extend(&self, grant: &Grant) -> Result<Grant, LockError> {
        match Lock::is_held(self, grant).await? {
            true => Ok(grant.clone()),
            false => Err(lost()),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<u32, LockError> {
        self.env.reach(Failpoint::Deleting).await;
        let session = self.session.borrow().clone();
        let Some(session) = session.filter(|session| session.is_open()) else {
            return Err(lost());
        };
        match session.delete(&grant.token).await? {
            true => Ok(1),
            false => Err(lost()),
        }
    }

    async fn is_held(&self, grant: &Grant) -> Result<bool, LockError> {
        let session = self.session().await?;
        let nodes = session.children(PATH).await?;
        let lowest = nodes.iter().min_by_key(|(_, number)| *number);
        Ok(lowest.is_some_and(|(path, _)| *path == grant.token))
    }
}

fn lost() -> LockError {
    LockError::Lost("the session ended, and our node with it".into())
}

params! {
    /// The parameters of `consensus`.
    pub struct Params {
        /// A session ends when the service has received nothing from its client for this long, in
        /// milliseconds. The client pings at a third of this interval.
        session_ms: u64 = required, "a session ends when its client has been silent for this long";
        /// Whether a grant carries its node's number as a fencing token.
        fencing_token: bool = true, "the node's number goes with the grant";
    }
}

impl Algorithm for Params {
    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.session_ms),
            tells_deadline: false,
            listens: true,
            held: Err(NOT_ON_REDIS),
            keeps: match self.gives_tokens() {
                true => &["resource"],
                false => &[],
            },
        }
    }

    fn build<E: Env>(&self, env: E, nodes: &[Name]) -> Rc<dyn DynLock> {
        match env.coordination() {
            Coordination::Simulated => {
                Rc::new(Consensus::<E, SimulatedSession<E>>::new(env, nodes, self))
            }
            Coordination::ZooKeeper => {
                Rc::new(Consensus::<E, zookeeper::Session<E>>::new(env, nodes, self))
            }
        }
    }

    /// A session outlives its client by its timeout, and the members elect their first leader
    /// when the run begins. If they have to elect another, which takes a few election timeouts
    /// (at most 600 ms each), the session's timeout starts again.
    fn bound(&self, _: &Topology) -> Bound {
        const ELECTION_MS: u64 = 600;
        // Open a session, create a node, list the nodes, and list them again after the
        // notification that the preceding node is gone. Each request goes through the leader to
        // a majority, and finding the leader may take one fruitless request to another member.
        let requests = 5;
        Bound {
            by_clock_ms: self.session_ms + ELECTION_MS,
            round_trips: CONNECTING + 3 * requests,
            time_outs_ms: self.session_ms + 3 * ELECTION_MS + service::MEMBER_LIMIT_MS,
            reply_ms: Some(service::MEMBER_LIMIT_MS),
        }
    }

    fn check(&self, topology: &Topology) -> Result<(), InvalidParams> {
        algorithm::no_replicas(ENTRY.name, topology)?;
        require(
            self.session_ms > 0,
            ["lock", "session_ms"],
            "a session of 0 ms is over before it begins; write 1 or more",
        )
    }

    /// Three: the smallest cluster that tolerates the failure of one member.
    fn nodes(&self) -> u32 {
        3
    }

    fn gives_tokens(&self) -> bool {
        self.fencing_token
    }

    fn servers(&self) -> Servers {
        Servers::Consensus
    }
}

/// `consensus` in the catalogue.
pub const ENTRY: CatalogueEntry = CatalogueEntry {
    name: "consensus",
    summary: "ZooKeeper's recipe on a replicated, linearizable service (baseline)",
    source: "ZooKeeper Recipes and Solutions, \"Locks\"; claim K18",
    parameters: Params::PARAMETERS,
    forms: &[
        ("", "session_ms = LEASE"),
        ("no token", "session_ms = LEASE\nfencing_token = false"),
    ],
    libraries: &[],
    mutants: &[(
        "fencing_token=false",
        "grants carry no token, so the resource cannot tell old from new",
    )],
};
