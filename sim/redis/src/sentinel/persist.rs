//! What a sentinel stores in its configuration file, and how it goes on from it after a restart
//! (`rewriteConfigSentinelOption`).

use super::file::{SavedMaster, SentinelFile};
use super::master::{Master, Peer, Replica};
use super::monitor::Monitor;
use super::state::State;

impl State {
    /// The contents to write.
    pub(super) fn file(&self) -> SentinelFile {
        SentinelFile {
            run_id: self.core.run_id.clone(),
            epoch: self.core.epoch,
            masters: self.masters.values().map(Master::saved).collect(),
        }
    }

    /// Restores the state that was written before.
    pub(super) fn restore(&mut self, file: SentinelFile) {
        self.core.run_id = file.run_id;
        self.core.epoch = file.epoch;
        let now_ms = self.core.now_ms;
        for saved in file.masters {
            let name = saved.monitor.name.clone();
            self.monitor(saved.monitor);
            let Some(master) = self.masters.get_mut(&name) else {
                continue;
            };
            master.config_epoch = saved.config_epoch;
            master.vote_epoch = saved.vote_epoch;
            for address in saved.replicas {
                let replica = Replica::new(address.clone(), now_ms);
                master.replicas.insert(address, replica);
            }
            for (run_id, address) in saved.peers {
                let peer = Peer::new(&run_id, address, now_ms);
                master.peers.insert(run_id, peer);
            }
        }
    }
}

impl Master {
    /// The lines about this master. Once a failover has promoted a replica, the file holds
    /// its outcome: the promoted replica as the master, and the old master as a replica.
    fn saved(&self) -> SavedMaster {
        let (old, current) = (&self.server.address, self.current_address());
        let replicas = self
            .replicas
            .keys()
            .map(|address| match address == current {
                true => old.clone(),
                false => address.clone(),
            });
        let peers = self.peers.iter();
        SavedMaster {
            monitor: Monitor {
                address: current.clone(),
                ..self.settings.clone()
            },
            config_epoch: self.config_epoch,
            vote_epoch: self.vote_epoch,
            replicas: replicas.collect(),
            peers: peers
                .map(|(run_id, peer)| (run_id.clone(), peer.server.address.clone()))
                .collect(),
        }
    }
}
