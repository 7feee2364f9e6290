//! The interface of a member to its driver: events go in, effects come out.

use bytes::{Bytes, BytesMut};
use locklab_vecmap::VecMap;
use redis_protocol::resp2::types::BytesFrame;

use super::clients::{Client, ConnId};
use super::command::Command;
use super::config::{MemberConfig, Timing};
use super::expiry::Expiry;
use super::links::{Line, Link, LinkId};
use super::raft::{Member as Peer, Raft};
use super::request::{self, Query, Request};
use super::service::Service;
use super::waiting::{Waiting, Watch};
use super::{storage, wire};
use locklab_redis::resp::{self, bulk, integer, next_words};
use locklab_redis::{DiskWrite, Files};

/// An action that the driver of a member must execute, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write to the member's disk, before sending anything that comes after this effect.
    Disk(DiskWrite),
    /// Connect; until the connection is established, keep the data sent on it.
    Connect {
        /// Its identifier.
        link: LinkId,
        /// The name of the member at the other end.
        to: String,
    },
    /// Send on a link.
    Send {
        /// The link.
        link: LinkId,
        /// A complete call.
        bytes: Bytes,
    },
    /// Close a link. The member has forgotten it.
    Hangup {
        /// The link.
        link: LinkId,
    },
    /// Answer a request on a connection.
    Reply {
        /// The connection.
        conn: ConnId,
        /// A complete answer.
        bytes: Bytes,
    },
    /// Close a connection, after sending what is pending on it. The member no longer knows it.
    Close {
        /// The connection.
        conn: ConnId,
    },
}

/// One member of the service. Dropping it ends it: only what its driver wrote to a disk
/// persists.
///
/// Times are those of its host's monotonic clock, in nanoseconds.
pub struct Member {
    name: String,
    members: Vec<String>,
    timing: Timing,
    raft: Raft,
    service: Service,
    /// The index up to which the log has been applied to the service.
    applied: u64,
    /// The term in which this member led at the last check.
    led_in: Option<u64>,
    expiry: Expiry,
    waiting: Waiting,
    links: VecMap<Peer, Link>,
    clients: VecMap<ConnId, Client>,
    /// Connections whose next request can be handled.
    ready: Vec<ConnId>,
    /// Effects that must wait until the disk holds the state that they depend on.
    outbox: Vec<Effect>,
    next_link: u64,
    next_conn: u64,
}

impl Member {
    /// Creates a member that starts with the contents of its disk.
    ///
    /// # Errors
    ///
    /// If the member's name is not in the list of members.
    pub fn new(config: MemberConfig, files: &Files, now_ns: u64) -> Result<Self, String> {
        let MemberConfig {
            name,
            members,
            timing,
            random,
        } = config;
        let me = members.iter().position(|member| *member == name);
        let me = me.ok_or_else(|| format!("{name} is not among the members {members:?}"))?;
        let durable = storage::load(&files.aof);
        let raft = Raft::new(me, members.len(), timing, random, durable, now_ns);
        let peers = (0..members.len()).filter(|peer| *peer != me);
        Ok(Member {
            links: peers
                .map(|peer| (peer, Link::Down { retry_ns: 0 }))
                .collect(),
            name,
            members,
            timing,
            raft,
            service: Service::default(),
            applied: 0,
            led_in: None,
            expiry: Expiry::default(),
            waiting: Waiting::default(),
            clients: VecMap::new(),
            ready: Vec::new(),
            outbox: Vec::new(),
            next_link: 1,
            next_conn: 1,
        })
    }

    /// A peer connected.
    pub fn accept(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        self.clients.insert(conn, Client::default());
        conn
    }

    /// A peer closed its connection. Its pending requests may still be executed.
    pub fn closed(&mut self, conn: ConnId) {
        if self.clients.remove(&conn).is_some() {
            self.waiting.forget(conn);
        }
    }

    /// Bytes arrived on a connection.
    pub fn receive(&mut self, conn: ConnId, bytes: &[u8], now_ns: u64, effects: &mut Vec<Effect>) {
        if let Some(client) = self.clients.get_mut(&conn) {
            client.inbound.extend_from_slice(bytes);
            self.ready.push(conn);
        }
        self.settle(now_ns, effects);
    }

    /// Bytes arrived on a link.
    pub fn link_received(
        &mut self,
        link: LinkId,
        bytes: &[u8],
        now_ns: u64,
        effects: &mut Vec<Effect>,
    ) {
        let found = self.links.iter_mut().find_map(|(peer, own)| match own {
            Link::Up(line) if line.id == link => Some((*peer, line)),
            _ => None,
        });
        if let Some((peer, line)) = found {
            line.inbound.extend_from_slice(bytes);
            match next_words(&mut line.inbound) {
                Ok(None) => {}
                Ok(Some(words)) => match (wire::decode_answer(&words), line.call.take()) {
                    (Some(answer), Some((sent, _))) => {
                        self.raft.answered(peer, sent, answer, now_ns);
                    }
                    _ => self.hang_up(peer, now_ns),
                },
                Err(_) => self.hang_up(peer, now_ns),
            }
        }
        self.settle(now_ns, effects);
    }

    /// Handles a link that was closed or could not be established.
    pub fn link_closed(&mut self, link: LinkId, now_ns: u64, effects: &mut Vec<Effect>) {
        let peer = self.links.iter().find(|(_, own)| own.is(link));
        if let Some(peer) = peer.map(|(peer, _)| *peer) {
            self.lose(peer, now_ns);
        }
        self.settle(now_ns, effects);
    }

    /// When [`Member::wake`] must be called next, if nothing happens before.
    pub fn next_wake_ns(&self) -> u64 {
        let links = self.links.iter().filter_map(|(peer, link)| {
            link.next_ns(self.raft.next_request_ns(*peer), self.patience_ns())
        });
        let expiry = self.expiry.next_ns();
        let next = links.chain(expiry).min().unwrap_or(u64::MAX);
        next.min(self.raft.next_tick_ns())
    }

    /// Does what is due at `now_ns`. Must be called at the time given by
    /// [`Member::next_wake_ns`]; calls at other times are harmless.
    pub fn wake(&mut self, now_ns: u64, effects: &mut Vec<Effect>) {
        self.raft.tick(now_ns);
        let patience_ns = self.patience_ns();
        let is_overdue = |link: &Link| match link {
            Link::Up(Line {
                call: Some((_, sent_ns)),
                ..
            }) => now_ns >= sent_ns.saturating_add(patience_ns),
            _ => false,
        };
        let overdue = self.links.iter().filter(|(_, link)| is_overdue(link));
        let overdue: Vec<Peer> = overdue.map(|(peer, _)| *peer).collect();
        for peer in overdue {
            self.hang_up(peer, now_ns);
        }
        for session in self.expiry.take_due(now_ns) {
            self.raft.propose(Command::Expire { session }.encode());
        }
        self.settle(now_ns, effects);
    }

    /// The timeout of a call: after that time an election would begin.
    fn patience_ns(&self) -> u64 {
        self.timing.shortest_ns()
    }

    /// Handles the consequences of an event.
    fn settle(&mut self, now_ns: u64, effects: &mut Vec<Effect>) {
        loop {
            self.notice_leadership(now_ns);
            self.apply(now_ns);
            self.answer_queries();
            let ready = std::mem::take(&mut self.ready);
            if ready.is_empty() {
                break;
            }
            ready.into_iter().for_each(|conn| self.serve(conn, now_ns));
        }
        let free = self.links.iter().filter(|(_, link)| link.is_free(now_ns));
        let free: Vec<Peer> = free.map(|(peer, _)| *peer).collect();
        free.into_iter().for_each(|peer| self.call(peer, now_ns));
        let unsaved = self.raft.take_unsaved();
        if !unsaved.is_empty() {
            effects.push(Effect::Disk(DiskWrite::Append(storage::save(&unsaved))));
            effects.push(Effect::Disk(DiskWrite::Fsync));
        }
        effects.append(&mut self.outbox);
    }

    /// Handles a change of leadership. A new leader restarts the timeouts of all sessions. A
    /// former leader does not know whether the changes that it proposed will be committed, so
    /// it closes the connections that wait for them.
    fn notice_leadership(&mut self, now_ns: u64) {
        if self.raft.leads_in() == self.led_in {
            return;
        }
        self.led_in = self.raft.leads_in();
        let waiting = std::mem::take(&mut self.waiting);
        for conn in waiting.changes.into_values() {
            self.close(conn);
        }
        let queries = waiting.queries.into_iter().map(|(conn, ..)| conn);
        let watches = waiting.watches.into_iter().map(|watch| watch.conn);
        for conn in queries.chain(watches) {
            self.refuse(conn);
        }
        let watched = self.led_in.map(|_| self.service.sessions());
        self.expiry.restart(watched.into_iter().flatten(), now_ns);
    }

    /// Applies committed entries, and answers the clients that wait for them.
    fn apply(&mut self, now_ns: u64) {
        while self.applied < self.raft.commit() {
            let index = self.applied + 1;
            let Some(entry) = self.raft.durable().log().get(index) else {
                return;
            };
            let command = Command::decode(&entry.command);
            self.applied = index;
            let Some(command) = command else {
                continue;
            };
            if let (Some(_), Command::Open { timeout_ms }) = (self.led_in, &command) {
                self.expiry.opened(index, *timeout_ms, now_ns);
            }
            let applied = self.service.apply(index, command);
            if let Some(conn) = self.waiting.changes.remove(&index) {
                self.reply(conn, &request::answer(applied.outcome));
            }
            if let Some(session) = applied.ended {
                self.expiry.ended(session);
                let ended = self.waiting.take_watches(|watch| watch.session == session);
                for watch in ended {
                    self.reply(watch.conn, &request::no_session());
                }
            }
            let gone = |watch: &Watch| applied.gone.contains(&watch.path);
            for watch in self.waiting.take_watches(gone) {
                self.reply(watch.conn, &gone_reply());
            }
        }
    }

    /// Answers the queries whose read points are reached.
    fn answer_queries(&mut self) {
        let is_ready = |(_, point, _): &(_, super::raft::ReadPoint, _)| {
            point.index <= self.applied && self.raft.is_confirmed(*point)
        };
        let count = self
            .waiting
            .queries
            .iter()
            .take_while(|q| is_ready(q))
            .count();
        let ready: Vec<_> = self.waiting.queries.drain(..count).collect();
        for (conn, _, query) in ready {
            self.answer_query(conn, query);
        }
    }

    fn answer_query(&mut self, conn: ConnId, query: Query) {
        let lives = |session| self.service.timeout_ms(session).is_some();
        let answer = match query {
            Query::Ping { session } if lives(session) => {
                BytesFrame::SimpleString(Bytes::from_static(b"PONG"))
            }
            Query::Watch { session, path } if lives(session) => {
                if self.service.has(&path) {
                    let watch = Watch {
                        conn,
                        session,
                        path,
                    };
                    self.waiting.watches.push(watch);
                    return;
                }
                gone_reply()
            }
            Query::Ping { .. } | Query::Watch { .. } => request::no_session(),
            Query::Children { path } => {
                let children = self.service.children(&path).into_iter();
                let pairs = children.flat_map(|(path, number)| [bulk(path), integer(number)]);
                BytesFrame::Array(pairs.collect())
            }
        };
        self.reply(conn, &answer);
    }

    /// Handles the requests of a connection, up to the first one that must wait.
    fn serve(&mut self, conn: ConnId, now_ns: u64) {
        while let Some(client) = self.clients.get_mut(&conn) {
            if client.is_waiting {
                return;
            }
            let words = match next_words(&mut client.inbound) {
                Ok(Some(words)) => words,
                Ok(None) => return,
                Err(_) => return self.close(conn),
            };
            client.is_waiting = true;
            match request::parse(&words) {
                Ok(request) => self.handle(conn, request, now_ns),
                Err(error) => self.reply(conn, &error),
            }
        }
    }

    fn handle(&mut self, conn: ConnId, request: Request, now_ns: u64) {
        if let Some(session) = request.session()
            && let Some(timeout_ms) = self.service.timeout_ms(session)
        {
            self.expiry.renew(session, timeout_ms, now_ns);
        }
        match request {
            Request::Call(call) => {
                let answer = self.raft.answer(call, now_ns);
                self.send(conn, wire::encode_answer(answer));
            }
            Request::Status => self.reply(conn, &self.status()),
            Request::Change(command) => match self.raft.propose(command.encode()) {
                Some(index) => drop(self.waiting.changes.insert(index, conn)),
                None => self.refuse(conn),
            },
            Request::Query(query) => match self.raft.begin_read() {
                Some(point) => self.waiting.queries.push((conn, point, query)),
                None => self.refuse(conn),
            },
        }
    }

    fn status(&self) -> BytesFrame {
        let leader = self
            .raft
            .leader()
            .and_then(|leader| self.members.get(leader));
        let durable = self.raft.durable();
        let pairs = [
            ("name", bulk(self.name.clone())),
            ("leader", bulk(leader.cloned().unwrap_or_default())),
            ("term", integer(durable.term())),
            ("last", integer(durable.log().last_index())),
            ("committed", integer(self.raft.commit())),
            ("applied", integer(self.applied)),
            ("state", bulk(format!("{:016x}", self.service.digest()))),
        ];
        let frames = pairs
            .into_iter()
            .flat_map(|(name, value)| [bulk(name), value]);
        BytesFrame::Array(frames.collect())
    }

    /// Answers that nothing was done, because another member leads.
    fn refuse(&mut self, conn: ConnId) {
        let leader = self
            .raft
            .leader()
            .and_then(|leader| self.members.get(leader));
        let leader = leader.filter(|leader| **leader != self.name);
        let refusal = request::not_leader(leader.map(String::as_str));
        self.reply(conn, &refusal);
    }

    fn reply(&mut self, conn: ConnId, answer: &BytesFrame) {
        self.send(conn, resp::answer(answer));
    }

    fn send(&mut self, conn: ConnId, bytes: Bytes) {
        if let Some(client) = self.clients.get_mut(&conn) {
            client.is_waiting = false;
            self.ready.push(conn);
            self.outbox.push(Effect::Reply { conn, bytes });
        }
    }

    fn close(&mut self, conn: ConnId) {
        if self.clients.remove(&conn).is_some() {
            self.outbox.push(Effect::Close { conn });
        }
    }

    /// Calls another member, if there is a request for it and the link is free.
    fn call(&mut self, peer: Peer, now_ns: u64) {
        let (Some(link), Some(to)) = (self.links.get_mut(&peer), self.members.get(peer)) else {
            return;
        };
        let Some((call, sent)) = self.raft.request_for(peer, now_ns) else {
            return;
        };
        if let Link::Down { .. } = link {
            let id = LinkId(self.next_link);
            self.next_link += 1;
            let to = to.clone();
            self.outbox.push(Effect::Connect { link: id, to });
            *link = Link::Up(Line {
                id,
                inbound: BytesMut::new(),
                call: None,
            });
        }
        if let Link::Up(line) = link {
            line.call = Some((sent, now_ns));
            let bytes = wire::encode_call(&call);
            self.outbox.push(Effect::Send {
                link: line.id,
                bytes,
            });
        }
    }

    /// Closes a link.
    fn hang_up(&mut self, peer: Peer, now_ns: u64) {
        if let Some(Link::Up(line)) = self.links.get(&peer) {
            self.outbox.push(Effect::Hangup { link: line.id });
        }
        self.lose(peer, now_ns);
    }

    /// Handles the loss of a link.
    fn lose(&mut self, peer: Peer, now_ns: u64) {
        let retry_ns = now_ns.saturating_add(self.timing.heartbeat_ns());
        self.links.insert(peer, Link::Down { retry_ns });
        self.raft.unanswered(peer);
    }
}

fn gone_reply() -> BytesFrame {
    BytesFrame::SimpleString(Bytes::from_static(b"GONE"))
}
