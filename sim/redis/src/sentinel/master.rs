//! The state of a monitored master: its replicas, the other sentinels that watch it, and the
//! failover that this sentinel has started.

use locklab_vecmap::VecMap;

use super::address::Address;
use super::core::Core;
use super::effect::LinkId;
use super::instance::{Channel, Instance, Listens, Role};
use super::monitor::Monitor;

/// The state of one monitored master.
pub(super) struct Master {
    pub(super) settings: Monitor,
    pub(super) server: Instance,
    pub(super) replicas: VecMap<Address, Replica>,
    /// The other sentinels, by run id.
    pub(super) peers: VecMap<String, Peer>,
    /// The epoch of the failover that made this configuration.
    pub(super) config_epoch: u64,
    /// Objectively down: a quorum says so.
    pub(super) is_objectively_down: bool,
    /// The vote that this sentinel gave last, and its epoch.
    pub(super) vote: Option<String>,
    pub(super) vote_epoch: u64,
    pub(super) failover: Option<Failover>,
    /// When the last known failover started; shifted into the future by a random delay, so
    /// that sentinels differ.
    pub(super) failover_began_ms: i64,
}

/// A replica of a monitored master.
pub(super) struct Replica {
    pub(super) server: Instance,
    /// The master that the replica reports.
    pub(super) master: Option<Address>,
    pub(super) master_since_ms: i64,
    pub(super) link_is_up: bool,
    pub(super) link_down_ms: i64,
    pub(super) priority: i64,
    pub(super) offset: u64,
    pub(super) reconf: Reconf,
}

/// How far a replica is reconfigured to the new master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reconf {
    No,
    Sent { at_ms: i64 },
    InProgress,
    Done,
}

/// Another sentinel.
pub(super) struct Peer {
    pub(super) server: Instance,
    /// Whether it reported the master down.
    pub(super) says_down: bool,
    pub(super) said_ms: i64,
    /// The candidate it voted for, and the epoch of that vote.
    pub(super) vote: Option<String>,
    pub(super) vote_epoch: u64,
}

/// A failover that this sentinel has started.
pub(super) struct Failover {
    pub(super) stage: Stage,
    /// The epoch in which votes for this failover count.
    pub(super) epoch: u64,
    /// When it entered this stage.
    pub(super) since_ms: i64,
    pub(super) reason: Reason,
    /// The replica to promote; `None` until it is chosen.
    pub(super) promoted: Option<Address>,
}

/// The reason for a failover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The master is objectively down.
    Down,
    /// An administrator requested it: no agreement is needed.
    Asked,
}

/// `SENTINEL_FAILOVER_STATE_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    WaitStart,
    SelectReplica,
    SendReplicaOfNoOne,
    WaitPromotion,
    ReconfReplicas,
    UpdateConfig,
}

/// One of the servers of a master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InstanceId {
    Master,
    Replica(Address),
    Peer(String),
}

impl Master {
    pub(super) fn new(settings: Monitor, now_ms: i64) -> Self {
        let address = settings.address.clone();
        Master {
            settings,
            server: Instance::new(address, Role::Master, Listens::ToHellos, now_ms),
            replicas: VecMap::new(),
            peers: VecMap::new(),
            config_epoch: 0,
            is_objectively_down: false,
            vote: None,
            vote_epoch: 0,
            failover: None,
            failover_began_ms: 0,
        }
    }

    /// Forgets its servers and changes its address (`sentinelResetMasterAndChangeAddress`):
    /// the other replicas stay, and the old master becomes a replica.
    pub(super) fn move_to(&mut self, core: &mut Core, address: Address) {
        let old = self.server.address.clone();
        let mut others: Vec<Address> = self.replicas.keys().cloned().collect();
        others.push(old);
        others.retain(|other| *other != address);
        self.forget_servers(core);
        self.server.address = address;
        core.unsaved = true;
        for other in others {
            self.add_replica(core, other);
        }
    }

    /// Forgets the state of the master and its replicas, but not the sentinels.
    pub(super) fn forget_servers(&mut self, core: &mut Core) {
        for replica in self.replicas.values_mut() {
            replica.server.disconnect(core);
        }
        self.replicas.clear();
        self.server.disconnect(core);
        let address = self.server.address.clone();
        self.server = Instance::new(address, Role::Master, Listens::ToHellos, core.now_ms);
        self.is_objectively_down = false;
        self.vote = None;
        self.failover = None;
        self.failover_began_ms = 0;
    }

    /// Adds a replica that was not known.
    pub(super) fn add_replica(&mut self, core: &mut Core, address: Address) {
        let replica = Replica::new(address.clone(), core.now_ms);
        self.replicas.insert(address.clone(), replica);
        core.unsaved = true;
        core.event("+slave", self.describe(&InstanceId::Replica(address)));
    }

    /// The address of the master for clients: that of the promoted replica as soon as it is a
    /// master (`sentinelGetCurrentMasterAddress`).
    pub(super) fn current_address(&self) -> &Address {
        let promoted = self.failover.as_ref().filter(|f| f.stage.is_promoted());
        promoted
            .and_then(|failover| failover.promoted.as_ref())
            .unwrap_or(&self.server.address)
    }

    /// The replica that the failover under way promotes.
    pub(super) fn promoted(&self) -> Option<&Address> {
        self.failover.as_ref()?.promoted.as_ref()
    }

    /// `%@` of the events: its kind, its name, its address, and its master.
    pub(super) fn describe(&self, who: &InstanceId) -> String {
        let (name, address) = (&self.settings.name, &self.server.address);
        match who {
            InstanceId::Master => format!("master {name} {address}"),
            InstanceId::Replica(own) => {
                let (host, port) = (&own.host, own.port);
                format!("slave {host}:{port} {own} @ {name} {address}")
            }
            InstanceId::Peer(run_id) => {
                let own = self.peers.get(run_id).map(|peer| &peer.server.address);
                let own = own.map_or(String::new(), Address::to_string);
                format!("sentinel {run_id} {own} @ {name} {address}")
            }
        }
    }

    /// The owner of a link.
    pub(super) fn find(&self, link: LinkId) -> Option<(InstanceId, Channel)> {
        if let Some(channel) = self.server.channel_of(link) {
            return Some((InstanceId::Master, channel));
        }
        let mut replicas = self.replicas.iter();
        let replica = replicas.find_map(|(address, replica)| {
            let channel = replica.server.channel_of(link)?;
            Some((InstanceId::Replica(address.clone()), channel))
        });
        replica.or_else(|| {
            self.peers.iter().find_map(|(run_id, peer)| {
                let channel = peer.server.channel_of(link)?;
                Some((InstanceId::Peer(run_id.clone()), channel))
            })
        })
    }

    pub(super) fn server_mut(&mut self, who: &InstanceId) -> Option<&mut Instance> {
        match who {
            InstanceId::Master => Some(&mut self.server),
            InstanceId::Replica(address) => Some(&mut self.replicas.get_mut(address)?.server),
            InstanceId::Peer(run_id) => Some(&mut self.peers.get_mut(run_id)?.server),
        }
    }
}

impl Stage {
    /// Whether the promoted replica has reported being a master.
    pub(super) fn is_promoted(self) -> bool {
        matches!(self, Stage::ReconfReplicas | Stage::UpdateConfig)
    }
}

impl Replica {
    pub(super) fn new(address: Address, now_ms: i64) -> Self {
        Replica {
            server: Instance::new(address, Role::Replica, Listens::ToHellos, now_ms),
            master: None,
            master_since_ms: now_ms,
            link_is_up: false,
            link_down_ms: 0,
            priority: 100,
            offset: 0,
            reconf: Reconf::No,
        }
    }
}

impl Peer {
    pub(super) fn new(run_id: &str, address: Address, now_ms: i64) -> Self {
        let mut server = Instance::new(address, Role::Master, Listens::ToNothing, now_ms);
        server.run_id = run_id.to_owned();
        Peer {
            server,
            says_down: false,
            said_ms: 0,
            vote: None,
            vote_epoch: 0,
        }
    }
}
