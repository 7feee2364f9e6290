//! Asks a server again and again whether it is there, and what time it is.

use std::io;
use std::time::Duration;

use redis_protocol::resp2::types::{BytesFrame, Resp2Frame as _};

use super::clocks::{self, monotonic_ns};
use super::connection::Connection;
use super::pace::{Pace, Until};
use super::{RecordError, Url};
use crate::answers::{Asked, RoundTrip};
use crate::peer::Told;
use locklab_values::units::{NS_PER_S, NS_PER_US};

/// How often it is asked for the time.
const TIME_PERIOD: Duration = Duration::from_millis(500);

/// How long to wait before the next attempt to connect.
const RETRY: Duration = Duration::from_millis(100);

/// A server that is asked.
#[derive(Debug)]
pub(super) struct Server<'a> {
    url: &'a Url,
    /// `None` after it did not answer.
    connection: Option<Connection>,
}

/// What it said.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) asked: Asked,
    pub(super) told: Vec<Told>,
}

impl<'a> Server<'a> {
    pub(super) fn connect(url: &'a Url) -> Result<Self, RecordError> {
        let mut connection = Connection::open(url)?;
        connection.require(url, "TIME", &["TIME"], "; allow the command in its ACL")?;
        Ok(Server {
            url,
            connection: Some(connection),
        })
    }

    /// Asks so often until the end.
    pub(super) fn ask(mut self, pings_per_second: u32, until: Until<'_>) -> Answers {
        let mut answers = Answers::default();
        let mut pings = Pace::every(Duration::from_secs(1) / pings_per_second);
        let mut times = Pace::every(TIME_PERIOD);
        // Since when there has been no answer.
        let mut silent_since: Option<u64> = None;
        while !until.is_over() {
            pings.wait(&until);
            let sent_ns = monotonic_ns();
            match self.ping() {
                Some(took) => {
                    if let Some(sent_ns) = silent_since.take() {
                        let received_ns = took.received_ns;
                        answers.asked.outages.push(RoundTrip {
                            sent_ns,
                            received_ns,
                        });
                    }
                    answers.asked.answered.push(took);
                    if times.is_due() {
                        let sent_ns = monotonic_ns();
                        match self.time() {
                            Ok(told) => answers.told.extend(told),
                            Err(_) => silent_since = Some(sent_ns),
                        }
                    }
                }
                None => {
                    silent_since.get_or_insert(sent_ns);
                    until.sleep(RETRY);
                }
            }
        }
        if let Some(sent_ns) = silent_since {
            let received_ns = monotonic_ns();
            answers.asked.outages.push(RoundTrip {
                sent_ns,
                received_ns,
            });
        }
        answers
    }

    fn ping(&mut self) -> Option<RoundTrip> {
        if self.connection.is_none() {
            self.connection = Connection::open(self.url).ok();
        }
        let answer = self.connection.as_mut()?.ask(&["PING"]);
        match answer {
            // A server that is loading its data is there, and serves nobody.
            Ok(answer) => (!matches!(answer.frame, BytesFrame::Error(_))).then_some(answer.took),
            Err(_) => {
                self.connection = None;
                None
            }
        }
    }

    /// `None` if it refuses to say.
    fn time(&mut self) -> io::Result<Option<Told>> {
        let Some(connection) = &mut self.connection else {
            return Ok(None);
        };
        let sent = clocks::read();
        let answer = connection.ask(&["TIME"]);
        let received = clocks::read();
        if answer.is_err() {
            // A late answer would be taken for that to the next question.
            self.connection = None;
        }
        let peer_ns = peer_ns(&answer?.frame);
        Ok(peer_ns.map(|peer_ns| Told {
            sent,
            received,
            peer_ns,
        }))
    }
}

/// The answer to `TIME`: seconds and microseconds.
fn peer_ns(answer: &BytesFrame) -> Option<u64> {
    let BytesFrame::Array(parts) = answer else {
        return None;
    };
    let number = |part: &BytesFrame| part.as_str()?.parse::<u64>().ok();
    let [seconds, microseconds] = &parts[..] else {
        return None;
    };
    Some(number(seconds)? * NS_PER_S + number(microseconds)? * NS_PER_US)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// Answers every question with the same, so many times, and closes the connection.
    fn answer(mut stream: &TcpStream, times: usize) {
        for _ in 0..times {
            match stream.read(&mut [0; 4096]) {
                Ok(0) | Err(_) => return,
                Ok(_) => stream.write_all(b"+PONG\r\n").expect("it reads"),
            }
        }
    }

    #[test]
    fn a_connection_that_is_closed_is_an_outage_until_the_next_answer() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it listens").port();
        let url = Url::parse(&format!("redis://127.0.0.1:{port}")).expect("a URL");
        let stop = AtomicBool::new(false);
        let answers = thread::scope(|scope| {
            scope.spawn(|| {
                // The login, and five questions.
                let (stream, _) = listener.accept().expect("a client");
                answer(&stream, 7);
                drop(stream);
                let (stream, _) = listener.accept().expect("it comes back");
                answer(&stream, 9);
                stop.store(true, Ordering::Relaxed);
                answer(&stream, usize::MAX);
            });
            let server = Server::connect(&url).expect("it answers");
            server.ask(1000, Until::after(Duration::from_secs(3600), &stop))
        });
        let asked = answers.asked;
        assert_eq!(asked.outages.len(), 1, "{asked:?}");
        let outage = asked.outages[0];
        // Four of the five were PING, and one was TIME.
        assert!(asked.answered[3].received_ns < outage.sent_ns, "{asked:?}");
        assert!(
            asked.answered[4].received_ns == outage.received_ns,
            "{asked:?}"
        );
        assert!(asked.answered.len() > 5, "{asked:?}");
    }

    #[test]
    fn a_time_has_two_numbers() {
        let word = |text: &str| BytesFrame::BulkString(text.to_owned().into());
        let answer = BytesFrame::Array(vec![word("3"), word("7")]);
        assert_eq!(peer_ns(&answer), Some(3_000_007_000));
        assert_eq!(peer_ns(&word("3")), None);
    }
}
