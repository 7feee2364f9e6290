//! What a sentinel keeps in its configuration file, and finds there when it starts again
//! (`rewriteConfigSentinelOption`).
//!
//! A sentinel writes the file whenever something in it has changed, and before it tells
//! anybody: a vote that was given is given, whatever becomes of the process. What it does
//! not write it forgets: who is down, a failover under way, for whom it voted.

use super::command;
use super::config::{Address, Monitor};
use super::master::{Master, Peer, Replica};
use super::server::Sentinel;

/// The configuration file of a sentinel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentinelFile {
    /// `sentinel myid`.
    pub run_id: String,
    /// `sentinel current-epoch`: the highest that it has seen.
    pub epoch: u64,
    /// The masters, in the order of their names.
    pub masters: Vec<SavedMaster>,
}

/// What it says of one master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedMaster {
    /// `sentinel monitor`, with the master's address of now, and its options.
    pub monitor: Monitor,
    /// `sentinel config-epoch`: of the failover that made this configuration.
    pub config_epoch: u64,
    /// `sentinel leader-epoch`: of the last vote.
    pub vote_epoch: u64,
    /// `sentinel known-replica`.
    pub replicas: Vec<Address>,
    /// `sentinel known-sentinel`: run ids and addresses of the others.
    pub peers: Vec<(String, Address)>,
}

impl Sentinel {
    /// What is to be written.
    pub(super) fn file(&self) -> SentinelFile {
        SentinelFile {
            run_id: self.core.run_id.clone(),
            epoch: self.core.epoch,
            masters: self.masters.values().map(Master::saved).collect(),
        }
    }

    /// Takes up what was written before.
    pub(super) fn restore(&mut self, file: SentinelFile) {
        self.core.run_id = file.run_id;
        self.core.epoch = file.epoch;
        let now_ms = self.core.now_ms;
        for saved in file.masters {
            let name = saved.monitor.name.clone();
            command::monitor(self, saved.monitor);
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
    /// Its lines. Of a failover that came so far that a replica is promoted the outcome is
    /// written already: the promoted one as the master, and the master as a replica.
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
