//! Starting, publishing, withdrawing, ending.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};

use locklab_proxy::{Greeting, Host, Keep, Options, Proxy};
use locklab_values::dist::Dist;

use super::fixture::{Fixture, end_with_reset, expect, n1};

#[test]
fn a_withdrawn_server_refuses_connections_and_keeps_those_it_has() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    fixture.proxy.withdraw(&n1());
    let refused = fixture.try_connect(2).map_err(|error| error.kind());
    assert_eq!(refused.err(), Some(ErrorKind::ConnectionRefused));
    client.write_all(b"still").unwrap();
    expect(&mut server, b"still");
    fixture.publish();
    fixture.connected();
}

#[test]
fn a_server_can_move() {
    let mut fixture = Fixture::new(0.0);
    fixture.server = TcpListener::bind("127.0.0.1:0").unwrap();
    fixture.server.set_nonblocking(true).unwrap();
    fixture.publish();
    fixture.connected();
    let before = fixture.public;
    let taken = TcpListener::bind((before.ip(), 0)).unwrap();
    fixture.public = taken.local_addr().unwrap();
    drop(taken);
    fixture.publish();
    fixture.connected();
    TcpListener::bind(before).expect("the proxy listens there no more");
}

/// ZooKeeper has a port for its clients and two for its other members.
#[test]
fn a_server_can_have_several_addresses() {
    let mut fixture = Fixture::new(0.0);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let taken = TcpListener::bind((fixture.public.ip(), 0)).unwrap();
    let public = taken.local_addr().unwrap();
    drop(taken);
    let both = [
        (fixture.public, fixture.server.local_addr().unwrap()),
        (public, other.local_addr().unwrap()),
    ];
    fixture.proxy.publish(&n1(), &both).unwrap();
    fixture.connected();
    (fixture.public, fixture.server) = (public, other);
    fixture.connected();
    fixture.proxy.withdraw(&n1());
    for (public, _) in both {
        TcpListener::bind(public).expect("the proxy listens there no more");
    }
}

#[test]
fn impossible_wishes_are_refused() {
    let fixture = Fixture::new(0.0);
    let real = fixture.server.local_addr().unwrap();
    let kind = |result: std::io::Result<()>| result.map_err(|error| error.kind());
    let unknown = fixture
        .proxy
        .publish(&"n2".into(), &[(fixture.public, real)]);
    assert_eq!(kind(unknown), Err(ErrorKind::InvalidInput));
    let taken = fixture
        .proxy
        .publish(&"c1".into(), &[(fixture.public, real)]);
    assert_eq!(kind(taken), Err(ErrorKind::AddrInUse));
    fixture.proxy.withdraw(&"n2".into());
    fixture.proxy.wake(&"n2".into());
    fixture.connected();

    let host = Host {
        ip: real.ip(),
        greeting: Greeting::None,
    };
    let options = Options {
        hosts: [("c1".into(), host)].into(),
        gates: Default::default(),
        latency: Dist::Constant(1.0),
        loss: 0.0,
        seed: 1,
        keep: Keep::Nothing,
    };
    let mut same_address = options.clone();
    same_address.hosts.insert("c2".into(), host);
    let loss = Options {
        loss: 1.5,
        ..options.clone()
    };
    let latency = Options {
        latency: Dist::Constant(-1.0),
        ..options
    };
    for options in [same_address, loss, latency] {
        let started = Proxy::start(options).map(drop);
        assert_eq!(kind(started), Err(ErrorKind::InvalidInput));
    }
}

#[test]
fn commands_do_not_mind_connections_that_break() {
    let fixture = Fixture::new(0.0);
    for _ in 0..50 {
        let (client, server) = fixture.connected();
        let (mut other, broken) = fixture.connected();
        drop(client);
        end_with_reset(broken, &mut other);
        fixture.proxy.suspend(&"c1".into());
        drop(server);
        fixture.proxy.wake(&"c1".into());
    }
    fixture.connected();
}

#[test]
fn dropping_the_proxy_ends_everything() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    let public: SocketAddr = fixture.public;
    drop(fixture);
    for end in [&mut client, &mut server] {
        let read = end.read(&mut [0; 16]);
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    TcpListener::bind(public).expect("the port is free again");
}
