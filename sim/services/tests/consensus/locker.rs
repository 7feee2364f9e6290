//! A client that takes a lock again and again, by ZooKeeper's recipe: each client has an ephemeral
//! sequential node, the lowest node holds the lock, and each other client watches the next lower
//! node.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use locklab_world::Host;

use super::client::Client;
use super::history::{Belief, Listing, Node, Shared, Span};
use super::setup::MS;

const TIMEOUT_MS: u64 = 1_500;
const PING_EVERY: Duration = Duration::from_millis(400);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The session has ended.
struct Ended;

/// The state of a client during a session.
struct Session {
    host: Host,
    client: Client,
    history: Shared,
    id: u64,
    /// The number of the client's last request.
    request: u64,
}

/// Takes the lock repeatedly until `until_ns`, then queues once more and stops without ending its
/// session.
pub async fn take_turns(host: Host, mut client: Client, history: Shared, until_ns: u64) {
    while host.now_ns() < until_ns {
        let asked_ns = host.now_ns();
        let answer = client.ask(&format!("SESSION {TIMEOUT_MS}")).await;
        let id: u64 = answer.parse().expect("a session's number");
        let timeout_ns = TIMEOUT_MS * MS;
        history.borrow_mut().session_lives(id, asked_ns, timeout_ns);
        let done = Rc::new(Cell::new(false));
        let pings = keep_alive(
            host.clone(),
            client.another(),
            history.clone(),
            id,
            done.clone(),
        );
        host.spawn(pings);
        let mut session = Session {
            host: host.clone(),
            client,
            history: history.clone(),
            id,
            request: 0,
        };
        while host.now_ns() < until_ns {
            if session.take_turn().await.is_err() {
                break;
            }
        }
        if host.now_ns() >= until_ns {
            // The end of its session removes what it leaves behind.
            let _ = session.create().await;
        }
        done.set(true);
        client = session.client;
    }
}

/// Asks one member, leader or not, which nodes exist: a deposed leader that does not know it
/// would show old nodes.
pub async fn look_on(
    host: Host,
    mut client: Client,
    member: usize,
    history: Shared,
    until_ns: u64,
) {
    while host.now_ns() < until_ns {
        let began_ns = host.now_ns();
        let answer = client.ask_member(member, "CHILDREN /lock").await;
        let ended_ns = host.now_ns();
        if let Some(answer) = answer.filter(|answer| !answer.starts_with("NOTLEADER")) {
            history.borrow_mut().listings.push(Listing {
                asked: Span { began_ns, ended_ns },
                numbers: nodes(&answer).map(|(_, number)| number).collect(),
            });
        }
        host.sleep(LOOK_EVERY).await;
    }
}

/// The paths and numbers of the nodes in an answer to CHILDREN.
fn nodes(answer: &str) -> impl Iterator<Item = (String, u64)> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let pairs = words.chunks_exact(2);
    let pair = |pair: &[&str]| Some((pair[0].to_owned(), pair[1].parse().ok()?));
    pairs.filter_map(pair).collect::<Vec<_>>().into_iter()
}

async fn keep_alive(
    host: Host,
    mut client: Client,
    history: Shared,
    session: u64,
    done: Rc<Cell<bool>>,
) {
    while !done.get() {
        let asked_ns = host.now_ns();
        if client.ask(&format!("PING {session}")).await != "PONG" {
            return;
        }
        let timeout_ns = TIMEOUT_MS * MS;
        history
            .borrow_mut()
            .session_lives(session, asked_ns, timeout_ns);
        host.sleep(PING_EVERY).await;
    }
}

impl Session {
    /// Acquires the lock once, holds it for a while and releases it.
    async fn take_turn(&mut self) -> Result<(), Ended> {
        let (path, number) = self.create().await?;
        while let Some(lower) = self.next_lower(number).await {
            let request = format!("WATCH {} {lower}", self.id);
            let answer = self
                .client
                .ask_within(&request, Duration::from_secs(3))
                .await;
            if answer != "GONE" {
                return Err(Ended);
            }
        }
        let began_ns = self.host.now_ns();
        self.host.sleep(Duration::from_millis(30)).await;
        let ended_ns = self.host.now_ns().min(self.lives_until_ns());
        if began_ns < ended_ns {
            let held = Span { began_ns, ended_ns };
            let session = self.id;
            self.history
                .borrow_mut()
                .beliefs
                .push(Belief { session, held });
        }
        self.delete(&path, number).await
    }

    fn lives_until_ns(&self) -> u64 {
        self.history.borrow().lives_until_ns(self.id)
    }

    /// Sends a request and returns the answer with its times.
    async fn ask(&mut self, request: &str) -> (String, Span) {
        let began_ns = self.host.now_ns();
        let answer = self.client.ask(request).await;
        let ended_ns = self.host.now_ns();
        (answer, Span { began_ns, ended_ns })
    }

    async fn create(&mut self) -> Result<(String, u64), Ended> {
        self.request += 1;
        let request = format!(
            "CREATE {} {} /lock/c EPHEMERAL SEQUENTIAL",
            self.id, self.request
        );
        let (answer, created) = self.ask(&request).await;
        let node = answer.split_once(' ');
        let node = node.and_then(|(path, number)| Some((path, number.parse().ok()?)));
        let (path, number) = node.ok_or(Ended)?;
        self.history.borrow_mut().nodes.push(Node {
            number,
            session: self.id,
            created,
            deleted: None,
        });
        Ok((path.to_owned(), number))
    }

    /// The node with the next lower number, if there is one.
    async fn next_lower(&mut self, number: u64) -> Option<String> {
        let (answer, asked) = self.ask("CHILDREN /lock").await;
        let nodes: Vec<(String, u64)> = nodes(&answer).collect();
        self.history.borrow_mut().listings.push(Listing {
            asked,
            numbers: nodes.iter().map(|(_, number)| *number).collect(),
        });
        let lower = nodes.into_iter().filter(|(_, other)| *other < number);
        lower.max_by_key(|(_, other)| *other).map(|(path, _)| path)
    }

    async fn delete(&mut self, path: &str, number: u64) -> Result<(), Ended> {
        let began_ns = self.host.now_ns();
        // The request counts: the client cannot know whether it is executed.
        let open = Span {
            began_ns,
            ended_ns: u64::MAX,
        };
        self.ended(number, open);
        self.request += 1;
        let request = format!("DELETE {} {} {path}", self.id, self.request);
        let (answer, deleted) = self.ask(&request).await;
        match &answer[..] {
            "1" => {
                self.ended(number, deleted);
                Ok(())
            }
            _ => Err(Ended),
        }
    }

    fn ended(&self, number: u64, deleted: Span) {
        let mut history = self.history.borrow_mut();
        let node = history.nodes.iter_mut().find(|node| node.number == number);
        if let Some(node) = node {
            node.deleted = Some(deleted);
        }
    }
}
