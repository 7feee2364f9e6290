//! Data passes unchanged, in time and in bounds.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use locklab_link::LinkEffect::Cut;

use super::fixture::{Fixture, Ways, expect, expect_at_least, expect_end};

/// `len` bytes with a period that no buffer's size is a multiple of.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

#[test]
fn data_passes_both_ways() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    client.write_all(b"request").unwrap();
    expect(&mut server, b"request");
    server.write_all(b"reply").unwrap();
    expect(&mut client, b"reply");
}

#[test]
fn megabytes_pass_both_ways_concurrently() {
    let fixture = Fixture::new(1.0);
    let (client, server) = fixture.connected();
    let data = pattern(8 << 20);
    let exchange = |stream: &TcpStream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = stream.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                writer.write_all(&data).unwrap();
                writer.shutdown(std::net::Shutdown::Write).unwrap();
            });
            scope.spawn(|| {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                assert!(read == data, "{} bytes", read.len());
            });
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| exchange(&client));
        scope.spawn(|| exchange(&server));
    });
}

#[test]
fn latency_is_never_less_than_asked() {
    let fixture = Fixture::new(20.0);
    let start = Instant::now();
    let (mut client, mut server) = fixture.connected();
    // One way for the SYN, one for the SYN-ACK, one for the data.
    expect_at_least(start, 60);
    let start = Instant::now();
    server.write_all(b"x").unwrap();
    expect(&mut client, b"x");
    expect_at_least(start, 20);
    let messages = fixture.proxy.take_messages();
    let payloads: Vec<&[u8]> = messages.iter().map(|m| &*m.payload).collect();
    assert_eq!(payloads, [&b"hello"[..], b"x"]);
    for message in &messages {
        let arrived_ns = message.arrived_ns.expect("it was read");
        assert!(arrived_ns >= message.sent_ns + 20_000_000);
    }
}

#[test]
fn a_sender_is_held_up_when_too_much_is_under_way() {
    let fixture = Fixture::new(0.0);
    let (mut client, mut server) = fixture.connected();
    let cut = fixture.install("c2", "n1", Ways::Both, Cut);
    let data = pattern(1 << 20);
    client.set_nonblocking(true).unwrap();
    let (mut written, mut refusals) = (0, 0);
    while refusals < 20 {
        match client.write(&data[written % data.len()..]) {
            Ok(count) => {
                written += count;
                refusals = 0;
                // Linux's largest buffers of two sockets are far smaller.
                assert!(written < 512 << 20, "nothing holds up the sender");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refusals += 1;
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    fixture.proxy.lift(cut);
    drop(client);
    let mut total = 0;
    let mut read = vec![0; 1 << 16];
    while total < written {
        let count = server.read(&mut read).unwrap();
        assert!(count > 0, "the end after {total} of {written} bytes");
        let is_right = |(index, byte): (usize, &u8)| *byte == data[(total + index) % data.len()];
        assert!(read[..count].iter().enumerate().all(is_right));
        total += count;
    }
    expect_end(&mut server);
}
