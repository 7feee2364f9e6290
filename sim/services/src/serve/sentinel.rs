//! A sentinel on a simulated host.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_values::units::ms_from_ns;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::OwnedReadHalf;

use super::lines::{self, Lines};
use locklab_redis::sentinel::{
    Address, ConnId, Effect, LinkId, Notice, Sentinel, SentinelConfig, SentinelFile,
};
use locklab_world::{Host, HostId};

/// The environment of a sentinel's driver, apart from its configuration.
pub struct Surroundings {
    /// Resolves the name of a host.
    pub resolve: Resolve,
    /// Called with every event.
    pub log: Box<dyn Fn(&Notice)>,
    /// The sentinel's configuration file. It survives the process and a power loss, since it is
    /// synced whenever it is written.
    pub file: RefCell<SentinelFile>,
}

/// Resolves a host's name to the host.
pub type Resolve = Box<dyn Fn(&str) -> Option<HostId>>;

/// Runs a sentinel on `host` until its process ends. It uses that host's wall clock.
pub async fn sentinel(host: Host, config: SentinelConfig, around: Rc<Surroundings>) {
    let Ok(listener) = host.listen(config.announce.port).await else {
        return;
    };
    let sentinel = Sentinel::new(config, now_ms(&host));
    let server = Rc::new(Server {
        host: host.clone(),
        sentinel: RefCell::new(sentinel),
        clients: RefCell::default(),
        links: RefCell::default(),
        around,
    });
    host.spawn(server.clone().run_timer());
    while let Ok((stream, _)) = listener.accept().await {
        let conn = server.sentinel.borrow_mut().accept();
        let (reader, writer) = stream.into_split();
        let ended = Rc::<Notify>::default();
        server
            .clients
            .borrow_mut()
            .accept(conn, writer, ended.clone());
        host.spawn(server.clone().serve_connection(conn, reader, ended));
    }
}

fn now_ms(host: &Host) -> i64 {
    ms_from_ns(host.wall_ns()) as i64
}

struct Server {
    host: Host,
    sentinel: RefCell<Sentinel>,
    clients: Lines<ConnId>,
    links: Lines<LinkId>,
    around: Rc<Surroundings>,
}

impl Server {
    /// Serves one client.
    async fn serve_connection(
        self: Rc<Self>,
        conn: ConnId,
        mut reader: OwnedReadHalf,
        ended: Rc<Notify>,
    ) {
        let mut bytes = [0; 4096];
        while let Some(count) = lines::receive(&mut reader, &mut bytes, &ended).await {
            let mut effects = Vec::new();
            self.sentinel.borrow_mut().receive(
                conn,
                &bytes[..count],
                now_ms(&self.host),
                &mut effects,
            );
            self.execute_effects(effects);
        }
        self.sentinel.borrow_mut().closed(conn);
        self.clients.borrow_mut().forget(&conn);
    }

    /// Maintains one link of the sentinel.
    async fn keep_link(self: Rc<Self>, link: LinkId, to: Address, ended: Rc<Notify>) {
        if let Some(mut reader) = self.open(link, &to, &ended).await {
            let mut bytes = [0; 4096];
            while let Some(count) = lines::receive(&mut reader, &mut bytes, &ended).await {
                let mut effects = Vec::new();
                self.sentinel.borrow_mut().link_received(
                    link,
                    &bytes[..count],
                    now_ms(&self.host),
                    &mut effects,
                );
                self.execute_effects(effects);
            }
        }
        self.links.borrow_mut().forget(&link);
        let now_ms = now_ms(&self.host);
        self.sentinel.borrow_mut().link_closed(link, now_ms);
    }

    async fn open(&self, link: LinkId, to: &Address, ended: &Notify) -> Option<OwnedReadHalf> {
        let id = (self.around.resolve)(&to.host)?;
        lines::open(&self.links, link, &self.host, (id, to.port), ended).await
    }

    fn execute_effects(self: &Rc<Self>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Connect { link, to } => {
                    let ended = Rc::<Notify>::default();
                    self.links.borrow_mut().connect(link, ended.clone());
                    self.host.spawn(self.clone().keep_link(link, to, ended));
                }
                Effect::Send { link, bytes } => self.links.borrow_mut().send(&link, bytes),
                Effect::Reply { conn, bytes } => self.clients.borrow_mut().send(&conn, bytes),
                Effect::Hangup { link } => self.links.borrow_mut().end(&link),
                Effect::Close { conn } => self.clients.borrow_mut().end(&conn),
                Effect::Write(file) => *self.around.file.borrow_mut() = file,
                Effect::Event(notice) => (self.around.log)(&notice),
            }
        }
    }

    /// Runs the sentinel's timer.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let mut effects = Vec::new();
            let now_ms = now_ms(&self.host);
            let next_ms = {
                let mut sentinel = self.sentinel.borrow_mut();
                sentinel.wake(now_ms, &mut effects);
                sentinel.next_wake_ms()
            };
            self.execute_effects(effects);
            // The wall clock may be stepped during a wait: no timer waits longer than Redis's.
            let left_ms = (next_ms - now_ms).clamp(1, 100) as u64;
            self.host.sleep(Duration::from_millis(left_ms)).await;
        }
    }
}
