//! The replies and messages that arrive on the links of a sentinel, and the loss of a link.

use redis_protocol::resp2::types::BytesFrame;

use super::effect::LinkId;
use super::instance::Channel;
use super::link::{Expect, Link};
use super::master::InstanceId;
use super::state::State;

impl State {
    /// Handles bytes that arrived on a link.
    pub(super) fn receive(&mut self, link: LinkId, bytes: &[u8]) {
        if let Some((name, who, channel)) = self.find(link)
            && let Some(own) = self.link_mut(&name, &who, channel)
        {
            own.receive(bytes);
            // Each reply may change the known instances, and may close this link.
            while let Some(reply) = self.next_reply(link) {
                self.handle_reply(link, reply);
            }
        }
    }

    /// Handles the loss of a link.
    pub(super) fn lose(&mut self, link: LinkId) {
        if let Some((name, who, channel)) = self.find(link)
            && let Some(master) = self.masters.get_mut(&name)
            && let Some(server) = master.server_mut(&who)
        {
            *server.link_mut(channel) = None;
        }
    }

    /// The owner of a link: the name of a master, and one of its servers.
    fn find(&self, link: LinkId) -> Option<(String, InstanceId, Channel)> {
        self.masters.iter().find_map(|(name, master)| {
            let (who, channel) = master.find(link)?;
            Some((name.clone(), who, channel))
        })
    }

    fn link_mut(&mut self, name: &str, who: &InstanceId, channel: Channel) -> Option<&mut Link> {
        let server = self.masters.get_mut(name)?.server_mut(who)?;
        server.link_mut(channel).as_mut()
    }

    fn next_reply(&mut self, link: LinkId) -> Option<(Expect, BytesFrame)> {
        let (name, who, channel) = self.find(link)?;
        match self.link_mut(&name, &who, channel)?.next_reply() {
            Ok(reply) => reply,
            Err(_) => {
                let server = self.masters.get_mut(&name)?.server_mut(&who)?;
                server.hang_up(&mut self.core, channel);
                None
            }
        }
    }

    fn handle_reply(&mut self, link: LinkId, (expect, reply): (Expect, BytesFrame)) {
        let Some((name, who, channel)) = self.find(link) else {
            return;
        };
        let Some(master) = self.masters.get_mut(&name) else {
            return;
        };
        let core = &mut self.core;
        if channel == Channel::Hellos {
            if let Some(server) = master.server_mut(&who) {
                server.note_reply(core);
            }
            if let Some(text) = message(&reply) {
                self.take_hello(&text);
            }
            return;
        }
        match (expect, &reply) {
            (Expect::Ping, reply) => {
                if let Some(server) = master.server_mut(&who) {
                    server.ponged(core, reply);
                }
            }
            (Expect::Info, BytesFrame::BulkString(text)) => {
                master.refresh(core, &who, &String::from_utf8_lossy(text));
            }
            (Expect::MasterDown, reply) => {
                if let InstanceId::Peer(run_id) = &who {
                    master.told_down(core, run_id, reply);
                }
            }
            _ => {}
        }
    }
}

/// The payload of a message on a channel.
fn message(frame: &BytesFrame) -> Option<String> {
    let BytesFrame::Array(items) = frame else {
        return None;
    };
    match &items[..] {
        [
            BytesFrame::BulkString(kind),
            _,
            BytesFrame::BulkString(payload),
        ] if kind.as_ref() == b"message" => Some(String::from_utf8_lossy(payload).into_owned()),
        _ => None,
    }
}
