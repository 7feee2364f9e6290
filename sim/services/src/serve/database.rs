//! A database on a simulated host.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::DiskWrite;
use locklab_values::units::ms_from_ns;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::OwnedReadHalf;

use super::lines::{self, Lines};
use crate::database::{ConnId, Database, Effect};
use crate::disk::Disk;
use locklab_world::Host;

/// Runs a database on `host` until its process ends. It uses that host's wall clock; `disk`
/// survives its process. With a `delay` a statement is answered at once, and its change written that much later at most.
pub async fn database(host: Host, disk: Rc<RefCell<Disk>>, delay: Option<Duration>, port: u16) {
    disk.borrow_mut().start(&host);
    let database = Database::new(disk.borrow().files());
    let Ok(listener) = host.listen(port).await else {
        return;
    };
    let server = Rc::new(Server {
        host: host.clone(),
        disk,
        database: RefCell::new(database),
        clients: RefCell::default(),
        unwritten: delay.map(|_| RefCell::default()),
    });
    if let Some(delay) = delay {
        host.spawn(server.clone().write_behind(delay));
    }
    while let Ok((stream, _)) = listener.accept().await {
        let conn = server.database.borrow_mut().accept();
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
    disk: Rc<RefCell<Disk>>,
    database: RefCell<Database>,
    clients: Lines<ConnId>,
    /// Changes that were answered and are not on the disk yet; `None` if each is written before its answer.
    unwritten: Option<RefCell<Vec<DiskWrite>>>,
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
            let now_ms = ms_from_ns(self.host.wall_ns());
            self.database
                .borrow_mut()
                .receive(conn, &bytes[..count], now_ms, &mut effects);
            for effect in effects {
                self.execute_effects(effect);
            }
        }
        self.database.borrow_mut().closed(conn);
        self.clients.borrow_mut().forget(&conn);
    }

    async fn write_behind(self: Rc<Self>, delay: Duration) {
        loop {
            self.host.sleep(delay).await;
            let unwritten = self.unwritten.as_ref().map(RefCell::take);
            for write in unwritten.into_iter().flatten() {
                self.disk.borrow_mut().write(write, self.host.now_ns());
            }
        }
    }

    fn execute_effects(&self, effect: Effect) {
        match effect {
            Effect::Disk(write) => match &self.unwritten {
                Some(unwritten) => unwritten.borrow_mut().push(write),
                None => self.disk.borrow_mut().write(write, self.host.now_ns()),
            },
            Effect::Reply { conn, bytes } => self.clients.borrow_mut().send(&conn, bytes),
            Effect::Close { conn } => self.clients.borrow_mut().end(&conn),
        }
    }
}
