//! Connections to the control port.

use std::net::{Ipv4Addr, Shutdown};

use locklab_testing::{hostile, until};

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

#[test]
fn connections_beyond_the_most_are_refused_until_one_ends() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().unwrap();
    let mut places = Places::default();
    let mut connect = || {
        let client = TcpStream::connect(address).expect("it listens");
        let (served, _) = listener.accept().expect("a connection");
        places.admit(served, |stream| {
            serve(stream, |words| resp::answer(&status_of(words)))
        });
        client
    };
    let is_served = |mut client: &TcpStream| {
        let mut answer = [0; 7];
        // One that is refused may be closed already.
        let sent = client.write_all(b"*1\r\n$1\r\nx\r\n");
        let answered = sent.and_then(|()| client.read_exact(&mut answer));
        answered.is_ok() && &answer == b"$1\r\nx\r\n"
    };
    let mut clients: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| connect()).collect();
    assert!(clients.iter().all(is_served));
    let (mut refused, mut one_more) = (String::new(), connect());
    // If it were served, it would end here.
    one_more.shutdown(Shutdown::Write).expect("a connection");
    one_more.read_to_string(&mut refused).expect("an answer");
    assert_eq!(refused, "-ERR max number of clients reached\r\n");
    clients.pop();
    until(|| {
        is_served(&connect())
            .then_some(())
            .ok_or("its place is not free")
    });
}

#[test]
fn port_waits_after_each_failure_to_accept() {
    let (mut attempts, mut waits) = (0, 0);
    let accept = || {
        attempts += 1;
        match attempts {
            4 => Ok("connection"),
            _ => Err(io::ErrorKind::Other.into()),
        }
    };
    assert_eq!(next(accept, || waits += 1), "connection");
    assert_eq!(waits, 3);
}
