//! Connecting through the proxy.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use locklab_link::LinkEffect::Cut;

use super::fixture::{
    Fixture, Ways, expect, expect_at_least, expect_end, expect_nothing, expect_reset, n1,
};

#[test]
fn the_greeting_comes_after_both_latencies_and_before_anything_else() {
    let fixture = Fixture::new(20.0);
    let start = Instant::now();
    let mut client = fixture.try_connect(1).unwrap();
    let mut server = fixture.accept();
    server.write_all(b"hello").unwrap();
    expect(&mut client, b"\x01");
    expect_at_least(start, 40);
    expect(&mut client, b"hello");
}

#[test]
fn the_greeting_comes_only_when_the_path_is_open() {
    let fixture = Fixture::new(0.0);
    let cut = fixture.install("c1", "n1", Ways::Both, Cut);
    let start = Instant::now();
    let mut client = fixture.try_connect(1).unwrap();
    expect_nothing(&mut client);
    fixture.proxy.lift(cut);
    expect(&mut client, b"\x01");
    expect_at_least(start, 1_000);
    let mut server = fixture.accept();
    client.write_all(b"x").unwrap();
    expect(&mut server, b"x");
}

#[test]
fn a_host_that_does_not_wait_is_not_greeted_and_its_data_waits() {
    let fixture = Fixture::new(0.0);
    fixture.proxy.suspend(&n1());
    let mut client = fixture.try_connect(2).unwrap();
    client.write_all(b"early").unwrap();
    expect_nothing(&mut client);
    fixture.proxy.wake(&n1());
    let mut server = fixture.accept();
    expect(&mut server, b"early");
    expect_nothing(&mut client);
}

#[test]
fn a_connection_to_a_process_that_is_gone_is_reset() {
    let mut fixture = Fixture::new(0.0);
    let gone = fixture.server.local_addr().unwrap();
    // This address is no longer the published one: nothing listens there.
    fixture.server = std::net::TcpListener::bind((gone.ip(), 0)).unwrap();
    // The reset may come while the client still looks at whether it is connected.
    match fixture.try_connect(1) {
        Ok(mut client) => expect_reset(&mut client),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn a_stranger_is_turned_away() {
    let fixture = Fixture::new(0.0);
    let mut stranger = fixture.try_connect(77).unwrap();
    expect_end(&mut stranger);
    assert!(fixture.server.accept().is_err());
}

#[test]
fn whole_stream_of_a_server_passes_although_it_ends_immediately() {
    let fixture = Fixture::new(5.0);
    let mut client = fixture.try_connect(1).unwrap();
    let mut server = fixture.accept();
    server.write_all(b"busy").unwrap();
    drop(server);
    let mut read = Vec::new();
    client.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"\x01busy");
}

#[test]
fn a_host_is_known_by_its_gate_where_it_binds_no_address() {
    let fixture = Fixture::new(0.0);
    let real = fixture.server.local_addr().unwrap();
    let published = [(fixture.public, real), (fixture.gate, real)];
    fixture.proxy.publish(&n1(), &published).unwrap();
    let cut = fixture.install("c2", "n1", Ways::Both, Cut);
    let mut client = TcpStream::connect(fixture.gate).unwrap();
    client.write_all(b"early").unwrap();
    expect_nothing(&mut client);
    fixture.proxy.lift(cut);
    expect(&mut fixture.accept(), b"early");
    // At the common address it is nobody.
    let mut unknown = TcpStream::connect(fixture.public).unwrap();
    assert_eq!(unknown.read(&mut [0; 1]).unwrap_or_default(), 0);
}
