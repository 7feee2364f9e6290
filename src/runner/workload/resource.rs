//! The protected resource: a register that stores its version and, if it is fenced, the highest
//! fencing token it has seen.
//!
//! [`Register`] is the resource itself, without input or output. Its protocol is RESP: `READ
//! client grant token` and `WRITE client grant token version`, where `-` stands for no token,
//! return a version, or `FENCED`; `TOKEN` returns a fencing token higher than all earlier ones.

use std::cell::RefCell;
use std::rc::Rc;

use redis_protocol::resp2::types::{BytesFrame, Resp2Frame};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use locklab_bounds::Bounds;
use locklab_bounds::resp::Inbound;
use locklab_env::Env;
use locklab_env::observe::Observer;
use locklab_env::redis::{Client, Error, Reply};
use locklab_history::{Access, Event, Name};
use locklab_model::workload::Fencing;

/// The resource itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Register {
    fencing: Fencing,
    version: u64,
    highest_token: u64,
    /// The token of the last read.
    token_left: Option<u64>,
    issued_token: u64,
}

/// The sender's identity in a request.
pub struct Credentials {
    /// The client.
    pub client: Name,
    /// The number of the client's grant.
    pub grant: u32,
    /// Its fencing token, if its lock gives one.
    pub token: Option<u64>,
}

/// Why an access failed.
#[derive(Debug)]
pub enum AccessError {
    /// The resource has seen a higher token.
    Fenced,
    /// No usable answer.
    Failed(Error),
}

impl Register {
    /// A register at version 0.
    pub fn new(fencing: Fencing) -> Self {
        Self {
            fencing,
            version: 0,
            highest_token: 0,
            token_left: None,
            issued_token: 0,
        }
    }

    /// Reads, and leaves the token: returns the version, unless the token is too low.
    pub fn read(&mut self, token: Option<u64>) -> Option<u64> {
        self.token_left = token;
        let fenced = self.fencing == Fencing::ReadsAndWrites;
        self.admit(token, fenced).then_some(self.version)
    }

    /// Writes a new version, independent of the version that the writer had read; returns it,
    /// unless the token is too low or is not the one of the last read.
    pub fn write(&mut self, token: Option<u64>) -> Option<u64> {
        let admitted = match self.fencing {
            Fencing::None => true,
            Fencing::Writes | Fencing::ReadsAndWrites => self.admit(token, true),
            Fencing::SameToken => self.token_left == token,
        };
        if !admitted {
            return None;
        }
        self.version += 1;
        Some(self.version)
    }

    /// Issues a token, each higher than the previous one.
    pub fn issue(&mut self) -> u64 {
        self.issued_token += 1;
        self.issued_token
    }

    fn admit(&mut self, token: Option<u64>, fenced: bool) -> bool {
        let Some(token) = token.filter(|_| fenced) else {
            return true;
        };
        let admitted = token >= self.highest_token;
        self.highest_token = self.highest_token.max(token);
        admitted
    }
}

/// Serves one connection to the register until it ends.
pub async fn serve<S, O>(mut stream: S, register: Rc<RefCell<Register>>, observer: O)
where
    S: AsyncRead + AsyncWrite + Unpin,
    O: Observer,
{
    let mut inbound = Inbound::new(Bounds::REQUEST);
    while let Ok(1..) = stream.read_buf(inbound.buffer()).await {
        loop {
            let request = match inbound.next_frame() {
                Ok(Some(frame)) => Request::parse(&frame),
                Ok(None) => break,
                Err(_) => return,
            };
            let reply = match request {
                Some(request) => request.serve(&mut register.borrow_mut(), &observer),
                None => {
                    "-ERR READ client grant token | WRITE client grant token version | TOKEN\r\n"
                        .into()
                }
            };
            if stream.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Reads the resource; returns its version.
pub async fn read<E: Env>(resource: &Client<E>, who: &Credentials) -> Result<u64, AccessError> {
    ask(resource, b"READ", who, None).await
}

/// Writes the resource, computed from `based_on`; returns the new version.
pub async fn write<E: Env>(
    resource: &Client<E>,
    who: &Credentials,
    based_on: u64,
) -> Result<u64, AccessError> {
    ask(resource, b"WRITE", who, Some(based_on)).await
}

async fn ask<E: Env>(
    resource: &Client<E>,
    verb: &[u8],
    who: &Credentials,
    based_on: Option<u64>,
) -> Result<u64, AccessError> {
    let grant = who.grant.to_string();
    let token = who.token.map_or("-".to_string(), |token| token.to_string());
    let based_on = based_on.map(|version| version.to_string());
    let mut command = vec![
        verb,
        who.client.as_bytes(),
        grant.as_bytes(),
        token.as_bytes(),
    ];
    command.extend(based_on.as_ref().map(|version| version.as_bytes()));
    match resource.ask(&command, Reply::number).await {
        Ok(version) => Ok(version),
        Err(Error::Refused { text, .. }) if text.starts_with("FENCED") => Err(AccessError::Fenced),
        Err(error) => Err(AccessError::Failed(error)),
    }
}

enum Request {
    Token,
    Access(AccessRequest),
}

impl Request {
    fn parse(frame: &BytesFrame) -> Option<Self> {
        let BytesFrame::Array(words) = frame else {
            return None;
        };
        let words: Vec<&str> = words
            .iter()
            .map(|word| word.as_str())
            .collect::<Option<_>>()?;
        match words[..] {
            ["TOKEN"] => Some(Request::Token),
            _ => AccessRequest::parse(&words).map(Request::Access),
        }
    }

    fn serve(self, register: &mut Register, observer: &impl Observer) -> String {
        match self {
            Request::Token => format!(":{}\r\n", register.issue()),
            Request::Access(request) => request.serve(register, observer),
        }
    }
}

struct AccessRequest {
    client: Name,
    grant: u32,
    token: Option<u64>,
    /// For a write, the version that it was computed from.
    based_on: Option<u64>,
}

impl AccessRequest {
    fn parse(words: &[&str]) -> Option<Self> {
        let (client, grant, token, based_on) = match *words {
            ["READ", client, grant, token] => (client, grant, token, None),
            ["WRITE", client, grant, token, based_on] => {
                (client, grant, token, Some(based_on.parse().ok()?))
            }
            _ => return None,
        };
        let token = match token {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        Some(Self {
            client: client.into(),
            grant: grant.parse().ok()?,
            token,
            based_on,
        })
    }

    fn serve(self, register: &mut Register, observer: &impl Observer) -> String {
        let (answer, access) = match self.based_on {
            None => {
                let answer = register.read(self.token);
                (
                    answer,
                    Access::Read {
                        version: register.version,
                    },
                )
            }
            Some(based_on) => {
                let answer = register.write(self.token);
                (
                    answer,
                    Access::Write {
                        based_on,
                        version: register.version,
                    },
                )
            }
        };
        observer.record(Event::Access {
            client: self.client,
            grant: self.grant,
            access,
            token: self.token,
            accepted: answer.is_some(),
        });
        match answer {
            Some(version) => format!(":{version}\r\n"),
            None => "-FENCED a higher token was seen\r\n".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use locklab_env::observe::NoopObserver;
    use locklab_testing::hostile;

    use Kind::{Read, Write};

    use super::*;

    #[derive(Clone, Copy)]
    enum Kind {
        Read,
        Write,
    }

    /// Checks which of these accesses, each with its token, a register admits.
    #[track_caller]
    fn check(fencing: Fencing, accesses: &[(Kind, u64)], expected: &[bool]) {
        let mut register = Register::new(fencing);
        let admitted = accesses.iter().map(|(kind, token)| match kind {
            Read => register.read(Some(*token)).is_some(),
            Write => register.write(Some(*token)).is_some(),
        });
        assert_eq!(admitted.collect::<Vec<_>>(), expected);
    }

    /// Safety alone is easy: a register that refuses a holder's second access is safe, too.
    #[test]
    fn holder_may_access_repeatedly() {
        for fencing in [Fencing::None, Fencing::Writes, Fencing::ReadsAndWrites] {
            let accesses = [(Read, 1), (Write, 1), (Write, 1), (Read, 2), (Write, 2)];
            check(fencing, &accesses, &[true; 5]);
        }
    }

    #[test]
    fn fenced_register_refuses_a_lower_token() {
        let late = [
            (Read, 2),
            (Read, 1),
            (Write, 1),
            (Write, 2),
            (Write, 1),
            (Read, 1),
        ];
        check(Fencing::None, &late, &[true; 6]);
        let writes = [true, true, true, true, false, true];
        check(Fencing::Writes, &late, &writes);
        let both = [true, false, false, true, false, false];
        check(Fencing::ReadsAndWrites, &late, &both);
    }

    #[test]
    fn a_write_needs_the_token_of_the_last_read_where_equal_tokens_are_asked_for() {
        let accesses = [
            (Read, 9),
            (Write, 9),
            (Write, 9),
            (Read, 5),
            (Write, 9),
            (Write, 5),
        ];
        let expected = [true, true, true, true, false, true];
        check(Fencing::SameToken, &accesses, &expected);
    }

    #[test]
    fn hostile_request_ends_its_connection() {
        for (name, bytes) in hostile::resp() {
            // What follows the hostile request must not be answered.
            let bytes = [&bytes[..], b"*1\r\n$5\r\nTOKEN\r\n"].concat();
            let register = Rc::new(RefCell::new(Register::new(Fencing::None)));
            let stream = tokio::io::join(&bytes[..], tokio::io::sink());
            let mut served = pin!(serve(stream, register.clone(), NoopObserver));
            let context = &mut Context::from_waker(Waker::noop());
            // All bytes are there, so nothing is waited for.
            assert!(served.as_mut().poll(context).is_ready(), "{name}");
            assert_eq!(register.borrow_mut().issue(), 1, "{name}");
        }
    }

    #[test]
    fn a_refused_write_changes_nothing_and_tokens_rise() {
        let mut register = Register::new(Fencing::Writes);
        assert_eq!(register.write(Some(2)), Some(1));
        assert_eq!(register.write(Some(1)), None);
        assert_eq!(register.read(None), Some(1));
        assert_eq!([register.issue(), register.issue()], [1, 2]);
    }
}
