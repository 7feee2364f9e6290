//! The commands of the log, and their encoding in an entry: as words.

use bytes::{Bytes, BytesMut};

use locklab_redis::resp::{command, next_words, number};

/// The identifier of a session: the index of the entry that opened it.
pub(super) type SessionId = u64;

/// One change of the service's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Opens a session that ends when its client is silent for this timeout.
    Open { timeout_ms: u64 },
    /// Creates a node that ends with its session.
    Create {
        by: Request,
        path: Bytes,
        naming: Naming,
    },
    /// Deletes a node of any session.
    Delete { by: Request, path: Bytes },
    /// A client ends its session.
    Close { session: SessionId },
    /// Ends a session whose client has been silent for its timeout.
    Expire { session: SessionId },
}

/// Identifies a request of a session. The requests of a session have ascending numbers; a
/// repeated request keeps its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) session: SessionId,
    pub(super) number: u64,
}

/// How the path of a node is formed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Naming {
    /// As the client gave it.
    AsGiven,
    /// With the node's number appended, in ten digits.
    Sequential,
}

impl Command {
    /// Encodes the command as an entry of the log; never empty.
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

    /// Decodes an entry; `None` if it is not a valid command.
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
