//! A Redis node on a simulated host: the one place where [`redis`](crate::redis) and
//! [`world`](crate::world) meet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use turmoil_net::shim::tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::redis::{ConnId, Effect, Node, NodeConfig};
use crate::world::Host;

/// Runs a Redis node on `host` until its process ends. It expires keys by that host's
/// wall clock; its memory ends with it.
pub async fn redis(host: Host, config: NodeConfig, port: u16) {
    let Ok(listener) = host.listen(port).await else {
        return;
    };
    let server = Rc::new(Server {
        host: host.clone(),
        node: RefCell::new(Node::new(config)),
        writers: RefCell::default(),
    });
    while let Ok((stream, _)) = listener.accept().await {
        let conn = server.node.borrow_mut().accept();
        let (reader, writer) = stream.into_split();
        server.writers.borrow_mut().insert(conn, writer);
        host.spawn(server.clone().converse(conn, reader));
    }
}

struct Server {
    host: Host,
    node: RefCell<Node>,
    writers: RefCell<BTreeMap<ConnId, OwnedWriteHalf>>,
}

impl Server {
    /// Serves one connection until it ends.
    async fn converse(self: Rc<Self>, conn: ConnId, mut reader: OwnedReadHalf) {
        let mut bytes = [0; 4096];
        let mut effects = Vec::new();
        while let Ok(count @ 1..) = reader.read(&mut bytes).await {
            let wall_us = self.host.wall_ns() / 1_000;
            self.node
                .borrow_mut()
                .receive(conn, &bytes[..count], wall_us, &mut effects);
            for effect in effects.drain(..) {
                self.carry_out(effect).await;
            }
            if !self.writers.borrow().contains_key(&conn) {
                break;
            }
        }
        self.node.borrow_mut().closed(conn);
        self.writers.borrow_mut().remove(&conn);
    }

    async fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::Send { conn, bytes } => {
                // Taken out while it writes, so that nothing is borrowed meanwhile.
                let writer = self.writers.borrow_mut().remove(&conn);
                if let Some(mut writer) = writer
                    && writer.write_all(&bytes).await.is_ok()
                {
                    self.writers.borrow_mut().insert(conn, writer);
                }
            }
            Effect::Close { conn } => {
                self.writers.borrow_mut().remove(&conn);
            }
        }
    }
}
