//! What the log tells the service to do, and how an entry spells it: as words.

use bytes::{Bytes, BytesMut};

use locklab_redis::resp::{command, next_words, number};

/// The number of a session: the index of the entry that opened it.
pub(super) type SessionId = u64;

/// One change of the service's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// A session that ends when nothing is heard of its client for so long.
    Open { timeout_ms: u64 },
    /// A node that ends with its session.
    Create {
        by: Request,
        path: Bytes,
        naming: Naming,
    },
    /// The end of a node, whosever it is.
    Delete { by: Request, path: Bytes },
    /// A client ends its session.
    Close { session: SessionId },
    /// The leader has not heard of a session's client for its timeout.
    Expire { session: SessionId },
}

/// Which request of which session. A session's requests have ascending numbers; one
/// that is sent again has the number that it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) session: SessionId,
    pub(super) number: u64,
}

/// How a node gets its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Naming {
    /// It is what the client said.
    AsGiven,
    /// Its number follows, in ten digits.
    Sequential,
}

impl Command {
    /// As an entry of the log has it; never empty.
    pub(super) fn encode(&self) -> Bytes {
        let text = |number: u64| number.to_string().into_bytes();
        let word = |word: &str| word.as_bytes().to_vec();
        let request = |by: &Request| [text(by.session), text(by.number)];
        let words: Vec<Vec<u8>> = match self {
            Command::Open { timeout_ms } => vec![word("OPEN"), text(*timeout_ms)],
            Command::Create { by, path, naming } => {
                let [session, number] = request(by);
                let naming = match naming {
                    Naming::AsGiven => word("AS-GIVEN"),
                    Naming::Sequential => word("SEQUENTIAL"),
                };
                vec![word("CREATE"), session, number, path.to_vec(), naming]
            }
            Command::Delete { by, path } => {
                let [session, number] = request(by);
                vec![word("DELETE"), session, number, path.to_vec()]
            }
            Command::Close { session } => vec![word("CLOSE"), text(*session)],
            Command::Expire { session } => vec![word("EXPIRE"), text(*session)],
        };
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        command(&words)
    }

    /// Reads an entry; `None` if it says nothing.
    pub(super) fn decode(entry: &Bytes) -> Option<Self> {
        let words = next_words(&mut BytesMut::from(&entry[..])).ok()??;
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        let path = Bytes::copy_from_slice;
        let request = |session, of_session| {
            Some(Request {
                session: number(session)?,
                number: number(of_session)?,
            })
        };
        Some(match &words[..] {
            [b"OPEN", timeout] => Command::Open {
                timeout_ms: number(timeout)?,
            },
            [b"CREATE", session, of_session, at, naming] => Command::Create {
                by: request(session, of_session)?,
                path: path(at),
                naming: match *naming {
                    b"SEQUENTIAL" => Naming::Sequential,
                    _ => Naming::AsGiven,
                },
            },
            [b"DELETE", session, of_session, at] => Command::Delete {
                by: request(session, of_session)?,
                path: path(at),
            },
            [b"CLOSE", session] => Command::Close {
                session: number(session)?,
            },
            [b"EXPIRE", session] => Command::Expire {
                session: number(session)?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_read_as_it_was_written() {
        let by = Request {
            session: 3,
            number: 7,
        };
        let path = || Bytes::from_static(b"/lock/a b\r\n");
        for command in [
            Command::Open { timeout_ms: 1000 },
            Command::Create {
                by,
                path: path(),
                naming: Naming::Sequential,
            },
            Command::Create {
                by,
                path: path(),
                naming: Naming::AsGiven,
            },
            Command::Delete { by, path: path() },
            Command::Close { session: 3 },
            Command::Expire { session: u64::MAX },
        ] {
            assert_eq!(Command::decode(&command.encode()), Some(command));
        }
        assert_eq!(Command::decode(&Bytes::new()), None);
    }
}
