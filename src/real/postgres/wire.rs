//! PostgreSQL's protocol, version 3, as far as a lock needs it: a connection without a password, and simple queries
//! (its documentation, chapter "Frontend/Backend Protocol").
//!
//! There are client libraries; `tokio-postgres` alone would bring 42 packages for five statements.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The user and the database that every cluster of a run has.
pub(crate) const USER: &str = "locklab";
pub(crate) const DATABASE: &str = "postgres";

/// The version of the protocol, 3.0.
const PROTOCOL: u32 = 3 << 16;

/// No message of a run is longer, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// What came of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// So many rows were changed.
    Changed(u64),
    /// The row that was selected, if there is one, as text.
    Row(Option<Vec<Bytes>>),
    /// It was refused.
    Refused {
        /// The code of SQLSTATE.
        code: String,
        /// For people.
        message: String,
    },
}

/// A connection on which one query follows the other.
pub(super) struct Session<S> {
    stream: S,
    inbound: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    /// Introduces itself, and waits until the server is ready.
    ///
    /// # Errors
    ///
    /// If the server refuses, or the connection breaks.
    pub(super) async fn open(stream: S) -> io::Result<Self> {
        let mut session = Self {
            stream,
            inbound: BytesMut::new(),
        };
        let mut start = BytesMut::new();
        start.put_u32(PROTOCOL);
        for word in ["user", USER, "database", DATABASE, ""] {
            start.put(word.as_bytes());
            start.put_u8(0);
        }
        session.send(None, &start).await?;
        match session.outcome().await? {
            Outcome::Refused { code, message } => {
                Err(io::Error::other(format!("{code} {message}")))
            }
            Outcome::Changed(_) | Outcome::Row(_) => Ok(session),
        }
    }

    /// Executes a statement as a transaction.
    ///
    /// # Errors
    ///
    /// If the connection breaks: it is not known then whether the statement was executed.
    pub(super) async fn query(&mut self, sql: &str) -> io::Result<Outcome> {
        let mut body = BytesMut::from(sql.as_bytes());
        body.put_u8(0);
        self.send(Some(b'Q'), &body).await?;
        self.outcome().await
    }

    /// Waits until the connection breaks, while nothing is asked.
    pub(super) async fn is_gone(&mut self) -> io::Error {
        loop {
            if let Err(error) = self.read().await {
                return error;
            }
        }
    }

    async fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let mut message = BytesMut::with_capacity(body.len() + 5);
        message.extend(kind);
        // The length counts itself.
        message.put_u32(body.len() as u32 + 4);
        message.put(body);
        self.stream.write_all(&message).await
    }

    /// Reads until the server is ready for the next query.
    async fn outcome(&mut self) -> io::Result<Outcome> {
        let mut outcome = Outcome::Row(None);
        loop {
            let (kind, body) = self.message().await?;
            match kind {
                b'Z' => return Ok(outcome),
                // `AuthenticationOk` is 0; nothing else can be answered without a password.
                b'R' if body[..] != [0; 4] => return Err(unexpected("it asks for a password")),
                b'D' => outcome = Outcome::Row(Some(fields(body).ok_or_else(malformed)?)),
                b'C' => {
                    if let Some(rows) = changed(&body) {
                        outcome = Outcome::Changed(rows);
                    }
                }
                b'E' => {
                    outcome = refusal(&body);
                    // One that refuses to begin closes without being ready.
                    if let Outcome::Refused { code, message } = &outcome
                        && is_fatal(&body)
                    {
                        return Err(unexpected(&format!("{code} {message}")));
                    }
                }
                // Descriptions of rows, settings, notices.
                _ => {}
            }
        }
    }

    async fn message(&mut self) -> io::Result<(u8, Bytes)> {
        loop {
            if let Some(message) = next_message(&mut self.inbound)? {
                return Ok(message);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.inbound).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Takes the next whole message of a server: its kind and its body.
fn next_message(inbound: &mut BytesMut) -> io::Result<Option<(u8, Bytes)>> {
    let Some((kind, mut rest)) = inbound.split_first() else {
        return Ok(None);
    };
    let kind = *kind;
    let Ok(length) = rest.try_get_u32() else {
        return Ok(None);
    };
    let body = (length as usize).checked_sub(4).ok_or_else(malformed)?;
    if body > MAX_MESSAGE {
        return Err(malformed());
    }
    if rest.len() < body {
        return Ok(None);
    }
    inbound.advance(5);
    Ok(Some((kind, inbound.split_to(body).freeze())))
}

/// The fields of a row. One that is null is empty; no column of a lock is.
fn fields(mut body: Bytes) -> Option<Vec<Bytes>> {
    let count = body.try_get_u16().ok()?;
    let field = |_| {
        let length = usize::try_from(body.try_get_i32().ok()?).unwrap_or(0);
        (length <= body.len()).then(|| body.split_to(length))
    };
    (0..count).map(field).collect()
}

/// The rows that a command changed, from its tag: `INSERT 0 1`, `UPDATE 1`; `None` for a `SELECT`.
fn changed(tag: &[u8]) -> Option<u64> {
    let tag = std::str::from_utf8(tag).ok()?.trim_end_matches('\0');
    let (command, rows) = tag.rsplit_once(' ')?;
    match command {
        "SELECT" => None,
        _ => rows.parse().ok(),
    }
}

/// The fields of an error: a letter, and text up to a zero.
fn field(body: &[u8], letter: u8) -> Option<String> {
    let mut fields = body.split(|byte| *byte == 0);
    let found = fields.find_map(|field| field.strip_prefix(&[letter]))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

fn refusal(body: &[u8]) -> Outcome {
    let of = |letter| field(body, letter).unwrap_or_default();
    Outcome::Refused {
        code: of(b'C'),
        message: of(b'M'),
    }
}

fn is_fatal(body: &[u8]) -> bool {
    matches!(field(body, b'V').as_deref(), Some("FATAL" | "PANIC"))
}

fn malformed() -> io::Error {
    unexpected("its message is malformed")
}

fn unexpected(why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("PostgreSQL does not answer: {why}"),
    )
}

/// What a diagram calls bytes of a client or of a server: the first word of a statement, or what came of it.
pub(crate) fn label(payload: &[u8], is_request: bool) -> String {
    let mut inbound = BytesMut::from(payload);
    let mut label = String::new();
    if is_request && payload.first() != Some(&b'Q') {
        return "connect".into();
    }
    while let Ok(Some((kind, body))) = next_message(&mut inbound) {
        let text = String::from_utf8_lossy(&body);
        match kind {
            b'Q' => return text.split(' ').next().unwrap_or_default().to_owned(),
            b'C' => text.trim_end_matches('\0').clone_into(&mut label),
            b'E' => label = field(&body, b'M').unwrap_or_default(),
            b'Z' if label.is_empty() => label = "ready".into(),
            _ => {}
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    /// What a server's bytes come to, cut into pieces of this many, and what the next query comes to.
    fn outcomes(bytes: &[u8], piece: usize) -> io::Result<[Outcome; 2]> {
        let (near, mut far) = tokio::io::duplex(piece);
        let bytes = bytes.to_vec();
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let sending = async move {
            // Fails if not everything is read.
            let _ = far.write_all(&bytes).await;
        };
        let reading = async move {
            let mut session = Session {
                stream: near,
                inbound: BytesMut::new(),
            };
            Ok([session.outcome().await?, session.outcome().await?])
        };
        runtime.block_on(async { tokio::join!(sending, reading).1 })
    }

    #[test]
    fn outcomes_come_in_pieces_of_any_length() {
        let row = b"\0\x02\0\0\0\x02c1\0\0\0\x017";
        let ready = message(b'Z', b"I");
        let selected = [
            message(b'T', b"\0"),
            message(b'D', row),
            message(b'C', b"SELECT 1\0"),
        ];
        let refused = message(b'E', b"SERROR\0VERROR\0C23505\0Mduplicate key\0\0");
        let cases = [
            (
                selected.concat(),
                Outcome::Row(Some(vec!["c1".into(), "7".into()])),
            ),
            (message(b'C', b"SELECT 0\0"), Outcome::Row(None)),
            (message(b'C', b"INSERT 0 1\0"), Outcome::Changed(1)),
            (message(b'C', b"UPDATE 0\0"), Outcome::Changed(0)),
            (
                refused,
                Outcome::Refused {
                    code: "23505".into(),
                    message: "duplicate key".into(),
                },
            ),
        ];
        for (bytes, expected) in cases {
            for piece in [1, 3, 4096] {
                let next = [message(b'C', b"DELETE 7\0"), ready.clone()].concat();
                let bytes = [bytes.clone(), ready.clone(), next].concat();
                let told = outcomes(&bytes, piece).expect("sound");
                assert_eq!(told, [expected.clone(), Outcome::Changed(7)]);
            }
        }
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let fatal = message(b'E', b"SFATAL\0VFATAL\0C57P03\0Mstarting up\0\0");
        let told = outcomes(&fatal, 4096).expect_err("it is fatal").to_string();
        assert!(told.contains("57P03 starting up"), "{told}");
        for bytes in [
            &b"D\0\0\0\x03"[..],
            &b"D\xff\xff\xff\xff"[..],
            &message(b'R', b"\0\0\0\x05salt"),
            &message(b'D', b"\0\x09\0"),
            &message(b'D', b"\0\x01\0\0\0\x09x"),
        ] {
            assert!(outcomes(bytes, 4096).is_err(), "{bytes:?}");
        }
    }
}
