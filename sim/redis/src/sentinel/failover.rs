//! A failover: the elected sentinel chooses a replica, promotes it, and reconfigures the
//! others to follow it (`sentinelFailoverStateMachine`).

use std::cmp::Reverse;

use super::address::Address;
use super::core::Core;
use super::instance::{INFO_PERIOD_MS, PING_PERIOD_MS};
use super::master::{Failover, InstanceId, Master, Reason, Reconf, Replica, Stage};

/// `SENTINEL_ELECTION_TIMEOUT`.
const ELECTION_TIMEOUT_MS: i64 = 10_000;
/// `SENTINEL_SLAVE_RECONF_TIMEOUT`.
const RECONF_TIMEOUT_MS: i64 = 10_000;

impl Master {
    /// Starts a failover if the master is objectively down and none was attempted recently
    /// (`sentinelStartFailoverIfNeeded`).
    pub(super) fn starts_failover(&mut self, core: &mut Core) -> bool {
        let lately_ms = 2 * self.settings.failover_timeout_ms();
        let starts = self.is_objectively_down
            && self.failover.is_none()
            && core.since(self.failover_began_ms) >= lately_ms;
        if starts {
            self.start_failover(core, Reason::Down);
        }
        starts
    }

    /// Starts a failover (`sentinelStartFailover`).
    pub(super) fn start_failover(&mut self, core: &mut Core, reason: Reason) {
        core.epoch += 1;
        core.unsaved = true;
        self.failover = Some(Failover {
            stage: Stage::WaitStart,
            epoch: core.epoch,
            since_ms: core.now_ms,
            reason,
            promoted: None,
        });
        core.event("+new-epoch", core.epoch.to_string());
        core.event("+try-failover", self.describe(&InstanceId::Master));
        self.failover_began_ms = core.now_ms + core.desync_ms();
    }

    /// Takes at most one step of the failover.
    pub(super) fn go_on_with_failover(&mut self, core: &mut Core) {
        let Some(failover) = &self.failover else {
            return;
        };
        match failover.stage {
            Stage::WaitStart => self.wait_start(core),
            Stage::SelectReplica => self.select(core),
            Stage::SendReplicaOfNoOne => self.send_promotion(core),
            Stage::WaitPromotion => {
                if core.since(failover.since_ms) > self.settings.failover_timeout_ms() {
                    self.abort(core, "-failover-abort-slave-timeout");
                }
            }
            Stage::ReconfReplicas => {
                self.reconf_next(core);
                self.check_end(core);
            }
            Stage::UpdateConfig => {}
        }
    }

    fn wait_start(&mut self, core: &mut Core) {
        let Some((epoch, reason)) = self.failover.as_ref().map(|f| (f.epoch, f.reason)) else {
            return;
        };
        let leader = self.elected(core, epoch);
        if leader.as_deref() != Some(&core.run_id) && reason == Reason::Down {
            let patience_ms = ELECTION_TIMEOUT_MS.min(self.settings.failover_timeout_ms());
            if core.since(self.failover_began_ms) > patience_ms {
                self.abort(core, "-failover-abort-not-elected");
            }
            return;
        }
        core.event("+elected-leader", self.describe(&InstanceId::Master));
        self.enter(core, Stage::SelectReplica);
        core.event(
            "+failover-state-select-slave",
            self.describe(&InstanceId::Master),
        );
    }

    fn select(&mut self, core: &mut Core) {
        let Some(address) = self.best_replica(core) else {
            self.abort(core, "-failover-abort-no-good-slave");
            return;
        };
        let what = self.describe(&InstanceId::Replica(address.clone()));
        core.event("+selected-slave", what.clone());
        if let Some(failover) = &mut self.failover {
            failover.promoted = Some(address);
        }
        self.enter(core, Stage::SendReplicaOfNoOne);
        core.event("+failover-state-send-slaveof-noone", what);
    }

    fn send_promotion(&mut self, core: &mut Core) {
        let Some(promoted) = self.promoted().cloned() else {
            return;
        };
        let patience_ms = self.settings.failover_timeout_ms();
        let since_ms = self.failover.as_ref().map_or(0, |f| f.since_ms);
        let replica = self.replicas.get_mut(&promoted);
        let connected = replica.filter(|replica| !replica.server.is_disconnected());
        let told = connected.is_some_and(|replica| replica.server.send_replica_of(core, None));
        if told {
            let what = self.describe(&InstanceId::Replica(promoted));
            core.event("+failover-state-wait-promotion", what);
            self.enter(core, Stage::WaitPromotion);
        } else if core.since(since_ms) > patience_ms {
            self.abort(core, "-failover-abort-slave-timeout");
        }
    }

    /// Handles the report of the chosen replica that it is a master.
    pub(super) fn promotion_is_done(&mut self, core: &mut Core, address: &Address) {
        if let Some(failover) = &self.failover {
            self.config_epoch = failover.epoch;
        }
        self.enter(core, Stage::ReconfReplicas);
        core.unsaved = true;
        core.event(
            "+promoted-slave",
            self.describe(&InstanceId::Replica(address.clone())),
        );
        core.event(
            "+failover-state-reconf-slaves",
            self.describe(&InstanceId::Master),
        );
        // Announce the new configuration to the other sentinels soon.
        self.server.hurry_hello();
        let replicas = self
            .replicas
            .values_mut()
            .map(|replica| &mut replica.server);
        let peers = self.peers.values_mut().map(|peer| &mut peer.server);
        replicas
            .chain(peers)
            .for_each(|server| server.hurry_hello());
    }

    /// Reconfigures replicas to follow the new master, up to the allowed number in parallel
    /// (`sentinelFailoverReconfNextSlave`).
    fn reconf_next(&mut self, core: &mut Core) {
        let Some(promoted) = self.promoted().cloned() else {
            return;
        };
        let is_under_way =
            |replica: &&Replica| matches!(replica.reconf, Reconf::Sent { .. } | Reconf::InProgress);
        let mut under_way = self.replicas.values().filter(is_under_way).count();
        for address in self.replicas.keys().cloned().collect::<Vec<_>>() {
            if under_way >= self.settings.parallel_syncs {
                break;
            }
            let Some(replica) = self.replicas.get_mut(&address) else {
                continue;
            };
            if address == promoted {
                continue;
            }
            if let Reconf::Sent { at_ms } = replica.reconf
                && core.since(at_ms) > RECONF_TIMEOUT_MS
            {
                replica.reconf = Reconf::Done;
                let what = self.describe(&InstanceId::Replica(address));
                core.event("-slave-reconf-sent-timeout", what);
                continue;
            }
            if replica.reconf == Reconf::No && replica.turn_to(core, &promoted) {
                core.event(
                    "+slave-reconf-sent",
                    self.describe(&InstanceId::Replica(address)),
                );
                under_way += 1;
            }
        }
    }

    /// Whether all replicas are reconfigured, or the timeout has passed
    /// (`sentinelFailoverDetectEnd`).
    fn check_end(&mut self, core: &mut Core) {
        let Some(promoted) = self.promoted().cloned() else {
            return;
        };
        if self
            .replicas
            .get(&promoted)
            .is_none_or(|r| r.server.is_down)
        {
            return;
        }
        let is_left = |replica: &Replica| {
            replica.reconf != Reconf::Done
                && !replica.server.is_down
                && replica.server.address != promoted
        };
        let since_ms = self.failover.as_ref().map_or(0, |f| f.since_ms);
        let is_late = core.since(since_ms) > self.settings.failover_timeout_ms();
        if self.replicas.values().any(is_left) && !is_late {
            return;
        }
        if is_late {
            core.event(
                "+failover-end-for-timeout",
                self.describe(&InstanceId::Master),
            );
        }
        core.event("+failover-end", self.describe(&InstanceId::Master));
        self.enter(core, Stage::UpdateConfig);
        if is_late {
            for address in self.replicas.keys().cloned().collect::<Vec<_>>() {
                let replica = self.replicas.get_mut(&address);
                let replica = replica.filter(|r| r.reconf == Reconf::No && address != promoted);
                if replica.is_some_and(|replica| replica.turn_to(core, &promoted)) {
                    core.event(
                        "+slave-reconf-sent-be",
                        self.describe(&InstanceId::Replica(address)),
                    );
                }
            }
        }
    }

    /// Makes the promoted replica the monitored master.
    pub(super) fn switch_to_promoted(&mut self, core: &mut Core) {
        if let Some(promoted) = self.promoted().cloned() {
            let (name, old) = (&self.settings.name, &self.server.address);
            core.event("+switch-master", format!("{name} {old} {promoted}"));
            self.move_to(core, promoted);
        }
    }

    /// The replica to promote: it is reachable, was connected to its master until recently
    /// and may be promoted. Among these, the one with the lowest priority, then the largest
    /// replication offset, then the smallest run id (`sentinelSelectSlave`).
    pub(super) fn best_replica(&self, core: &Core) -> Option<Address> {
        let mut longest_ms = 10 * self.settings.down_after_ms();
        let mut freshness_ms = 3 * INFO_PERIOD_MS;
        if self.server.is_down {
            longest_ms += core.since(self.server.down_since_ms);
            freshness_ms = 5 * PING_PERIOD_MS;
        }
        let is_good = |replica: &&Replica| {
            let server = &replica.server;
            !server.is_down
                && !server.is_disconnected()
                && core.since(server.last_available_ms) <= 5 * PING_PERIOD_MS
                && replica.priority != 0
                && core.since(server.last_info_ms) <= freshness_ms
                && replica.link_down_ms <= longest_ms
        };
        let best = self
            .replicas
            .values()
            .filter(is_good)
            .min_by_key(|replica| {
                let run_id = &replica.server.run_id;
                let rank = (replica.priority, Reverse(replica.offset));
                (rank, run_id.is_empty(), run_id.to_ascii_lowercase())
            });
        best.map(|replica| replica.server.address.clone())
    }

    fn enter(&mut self, core: &Core, stage: Stage) {
        if let Some(failover) = &mut self.failover {
            failover.stage = stage;
            failover.since_ms = core.now_ms;
        }
    }

    fn abort(&mut self, core: &mut Core, event: &'static str) {
        core.event(event, self.describe(&InstanceId::Master));
        self.failover = None;
    }
}

impl Replica {
    /// Makes it a replica of the new master. Returns whether the command could be sent.
    fn turn_to(&mut self, core: &mut Core, master: &Address) -> bool {
        let told =
            !self.server.is_disconnected() && self.server.send_replica_of(core, Some(master));
        if told {
            self.reconf = Reconf::Sent { at_ms: core.now_ms };
        }
        told
    }
}
