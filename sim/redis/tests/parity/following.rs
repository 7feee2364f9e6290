//! A node that follows a real server: it authenticates, takes the snapshot to its end mark, and
//! then the stream.

use locklab_redis::{ConnId, Effect, Node};
use locklab_testing::until;

use crate::real::{RealClient, RealServer};
use crate::versions;

/// A node, and its connection to a real master.
struct Following {
    node: Node,
    /// The connection's name to the node, once it asked for one.
    conn: Option<ConnId>,
    link: Option<RealClient>,
    client: ConnId,
    heard: String,
    server: RealServer,
    master: RealClient,
}

impl Following {
    fn start(parameters: &[(&str, &str)], master_says: &[&str]) -> Self {
        let server = RealServer::start();
        let mut master = server.connect();
        for line in master_says {
            master.request(format!("{line}\r\n").as_bytes());
        }
        let mut node = Node::new(versions::node_config());
        let replicaof = format!("127.0.0.1 {}", server.port());
        for (name, value) in parameters
            .iter()
            .chain(&[("replicaof", replicaof.as_str())])
        {
            let done = node.configure(name, value);
            done.expect("the parameter exists");
        }
        Following {
            client: node.accept(),
            node,
            conn: None,
            link: None,
            heard: String::new(),
            server,
            master,
        }
    }

    /// Carries what there is to carry, in both directions.
    fn carry(&mut self) {
        let now_us = self.master.time_us();
        let mut effects = Vec::new();
        self.node.wake(now_us, &mut effects);
        if let (Some(conn), Some(link)) = (self.conn, &mut self.link) {
            let (bytes, closed) = link.arrived();
            self.node.receive(conn, &bytes, now_us, &mut effects);
            if closed {
                self.node.closed(conn);
                (self.conn, self.link) = (None, None);
            }
        }
        self.carry_out_all(effects, now_us);
    }

    fn carry_out_all(&mut self, mut effects: Vec<Effect>, now_us: u64) {
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                self.carry_out(effect, now_us, &mut effects);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, now_us: u64, more: &mut Vec<Effect>) {
        match effect {
            Effect::Connect { conn, .. } => {
                (self.conn, self.link) = (Some(conn), Some(self.server.connect()));
                self.node.connected(conn, now_us, more);
            }
            Effect::Send { conn, bytes } if conn == self.client => {
                self.heard.push_str(&String::from_utf8_lossy(&bytes));
            }
            Effect::Send { bytes, .. } => {
                if let Some(link) = &mut self.link {
                    link.send(&bytes);
                }
            }
            Effect::Close { .. } => (self.conn, self.link) = (None, None),
            other => panic!("a follower does not ask for {other:?}"),
        }
    }

    /// The node's reply to a client.
    fn ask(&mut self, line: &str) -> String {
        let now_us = self.master.time_us();
        let line = format!("{line}\r\n");
        let mut effects = Vec::new();
        self.node
            .receive(self.client, line.as_bytes(), now_us, &mut effects);
        self.carry_out_all(effects, now_us);
        std::mem::take(&mut self.heard)
    }

    /// Waits until the node answers this.
    fn until_said(&mut self, line: &str, part: &str) {
        until(|| {
            self.carry();
            let said = self.ask(line);
            match said.contains(part) {
                true => Ok(()),
                false => Err(said),
            }
        });
    }
}

const SYNC_AT_ONCE: &str = "CONFIG SET repl-diskless-sync yes repl-diskless-sync-delay 0";

#[test]
fn a_node_takes_a_snapshot_to_its_end_mark_from_a_real_master() {
    if versions::skips_test() {
        return;
    }
    let fill = "EVAL \"for i = 1, 600 do redis.call('hset', 'h', 'f' .. i, i) end redis.call('set', 'big', string.rep('x', 300000))\" 0";
    let mut following = Following::start(&[], &[SYNC_AT_ONCE, fill]);
    following.until_said("INFO replication", "master_link_status:up");
    assert_eq!(following.ask("HLEN h"), ":600\r\n");
    assert_eq!(following.ask("STRLEN big"), ":300000\r\n");
    assert_eq!(following.ask("OBJECT ENCODING h"), "$9\r\nhashtable\r\n");
    following.master.request(b"SET later 1\r\n");
    following.until_said("GET later", "$1\r\n1\r\n");
    // The real master has read an acknowledgement.
    let acked = following.master.request(b"WAIT 0 0\r\n");
    assert!(acked.starts_with(b":"));
}

#[test]
fn a_node_has_the_databases_of_its_real_master() {
    if versions::skips_test() {
        return;
    }
    let says = [SYNC_AT_ONCE, "SET k 0", "SELECT 7", "SET k 7", "SELECT 3"];
    let mut following = Following::start(&[], &says);
    following.until_said("INFO replication", "master_link_status:up");
    for line in [
        "SET k 3", "SELECT 4", "SET k 4", "MULTI", "SELECT 8", "SET k 8", "SELECT 9", "SET k 9",
        "EXEC",
    ] {
        following.master.request(format!("{line}\r\n").as_bytes());
    }
    following.ask("SELECT 9");
    following.until_said("GET k", "9");
    let keys = |following: &mut Following| {
        let each = (0..10).map(|db| {
            following.ask(&format!("SELECT {db}"));
            following.ask("GET k")
        });
        each.map(|reply| reply.split("\r\n").nth(1).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(keys(&mut following), "0,,,3,4,,,7,8,9");
    // The stream continues at its offset, without another SELECT.
    following.master.request(b"CLIENT KILL TYPE replica\r\n");
    following.master.request(b"SET k after\r\n");
    following.ask("SELECT 9");
    following.until_said("GET k", "after");
    let synced = following.master.request(b"INFO stats\r\n");
    let synced = String::from_utf8_lossy(&synced).into_owned();
    assert!(
        synced.contains("sync_full:1\r\nsync_partial_ok:1"),
        "{synced}"
    );
    assert_eq!(keys(&mut following), "0,,,3,4,,,7,8,after");
}

#[test]
fn a_node_authenticates_with_a_real_master() {
    if versions::skips_test() {
        return;
    }
    let says = [SYNC_AT_ONCE, "SET k v", "CONFIG SET requirepass secret"];
    let mut following = Following::start(&[("masterauth", "wrong")], &says);
    for _ in 0..50 {
        following.carry();
    }
    let info = following.ask("INFO replication");
    assert!(info.contains("master_link_status:down"), "{info}");
    following.ask("CONFIG SET masterauth secret masteruser default");
    following.until_said("INFO replication", "master_link_status:up");
    assert_eq!(following.ask("GET k"), "$1\r\nv\r\n");
}

#[test]
fn a_node_authenticates_with_a_password_that_is_no_text() {
    if versions::skips_test() {
        return;
    }
    let says = [SYNC_AT_ONCE, "CONFIG SET requirepass \"abc\\xff\""];
    let mut following = Following::start(&[], &says);
    following.ask("CONFIG SET masterauth \"abc\\xff\"");
    following.until_said("INFO replication", "master_link_status:up");
}
