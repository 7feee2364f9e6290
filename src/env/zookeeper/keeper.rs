//! Keeps a session alive: its connection, its pings, and the move to another member.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use locklab_vecmap::VecMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::wire::{self, Answer, Inbound, Kind, Ticket, Writer};
use crate::{Duration, Env, timeout};
use locklab_history::{ClockKind, Name};

/// How long to wait before asking the next member, in milliseconds.
const PAUSE_MS: u64 = 20;

/// A request to send.
pub(super) struct Order {
    kind: Kind,
    record: Vec<u8>,
    /// Dropped if the connection breaks before the answer.
    reply: oneshot::Sender<Reply>,
    /// The node that the request watches; the sender is dropped when it is gone, or the connection.
    watch: Option<(String, oneshot::Sender<()>)>,
}

impl Order {
    /// A request of this kind, with this record.
    pub(super) fn new(kind: Kind, record: Vec<u8>, reply: oneshot::Sender<Reply>) -> Self {
        Self {
            kind,
            record,
            reply,
            watch: None,
        }
    }

    /// The same request, which watches a node.
    pub(super) fn watching(self, watch: (String, oneshot::Sender<()>)) -> Self {
        let watch = Some(watch);
        Self { watch, ..self }
    }
}

/// The answer to a request.
pub(super) struct Reply {
    /// What was asked.
    pub(super) kind: Kind,
    /// An error, or 0.
    pub(super) code: i32,
    /// The record of the answer.
    pub(super) record: Vec<u8>,
}

/// The task that keeps a session.
pub(super) struct Keeper<E: Env> {
    env: E,
    members: Vec<Name>,
    /// The member to connect to next.
    next: usize,
    ticket: Ticket,
    /// The last transaction of which a member told this client. A member that does not have it
    /// refuses the session.
    zxid: i64,
    /// The number of the last request.
    number: i32,
    is_open: Rc<Cell<bool>>,
    watches: VecMap<String, Vec<oneshot::Sender<()>>>,
}

/// Why a connection is not used any longer.
enum Left {
    /// It broke, or its member is silent.
    Broken,
    /// The client has dropped its session.
    Unwanted,
}

/// A connection with what it has received.
struct Line<S> {
    stream: S,
    inbound: Vec<u8>,
}

impl<E: Env> Keeper<E> {
    /// Keeps a session that is not opened yet.
    pub(super) fn new(
        env: E,
        members: &[Name],
        timeout: Duration,
        is_open: Rc<Cell<bool>>,
    ) -> Self {
        let drawn = u128::from(env.random()) * members.len() as u128;
        Self {
            next: (drawn >> 64) as usize,
            ticket: Ticket {
                timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
                ..Ticket::default()
            },
            members: members.to_vec(),
            env,
            zxid: 0,
            number: 0,
            is_open,
            watches: VecMap::new(),
        }
    }

    /// Keeps the session until it has ended, or its client drops it. Tells its number to `opened`.
    pub(super) async fn run(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        opened: oneshot::Sender<i64>,
    ) {
        let mut opened = Some(opened);
        while !orders.is_closed() {
            // Every member is asked once within the session's timeout.
            let limit = self.timeout() / u32::try_from(self.members.len()).unwrap_or(u32::MAX);
            let connected = timeout(&self.env.clone(), Some(limit), self.connect()).await;
            if let Ok(Ok((mut line, ticket))) = connected {
                if ticket.timeout_ms <= 0 {
                    break;
                }
                self.ticket = ticket;
                if let Some(opened) = opened.take() {
                    // If nobody waits any longer, nobody has the other end of the orders.
                    let _ = opened.send(self.ticket.session);
                }
                let served = self.serve(&mut line, &mut orders).await;
                self.watches.clear();
                if let Ok(Left::Unwanted) = served {
                    break;
                }
            }
            self.next = (self.next + 1) % self.members.len();
            self.env.sleep(Duration::from_millis(PAUSE_MS)).await;
        }
        // Before the orders that wait are dropped with the channel.
        self.is_open.set(false);
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.ticket.timeout_ms).unwrap_or_default())
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.env.now_ns(ClockKind::Monotonic))
    }

    /// Connects to the next member, and opens or continues the session there.
    async fn connect(&self) -> io::Result<(Line<E::Stream>, Ticket)> {
        let stream = self.env.connect(&self.members[self.next]).await?;
        let mut line = Line {
            stream,
            inbound: Vec::new(),
        };
        line.stream
            .write_all(&self.ticket.request(self.zxid))
            .await?;
        let answer = line.receive().await?;
        Ok((line, Ticket::read(&answer)?))
    }

    /// Sends the client's requests and receives what comes, until the connection is of no use.
    async fn serve(
        &mut self,
        line: &mut Line<E::Stream>,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> io::Result<Left> {
        let ping = wire::frame(&[&header(wire::PING, Kind::Ping)]);
        let mut unanswered = VecDeque::new();
        let (mut heard, mut spoke) = (self.now(), self.now());
        loop {
            let (silent, ping_due) = (heard + self.timeout() * 2 / 3, spoke + self.timeout() / 3);
            let wait = silent.min(ping_due).saturating_sub(self.now());
            tokio::select! {
                biased;
                record = line.receive() => {
                    let inbound = Inbound::read(&record?)?;
                    heard = self.now();
                    self.handle(inbound, &mut unanswered)?;
                }
                order = orders.recv() => {
                    let Some(order) = order else {
                        return Ok(Left::Unwanted);
                    };
                    // Nobody waits for an old one any longer, and it must not be executed now.
                    if !order.reply.is_closed() {
                        let request = self.admit(order, &mut unanswered);
                        line.stream.write_all(&request).await?;
                        spoke = self.now();
                    }
                }
                () = self.env.sleep(wait) => {
                    if self.now() >= silent {
                        return Ok(Left::Broken);
                    }
                    line.stream.write_all(&ping).await?;
                    spoke = self.now();
                }
            }
        }
    }

    /// Notes who waits for the answer to a request; returns its frame.
    fn admit(&mut self, order: Order, unanswered: &mut VecDeque<Unanswered>) -> Vec<u8> {
        self.number = self.number.wrapping_add(1).max(1);
        if let Some((path, gone)) = order.watch {
            self.watches.entry(path).or_default().push(gone);
        }
        unanswered.push_back(Unanswered {
            number: self.number,
            kind: order.kind,
            reply: order.reply,
        });
        wire::frame(&[&header(self.number, order.kind), &order.record])
    }

    /// Passes on what a member said.
    fn handle(
        &mut self,
        inbound: Inbound,
        unanswered: &mut VecDeque<Unanswered>,
    ) -> io::Result<()> {
        match inbound {
            Inbound::Pong | Inbound::OtherEvent => {}
            Inbound::Deleted(path) => drop(self.watches.remove(&path)),
            Inbound::Answer(number, Answer { zxid, code, record }) => {
                // A member answers in order.
                let Some(first) = unanswered.pop_front().filter(|it| it.number == number) else {
                    let why = "an answer to another request";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                };
                self.zxid = self.zxid.max(zxid);
                let kind = first.kind;
                // If nobody waits any longer, the answer is not needed.
                let _ = first.reply.send(Reply { kind, code, record });
            }
        }
        Ok(())
    }
}

/// A request that was sent.
struct Unanswered {
    number: i32,
    kind: Kind,
    reply: oneshot::Sender<Reply>,
}

impl<S: tokio::io::AsyncRead + Unpin> Line<S> {
    /// Waits for a frame; returns its record. What has been received stays if the future is dropped.
    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(record) = wire::take_frame(&mut self.inbound)? {
                return Ok(record);
            }
            match self.stream.read(&mut bytes).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.inbound.extend(&bytes[..count]),
            }
        }
    }
}

fn header(number: i32, kind: Kind) -> Vec<u8> {
    Writer::default().int(number).int(kind as i32).record()
}
