//! The common part of a master, a replica and another sentinel: the links to it, the commands
//! sent to it periodically, and whether it is down.

use redis_protocol::resp2::types::BytesFrame;

use super::address::Address;
use super::core::Core;
use super::effect::LinkId;
use super::link::{Expect, Link};

/// `SENTINEL_PING_PERIOD`, and the minimum time between two connection attempts.
pub(super) const PING_PERIOD_MS: i64 = 1_000;
/// `SENTINEL_INFO_PERIOD`; when a failover may be near, replicas are asked every
/// [`PING_PERIOD_MS`].
pub(super) const INFO_PERIOD_MS: i64 = 10_000;
/// `SENTINEL_PUBLISH_PERIOD`: the time between two hellos.
pub(super) const PUBLISH_PERIOD_MS: i64 = 2_000;
/// `SENTINEL_MIN_LINK_RECONNECT_PERIOD`: a silent link is not closed earlier than this.
const MIN_LINK_RECONNECT_MS: i64 = 15_000;
/// `SENTINEL_MAX_PENDING_COMMANDS`.
const MAX_PENDING: usize = 100;
/// The sections of INFO that a sentinel reads. Redis's sentinels request all of them; in the
/// simulator that would add a second packet, with a latency of its own, of which nothing is read.
const READ_OF_INFO: [&str; 3] = ["INFO", "server", "replication"];
/// `SENTINEL_HELLO_CHANNEL`.
pub(super) const HELLO_CHANNEL: &str = "__sentinel__:hello";

/// A server that a sentinel monitors. Times are wall-clock milliseconds; 0 means never.
pub(super) struct Instance {
    pub(super) address: Address,
    /// Empty until the server has reported it.
    pub(super) run_id: String,
    pub(super) commands: Option<Link>,
    /// The link subscribed to hellos; `None` for sentinels.
    pub(super) hellos: Option<Link>,
    listens: Listens,
    last_reconnect_ms: i64,
    /// When the oldest unanswered PING was sent.
    pub(super) unanswered_ping_ms: Option<i64>,
    pub(super) last_ping_ms: i64,
    /// The time of the last valid reply to a PING.
    pub(super) last_available_ms: i64,
    pub(super) last_pong_ms: i64,
    pub(super) last_publish_ms: i64,
    has_published: bool,
    has_ponged: bool,
    last_hello_ms: i64,
    pub(super) last_info_ms: i64,
    /// Subjectively down.
    pub(super) is_down: bool,
    /// When it last went down; kept after it is up again.
    pub(super) down_since_ms: i64,
    pub(super) role: Role,
    pub(super) role_since_ms: i64,
}

/// Whether the server has a channel for hellos.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Listens {
    /// A Redis server: subscribe to its channel.
    ToHellos,
    /// A sentinel: nothing to subscribe to.
    ToNothing,
}

/// The role that a server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Master,
    Replica,
}

impl Role {
    /// As INFO and the events spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Master => "master",
            Role::Replica => "slave",
        }
    }
}

/// One of the links of an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Commands,
    Hellos,
}

impl Instance {
    pub(super) fn new(address: Address, role: Role, listens: Listens, now_ms: i64) -> Self {
        Instance {
            address,
            run_id: String::new(),
            commands: None,
            hellos: None,
            listens,
            last_reconnect_ms: 0,
            unanswered_ping_ms: Some(now_ms),
            last_ping_ms: 0,
            last_available_ms: now_ms,
            last_pong_ms: now_ms,
            last_publish_ms: now_ms,
            has_published: false,
            has_ponged: false,
            last_hello_ms: now_ms,
            last_info_ms: 0,
            is_down: false,
            down_since_ms: 0,
            role,
            role_since_ms: now_ms,
        }
    }

    /// Whether a required link is missing.
    pub(super) fn is_disconnected(&self) -> bool {
        self.commands.is_none() || (self.listens == Listens::ToHellos && self.hellos.is_none())
    }

    /// Connects the missing links (`sentinelReconnectInstance`).
    pub(super) fn reconnect(&mut self, core: &mut Core) {
        if !self.is_disconnected() || core.since(self.last_reconnect_ms) < PING_PERIOD_MS {
            return;
        }
        self.last_reconnect_ms = core.now_ms;
        let name = |kind| format!("sentinel-{}-{kind}", &core.run_id[..8]);
        let (commands, hellos) = (name("cmd"), name("pubsub"));
        if self.commands.is_none() {
            let mut link = Link::open(core, &self.address);
            link.send(core, &["CLIENT", "SETNAME", &commands], Expect::Nothing);
            self.commands = Some(link);
            self.ping(core);
        }
        if self.hellos.is_none() && self.listens == Listens::ToHellos {
            let mut link = Link::open(core, &self.address);
            link.send(core, &["CLIENT", "SETNAME", &hellos], Expect::Nothing);
            link.send(core, &["SUBSCRIBE", HELLO_CHANNEL], Expect::Nothing);
            self.hellos = Some(link);
            self.last_hello_ms = core.now_ms;
        }
    }

    /// Sends INFO, PING and PUBLISH when they are due (`sentinelSendPeriodicCommands`). No
    /// INFO without an `info_period_ms`.
    pub(super) fn send_periodic(
        &mut self,
        core: &mut Core,
        info_period_ms: Option<i64>,
        down_after_ms: i64,
        hello: &str,
    ) {
        if self.is_disconnected() {
            return;
        }
        let Some(link) = self.commands.as_mut().filter(|l| l.pending() < MAX_PENDING) else {
            return;
        };
        let info_is_due = |period_ms| core.since(self.last_info_ms) > period_ms;
        if info_period_ms.is_some_and(info_is_due) {
            link.send(core, &READ_OF_INFO, Expect::Info);
        }
        let ping_period_ms = down_after_ms.min(PING_PERIOD_MS);
        if core.since(self.last_pong_ms) > ping_period_ms
            && core.since(self.last_ping_ms) > ping_period_ms / 2
        {
            self.ping(core);
        }
        let is_due = core.since(self.last_publish_ms) > PUBLISH_PERIOD_MS
            || (!self.has_published && core.has_run_for_long());
        if is_due && let Some(link) = &mut self.commands {
            link.send(core, &["PUBLISH", HELLO_CHANNEL, hello], Expect::Nothing);
            self.last_publish_ms = core.done_ms(!self.has_published, PUBLISH_PERIOD_MS);
            self.has_published = true;
        }
    }

    fn ping(&mut self, core: &mut Core) {
        if let Some(link) = &mut self.commands {
            link.send(core, &["PING"], Expect::Ping);
            self.last_ping_ms = core.now_ms;
            self.unanswered_ping_ms.get_or_insert(core.now_ms);
        }
    }

    /// Handles the reply to a PING. A reply is valid if it shows that the server is
    /// reachable, even if it cannot serve now.
    pub(super) fn ponged(&mut self, core: &mut Core, reply: &BytesFrame) {
        let is_valid = match reply {
            BytesFrame::SimpleString(status) => status.as_ref() == b"PONG",
            BytesFrame::Error(text) => {
                text.starts_with("LOADING") || text.starts_with("MASTERDOWN")
            }
            _ => false,
        };
        if is_valid {
            self.last_available_ms = core.now_ms;
            self.unanswered_ping_ms = None;
        }
        self.last_pong_ms = core.done_ms(!self.has_ponged, PING_PERIOD_MS);
        if !self.has_ponged {
            self.has_ponged = true;
            self.last_ping_ms = self.last_ping_ms.min(self.last_pong_ms);
        }
    }

    /// Checks whether the instance went down or up (`sentinelCheckSubjectivelyDown`). `lies`:
    /// it has reported a wrong role for a long time.
    pub(super) fn check_down(
        &mut self,
        core: &mut Core,
        down_after_ms: i64,
        lies: bool,
    ) -> Option<&'static str> {
        let silent_ms = match self.unanswered_ping_ms {
            Some(ping_ms) => core.since(ping_ms),
            None if self.is_disconnected() => core.since(self.last_available_ms),
            None => 0,
        };
        self.drop_silent_links(core, down_after_ms);
        let is_down = silent_ms > down_after_ms || lies;
        if is_down == self.is_down {
            return None;
        }
        self.is_down = is_down;
        if is_down {
            self.down_since_ms = core.now_ms;
            return Some("+sdown");
        }
        Some("-sdown")
    }

    /// Closes a link that connects and stays silent: it may be stuck, and a new one may not
    /// be.
    fn drop_silent_links(&mut self, core: &mut Core, down_after_ms: i64) {
        let is_old = |link: &Link| core.since(link.since_ms) > MIN_LINK_RECONNECT_MS;
        let unanswered = self.unanswered_ping_ms;
        if self.commands.as_ref().is_some_and(is_old)
            && unanswered.is_some_and(|ping_ms| core.since(ping_ms) > down_after_ms / 2)
            && core.since(self.last_pong_ms) > down_after_ms / 2
        {
            self.hang_up(core, Channel::Commands);
        }
        let is_old = |link: &Link| core.since(link.since_ms) > MIN_LINK_RECONNECT_MS;
        if self.hellos.as_ref().is_some_and(is_old)
            && core.since(self.last_hello_ms) > PUBLISH_PERIOD_MS * 3
        {
            self.hang_up(core, Channel::Hellos);
        }
    }

    /// Whether it was up for longer than `ms` (`sentinelRedisInstanceNoDownFor`).
    pub(super) fn was_up_for(&self, core: &Core, ms: i64) -> bool {
        self.down_since_ms == 0 || core.since(self.down_since_ms) > ms
    }

    /// Makes it a replica of `master`, or a master, in one transaction that also disconnects
    /// its clients (`sentinelSendSlaveOf`). Returns whether there was a link.
    pub(super) fn send_replica_of(&mut self, core: &mut Core, master: Option<&Address>) -> bool {
        let Some(link) = &mut self.commands else {
            return false;
        };
        let port = master.map(|address| address.port.to_string());
        let (host, port) = match (master, &port) {
            (Some(address), Some(port)) => (address.host.as_str(), port.as_str()),
            _ => ("NO", "ONE"),
        };
        for words in [
            &["MULTI"][..],
            &["SLAVEOF", host, port],
            &["CONFIG", "REWRITE"],
            &["CLIENT", "KILL", "TYPE", "normal"],
            &["CLIENT", "KILL", "TYPE", "pubsub"],
            &["EXEC"],
        ] {
            link.send(core, words, Expect::Nothing);
        }
        true
    }

    /// Makes its next hello due immediately.
    pub(super) fn hurry_hello(&mut self) {
        self.last_publish_ms -= PUBLISH_PERIOD_MS + 1;
    }

    /// Records that something arrived on the link for hellos.
    pub(super) fn note_reply(&mut self, core: &Core) {
        self.last_hello_ms = core.now_ms;
    }

    /// The kind of a link of this instance.
    pub(super) fn channel_of(&self, link: LinkId) -> Option<Channel> {
        let is_it = |own: &Option<Link>| own.as_ref().is_some_and(|own| own.id == link);
        if is_it(&self.commands) {
            return Some(Channel::Commands);
        }
        is_it(&self.hellos).then_some(Channel::Hellos)
    }

    pub(super) fn link_mut(&mut self, channel: Channel) -> &mut Option<Link> {
        match channel {
            Channel::Commands => &mut self.commands,
            Channel::Hellos => &mut self.hellos,
        }
    }

    /// Closes one of its links, if it is there.
    pub(super) fn hang_up(&mut self, core: &mut Core, channel: Channel) {
        if let Some(link) = self.link_mut(channel).take() {
            link.close(core);
        }
    }

    /// Closes its links.
    pub(super) fn disconnect(&mut self, core: &mut Core) {
        self.hang_up(core, Channel::Commands);
        self.hang_up(core, Channel::Hellos);
    }
}
