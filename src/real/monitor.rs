//! The order in which a server executes its requests, by its own word: `MONITOR`.
//!
//! Of each command the server says when it executed it, by its wall clock, and for which connection,
//! before it executes the next one. It says nothing of a few commands that no lock sends, such as `AUTH`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use locklab_history::{ClockKind, Name};
use locklab_values::units::{NS_PER_S, NS_PER_US};
use locklab_vecmap::VecMap;

use super::kept::Kept;
use crate::real_env::read_clock;

/// The time limit for a server to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A command that a server has executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Executed {
    /// Its words.
    pub(super) words: Vec<Vec<u8>>,
    /// The server's wall clock, microseconds since the Unix epoch.
    pub(super) wall_us: u64,
    /// The port of the connection's other end.
    pub(super) port: u16,
    /// The number of the server's process in the run.
    pub(super) process: usize,
    /// When we read it, by the machine's monotonic clock, in nanoseconds.
    pub(super) read_ns: u64,
}

/// What the servers of a run execute.
pub(super) struct Monitors {
    reading: Vec<(Name, JoinHandle<Vec<Executed>>)>,
    kept: Arc<Kept>,
}

impl Monitors {
    /// Nothing yet; as much is kept as there is room for.
    pub(super) fn new(kept: Arc<Kept>) -> Self {
        let reading = vec![];
        Self { reading, kept }
    }

    /// Connects to a process of a server. From now on it says what it executes.
    pub(super) fn start(&mut self, server: &Name, address: SocketAddr) -> io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(b"MONITOR\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut answer = String::new();
        reader.read_line(&mut answer)?;
        if answer.trim_end() != "+OK" {
            let refused = format!("MONITOR was answered with {}", answer.trim_end());
            return Err(io::Error::other(refused));
        }
        reader.get_ref().set_read_timeout(None)?;
        let process = self.reading.len();
        let kept = self.kept.clone();
        let reading = thread::spawn(move || {
            // It ends with the process.
            let lines = reader.split(b'\n').map_while(Result::ok);
            let lines = lines.map(|line| (line, read_clock(ClockKind::Monotonic)));
            let executed = |(line, read_ns): (Vec<u8>, u64)| {
                let (wall_us, port, words) = read(&line)?;
                let bytes = words.iter().map(|word| word.len() as u64).sum();
                let has_room = kept.commands.take(1, read_ns);
                if !kept.command_bytes.take(bytes, read_ns) || !has_room {
                    return None;
                }
                Some(Executed {
                    words,
                    wall_us,
                    port,
                    process,
                    read_ns,
                })
            };
            lines.filter_map(executed).collect()
        });
        self.reading.push((server.clone(), reading));
        Ok(())
    }

    /// What each server has executed, in this order, when all their processes have ended.
    pub(super) fn finish(self) -> VecMap<Name, Vec<Executed>> {
        let mut executed: VecMap<Name, Vec<Executed>> = VecMap::new();
        for (server, reading) in self.reading {
            // A thread that panicked has already printed its message.
            let read = reading.join().unwrap_or_default();
            executed.entry(server).or_default().extend(read);
        }
        executed
    }
}

/// The time in microseconds, the port, and the words of `+1700000000.123456 [0 127.0.0.1:60866] "keys" "*"`. A
/// command of a script is none of a connection.
fn read(line: &[u8]) -> Option<(u64, u16, Vec<Vec<u8>>)> {
    let end = line.iter().position(|byte| *byte == b']')?;
    let head = std::str::from_utf8(&line[..end]).ok()?;
    let (time, rest) = head.strip_prefix('+')?.split_once(" [")?;
    let (seconds, micros) = time.split_once('.')?;
    let (_, peer) = rest.split_once(' ')?;
    let seconds_us = seconds.parse::<u64>().ok()? * (NS_PER_S / NS_PER_US);
    let wall_us = seconds_us + micros.parse::<u64>().ok()?;
    let port = peer.rsplit_once(':')?.1.parse().ok()?;
    Some((wall_us, port, words(&line[end + 1..])))
}

/// The words between quotes, as `sdscatrepr` writes them.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, &mut word) {
            (b'"', None) => word = Some(Vec::new()),
            (b'"', Some(_)) => words.extend(word.take()),
            (b'\\', Some(word)) => word.extend(match bytes.next() {
                Some(b'n') => Some(b'\n'),
                Some(b'r') => Some(b'\r'),
                Some(b't') => Some(b'\t'),
                Some(b'a') => Some(7),
                Some(b'b') => Some(8),
                Some(b'x') => {
                    let digits = [bytes.next(), bytes.next()].map(Option::unwrap_or_default);
                    let digits = std::str::from_utf8(&digits).unwrap_or_default();
                    u8::from_str_radix(digits, 16).ok()
                }
                other => other,
            }),
            (_, Some(word)) => word.push(byte),
            (_, None) => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn lines_of_monitor() {
        let check = |line: &str, expected: Option<(u64, u16, &[&[u8]])>| {
            let expected = expected.map(|(wall_us, port, words)| {
                (
                    wall_us,
                    port,
                    words.iter().map(|word| word.to_vec()).collect(),
                )
            });
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        };
        check(
            "+1700000000.000456 [0 127.0.0.1:60866] \"keys\" \"] [0 1.2.3.4:5]\"\r",
            Some((
                1_700_000_000_000_456,
                60_866,
                &[b"keys", b"] [0 1.2.3.4:5]"],
            )),
        );
        check(
            r#"+1700000000.000456 [0 127.0.0.1:60866] "set" "a\"b\\" "" "\r\n\x00\xff""#,
            Some((
                1_700_000_000_000_456,
                60_866,
                &[b"set", b"a\"b\\", b"", b"\r\n\0\xff"],
            )),
        );
        check("+1700000000.000456 [0 lua] \"set\" \"k\" \"v\"\r", None);
        check("+OK\r", None);
    }
}
