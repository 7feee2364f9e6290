//! Hellos: how sentinels discover each other, and how the others learn of a failover
//! (`sentinelProcessHelloMessage`).

use super::address::Address;
use super::core::Core;
use super::master::{InstanceId, Master, Peer};
use super::state::State;

/// The announcement of a sentinel about itself and a master.
struct Hello<'a> {
    sentinel: Address,
    run_id: &'a str,
    epoch: u64,
    /// The master's name.
    name: &'a str,
    master: Address,
    config_epoch: u64,
}

impl<'a> Hello<'a> {
    /// Reads `ip,port,runid,epoch,name,ip,port,epoch`.
    fn parse(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split(',').collect();
        let [host, port, run_id, epoch, name, to, to_port, to_epoch] = words[..] else {
            return None;
        };
        Some(Hello {
            sentinel: Address {
                host: host.to_owned(),
                port: port.parse().ok()?,
            },
            run_id,
            epoch: epoch.parse().ok()?,
            name,
            master: Address {
                host: to.to_owned(),
                port: to_port.parse().ok()?,
            },
            config_epoch: to_epoch.parse().ok()?,
        })
    }
}

impl State {
    /// Handles a hello, from either source. The sentinel's own hellos are ignored.
    pub(super) fn take_hello(&mut self, text: &str) {
        if let Some(hello) = Hello::parse(text)
            && hello.run_id != self.core.run_id
            && let Some(master) = self.masters.get_mut(hello.name)
        {
            master.greet(&mut self.core, &hello);
        }
    }
}

impl Master {
    /// The hello of this sentinel.
    pub(super) fn hello(&self, core: &Core) -> String {
        let master = self.current_address();
        format!(
            "{},{},{},{},{},{},{},{}",
            core.me.host,
            core.me.port,
            core.run_id,
            core.epoch,
            self.settings.name,
            master.host,
            master.port,
            self.config_epoch
        )
    }

    /// Handles the hello of another sentinel.
    fn greet(&mut self, core: &mut Core, hello: &Hello<'_>) {
        self.meet(core, hello);
        self.see_epoch(core, hello.epoch);
        if self.config_epoch >= hello.config_epoch {
            return;
        }
        self.config_epoch = hello.config_epoch;
        core.unsaved = true;
        if self.server.address != hello.master {
            let who = InstanceId::Peer(hello.run_id.to_owned());
            core.event("+config-update-from", self.describe(&who));
            let (name, old, new) = (&self.settings.name, &self.server.address, &hello.master);
            core.event("+switch-master", format!("{name} {old} {new}"));
            self.move_to(core, hello.master.clone());
        }
    }

    /// Adds a sentinel, or updates the address of a known one.
    fn meet(&mut self, core: &mut Core, hello: &Hello<'_>) {
        let known = self
            .peers
            .get(hello.run_id)
            .map(|peer| &peer.server.address);
        if known == Some(&hello.sentinel) {
            return;
        }
        let moved = self.peers.remove(hello.run_id);
        let has_moved = moved.is_some();
        if let Some(mut peer) = moved {
            peer.server.disconnect(core);
        }
        // The sentinel previously at this address is gone: it came back under another id.
        let mut gone = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.server.address == hello.sentinel);
        let gone = gone.next().map(|(run_id, _)| run_id.clone());
        if let Some(run_id) = gone {
            core.event(
                "+sentinel-invalid-addr",
                self.describe(&InstanceId::Peer(run_id.clone())),
            );
            if let Some(mut peer) = self.peers.remove(&run_id) {
                peer.server.disconnect(core);
            }
        }
        let address = hello.sentinel.clone();
        let peer = Peer::new(hello.run_id, address, core.now_ms);
        self.peers.insert(hello.run_id.to_owned(), peer);
        core.unsaved = true;
        let event = match has_moved {
            true => "+sentinel-address-switch",
            false => "+sentinel",
        };
        core.event(
            event,
            self.describe(&InstanceId::Peer(hello.run_id.to_owned())),
        );
    }
}
