//! A member of the consensus service on a simulated host.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::OwnedReadHalf;

use super::lines::{self, Lines};
use crate::consensus::{ConnId, Effect, LinkId, Member, MemberConfig, Timing};
use crate::disk::Disk;
use locklab_values::random::Stream;
use locklab_world::{Host, HostId};

/// The setup of a member.
#[derive(Clone)]
pub struct Setup {
    /// Its name.
    pub name: String,
    /// All members and their hosts, in the same order on all members.
    pub members: Rc<[(String, HostId)]>,
    /// Its timeouts.
    pub timing: Timing,
    /// Its disk, which survives its process.
    pub disk: Rc<RefCell<Disk>>,
    /// The random stream for the election timeouts of this start.
    pub random: Stream,
}

/// Runs a member on `host` until its process ends. It uses that host's monotonic clock.
pub async fn consensus(host: Host, setup: Setup, port: u16) {
    setup.disk.borrow_mut().start(&host);
    let mut stream = setup.random;
    let config = MemberConfig {
        name: setup.name,
        members: setup.members.iter().map(|(name, _)| name.clone()).collect(),
        timing: setup.timing,
        random: Box::new(move |n| stream.below(n)),
    };
    let member = Member::new(config, setup.disk.borrow().files(), host.mono_ns());
    let (Ok(member), Ok(listener)) = (member, host.listen(port).await) else {
        return;
    };
    let server = Rc::new(Server {
        host: host.clone(),
        port,
        members: setup.members,
        disk: setup.disk,
        member: RefCell::new(member),
        clients: RefCell::default(),
        links: RefCell::default(),
        sleeps_until_ns: Cell::new(0),
        sooner: Notify::new(),
    });
    host.spawn(server.clone().run_timer());
    while let Ok((stream, _)) = listener.accept().await {
        let conn = server.member.borrow_mut().accept();
        let (reader, writer) = stream.into_split();
        let ended = Rc::<Notify>::default();
        server
            .clients
            .borrow_mut()
            .accept(conn, writer, ended.clone());
        host.spawn(server.clone().serve_connection(conn, reader, ended));
    }
}

struct Server {
    host: Host,
    port: u16,
    members: Rc<[(String, HostId)]>,
    disk: Rc<RefCell<Disk>>,
    member: RefCell<Member>,
    clients: Lines<ConnId>,
    links: Lines<LinkId>,
    /// When the timer's task wakes up next.
    sleeps_until_ns: Cell<u64>,
    /// Notifies the timer's task that something is due earlier.
    sooner: Notify,
}

impl Server {
    /// Passes an event to the member, and executes the resulting effects.
    fn deliver(self: &Rc<Self>, event: impl FnOnce(&mut Member, u64, &mut Vec<Effect>)) {
        let mut effects = Vec::new();
        let now_ns = self.host.mono_ns();
        event(&mut self.member.borrow_mut(), now_ns, &mut effects);
        for effect in effects {
            self.execute_effects(effect);
        }
        if self.member.borrow().next_wake_ns() < self.sleeps_until_ns.get() {
            self.sooner.notify_one();
        }
    }

    fn execute_effects(self: &Rc<Self>, effect: Effect) {
        match effect {
            Effect::Disk(write) => self.disk.borrow_mut().write(write, self.host.now_ns()),
            Effect::Connect { link, to } => {
                let ended = Rc::<Notify>::default();
                self.links.borrow_mut().connect(link, ended.clone());
                self.host.spawn(self.clone().keep_link(link, to, ended));
            }
            Effect::Send { link, bytes } => self.links.borrow_mut().send(&link, bytes),
            Effect::Hangup { link } => self.links.borrow_mut().end(&link),
            Effect::Reply { conn, bytes } => self.clients.borrow_mut().send(&conn, bytes),
            Effect::Close { conn } => self.clients.borrow_mut().end(&conn),
        }
    }

    /// Serves one connection.
    async fn serve_connection(
        self: Rc<Self>,
        conn: ConnId,
        mut reader: OwnedReadHalf,
        ended: Rc<Notify>,
    ) {
        let mut bytes = [0; 4096];
        while let Some(count) = lines::receive(&mut reader, &mut bytes, &ended).await {
            self.deliver(|member, now_ns, effects| {
                member.receive(conn, &bytes[..count], now_ns, effects);
            });
        }
        self.member.borrow_mut().closed(conn);
        self.clients.borrow_mut().forget(&conn);
    }

    /// Maintains a link to another member.
    async fn keep_link(self: Rc<Self>, link: LinkId, to: String, ended: Rc<Notify>) {
        if let Some(mut reader) = self.open(link, &to, &ended).await {
            let mut bytes = [0; 4096];
            while let Some(count) = lines::receive(&mut reader, &mut bytes, &ended).await {
                self.deliver(|member, now_ns, effects| {
                    member.link_received(link, &bytes[..count], now_ns, effects);
                });
            }
        }
        self.links.borrow_mut().forget(&link);
        self.deliver(|member, now_ns, effects| member.link_closed(link, now_ns, effects));
    }

    async fn open(&self, link: LinkId, to: &str, ended: &Notify) -> Option<OwnedReadHalf> {
        let (_, id) = self.members.iter().find(|(name, _)| name == to)?;
        lines::open(&self.links, link, &self.host, (*id, self.port), ended).await
    }

    /// Calls the member whenever something is due.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let wake_ns = self.member.borrow().next_wake_ns();
            self.sleeps_until_ns.set(wake_ns);
            let now_ns = self.host.mono_ns();
            if wake_ns <= now_ns {
                // Set this first: the next iteration handles all that the wake makes due.
                self.sleeps_until_ns.set(0);
                self.deliver(|member, now_ns, effects| member.wake(now_ns, effects));
                continue;
            }
            let sleep = self.host.sleep(Duration::from_nanos(wake_ns - now_ns));
            tokio::select! {
                biased;
                () = self.sooner.notified() => {}
                () = sleep => {}
            }
        }
    }
}
