//! The control port: RESP, so that any client of Redis can order faults.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use locklab_bounds::resp::Inbound;
use locklab_bounds::{Bounds, Refused};
use locklab_redis::resp;
use redis_protocol::resp2::types::BytesFrame;

use crate::order::texts;
use crate::served::{Outcome, Served};

/// The most connections at a time. Each has a thread; a program that orders faults needs one.
const MAX_CONNECTIONS: usize = 64;

/// How long the port waits after a connection could not be accepted: when descriptors run out, it stays
/// in the queue, so that the next attempt fails at once.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// How long a client may leave an answer unread.
const UNREAD: Duration = Duration::from_secs(10);

/// Answers commands on a thread for each connection, as long as the program runs.
///
/// # Errors
///
/// If the machine cannot start another thread.
pub fn listen(listener: TcpListener, served: Served) -> io::Result<()> {
    let accept = move || {
        let mut places = Places::default();
        loop {
            let accept = || listener.accept().map(|(stream, _)| stream);
            let stream = next(accept, || thread::sleep(ACCEPT_AGAIN));
            let served = served.clone();
            let reply = move |words: &[Bytes]| reply(&served, words);
            places.admit(stream, |stream| serve(stream, reply));
        }
    };
    thread::Builder::new()
        .name("control".into())
        .spawn(accept)?;
    Ok(())
}

/// The next connection. Waits after each failure.
fn next<S>(mut accept: impl FnMut() -> io::Result<S>, mut wait: impl FnMut()) -> S {
    loop {
        match accept() {
            Ok(stream) => return stream,
            Err(_) => wait(),
        }
    }
}

/// Counts the connections: each holds a clone, and so does this.
#[derive(Default)]
struct Places(Arc<()>);

impl Places {
    /// Serves a connection on a thread, if there is a place for it.
    fn admit<S>(&mut self, mut stream: TcpStream, serve: S)
    where
        S: FnOnce(TcpStream) -> io::Result<()> + Send + 'static,
    {
        if Arc::strong_count(&self.0) > MAX_CONNECTIONS {
            let problem = resp::error("ERR max number of clients reached");
            // Nobody waits for one that does not read it.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(&resp::answer(&problem));
            return;
        }
        let place = self.0.clone();
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().spawn(move || {
            let _place = place;
            serve(stream)
        });
    }
}

/// Serves a connection until it ends, or sends what is no RESP or too much.
fn serve(mut stream: TcpStream, reply: impl Fn(&[Bytes]) -> Bytes) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(UNREAD))?;
    let mut inbound = Inbound::new(Bounds::ORDER);
    let mut bytes = [0; 4096];
    loop {
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        inbound.buffer().extend_from_slice(&bytes[..count]);
        loop {
            match inbound.next_words() {
                Ok(Some(words)) => stream.write_all(&reply(&words))?,
                Ok(None) => break,
                Err(refused) => {
                    let problem = match refused {
                        Refused::Malformed => "write a command as an array".to_owned(),
                        excess => excess.to_string(),
                    };
                    let problem = resp::error(format!("ERR Protocol error: {problem}"));
                    return stream.write_all(&resp::answer(&problem));
                }
            }
        }
    }
}

fn reply(served: &Served, words: &[Bytes]) -> Bytes {
    let words = texts(words);
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    if let Some(reply) = greeting(&words) {
        return reply;
    }
    resp::answer(&match served.execute(&words) {
        Ok(Outcome::Done) => status("OK"),
        Ok(Outcome::Lines(lines)) => BytesFrame::Array(lines.into_iter().map(resp::bulk).collect()),
        Err(problem) => resp::error(format!("ERR {}", problem.replace(['\r', '\n'], " "))),
    })
}

/// The answer to what client libraries send of their own accord when they connect.
fn greeting(words: &[&str]) -> Option<Bytes> {
    let (name, arguments) = words.split_first()?;
    let reply = match (name.to_ascii_uppercase().as_str(), arguments) {
        ("HELLO", ["3", ..]) => return Some(hello(3)),
        ("HELLO", [] | ["2", ..]) => return Some(hello(2)),
        ("HELLO", _) => resp::error("NOPROTO unsupported protocol version"),
        ("PING", []) => status("PONG"),
        ("PING", [text]) => resp::bulk((*text).to_owned()),
        ("CLIENT", [word, ..]) if word.to_ascii_uppercase().starts_with("SET") => status("OK"),
        ("SELECT", ["0"]) => status("OK"),
        ("INFO", _) => resp::bulk("loading:0\r\n"),
        _ => return None,
    };
    Some(resp::answer(&reply))
}

/// The answer to HELLO. All other replies of this port are the same in both versions of RESP.
fn hello(version: u64) -> Bytes {
    let fields = [
        ("server", resp::bulk("redis")),
        ("version", resp::bulk(locklab_redis::VERSION)),
        ("proto", resp::integer(version)),
        ("id", resp::integer(1)),
        ("mode", resp::bulk("standalone")),
        ("role", resp::bulk("master")),
        ("modules", BytesFrame::Array(Vec::new())),
    ];
    let head = match version {
        3 => format!("%{}\r\n", fields.len()),
        _ => format!("*{}\r\n", 2 * fields.len()),
    };
    let fields = fields
        .into_iter()
        .flat_map(|(name, value)| [resp::bulk(name), value]);
    let fields = fields.map(|frame| resp::answer(&frame)).collect::<Vec<_>>();
    [Bytes::from(head)]
        .into_iter()
        .chain(fields)
        .collect::<Vec<_>>()
        .concat()
        .into()
}

fn status(text: &'static str) -> BytesFrame {
    BytesFrame::SimpleString(text.into())
}

#[cfg(test)]
mod tests;
