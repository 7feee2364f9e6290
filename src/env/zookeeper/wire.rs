//! ZooKeeper's client protocol: frames of a length and a record (`zookeeper.jute`).
//!
//! All numbers are big-endian. A string is its length and its bytes, a list its length and its items.

use std::io;

/// The kinds of requests that this client sends (`ZooDefs.OpCode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Create = 1,
    Delete = 2,
    Exists = 3,
    Children = 8,
    Sync = 9,
    Ping = 11,
}

/// The number of a ping, in place of that of a request.
pub(super) const PING: i32 = -2;

/// The number of a frame that answers no request: the event of a watch.
const EVENT: i32 = -1;

/// The kind of the event that a node was deleted (`Watcher.Event.EventType`).
const NODE_DELETED: i32 = 2;

/// No frame of this client's requests is longer, in bytes; nor by default any of a server's
/// (`jute.maxbuffer`).
const MAX_FRAME: usize = 1 << 20;

/// A node that stays when its session ends (`CreateMode.PERSISTENT`).
pub(super) const PERSISTENT: i32 = 0;

/// A node that ends with its session, and whose name ends with a number of ten digits that ascends
/// (`CreateMode.EPHEMERAL_SEQUENTIAL`).
pub(super) const EPHEMERAL_SEQUENTIAL: i32 = 3;

/// An error in an answer (`KeeperException.Code`).
pub(super) mod code {
    pub(in super::super) const OK: i32 = 0;
    pub(in super::super) const NO_NODE: i32 = -101;
    pub(in super::super) const NODE_EXISTS: i32 = -110;
    pub(in super::super) const SESSION_EXPIRED: i32 = -112;
}

/// The record of a frame, as it is written.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn flag(mut self, flag: bool) -> Self {
        self.0.push(flag.into());
        self
    }

    pub(super) fn int(mut self, number: i32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, number: i64) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        // A frame has far less than i32::MAX bytes.
        let mut written = self.int(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        written.0.extend(bytes);
        written
    }

    pub(super) fn string(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn record(self) -> Vec<u8> {
        self.0
    }
}

/// A frame with these records.
pub(super) fn frame(records: &[&[u8]]) -> Vec<u8> {
    let record = records.concat();
    Writer::default().bytes(&record).record()
}

/// Takes the record of the first frame out of what was received; `None` if it is not complete.
///
/// # Errors
/// If its length is impossible.
pub(super) fn take_frame(inbound: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = inbound.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(invalid("the length of a frame"));
    }
    if inbound.len() < 4 + length {
        return Ok(None);
    }
    let rest = inbound.split_off(4 + length);
    let mut taken = std::mem::replace(inbound, rest);
    taken.drain(..4);
    Ok(Some(taken))
}

/// The record of a frame, as it is read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn int(&mut self) -> io::Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> io::Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn bytes(&mut self) -> io::Result<Vec<u8>> {
        // -1 stands for no bytes.
        let length = usize::try_from(self.int()?).unwrap_or(0);
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(too_short)?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }

    pub(super) fn string(&mut self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| invalid("a text"))
    }

    /// Every string takes four bytes at least, so an impossible length ends with the record.
    pub(super) fn strings(&mut self) -> io::Result<Vec<String>> {
        let count = self.int()?.max(0);
        (0..count).map(|_| self.string()).collect()
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk().ok_or_else(too_short)?;
        self.0 = rest;
        Ok(*array)
    }
}

/// What a server sends once a session is open.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inbound {
    /// The answer to a ping.
    Pong,
    /// The answer to the request of this number.
    Answer(i32, Answer),
    /// A watched node was deleted.
    Deleted(String),
    /// The event of a watch for which nobody waits.
    OtherEvent,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The server's last transaction.
    pub(super) zxid: i64,
    /// [`code::OK`] or an error.
    pub(super) code: i32,
    /// The record of the answer; empty with an error.
    pub(super) record: Vec<u8>,
}

impl Inbound {
    /// Reads a record.
    pub(super) fn read(record: &[u8]) -> io::Result<Self> {
        let mut reader = Reader(record);
        let (number, zxid, code) = (reader.int()?, reader.long()?, reader.int()?);
        Ok(match number {
            PING => Inbound::Pong,
            EVENT => {
                let (event, _state) = (reader.int()?, reader.int()?);
                match (event, reader.string()?) {
                    (NODE_DELETED, path) => Inbound::Deleted(path),
                    _ => Inbound::OtherEvent,
                }
            }
            number => {
                let record = reader.0.to_vec();
                Inbound::Answer(number, Answer { zxid, code, record })
            }
        })
    }
}

/// What a client knows of its session, for a request to open it or to continue it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ticket {
    /// Its number; 0 before it is opened.
    pub(super) session: i64,
    /// Proves that it is the client's.
    pub(super) password: Vec<u8>,
    /// How long the client may be silent, in milliseconds; 0 or less: the session has ended.
    pub(super) timeout_ms: i32,
}

/// The length of a password, in bytes.
const PASSWORD: usize = 16;

impl Ticket {
    /// The request to open or continue the session, of a client that has seen the effects of
    /// this transaction.
    pub(super) fn request(&self, zxid: i64) -> Vec<u8> {
        let password = match self.password.is_empty() {
            true => &[0; PASSWORD],
            false => &self.password[..],
        };
        let version = 0;
        let request = Writer::default().int(version).long(zxid);
        let request = request.int(self.timeout_ms).long(self.session);
        let needs_no_majority = false;
        let request = request.bytes(password).flag(needs_no_majority);
        frame(&[&request.record()])
    }

    /// Reads the answer.
    pub(super) fn read(record: &[u8]) -> io::Result<Self> {
        let mut reader = Reader(record);
        let _version = reader.int()?;
        Ok(Ticket {
            timeout_ms: reader.int()?,
            session: reader.long()?,
            password: reader.bytes()?,
        })
    }
}

/// The record of a request to create a node that everybody may change.
pub(super) fn create(path: &str, mode: i32) -> Vec<u8> {
    let all_permissions = 0x1f;
    let request = Writer::default().string(path).bytes(b"");
    let request = request.int(1).int(all_permissions);
    let request = request.string("world").string("anyone");
    request.int(mode).record()
}

/// The record of a request to delete a node of any version.
pub(super) fn delete(path: &str) -> Vec<u8> {
    let any_version = -1;
    Writer::default().string(path).int(any_version).record()
}

/// The record of a request about a node, with or without a watch.
pub(super) fn about(path: &str, watch: bool) -> Vec<u8> {
    Writer::default().string(path).flag(watch).record()
}

/// The record of a request to wait until the server has what the leader has.
pub(super) fn sync(path: &str) -> Vec<u8> {
    Writer::default().string(path).record()
}

/// The name of a client's request, for a person; that of the first one, if there are several.
pub fn name_of_request(bytes: &[u8]) -> &'static str {
    let mut reader = Reader(bytes);
    let header = reader
        .int()
        .and(reader.int())
        .and_then(|number| Ok((number, reader.int()?)));
    match header {
        Ok((PING, _)) => "ping",
        // The version of the protocol, where other requests have their number.
        Ok((0, _)) => "session",
        Ok((_, 1)) => "create",
        Ok((_, 2)) => "delete",
        Ok((_, 3)) => "watch",
        Ok((_, 8)) => "children",
        Ok((_, 9)) => "sync",
        _ => "request",
    }
}

/// The name of a member's answer, for a person; that of the first one, if there are several.
pub fn name_of_answer(bytes: &[u8]) -> &'static str {
    let mut reader = Reader(bytes);
    let header = reader.int().and(reader.int()).and_then(|number| {
        reader.long()?;
        Ok((number, reader.int()?))
    });
    match header {
        Ok((PING, _)) => "pong",
        Ok((EVENT, _)) => "gone",
        Ok((0, _)) => "session",
        Ok((_, code::OK)) => "OK",
        Ok((_, code::NO_NODE)) => "no node",
        Ok((_, code::SESSION_EXPIRED)) => "expired",
        _ => "refused",
    }
}

fn too_short() -> io::Error {
    invalid("the end of a record")
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("invalid answer: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `zookeeper.jute` defines them.
    #[test]
    fn requests_have_the_bytes_of_the_definition() {
        let ticket = Ticket {
            timeout_ms: 1000,
            ..Ticket::default()
        };
        let opening = ticket.request(0);
        let expected = [
            &[0, 0, 0, 45, 0, 0, 0, 0][..],
            &[0; 8],
            &[0, 0, 0x03, 0xe8],
            &[0; 8],
            &[0, 0, 0, 16],
            &[0; 16],
            &[0],
        ];
        assert_eq!(opening, expected.concat());
        let header = Writer::default().int(1).int(Kind::Delete as i32).record();
        let request = frame(&[&header, &delete("/a")]);
        let expected = b"\0\0\0\x12\0\0\0\x01\0\0\0\x02\0\0\0\x02/a\xff\xff\xff\xff";
        assert_eq!(request, expected);
    }

    #[test]
    fn frames_are_taken_one_by_one() {
        let mut inbound = [frame(&[b"one"]), frame(&[b""]), vec![0, 0, 0, 9, 1]].concat();
        assert_eq!(take_frame(&mut inbound).unwrap(), Some(b"one".to_vec()));
        assert_eq!(take_frame(&mut inbound).unwrap(), Some(vec![]));
        assert_eq!(take_frame(&mut inbound).unwrap(), None);
        assert_eq!(inbound, [0, 0, 0, 9, 1]);
        assert!(take_frame(&mut vec![0xff; 4]).is_err());
    }

    #[test]
    fn answers_and_events_are_told_apart() {
        let header = |number| Writer::default().int(number).long(7).int(0);
        let check = |record: Vec<u8>, expected| {
            assert_eq!(Inbound::read(&record).unwrap(), expected);
        };
        check(header(PING).record(), Inbound::Pong);
        let event = |kind| header(EVENT).int(kind).int(3).string("/a").record();
        check(event(NODE_DELETED), Inbound::Deleted("/a".into()));
        check(event(1), Inbound::OtherEvent);
        let answer = Answer {
            zxid: 7,
            code: 0,
            record: vec![0, 0, 0, 5],
        };
        check(header(4).int(5).record(), Inbound::Answer(4, answer));
        assert!(Inbound::read(&[0, 0]).is_err());
        assert!(Reader(&[0, 0, 0, 9, 0]).strings().is_err());
    }
}
