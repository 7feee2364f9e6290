//! The exercises: two participants take, wait for, renew, lose and release one lock.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

use locklab_testing::RedisServer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::LEASE_MS;
use crate::description::{Ability, Port};
use crate::monitor::Monitor;
use crate::participant::{NO_ANSWER, Order, Participant};
use crate::rounds::{Timed, counted, folded, renumbered, same};
use crate::words::{Words, is_read};

/// How long requests may still come after an answer: subscriptions end and kept answers are deleted then.
const SETTLED: Duration = Duration::from_millis(150);

/// For how long a waiter is observed.
const WAITING: Duration = Duration::from_millis(LEASE_MS / 2);

/// The title of the phase about renewals.
pub const KEPT: &str = "kept for longer than a lease";

/// How the titles of phases with a waiter begin.
pub const WAITED: &str = "waited for";

/// For how long a server does not answer: longer than Redisson waits for a reply, and less than until it sends
/// the request again.
const SILENT: Duration = Duration::from_millis(3800);

/// What one side did in a phase.
pub struct Phase {
    /// The title.
    pub title: &'static str,
    /// The requests in words, and after them what the users were told.
    pub lines: Vec<String>,
    /// The times between repetitions, in microseconds.
    pub gaps_us: Vec<u64>,
}

/// The servers of one side, and what reached them.
pub struct Session {
    servers: Vec<RedisServer>,
    monitors: Vec<Monitor>,
    /// The words of each server.
    words: Vec<Words>,
    /// Commands with one of these texts are not compared.
    without: Vec<String>,
    raw: Vec<Raw>,
}

/// A phase as it was seen.
struct Raw {
    title: &'static str,
    /// The requests at each server.
    requests: Vec<Vec<Timed>>,
    /// What the users were told.
    told: String,
}

impl Session {
    /// Starts the servers of a lock.
    pub fn start(port: &Port) -> Self {
        let Port { nodes, key, .. } = port;
        let servers: Vec<RedisServer> = (0..*nodes)
            .map(|_| RedisServer::start(&["--databases", "1"]))
            .collect();
        Self {
            monitors: servers
                .iter()
                .map(|it| Monitor::start(it.address()))
                .collect(),
            words: servers.iter().map(|_| Words::new(key)).collect(),
            without: port.without.iter().map(|it| it.text.clone()).collect(),
            servers,
            raw: Vec::new(),
        }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(RedisServer::address).collect()
    }

    /// The lock's key is lost, on all servers.
    fn lose(&mut self) {
        self.monitors.iter_mut().for_each(Monitor::flush);
    }

    fn signal(&self, signal: Signal) {
        for server in &self.servers {
            let id = Pid::from_raw(server.id().cast_signed());
            kill(id, signal).expect("the server is this process's own");
        }
    }

    /// Does a phase, whose result is what the users were told.
    fn phase(&mut self, title: &'static str, exercise: impl FnOnce(&mut Self) -> String) {
        // After that the participants are no longer in step.
        if self
            .raw
            .last()
            .is_some_and(|it| it.told.contains(NO_ANSWER))
        {
            return;
        }
        let told = exercise(self);
        sleep(SETTLED);
        let without: Vec<&str> = self.without.iter().map(|it| &**it).collect();
        let requests = self.monitors.iter_mut().zip(&mut self.words);
        let requests = requests.map(|(monitor, words)| {
            let requests = monitor.requests();
            let timed = requests.iter().map(|it| words.of(it, &without));
            timed.filter(|it| !it.words.is_empty()).collect()
        });
        self.raw.push(Raw {
            title,
            requests: requests.collect(),
            told,
        });
    }

    /// What was seen in the phases.
    fn phases(&mut self) -> Vec<Phase> {
        let raw = std::mem::take(&mut self.raw);
        let kept = raw.iter().filter(|phase| phase.title == KEPT);
        let renewals: Vec<String> = kept
            .flat_map(|phase| phase.requests.iter().flatten())
            .map(|request| same(&request.whole))
            .collect();
        raw.into_iter()
            .map(|phase| phase.written(&renewals))
            .collect()
    }
}

impl Raw {
    /// The phase in lines, without renewals, except in the phase that is about them: when they come depends on
    /// the machine.
    fn written(mut self, renewals: &[String]) -> Phase {
        if self.title != KEPT {
            for requests in &mut self.requests {
                requests.retain(|it| !is_renewal(&same(&it.whole), renewals));
            }
        }
        let (mut lines, mut gaps_us) = (Vec::new(), Vec::new());
        let mut of_first = Vec::new();
        for (node, requests) in (1..).zip(&self.requests) {
            let (mut of_node, gaps) = match self.title == KEPT || self.title.starts_with(WAITED) {
                true => folded(requests),
                false => {
                    let mut known = Vec::new();
                    let words = requests.iter().map(|it| renumbered(&it.words, &mut known));
                    (counted(words.collect()), Vec::new())
                }
            };
            // No user waits until the key of a request is deleted, so others may come first.
            of_node.sort_by_key(|it| it.starts_with("del ") && it.ends_with('*'));
            match node {
                1 => of_first.clone_from(&of_node),
                _ if of_node == of_first => continue,
                _ => lines.push(format!("server {node}:")),
            }
            lines.extend(of_node);
            gaps_us.extend(gaps);
        }
        lines.push(format!("told: {}", self.told));
        Phase {
            title: self.title,
            lines,
            gaps_us,
        }
    }
}

/// Whether a request is one of these renewals, perhaps for more holds; or a script that began as one, and then
/// found no lock.
fn is_renewal(request: &str, renewals: &[String]) -> bool {
    let commands = request
        .strip_prefix("script(")
        .and_then(|it| it.strip_suffix(')'));
    let Some(commands) = commands else {
        return renewals.iter().any(|it| it == request);
    };
    let mut writes = commands.split("; ").filter(|it| !is_read(it)).peekable();
    let begins = |renewal: &String| renewal.starts_with(&format!("script({commands};"));
    match writes.peek() {
        None => renewals.iter().any(begins),
        Some(_) => {
            !renewals.is_empty()
                && writes.all(|it| it.starts_with("pexpire ") && it.ends_with(" lease"))
        }
    }
}

/// Does all exercises that this lock can do.
pub fn all(
    session: &mut Session,
    port: &Port,
    start: impl Fn(&[SocketAddr]) -> Participant,
) -> Vec<Phase> {
    let servers = session.addresses();
    let (mut one, mut other) = (start(&servers), start(&servers));
    // What they do for the first time takes long, and is no part of the comparison.
    for participant in [&mut one, &mut other] {
        participant.does(Order::Lock);
        participant.does(Order::Unlock);
    }
    sleep(SETTLED);
    session.lose();
    session
        .monitors
        .iter_mut()
        .for_each(|it| drop(it.requests()));
    let can = |ability| port.can.contains(&ability);

    session.phase("taken", |_| one.does(Order::Lock));
    if can(Ability::Reenter) {
        session.phase("taken once more", |_| one.does(Order::Lock));
        session.phase("released once", |_| one.does(Order::Unlock));
    }
    if can(Ability::Renew) {
        session.phase(KEPT, |_| {
            sleep(Duration::from_millis(LEASE_MS * 5 / 4));
            "nothing".to_owned()
        });
    }
    if can(Ability::Extend) {
        session.phase("extended", |_| one.does(Order::Extend));
    }
    session.phase("refused", |_| other.does(Order::Try));
    session.phase("released", |_| one.does(Order::Unlock));

    session.phase("taken for a waiter", |_| one.does(Order::Lock));
    session.phase("waited for, and released", |_| {
        (other.order)(Order::Lock);
        sleep(WAITING);
        let released = one.does(Order::Unlock);
        format!("{released}, {}", other.answer())
    });
    session.phase("released by the waiter", |_| other.does(Order::Unlock));

    session.phase("taken, to be lost", |_| one.does(Order::Lock));
    session.phase("released after it was lost", |session| {
        session.lose();
        one.does(Order::Unlock)
    });
    session.phase("taken, to be lost to another", |session| {
        let first = one.does(Order::Lock);
        session.lose();
        format!("{first}, {}", other.does(Order::Lock))
    });
    if can(Ability::Extend) {
        session.phase("extended when another has it", |_| one.does(Order::Extend));
    }
    session.phase("released when another has it", |_| one.does(Order::Unlock));
    session.phase("released by the other", |_| other.does(Order::Unlock));

    if port.nodes > 1 {
        session.lose();
        session.phase("taken when a server refuses", |session| {
            let last = session.monitors.last_mut().expect("there are servers");
            last.call("CONFIG SET maxmemory 1");
            let told = other.does(Order::Try);
            sleep(SETTLED);
            let last = session.monitors.last_mut().expect("there are servers");
            last.call("CONFIG SET maxmemory 0");
            told
        });
    }
    session.lose();
    if port.not_after_a_death.is_none() {
        session.phase("taken by one that dies", |_| one.does(Order::Lock));
        session.phase("waited for until the lease ends", |_| {
            drop(one);
            other.does(Order::Lock)
        });
        session.phase("released in the end", |_| other.does(Order::Unlock));
    }

    session.lose();
    session.phase("taken from a server that answers late", |session| {
        session.signal(Signal::SIGSTOP);
        (other.order)(Order::Try);
        sleep(SILENT);
        session.signal(Signal::SIGCONT);
        let told = other.answer();
        // A client that sends it again does so within two seconds.
        sleep(Duration::from_secs(2));
        told
    });
    session.phases()
}
