//! The fake node's interface: how bytes may arrive, its run id, and what it can imitate.

use locklab_redis::{ConnId, Effect, Imitated, Node, NodeConfig};

fn receive(node: &mut Node, conn: ConnId, bytes: &[u8]) -> Vec<Effect> {
    let mut effects = Vec::new();
    node.receive(conn, bytes, 1_000_000, &mut effects);
    effects
}

/// The node's reply to these bytes, all on this connection.
fn answer(node: &mut Node, conn: ConnId, bytes: &[u8]) -> String {
    let mut text = String::new();
    for effect in receive(node, conn, bytes) {
        if let Effect::Send { conn: to, bytes } = effect {
            assert_eq!(to, conn);
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

#[test]
fn it_does_not_matter_how_requests_are_cut() {
    let requests = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nGET k\r\n\r\n*0\r\n\
        *2\r\n$3\r\nDEL\r\n$1\r\nk\r\nECHO 'x y'\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
    let whole = {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        answer(&mut node, conn, requests)
    };
    assert_eq!(whole, "+OK\r\n$4\r\na\r\nb\r\n:1\r\n$3\r\nx y\r\n$-1\r\n");
    for piece in 1..requests.len() {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        let cut: String = requests
            .chunks(piece)
            .map(|bytes| answer(&mut node, conn, bytes))
            .collect();
        assert_eq!(cut, whole, "in pieces of {piece} bytes");
    }
}

#[test]
fn a_large_value_may_arrive_in_small_pieces() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let value = vec![b'v'; 300_000];
    let head = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", value.len());
    assert_eq!(answer(&mut node, conn, head.as_bytes()), "");
    for piece in value.chunks(1000) {
        assert_eq!(answer(&mut node, conn, piece), "");
    }
    assert_eq!(answer(&mut node, conn, b"\r\n"), "+OK\r\n");
    let reply = answer(&mut node, conn, b"GET k\r\n");
    assert_eq!(reply.len(), "$300000\r\n\r\n".len() + value.len());
}

#[test]
fn run_ids_differ_by_seed_and_by_nothing_else() {
    let run_id = |run_id_seed| {
        let mut node = Node::new(NodeConfig {
            run_id_seed,
            ..NodeConfig::default()
        });
        let conn = node.accept();
        let info = answer(&mut node, conn, b"INFO server\r\n");
        let line = info.lines().find_map(|line| line.strip_prefix("run_id:"));
        line.expect("INFO shows the run id").to_owned()
    };
    assert_eq!(run_id(1), run_id(1));
    assert_ne!(run_id(1), run_id(2));
    assert_eq!(run_id(1).len(), 40);
}

#[test]
fn the_names_are_those_that_are_parsed() {
    for imitated in Imitated::ALL {
        assert_eq!(imitated.to_string().parse(), Ok(imitated));
    }
    let error = "redis-8".parse::<Imitated>().unwrap_err().to_string();
    assert_eq!(
        error,
        "a node can be like one of redis-7.0, redis-8.4, valkey-9.0"
    );
}
