//! The servers as a laboratory: what `LAB.…` commands do to them.
//!
//! A server listens on an address of its own, 127.83.0.1 and so on, and connects from there. The
//! proxy listens on its public port, and so all connections pass it: it knows a served peer by its
//! address, and takes everybody else for a client. It lends a node its clients' connections while no fault is in
//! force. Faults of links are the proxy's; those of clock, process and disk are the [`Machine`]'s.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use locklab_history::{FaultKind, Name};
use locklab_link::{LinkEffect, LinkRule, RuleId};
use locklab_proxy::{Direct, Greeting, Host, Keep, Options, Proxy};
use locklab_redis::server::{Machine, Stop, bind};
use locklab_values::dist::Dist;
use locklab_vecmap::VecMap;

use crate::order::{self, COMMANDS, Command, Direction, Order, Strike};
use crate::record::Record;
use crate::topology::{Place, Role, private};
use crate::witness::Witness;

/// The name of everybody who is not a served server.
const CLIENTS: &str = "clients";

/// How long a server waits for its own command until it looks whether it has ended.
const STOP_SLICE: Duration = Duration::from_millis(5);

/// The answer where nobody looks on.
const NO_JUDGE: &str = "nobody looks on; start with --judge";

/// The most restarts that are ordered and not due yet. Each waits on a thread.
const MAX_WAITING: usize = 64;

/// The servers of a program, whose faults any thread may order.
#[derive(Clone)]
pub struct Served {
    proxy: Arc<Proxy>,
    inside: Arc<Mutex<Inside>>,
    judging: Option<Arc<Judging>>,
}

/// What clients did, and who judges the lock with a key by it, or the only one.
pub struct Judging {
    /// What they did.
    pub witness: Witness,
    /// Returns the verdict in lines, or says what is missing.
    pub judge: Judge,
}

type Judge = Box<dyn Fn(&Witness, Option<&str>) -> Result<Vec<String>, String> + Send + Sync>;

struct Inside {
    servers: VecMap<Name, Server>,
    record: Record,
    /// How many restarts wait.
    waiting: usize,
}

/// A served server.
struct Server {
    /// Its public address and its initial role.
    place: String,
    machine: Machine,
    state: State,
    /// Starts it.
    starts: Sender<Stop>,
    /// Says that it has ended.
    ends: Receiver<()>,
    /// Where the proxy listens for it.
    public: SocketAddr,
    /// Where it listens itself, also while it does not run.
    hidden: TcpListener,
    /// The latency of what it receives, and that of what it sends.
    latency: VecMap<Way, RuleId>,
    partition: Option<RuleId>,
}

/// A served node, which needs no proxy for its clients before the first fault.
struct Node(Machine);

impl Direct for Node {
    fn lend(&self, client: TcpStream) -> io::Result<()> {
        self.0.lend(client)
    }

    fn take_back(&self) -> Vec<(TcpStream, TcpStream)> {
        self.0.take_back()
    }
}

/// One direction of a server's links.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    To,
    From,
}

enum State {
    /// It runs, until this signal.
    Runs(Stop),
    Crashed,
    Killed,
    /// A client has called SHUTDOWN.
    ShutDown,
}

/// What the thread of a server needs of the laboratory.
pub struct Bench {
    /// Where the server listens, unseen.
    pub listener: TcpListener,
    name: Name,
    machine: Machine,
    starts: Receiver<Stop>,
    ends: Sender<()>,
    proxy: Arc<Proxy>,
}

/// What an order comes to.
#[derive(Debug)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It asked for these lines.
    Lines(Vec<String>),
}

impl Served {
    /// A laboratory for servers at these places, with a bench for each. The listeners of the places
    /// become the proxy's.
    ///
    /// # Errors
    ///
    /// If the machine has no further loopback addresses, as only Linux does, or no more threads.
    pub fn new(
        places: &mut [Place],
        record: Record,
        judging: Option<Judging>,
    ) -> anyhow::Result<(Served, Vec<Bench>)> {
        let client = (CLIENTS.into(), host(Ipv4Addr::LOCALHOST));
        let hosts = (1..).zip(places.iter());
        let hosts = hosts.map(|(number, place)| (place.name.clone(), host(private(number))));
        let proxy = Arc::new(Proxy::start(Options {
            hosts: hosts.chain([client]).collect(),
            gates: VecMap::new(),
            latency: Dist::Constant(0.0),
            loss: 0.0,
            seed: 0,
            keep: Keep::Nothing,
        })?);
        let mut servers = VecMap::new();
        let mut benches = Vec::new();
        for (number, place) in (1..).zip(places) {
            let real = SocketAddr::from((private(number), place.address.port()));
            let own = place.own.take().map_or_else(|| bind(real), Ok);
            let listener = own.with_context(|| {
                format!(
                    "cannot listen on {real}, as faults need; on Linux every 127.… is an address"
                )
            })?;
            let public = std::mem::replace(&mut place.listener, listener.try_clone()?);
            proxy.publish_on(&place.name, public, real)?;
            let (server, bench) = server(place, listener, &proxy)?;
            if place.role != Role::Sentinel {
                let node = Node(server.machine.clone());
                proxy.lend(&CLIENTS.into(), &place.name, node);
            }
            servers.insert(place.name.clone(), server);
            benches.push(bench);
        }
        let inside = Arc::new(Mutex::new(Inside {
            servers,
            record,
            waiting: 0,
        }));
        let served = Served {
            proxy,
            inside,
            judging: judging.map(Arc::new),
        };
        Ok((served, benches))
    }

    /// Carries out a command.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to write instead.
    pub fn execute(&self, words: &[&str]) -> Result<Outcome, String> {
        let order = Order::parse(words)?;
        if let Order::Verdict(key) = &order {
            let judging = self.judging.as_ref().ok_or(NO_JUDGE)?;
            return (judging.judge)(&judging.witness, key.as_deref()).map(Outcome::Lines);
        }
        let mut inside = self.inside();
        match order {
            Order::Verdict(_) => {}
            Order::Help => return Ok(Outcome::Lines(COMMANDS.iter().map(Command::line).collect())),
            Order::Log => return Ok(Outcome::Lines(inside.record.entries().to_vec())),
            Order::Servers => {
                let servers = inside.servers.iter_mut();
                return Ok(Outcome::Lines(
                    servers.map(|(name, server)| server.line(name)).collect(),
                ));
            }
            Order::Heal(Some(name)) => self.heal(&name, inside.server(&name)?),
            Order::Heal(None) => {
                { inside.servers.iter_mut() }.for_each(|(name, server)| self.heal(name, server))
            }
            Order::Strike(name, strike) => {
                inside.server(&name)?.allows(&name, &strike)?;
                self.strike(&mut inside, &name, strike)?;
            }
        }
        let name = words[0].to_ascii_uppercase();
        inside.record.add(&[&[&*name], &words[1..]].concat());
        Ok(Outcome::Done)
    }

    /// Carries out a command that a client has sent to the server `own` itself, on whose thread
    /// this is: until `stop` is signalled, since the server may be what the command crashes.
    ///
    /// # Errors
    ///
    /// As [`Served::execute`].
    pub fn execute_at(&self, own: &Name, words: &[&str], stop: &Stop) -> Result<Outcome, String> {
        let (answer, answered) = mpsc::channel();
        let (served, own) = (self.clone(), own.clone());
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let execute = move || {
            let words: Vec<&str> = words.iter().map(|word| &**word).collect();
            let is_server = |word: &str| served.inside().servers.contains_key(word);
            let words = order::about(&own, &words, is_server);
            // If nobody waits for it any more, the server has crashed.
            let _ = answer.send(served.execute(&words));
        };
        let thread = thread::Builder::new().spawn(execute);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        loop {
            match answered.recv_timeout(STOP_SLICE) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if !stop.is_signalled() => {}
                Err(_) => return Err("the server has crashed".into()),
            }
        }
    }

    /// Says a line for people.
    pub fn tell(&self, line: &str) {
        self.inside().record.tell(line);
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // A panic on another thread ends the program.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the witness know, if there is one.
    fn noted(&self, note: impl FnOnce(&Witness)) {
        if let Some(judging) = &self.judging {
            note(&judging.witness);
        }
    }

    fn strike(&self, inside: &mut Inside, name: &Name, strike: Strike) -> Result<(), String> {
        let begins = |kind, lasts: Option<Duration>| {
            let lasts_ns = lasts.map(|lasts| lasts.as_nanos() as u64);
            self.noted(|witness| witness.begins(name, kind, lasts_ns));
        };
        match strike {
            Strike::Latency { direction, delay } => {
                let extra_ns = delay.as_nanos() as u64;
                for &way in direction.ways() {
                    let effect = LinkEffect::Slow { extra_ns };
                    let rule = inside.rule(name, &[], way, effect);
                    let before = inside.server(name)?.latency.remove(&way);
                    if extra_ns > 0 {
                        let rule = self.proxy.install(rule);
                        inside.server(name)?.latency.insert(way, rule);
                    }
                    self.lift(before);
                }
                if delay.is_zero() && inside.server(name)?.latency.is_empty() {
                    self.noted(|witness| witness.ends(name, &[FaultKind::SlowLink]));
                } else {
                    begins(FaultKind::SlowLink, None);
                }
            }
            Strike::Partition { except } => {
                inside.check_peers(&except)?;
                begins(FaultKind::Partition, None);
                let cut = inside.rule(name, &except, Way::From, LinkEffect::Cut);
                let rule = self.proxy.install(LinkRule {
                    both_ways: true,
                    ..cut
                });
                let before = inside.server(name)?.partition.replace(rule);
                self.lift(before);
            }
            Strike::Reset => {
                begins(FaultKind::Reset, Some(Duration::ZERO));
                self.proxy.reset(name);
            }
            Strike::Pause(length) => {
                begins(FaultKind::Pause, Some(length));
                inside.server(name)?.machine.pause(length);
            }
            Strike::ClockStep(step_us) => {
                begins(FaultKind::ClockStep, Some(Duration::ZERO));
                inside.server(name)?.machine.step_clock(step_us);
            }
            Strike::ClockRate(rate) => {
                begins(FaultKind::ClockRate, None);
                inside.server(name)?.machine.set_clock_rate(rate);
            }
            Strike::Crash => self.crash(name, inside.server(name)?),
            Strike::Kill => self.kill(name, inside.server(name)?),
            Strike::Restart { after } => {
                if !after.is_zero() && inside.waiting == MAX_WAITING {
                    return Err(format!("{MAX_WAITING} restarts wait already"));
                }
                let server = inside.server(name)?;
                self.crash(name, server);
                match after {
                    Duration::ZERO => self.start(name, server)?,
                    _ => {
                        self.start_later(name, after)?;
                        inside.waiting += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn heal(&self, name: &Name, server: &mut Server) {
        self.noted(|witness| witness.ends(name, &[FaultKind::Partition, FaultKind::SlowLink]));
        let latency = std::mem::take(&mut server.latency).into_values();
        let rules = latency.chain(server.partition.take());
        rules.for_each(|rule| self.proxy.lift(rule));
    }

    fn lift(&self, rule: Option<RuleId>) {
        rule.into_iter().for_each(|rule| self.proxy.lift(rule));
    }

    /// Cuts the power of a server, if it has any.
    fn crash(&self, name: &Name, server: &mut Server) {
        if let State::Runs(stop) = &server.state {
            self.noted(|witness| witness.begins(name, FaultKind::Crash, None));
            self.proxy.cut_power(name);
            stop.signal();
            // If its thread is gone, the program is about to end.
            let _ = server.ends.recv();
            server.machine.lose_power();
            server.state = State::Crashed;
        }
    }

    /// Ends the process of a server, if it runs. Its kernel closes the connections, and refuses new ones.
    fn kill(&self, name: &Name, server: &mut Server) {
        if let State::Runs(stop) = &server.state {
            self.noted(|witness| witness.begins(name, FaultKind::Kill, None));
            self.proxy.withdraw(name);
            stop.signal();
            // If its thread is gone, the program is about to end.
            let _ = server.ends.recv();
            // Its listener has to survive it, but not the connections that it had not accepted.
            let _ = server.hidden.set_nonblocking(true);
            while server.hidden.accept().is_ok() {}
            server.state = State::Killed;
        }
    }

    /// Starts a server that has crashed, or was killed.
    fn start(&self, name: &Name, server: &mut Server) -> Result<(), String> {
        let is_killed = matches!(server.state, State::Killed);
        if is_killed {
            self.publish(name, server).map_err(|error| {
                format!("{name} cannot listen on {} again: {error}", server.public)
            })?;
        }
        if is_killed || matches!(server.state, State::Crashed) {
            self.noted(|witness| witness.ends(name, &[FaultKind::Crash, FaultKind::Kill]));
            let stop = Stop::default();
            server.machine.pause(Duration::ZERO);
            self.proxy.restore_power(name);
            // Its thread is gone if a client called SHUTDOWN while it crashed.
            server.state = match server.starts.send(stop.clone()) {
                Ok(()) => State::Runs(stop),
                Err(_) => State::ShutDown,
            };
        }
        Ok(())
    }

    /// Lets the proxy listen for a server again.
    fn publish(&self, name: &Name, server: &Server) -> io::Result<()> {
        let listener = bind(server.public)?;
        self.proxy
            .publish_on(name, listener, server.hidden.local_addr()?)
    }

    fn start_later(&self, name: &Name, after: Duration) -> Result<(), String> {
        let (served, name) = (self.clone(), name.clone());
        let start = move || {
            thread::sleep(after);
            let mut inside = served.inside();
            inside.waiting -= 1;
            if let Ok(server) = inside.server(&name)
                && matches!(server.state, State::Crashed | State::Killed)
                && served.start(&name, server).is_ok()
            {
                inside.record.add(&["LAB.RESTART", &*name]);
            }
        };
        let thread = thread::Builder::new().spawn(start);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(())
    }
}

impl Inside {
    fn server(&mut self, name: &Name) -> Result<&mut Server, String> {
        // Borrowed twice, so that the error can name all.
        if !self.servers.contains_key(name) {
            return Err(format!(
                "unknown server `{name}`; write {}",
                self.names().join(", ")
            ));
        }
        self.servers.get_mut(name).ok_or_else(String::new)
    }

    fn names(&self) -> Vec<&str> {
        self.servers.keys().map(|name| &**name).collect()
    }

    fn check_peers(&self, peers: &[Name]) -> Result<(), String> {
        let is_unknown = |peer: &&Name| &***peer != CLIENTS && !self.servers.contains_key(*peer);
        match peers.iter().find(is_unknown) {
            None => Ok(()),
            Some(peer) => Err(format!(
                "unknown peer `{peer}`; write {}, {CLIENTS}",
                self.names().join(", ")
            )),
        }
    }

    /// A fault of one direction of the links between a server and all but `except`.
    fn rule(&self, server: &Name, except: &[Name], way: Way, effect: LinkEffect) -> LinkRule<Name> {
        let everybody = self.servers.keys().cloned().chain([CLIENTS.into()]);
        let others = everybody.filter(|name| name != server && !except.contains(name));
        let (server, others) = (vec![server.clone()], others.collect());
        let (from, to) = match way {
            Way::To => (others, server),
            Way::From => (server, others),
        };
        LinkRule {
            from,
            to,
            both_ways: false,
            effect,
        }
    }
}

impl Direction {
    fn ways(self) -> &'static [Way] {
        match self {
            Direction::To => &[Way::To],
            Direction::From => &[Way::From],
            Direction::Both => &[Way::To, Way::From],
        }
    }
}

impl Server {
    /// Its line of LAB.SERVERS.
    fn line(&mut self, name: &Name) -> String {
        let state = match self.state() {
            State::Runs(_) => "runs",
            State::Crashed => "crashed",
            State::Killed => "killed",
            State::ShutDown => "shut down",
        };
        format!("{name} {} ({state})", self.place)
    }

    fn state(&mut self) -> &State {
        if let State::Runs(_) = self.state
            && self.ends.try_recv().is_ok()
        {
            self.state = State::ShutDown;
        }
        &self.state
    }

    /// Whether it is in a state in which the fault can strike it.
    fn allows(&mut self, name: &Name, strike: &Strike) -> Result<(), String> {
        match (self.state(), strike) {
            (State::ShutDown, _) => Err(format!("{name} was shut down, and stays so")),
            (state, Strike::Reset | Strike::Pause(_) | Strike::Crash | Strike::Kill) => match state
            {
                State::Crashed => Err(format!("{name} has crashed; LAB.RESTART {name} starts it")),
                State::Killed => Err(format!("{name} was killed; LAB.RESTART {name} starts it")),
                State::Runs(_) | State::ShutDown => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl Bench {
    /// Runs a server each time that it is to start, until it is shut down.
    ///
    /// # Errors
    ///
    /// If it cannot serve.
    pub fn run(
        self,
        serve: impl Fn(TcpListener, &Machine, &Stop) -> io::Result<()>,
    ) -> io::Result<()> {
        for stop in &self.starts {
            serve(self.listener.try_clone()?, &self.machine, &stop)?;
            let is_shut_down = !stop.is_signalled();
            // Otherwise its listener stays open: until it is restarted, the proxy lets nobody in.
            if is_shut_down {
                self.proxy.withdraw(&self.name);
            }
            // If nobody waits for it, the program is about to end.
            let _ = self.ends.send(());
            if is_shut_down {
                break;
            }
        }
        Ok(())
    }
}

/// A server that is to start at once, and its bench.
fn server(place: &Place, listener: TcpListener, proxy: &Arc<Proxy>) -> io::Result<(Server, Bench)> {
    let (starts, to_start) = mpsc::channel();
    let (ended, ends) = mpsc::channel();
    let (machine, stop) = (Machine::default(), Stop::default());
    // It is received: the receiver is in the next lines.
    let _ = starts.send(stop.clone());
    let hidden = listener.try_clone()?;
    let bench = Bench {
        listener,
        name: place.name.clone(),
        machine: machine.clone(),
        starts: to_start,
        ends: ended,
        proxy: proxy.clone(),
    };
    let server = Server {
        place: format!("{} {}", place.address, place.role),
        machine,
        state: State::Runs(stop),
        starts,
        ends,
        public: place.address,
        hidden,
        latency: VecMap::new(),
        partition: None,
    };
    Ok((server, bench))
}

fn host(ip: Ipv4Addr) -> Host {
    let greeting = Greeting::None;
    Host {
        ip: IpAddr::V4(ip),
        greeting,
    }
}

#[cfg(test)]
mod tests;
