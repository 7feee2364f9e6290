//! The resource as a foreign program sees it: a Redis that knows a few commands. Each of its keys is a register.
//!
//! A connection says by the address to which it comes whose it is. So no program has to say who it is,
//! and any client of Redis can read, write and add.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use locklab_vecmap::VecMap;
use redis_protocol::resp2::types::{BytesFrame, Resp2Frame};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use locklab_history::{Access, Event, Name};
use locklab_runner::workload::resource::Register;

/// The contents of the resource.
pub(crate) struct Contents {
    /// What a key is before it is used.
    unused: Register,
    keys: VecMap<Vec<u8>, Cell>,
}

/// The most keys that a resource has.
const MOST_KEYS: usize = 1000;

/// A key of the resource.
struct Cell {
    register: Register,
    value: Option<Vec<u8>>,
    version: u64,
    /// The version that each client has read, and has not written from yet.
    known: VecMap<Name, u64>,
}

impl Contents {
    /// An empty resource, of which each key is such a register.
    pub(crate) fn new(unused: Register) -> Self {
        Self {
            unused,
            keys: VecMap::new(),
        }
    }
}

/// Serves a connection of this client until it ends, and reports each access with its key.
pub(crate) async fn serve<S>(
    mut stream: S,
    client: Name,
    contents: Rc<RefCell<Contents>>,
    report: impl Fn(&[u8], Event),
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut inbound, mut protocol) = (Inbound::new(Bounds::REQUEST), Protocol::Resp2);
    while let Ok(1..) = stream.read_buf(inbound.buffer()).await {
        loop {
            let reply = match inbound.next_frame() {
                Ok(Some(frame)) => contents.borrow_mut().answer(&frame, &client, &report),
                Ok(None) => break,
                // Not Redis's protocol, or too much of it.
                Err(_) => return,
            };
            if let Reply::Hello(asked) = reply {
                protocol = asked;
            }
            if stream.write_all(&reply.to_bytes(protocol)).await.is_err() {
                return;
            }
        }
    }
}

/// The protocol of replies. Requests are the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp2,
    Resp3,
}

/// A reply.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Ok,
    /// What the server is; from now on replies are in this protocol.
    Hello(Protocol),
    Simple(&'static str),
    Error(String),
    Number(i64),
    Bulk(Vec<u8>),
    Nil,
    NoneAtAll,
}

impl Reply {
    fn to_bytes(&self, protocol: Protocol) -> Vec<u8> {
        match self {
            Reply::Ok => b"+OK\r\n".to_vec(),
            Reply::Hello(protocol) => {
                let (begins, number) = match protocol {
                    Protocol::Resp2 => ("*10", 2),
                    Protocol::Resp3 => ("%5", 3),
                };
                let told = "+server\r\n+redis\r\n+version\r\n+7.0.0\r\n+mode\r\n+standalone\r\n+role\r\n+master";
                format!("{begins}\r\n{told}\r\n+proto\r\n:{number}\r\n").into()
            }
            Reply::Simple(text) => format!("+{text}\r\n").into(),
            Reply::Error(text) => format!("-{text}\r\n").into(),
            Reply::Number(number) => format!(":{number}\r\n").into(),
            Reply::Nil => match protocol {
                Protocol::Resp2 => b"$-1\r\n".to_vec(),
                Protocol::Resp3 => b"_\r\n".to_vec(),
            },
            Reply::NoneAtAll => b"*0\r\n".to_vec(),
            Reply::Bulk(bytes) => {
                let mut reply = format!("${}\r\n", bytes.len()).into_bytes();
                reply.extend_from_slice(bytes);
                reply.extend_from_slice(b"\r\n");
                reply
            }
        }
    }

    fn wrong(command: &str) -> Reply {
        Reply::Error(format!(
            "ERR wrong arguments of '{command}'; this is Locklab's resource, which knows {COMMANDS}"
        ))
    }
}

/// What it knows.
const COMMANDS: &str = "GET key [TOKEN n], SET key value [TOKEN n], INCR key, INCRBY key n";

/// What Redis says of itself, as far as clients ask before they use a connection.
const INFO: &[u8] =
    b"# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n# Persistence\r\n\
    loading:0\r\n# Replication\r\nrole:master\r\n";

/// An access to the key.
enum Request<'a> {
    Read,
    Write(&'a [u8]),
    Add(i64),
}

impl Contents {
    fn answer(
        &mut self,
        frame: &BytesFrame,
        client: &Name,
        report: &impl Fn(&[u8], Event),
    ) -> Reply {
        let words: Option<Vec<&[u8]>> = match frame {
            BytesFrame::Array(words) => words.iter().map(|word| word.as_bytes()).collect(),
            _ => None,
        };
        let Some((command, arguments)) = words.as_deref().and_then(|words| words.split_first())
        else {
            return Reply::Error("ERR a request is an array of strings".into());
        };
        let command = String::from_utf8_lossy(command).to_ascii_uppercase();
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
        let (key, request, options) = match (command.as_str(), arguments) {
            ("GET", [key, options @ ..]) => (key, Request::Read, options),
            ("SET", [key, value, options @ ..]) => (key, Request::Write(value), options),
            ("INCR", [key]) => (key, Request::Add(1), &[][..]),
            ("INCRBY", [key, by]) => match number(by) {
                Some(by) => (key, Request::Add(by), &[][..]),
                None => return not_a_number(),
            },
            ("GET" | "SET" | "INCR" | "INCRBY", _) => return Reply::wrong(&command),
            ("PING", []) => return Reply::Simple("PONG"),
            ("PING" | "ECHO", [text]) => return Reply::Bulk(text.to_vec()),
            ("CLIENT" | "SELECT" | "QUIT", _) => return Reply::Ok,
            ("INFO", _) => return Reply::Bulk(INFO.to_vec()),
            ("COMMAND", _) => return Reply::NoneAtAll,
            ("HELLO", [] | [b"2", ..]) => return Reply::Hello(Protocol::Resp2),
            ("HELLO", [b"3", ..]) => return Reply::Hello(Protocol::Resp3),
            ("HELLO", _) => return Reply::Error("NOPROTO unsupported protocol version".into()),
            _ => {
                let command = locklab_values::untrusted::line(&command);
                return Reply::Error(format!(
                    "ERR unknown command '{}'; this is Locklab's resource, which knows {COMMANDS}",
                    command.chars().take(40).collect::<String>()
                ));
            }
        };
        let token = match options {
            [] => None,
            [option, token] if option.eq_ignore_ascii_case(b"TOKEN") => {
                match number(token).and_then(|token| u64::try_from(token).ok()) {
                    Some(token) => Some(token),
                    None => return Reply::Error("ERR a token is a number, 0 or more".into()),
                }
            }
            _ => return Reply::wrong(&command),
        };
        if self.keys.len() >= MOST_KEYS && !self.keys.contains_key(*key) {
            return Reply::Error(format!(
                "ERR this resource has {MOST_KEYS} keys, and another one was used"
            ));
        }
        let cell = self.keys.entry(key.to_vec()).or_insert_with(|| Cell {
            register: self.unused.clone(),
            value: None,
            version: 0,
            known: VecMap::new(),
        });
        cell.access(&request, token, client, |event| report(key, event))
    }
}

impl Cell {
    fn access(
        &mut self,
        request: &Request<'_>,
        token: Option<u64>,
        client: &Name,
        report: impl Fn(Event),
    ) -> Reply {
        let written = match request {
            Request::Read => None,
            Request::Write(value) => Some(value.to_vec()),
            Request::Add(by) => match self.sum(*by) {
                Some(sum) => Some(sum.to_string().into_bytes()),
                None => return not_a_number(),
            },
        };
        // An addition, and a write without a read before it, overwrite no version that the client has not seen.
        let based_on = match request {
            Request::Add(_) => self.version,
            Request::Read | Request::Write(_) => {
                self.known.get(client).copied().unwrap_or(self.version)
            }
        };
        let is_write = written.is_some();
        let answer = match is_write {
            false => self.register.read(token),
            true => self.register.write(token),
        };
        if let Some(version) = answer {
            self.version = version;
            match request {
                Request::Read => self.known.insert(client.clone(), version),
                // What it writes next without reading again is not computed from this.
                Request::Write(_) => self.known.remove(client),
                Request::Add(_) => None,
            };
            self.value = written.or(self.value.take());
        }
        let version = self.version;
        report(Event::Access {
            client: client.clone(),
            grant: 0,
            access: match is_write {
                false => Access::Read { version },
                true => Access::Write { based_on, version },
            },
            token,
            accepted: answer.is_some(),
        });
        match (answer, request) {
            (None, _) => Reply::Error("FENCED a higher token was seen".into()),
            (Some(_), Request::Write(_)) => Reply::Ok,
            (Some(_), Request::Add(_)) => Reply::Number(self.sum(0).unwrap_or_default()),
            (Some(_), Request::Read) => self.value.clone().map_or(Reply::Nil, Reply::Bulk),
        }
    }

    /// The value, as a number, and this.
    fn sum(&self, by: i64) -> Option<i64> {
        let value = match &self.value {
            None => 0,
            Some(value) => std::str::from_utf8(value).ok()?.parse::<i64>().ok()?,
        };
        value.checked_add(by)
    }
}

fn not_a_number() -> Reply {
    Reply::Error("ERR value is not an integer or out of range".into())
}

#[cfg(test)]
mod tests;
