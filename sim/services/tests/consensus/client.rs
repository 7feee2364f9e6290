//! A client that finds the leader, and repeats its request until it is answered.

use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use locklab_redis::resp::command;
use locklab_world::{Host, HostId, TcpStream};
use redis_protocol::resp2::decode::decode_bytes_mut;
use redis_protocol::resp2::types::BytesFrame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::setup::PORT;

/// How long the client waits for an answer before it asks another member.
const TIMEOUT: Duration = Duration::from_millis(500);
/// How long the client waits before it asks again.
const PAUSE: Duration = Duration::from_millis(20);

pub struct Client {
    host: Host,
    members: Rc<[(String, HostId)]>,
    /// The member that it asks.
    at: usize,
    stream: Option<TcpStream>,
}

impl Client {
    pub fn new(host: Host, members: Rc<[(String, HostId)]>) -> Self {
        Client {
            host,
            members,
            at: 0,
            stream: None,
        }
    }

    /// Another client on the same host: the requests of one client wait for each other.
    pub fn another(&self) -> Self {
        Client::new(self.host.clone(), self.members.clone())
    }

    /// Asks the current leader until there is an answer, and returns it as text.
    pub async fn ask(&mut self, request: &str) -> String {
        self.ask_within(request, TIMEOUT).await
    }

    /// The same for a request whose answer may take this long.
    pub async fn ask_within(&mut self, request: &str, patience: Duration) -> String {
        loop {
            let answer = self.ask_once(request, patience).await;
            match answer.as_deref().map(|text| text.strip_prefix("NOTLEADER")) {
                Some(Some(leader)) => {
                    let named = |(name, _): &(String, HostId)| *name == leader.trim();
                    let next = (self.at + 1) % self.members.len();
                    self.at = self.members.iter().position(named).unwrap_or(next);
                }
                Some(None) => return answer.unwrap_or_default(),
                None => self.at = (self.at + 1) % self.members.len(),
            }
            self.stream = None;
            self.host.sleep(PAUSE).await;
        }
    }

    /// Asks the member at this index, once.
    pub async fn ask_member(&mut self, at: usize, request: &str) -> Option<String> {
        if std::mem::replace(&mut self.at, at) != at {
            self.stream = None;
        }
        self.ask_once(request, TIMEOUT).await
    }

    async fn ask_once(&mut self, request: &str, patience: Duration) -> Option<String> {
        let limit = self.host.sleep(patience);
        // A connection that still owes an answer is dropped.
        let kept = self.stream.take();
        let asking = async {
            let mut stream = match kept {
                Some(stream) => stream,
                None => {
                    let (_, member) = self.members[self.at];
                    let stream = self.host.connect(member, PORT).await.ok()?;
                    // The acknowledgement that ends the handshake is sent alone: turmoil-net
                    // loses data that arrives with it.
                    self.host.sleep(Duration::from_nanos(1)).await;
                    stream
                }
            };
            let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            stream.write_all(&command(&words)).await.ok()?;
            let mut inbound = BytesMut::new();
            loop {
                if let Some((frame, ..)) = decode_bytes_mut(&mut inbound).expect("RESP") {
                    return Some((stream, text(&frame)));
                }
                stream
                    .read_buf(&mut inbound)
                    .await
                    .ok()
                    .filter(|n| *n > 0)?;
            }
        };
        let (stream, answer) = tokio::select! {
            biased;
            answered = asking => answered?,
            () = limit => return None,
        };
        self.stream = Some(stream);
        Some(answer)
    }
}

/// The words of an answer.
fn text(frame: &BytesFrame) -> String {
    match frame {
        BytesFrame::SimpleString(text) | BytesFrame::BulkString(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        BytesFrame::Error(text) => text.to_string(),
        BytesFrame::Integer(number) => number.to_string(),
        BytesFrame::Null => "nil".to_owned(),
        BytesFrame::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
    }
}
