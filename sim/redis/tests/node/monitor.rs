//! MONITOR: what a line says of the time and the caller, and what becomes of a monitor that does
//! not read.

use std::time::Duration;

use locklab_redis::endpoint::{Action, Endpoint, Expiry, Limits, Now};
use locklab_redis::{Addresses, ConnId, Effect, Node, NodeConfig};

/// Sends a line; returns the output for one client.
fn said(node: &mut Node, from: ConnId, line: &str, wall_us: u64, to: ConnId) -> String {
    let mut effects = Vec::new();
    let line = format!("{line}\r\n");
    node.receive(from, line.as_bytes(), wall_us, &mut effects);
    let mut said = String::new();
    for effect in effects {
        if let Effect::Send { conn, bytes } = effect
            && conn == to
        {
            said.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    said
}

#[test]
fn a_line_has_the_time_of_the_node_and_the_address_of_the_caller() {
    let mut node = Node::new(NodeConfig::default());
    let addresses = Addresses {
        peer: "10.0.0.7:1234".parse().expect("it is an address"),
        local: "10.0.0.1:6379".parse().expect("it is an address"),
    };
    let caller = node.accept_from(addresses, 1);
    let monitor = node.accept();
    assert_eq!(said(&mut node, monitor, "MONITOR", 1, monitor), "+OK\r\n");
    assert_eq!(
        said(&mut node, caller, "PING", 1_339_518_083_000_042, monitor),
        "+1339518083.000042 [0 10.0.0.7:1234] \"PING\"\r\n"
    );
}

#[test]
fn monitor_that_does_not_read_is_disconnected_like_any_client() {
    let limits = Limits {
        output_bytes: 1000,
        soft_bytes: 1000,
        // A monitor may not keep as much output as a replica.
        replication_bytes: 1 << 20,
        ..Limits::PUBSUB
    };
    let node = Node::new(NodeConfig::default());
    let mut endpoint = Endpoint::new(node, limits, Expiry::Always);
    let now = Now {
        wall_us: 1_000_000,
        monotonic: Duration::ZERO,
    };
    let mut accept = || endpoint.accept(Addresses::default(), now);
    let (monitor, caller) = (accept().expect("room"), accept().expect("room"));
    endpoint.receive(monitor, b"MONITOR\r\n", now);
    let request = format!("ECHO {}\r\n", "x".repeat(300));
    let mut closed = Vec::new();
    for _ in 0..5 {
        endpoint.receive(caller, request.as_bytes(), now);
        while let Some(action) = endpoint.poll() {
            match action {
                Action::Write { conn } if conn == monitor => endpoint.wrote(conn, 0),
                Action::Write { conn } => {
                    let len = endpoint.unwritten(conn).expect("something").len();
                    endpoint.wrote(conn, len);
                }
                Action::Close { conn } => closed.push(conn),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(closed, [monitor]);
}
