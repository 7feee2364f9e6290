//! The control port: RESP, so that any client of Redis can order faults.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use bytes::{Bytes, BytesMut};
use locklab_redis::resp;
use redis_protocol::resp2::types::BytesFrame;

use super::lab::{Lab, Outcome};

/// Answers commands on a thread for each connection, as long as the program runs.
///
/// # Errors
///
/// If the machine cannot start another thread.
pub fn listen(listener: TcpListener, lab: Lab) -> io::Result<()> {
    let accept = move || {
        for stream in listener.incoming().flatten() {
            let lab = lab.clone();
            // Without a thread the connection is closed.
            let _ = thread::Builder::new().spawn(move || serve(stream, &lab));
        }
    };
    thread::Builder::new()
        .name("control".into())
        .spawn(accept)?;
    Ok(())
}

/// Serves a connection until it ends, or sends what is no RESP.
fn serve(mut stream: TcpStream, lab: &Lab) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut inbound = BytesMut::new();
    let mut bytes = [0; 4096];
    loop {
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        inbound.extend_from_slice(&bytes[..count]);
        loop {
            match resp::next_words(&mut inbound) {
                Ok(Some(words)) => stream.write_all(&resp::answer(&reply(lab, &words)))?,
                Ok(None) => break,
                Err(_) => {
                    let problem = resp::error("ERR Protocol error: write a command as an array");
                    return stream.write_all(&resp::answer(&problem));
                }
            }
        }
    }
}

fn reply(lab: &Lab, words: &[Bytes]) -> BytesFrame {
    let words: Vec<_> = words
        .iter()
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    if let Some(reply) = greeting(&words) {
        return reply;
    }
    match lab.execute(&words) {
        Ok(Outcome::Done) => BytesFrame::SimpleString("OK".into()),
        Ok(Outcome::Lines(lines)) => BytesFrame::Array(lines.into_iter().map(resp::bulk).collect()),
        Err(problem) => resp::error(format!("ERR {}", problem.replace(['\r', '\n'], " "))),
    }
}

/// The answer to what client libraries send of their own accord when they connect.
fn greeting(words: &[&str]) -> Option<BytesFrame> {
    let (name, arguments) = words.split_first()?;
    match (name.to_ascii_uppercase().as_str(), arguments) {
        ("PING", []) => Some(BytesFrame::SimpleString("PONG".into())),
        ("PING", [text]) => Some(resp::bulk((*text).to_owned())),
        ("CLIENT" | "SELECT", _) => Some(BytesFrame::SimpleString("OK".into())),
        ("INFO", _) => Some(resp::bulk("loading:0\r\n")),
        _ => None,
    }
}
