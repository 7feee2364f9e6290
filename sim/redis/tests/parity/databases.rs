//! Several databases in files, and on the way between a node and real servers.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use locklab_redis::{ConnId, Effect, Files, Node};
use locklab_testing::{RedisServer, until};

use crate::data::{cases, words};
use crate::real::{RealClient, RealServer};
use crate::versions;
use crate::wire::request;

/// The lines of a section of the file: requests that leave different keys, or questions.
fn lines(section: &str) -> Vec<String> {
    let mut cases = cases(include_str!("databases/contents.txt")).into_iter();
    let case = cases.find(|case| case.section == section);
    case.expect("the file has this section").lines
}

fn story() -> Vec<String> {
    lines("requests that leave different keys in them")
}

/// Requests whose replies show the contents of all databases.
fn questions() -> Vec<String> {
    let mut all = vec!["INFO keyspace".to_owned()];
    for index in 0..16 {
        all.push(format!("SELECT {index}"));
        all.extend(lines("questions to each of them"));
    }
    all
}

fn contents(mut ask: impl FnMut(&str) -> String) -> Vec<String> {
    questions().iter().map(|line| ask(line)).collect()
}

fn encoded(line: &str) -> Bytes {
    request(&words(line))
}

fn of_real(client: &mut RealClient) -> Vec<String> {
    contents(|line| {
        let reply = client.request(&encoded(line));
        plain(&String::from_utf8_lossy(&reply))
    })
}

/// A node with one client, and the files that it writes.
struct Alone {
    node: Node,
    client: ConnId,
    files: Files,
}

impl Alone {
    fn start(parameters: &[(&str, &str)], files: Files) -> Self {
        let mut node = Node::new(versions::node_config());
        for (name, value) in parameters {
            let done = node.configure(name, value);
            done.expect("the parameter exists");
        }
        node.load(&files, 1_700_000_000_000_000);
        Alone {
            client: node.accept(),
            node,
            files,
        }
    }

    fn ask(&mut self, line: &str) -> String {
        let mut effects = Vec::new();
        let now_us = 1_700_000_000_000_000;
        self.node
            .receive(self.client, &encoded(line), now_us, &mut effects);
        let mut heard = String::new();
        for effect in effects {
            match effect {
                Effect::Send { bytes, .. } => heard.push_str(&String::from_utf8_lossy(&bytes)),
                Effect::Disk(write) => self.files.write(write),
                _ => {}
            }
        }
        heard
    }

    fn contents(&mut self) -> Vec<String> {
        contents(|line| plain(&self.ask(line)))
    }
}

/// A reply in lines, without what INFO says of averages, and the length of that.
fn plain(reply: &str) -> String {
    let lines = reply
        .split("\r\n")
        .skip(usize::from(reply.contains("Keyspace")));
    let lines = lines.map(|line| line.split(",avg_ttl").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A new folder for a real server, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("locklab-databases-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A connection to a server that has loaded its files, and the server.
fn loaded(server: RedisServer) -> (RealServer, RealClient) {
    let server = RealServer::of(server);
    let mut client = server.connect();
    until(|| {
        let reply = client.request(b"DBSIZE\r\n");
        match reply.starts_with(b":") {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&reply).into_owned()),
        }
    });
    (server, client)
}

fn tell(client: &mut RealClient) {
    for line in story() {
        client.request(&encoded(&line));
    }
}

#[test]
fn a_node_reads_a_real_snapshot_of_several_databases() {
    if versions::skips_test() {
        return;
    }
    let folder = Folder::new("snapshot-of-real");
    let server = RedisServer::start(&["--dir", folder.path()]);
    let (_server, mut client) = loaded(server);
    tell(&mut client);
    client.request(b"SAVE\r\n");
    let snapshot = fs::read(folder.0.join("dump.rdb")).expect("SAVE wrote it");
    let files = Files {
        snapshot,
        ..Files::default()
    };
    let mut node = Alone::start(&[], files.clone());
    assert_eq!(node.contents(), of_real(&mut client));
    // A node with fewer databases reads none of it.
    let mut small = Alone::start(&[("databases", "15")], files);
    assert_eq!(small.ask("DBSIZE"), ":0\r\n");
}

#[test]
fn a_real_server_reads_a_snapshot_of_several_databases() {
    if versions::skips_test() {
        return;
    }
    let mut node = Alone::start(&[], Files::default());
    story().iter().for_each(|line| drop(node.ask(line)));
    let expected = node.contents();
    node.ask("SHUTDOWN SAVE");
    let folder = Folder::new("snapshot-of-node");
    let path = folder.0.join("dump.rdb");
    fs::write(path, &node.files.snapshot).expect("the folder exists");
    let server = RedisServer::start(&["--dir", folder.path()]);
    let (_server, mut client) = loaded(server);
    assert_eq!(of_real(&mut client), expected);
    // So does a node.
    assert_eq!(Alone::start(&[], node.files).contents(), expected);
}

#[test]
fn a_node_reads_a_real_append_only_file_of_several_databases() {
    if versions::skips_test() {
        return;
    }
    let folder = Folder::new("aof-of-real");
    let mut options = vec!["--dir", folder.path(), "--appendonly", "yes"];
    // With everysec a write waits for a sync that is under way, up to 2 s.
    options.extend(["--appendfsync", "always"]);
    let server = RedisServer::start(&options);
    let (_server, mut client) = loaded(server);
    tell(&mut client);
    let path = folder.0.join("appendonlydir/appendonly.aof.1.incr.aof");
    let files = Files {
        aof: fs::read(path).expect("the server writes before it replies"),
        ..Files::default()
    };
    let mut node = Alone::start(&[("appendonly", "yes")], files.clone());
    assert_eq!(node.contents(), of_real(&mut client));
    // A node writes the same commands, after its empty snapshot.
    let mut node = Alone::start(&[("appendonly", "yes")], Files::default());
    node.ask("PING");
    let head = node.files.aof.len();
    story().iter().for_each(|line| drop(node.ask(line)));
    let text = |aof: &[u8]| String::from_utf8_lossy(aof).to_ascii_lowercase();
    assert_eq!(text(&node.files.aof[head..]), text(&files.aof));
}

#[test]
fn a_real_server_reads_an_append_only_file_of_several_databases() {
    if versions::skips_test() {
        return;
    }
    let on = [("appendonly", "yes")];
    let mut node = Alone::start(&on, Files::default());
    story().iter().for_each(|line| drop(node.ask(line)));
    // After a restart the file continues in a database that it does not name.
    let mut node = Alone::start(&on, node.files);
    node.ask("SET later 1");
    node.ask("SELECT 4");
    node.ask("SET later 2");
    let expected = node.contents();
    let folder = Folder::new("aof-of-node");
    let path = folder.0.join("appendonly.aof");
    fs::write(path, &node.files.aof).expect("the folder exists");
    let options = ["--dir", folder.path(), "--appendonly", "yes"];
    let server = RedisServer::start(&options);
    let (_server, mut client) = loaded(server);
    assert_eq!(of_real(&mut client), expected);
}

#[test]
fn a_server_has_as_many_databases_as_it_was_started_with() {
    if versions::skips_test() {
        return;
    }
    for databases in ["1", "4", "20"] {
        let server = RedisServer::start(&["--databases", databases]);
        let (_server, mut client) = loaded(server);
        let mut node = Alone::start(&[("databases", databases)], Files::default());
        for line in lines("a server has as many as it was started with") {
            let real = client.request(&encoded(&line));
            let real = String::from_utf8_lossy(&real).into_owned();
            assert_eq!(node.ask(&line), real, "{line} with databases {databases}");
        }
    }
}

/// Real servers that follow nodes, and the reverse.
#[cfg(feature = "server")]
mod chains {
    use std::net::TcpStream;

    use locklab_redis::Server;

    use super::*;

    /// Waits until both have the same in all databases, and something in any.
    fn until_alike(one: &mut RealClient, other: &mut RealClient) {
        until(|| {
            let (one, other) = (of_real(one), of_real(other));
            match one == other && one.iter().any(|reply| reply.contains("db4")) {
                true => Ok(()),
                false => Err(format!("{one:?}\n{other:?}")),
            }
        });
    }

    fn connect(server: &Server) -> RealClient {
        RealClient::over(TcpStream::connect(server.address()).expect("it accepts"))
    }

    fn say(client: &mut RealClient, line: &str) {
        let reply = client.request(&encoded(line));
        assert!(!reply.starts_with(b"-"), "{line}: {}", reply.escape_ascii());
    }

    #[test]
    fn a_real_server_has_the_databases_of_its_node() {
        if versions::skips_test() {
            return;
        }
        let node = Server::start().expect("it starts");
        let mut master = connect(&node);
        say(&mut master, "SELECT 7");
        say(&mut master, "SET a before");
        let real = RealServer::start();
        let mut replica = real.connect();
        let port = node.address().port();
        say(&mut replica, &format!("REPLICAOF 127.0.0.1 {port}"));
        say(&mut master, "SELECT 4");
        say(&mut master, "SET last 4");
        until_alike(&mut master, &mut replica);
        tell(&mut master);
        until_alike(&mut master, &mut replica);
        // Without a new snapshot, the stream continues in its database.
        say(&mut master, "CLIENT KILL TYPE replica");
        say(&mut master, "SELECT 4");
        say(&mut master, "SET later 1");
        until_alike(&mut master, &mut replica);
        // The node becomes its replica's replica.
        say(&mut replica, "REPLICAOF NO ONE");
        let to = format!("REPLICAOF 127.0.0.1 {}", real.port());
        say(&mut master, &to);
        say(&mut replica, "SELECT 13");
        say(&mut replica, "SET later 2");
        until_alike(&mut replica, &mut master);
    }

    #[test]
    fn a_stream_that_a_node_passes_on_stays_in_its_database() {
        if versions::skips_test() {
            return;
        }
        let first = RealServer::start();
        let mut master = first.connect();
        say(&mut master, "CONFIG SET repl-diskless-sync-delay 0");
        let builder = Server::builder();
        let middle = builder.replica_of(([127, 0, 0, 1], first.port()).into());
        let middle = middle.start().expect("it starts");
        let mut between = connect(&middle);
        until(|| {
            let info = between.request(b"INFO replication\r\n");
            let info = String::from_utf8_lossy(&info).into_owned();
            match info.contains("master_link_status:up") {
                true => Ok(()),
                false => Err(info),
            }
        });
        tell(&mut master);
        until_alike(&mut master, &mut between);
        // These begin in the middle of a stream that has selected database 4: two replicas of the
        // node, and a node that follows one of them, which is a real server.
        let last = RealServer::start();
        let mut real = last.connect();
        say(&mut real, "CONFIG SET repl-diskless-sync-delay 0");
        let port = middle.address().port();
        say(&mut real, &format!("REPLICAOF 127.0.0.1 {port}"));
        let node = middle.replica().expect("it starts");
        let mut fake = connect(&node);
        until_alike(&mut master, &mut real);
        until_alike(&mut master, &mut fake);
        let builder = Server::builder();
        let after_real = builder.replica_of(([127, 0, 0, 1], last.port()).into());
        let after_real = after_real.start().expect("it starts");
        let mut behind = connect(&after_real);
        until_alike(&mut master, &mut behind);
        say(&mut master, "SELECT 4");
        say(&mut master, "SET later 4");
        for replica in [&mut between, &mut real, &mut fake, &mut behind] {
            until_alike(&mut master, replica);
        }
    }
}
