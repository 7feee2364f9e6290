//! Connections to the control port.

use std::net::{Ipv4Addr, Shutdown};

use locklab_testing::hostile;

use super::*;

/// Sends these bytes as a connection, and returns what is answered until its end.
fn answer(bytes: &[u8]) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).expect("it listens");
    let (served, _) = listener.accept().expect("a connection");
    let server = thread::spawn(move || serve(served, |words| resp::answer(&status_of(words))));
    // The other end may close before everything is sent.
    let _ = client.write_all(bytes);
    let _ = client.shutdown(Shutdown::Write);
    let mut answer = [0; 200];
    let count = client.read(&mut answer).unwrap_or(0);
    let _ = server.join().expect("it does not panic");
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

fn status_of(words: &[Bytes]) -> BytesFrame {
    resp::bulk(words.concat())
}

#[test]
fn hostile_connection_is_refused_with_words() {
    for (name, bytes) in hostile::resp() {
        let answer = answer(&bytes[..bytes.len().min(256 << 10)]);
        assert!(
            answer.starts_with("-ERR Protocol error: "),
            "{name}: {answer}"
        );
    }
}

#[test]
fn order_of_64_kb_is_the_largest() {
    let order = |length: usize| format!("*1\r\n${length}\r\n{}\r\n", "x".repeat(length));
    assert!(answer(order(65_000).as_bytes()).starts_with("$65000\r\nx"));
    for length in [65_536, 1 << 20] {
        let expected = "-ERR Protocol error: longer than 65536 bytes\r\n";
        assert_eq!(answer(order(length).as_bytes()), expected);
    }
    let many = format!("*1025\r\n{}", "$1\r\nx\r\n".repeat(1025));
    let expected = "-ERR Protocol error: more than 1024 elements\r\n";
    assert_eq!(answer(many.as_bytes()), expected);
}
