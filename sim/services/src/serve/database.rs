//! A database on a simulated host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locklab_units::ms_from_ns;
use tokio::sync::Notify;
use turmoil_net::shim::tokio::net::tcp::OwnedReadHalf;

use super::line::{self, Line};
use crate::database::{ConnId, Database, Effect};
use crate::disk::Disk;
use locklab_world::Host;

/// Runs a database on `host` until its process ends. It uses that host's wall clock; `disk`
/// survives its process.
pub async fn database(host: Host, disk: Rc<RefCell<Disk>>, port: u16) {
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
    });
    while let Ok((stream, _)) = listener.accept().await {
        let conn = server.database.borrow_mut().accept();
        let (reader, writer) = stream.into_split();
        let line = Line::new(Some(writer));
        let ended = line.ended.clone();
        server.clients.borrow_mut().insert(conn, line);
        host.spawn(server.clone().converse(conn, reader, ended));
    }
}

struct Server {
    host: Host,
    disk: Rc<RefCell<Disk>>,
    database: RefCell<Database>,
    clients: RefCell<BTreeMap<ConnId, Line>>,
}

impl Server {
    /// Serves one client.
    async fn converse(self: Rc<Self>, conn: ConnId, mut reader: OwnedReadHalf, ended: Rc<Notify>) {
        let mut bytes = [0; 4096];
        while let Some(count) = line::receive(&mut reader, &mut bytes, &ended).await {
            let mut effects = Vec::new();
            let now_ms = ms_from_ns(self.host.wall_ns());
            self.database
                .borrow_mut()
                .receive(conn, &bytes[..count], now_ms, &mut effects);
            for effect in effects {
                self.carry_out(effect);
            }
        }
        self.database.borrow_mut().closed(conn);
        self.clients.borrow_mut().remove(&conn);
    }

    fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::Disk(write) => self.disk.borrow_mut().write(write, self.host.now_ns()),
            Effect::Reply { conn, bytes } => line::send(&self.clients, conn, bytes),
            Effect::Close { conn } => line::end(&self.clients, conn),
        }
    }
}
