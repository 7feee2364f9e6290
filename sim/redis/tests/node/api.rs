//! The fake node's interface: connections, effects, and how bytes may arrive.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

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
fn requests_that_arrive_together_are_answered_together() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let effects = receive(&mut node, conn, b"SET k v\r\nGET k\r\nDEL k\r\n");
    let bytes = "+OK\r\n$1\r\nv\r\n:1\r\n".into();
    assert_eq!(effects, [Effect::Send { conn, bytes }]);
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
fn malformed_input_ends_its_own_connection_only() {
    let mut node = Node::new(NodeConfig::default());
    let (broken, other) = (node.accept(), node.accept());
    let bytes = "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n".into();
    assert_eq!(
        receive(&mut node, broken, b"PING\r\n*x\r\nPING\r\n"),
        [
            Effect::Send {
                conn: broken,
                bytes
            },
            Effect::Close { conn: broken }
        ]
    );
    assert_eq!(receive(&mut node, broken, b"PING\r\n"), []);
    assert_eq!(answer(&mut node, other, b"PING\r\n"), "+PONG\r\n");
}

#[test]
fn quit_closes_after_its_reply() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let bytes = "+OK\r\n".into();
    assert_eq!(
        receive(&mut node, conn, b"QUIT\r\nSET k v\r\n"),
        [Effect::Send { conn, bytes }, Effect::Close { conn }]
    );
    let conn = node.accept();
    assert_eq!(answer(&mut node, conn, b"GET k\r\n"), "$-1\r\n");
}

#[test]
fn a_closed_connection_takes_its_transaction_and_watches_along() {
    let mut node = Node::new(NodeConfig::default());
    let (gone, other) = (node.accept(), node.accept());
    answer(&mut node, gone, b"WATCH k\r\nMULTI\r\nSET k v\r\n");
    node.closed(gone);
    node.closed(gone);
    assert_eq!(receive(&mut node, gone, b"EXEC\r\n"), []);
    assert_eq!(answer(&mut node, other, b"GET k\r\n"), "$-1\r\n");
    assert_ne!(node.accept(), gone);
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
fn a_client_cannot_move_the_driver_to_another_port() {
    let mut node = Node::new(NodeConfig::default());
    node.configure("port", "7001").expect("a port");
    let conn = node.accept();
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. \
                   Check server logs.\r\n";
    for (request, reply) in [
        ("CONFIG SET port 7001 bind 127.0.0.1", "+OK\r\n"),
        ("CONFIG SET hz 20 port 7002", refused),
        ("CONFIG GET port", "*2\r\n$4\r\nport\r\n$4\r\n7001\r\n"),
        ("CONFIG GET hz", "*2\r\n$2\r\nhz\r\n$2\r\n10\r\n"),
    ] {
        let request = format!("{request}\r\n");
        assert_eq!(answer(&mut node, conn, request.as_bytes()), reply);
    }
}
