//! The INFO of a master or replica (`sentinelRefreshInstanceInfo`), and the reaction if its
//! role is not the expected one.

use super::address::Address;
use super::core::Core;
use super::instance::{INFO_PERIOD_MS, PUBLISH_PERIOD_MS, Role};
use super::master::{InstanceId, Master, Reconf, Stage};

/// The lines of an INFO that a sentinel reads.
#[derive(Debug, Default, PartialEq, Eq)]
struct Info {
    run_id: String,
    role: Option<Role>,
    /// The replicas of a master.
    replicas: Vec<Address>,
    /// The master of a replica.
    master_host: String,
    master_port: u16,
    link_is_up: bool,
    link_down_ms: i64,
    priority: Option<i64>,
    offset: u64,
}

impl Master {
    /// Handles the reply to an INFO.
    pub(super) fn refresh(&mut self, core: &mut Core, who: &InstanceId, text: &str) {
        let info = Info::parse(text);
        let Some(server) = self.server_mut(who) else {
            return;
        };
        server.last_info_ms = core.done_ms(server.last_info_ms == 0, INFO_PERIOD_MS);
        let is_new_process = !server.run_id.is_empty() && server.run_id != info.run_id;
        if !info.run_id.is_empty() {
            server.run_id.clone_from(&info.run_id);
            if is_new_process {
                core.event("+reboot", self.describe(who));
            }
        }
        if *who == InstanceId::Master {
            for address in &info.replicas {
                if !self.replicas.contains_key(address) {
                    self.add_replica(core, address.clone());
                }
            }
        }
        self.note_replication(core, who, &info);
        if let Some(role) = info.role {
            self.note_role(core, who, role);
        }
        if core.tilt_since_ms.is_some() {
            return;
        }
        if let (InstanceId::Replica(address), Some(role)) = (who, info.role) {
            match role {
                Role::Master => self.replica_is_master(core, address),
                Role::Replica => self.replica_is_replica(core, address),
            }
        }
    }

    /// Records what a replica reports about its master.
    fn note_replication(&mut self, core: &Core, who: &InstanceId, info: &Info) {
        let InstanceId::Replica(address) = who else {
            return;
        };
        let Some(replica) = self.replicas.get_mut(address) else {
            return;
        };
        replica.link_down_ms = info.link_down_ms;
        if info.role != Some(Role::Replica) {
            return;
        }
        let master = Address {
            host: info.master_host.clone(),
            port: info.master_port,
        };
        if replica.master.as_ref() != Some(&master) {
            replica.master = Some(master);
            replica.master_since_ms = core.now_ms;
        }
        replica.link_is_up = info.link_is_up;
        replica.offset = info.offset;
        if let Some(priority) = info.priority {
            replica.priority = priority;
        }
    }

    fn note_role(&mut self, core: &mut Core, who: &InstanceId, role: Role) {
        let expected = match who {
            InstanceId::Master => Role::Master,
            _ => Role::Replica,
        };
        let Some(server) = self.server_mut(who).filter(|server| server.role != role) else {
            return;
        };
        server.role = role;
        server.role_since_ms = core.now_ms;
        if let (InstanceId::Replica(address), Role::Replica) = (who, role)
            && let Some(replica) = self.replicas.get_mut(address)
        {
            replica.master_since_ms = core.now_ms;
        }
        let event = match role == expected {
            true => "+role-change",
            false => "-role-change",
        };
        let text = format!(
            "{} new reported role is {}",
            self.describe(who),
            role.name()
        );
        core.event(event, text);
    }

    /// Handles a replica that reports to be a master: it was just promoted, or is an old master
    /// that came back. An old master is demoted, but only after enough time for a hello to announce
    /// a new configuration: until then there are two masters.
    fn replica_is_master(&mut self, core: &mut Core, address: &Address) {
        let stage = self.failover.as_ref().map(|failover| failover.stage);
        let is_promoted = self.promoted() == Some(address);
        if is_promoted && stage == Some(Stage::WaitPromotion) {
            self.promotion_is_done(core, address);
            return;
        }
        let wait_ms = 4 * PUBLISH_PERIOD_MS;
        let looks_sane = self.looks_sane(core);
        let master = self.server.address.clone();
        let Some(replica) = self.replicas.get_mut(address) else {
            return;
        };
        let server = &mut replica.server;
        if !is_promoted
            && looks_sane
            && server.was_up_for(core, wait_ms)
            && core.since(server.role_since_ms) > wait_ms
            && server.send_replica_of(core, Some(&master))
        {
            let what = self.describe(&InstanceId::Replica(address.clone()));
            core.event("+convert-to-slave", what);
        }
    }

    /// Reconfigures a replica of another master, and advances a replica that is being reconfigured
    /// to the new master by one state.
    fn replica_is_replica(&mut self, core: &mut Core, address: &Address) {
        let wait_ms = self.settings.failover_timeout_ms();
        let looks_sane = self.looks_sane(core);
        let (master, promoted) = (self.server.address.clone(), self.promoted().cloned());
        let Some(replica) = self.replicas.get_mut(address) else {
            return;
        };
        let what = InstanceId::Replica(address.clone());
        if replica.master.as_ref() != Some(&master)
            && looks_sane
            && replica.server.was_up_for(core, wait_ms)
            && core.since(replica.master_since_ms) > wait_ms
            && replica.server.send_replica_of(core, Some(&master))
        {
            core.event("+fix-slave-config", self.describe(&what));
        }
        let Some(replica) = self.replicas.get_mut(address) else {
            return;
        };
        if matches!(replica.reconf, Reconf::Sent { .. })
            && promoted.is_some()
            && replica.master == promoted
        {
            replica.reconf = Reconf::InProgress;
            core.event("+slave-reconf-inprog", self.describe(&what));
        }
        let Some(replica) = self.replicas.get_mut(address) else {
            return;
        };
        if replica.reconf == Reconf::InProgress && replica.link_is_up {
            replica.reconf = Reconf::Done;
            core.event("+slave-reconf-done", self.describe(&what));
        }
    }

    /// `sentinelMasterLooksSane`.
    fn looks_sane(&self, core: &Core) -> bool {
        self.server.role == Role::Master
            && !self.server.is_down
            && !self.is_objectively_down
            && core.since(self.server.last_info_ms) < 2 * INFO_PERIOD_MS
    }
}

impl Info {
    fn parse(text: &str) -> Info {
        let mut info = Info::default();
        for line in text.split("\r\n") {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            match key {
                "run_id" => info.run_id = value.to_owned(),
                "role" => {
                    info.role = match value {
                        "master" => Some(Role::Master),
                        "slave" => Some(Role::Replica),
                        _ => None,
                    }
                }
                "master_host" => info.master_host = value.to_owned(),
                "master_port" => info.master_port = value.parse().unwrap_or(0),
                "master_link_status" => info.link_is_up = value == "up",
                "master_link_down_since_seconds" => {
                    info.link_down_ms = value.parse().map_or(0, |s: i64| s.max(0) * 1000);
                }
                "slave_priority" => info.priority = value.parse().ok(),
                "slave_repl_offset" => info.offset = value.parse().unwrap_or(0),
                _ if is_replica_line(key) => info.replicas.extend(replica_address(value)),
                _ => {}
            }
        }
        info
    }
}

/// True for `slave0`, false for `slave_priority`.
fn is_replica_line(key: &str) -> bool {
    key.strip_prefix("slave")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The address in `ip=10.0.0.2,port=6379,state=online,…`.
fn replica_address(value: &str) -> Option<Address> {
    let field = |name: &str| {
        let mut fields = value.split(',').filter_map(|field| field.split_once('='));
        fields.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    Some(Address {
        host: field("ip")?.to_owned(),
        port: field("port")?.parse().ok()?,
    })
}
