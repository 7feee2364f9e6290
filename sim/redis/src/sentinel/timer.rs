//! The work on a master, its replicas and the other sentinels at each tick of the timer.

use super::core::Core;
use super::election::Asking;
use super::instance::{INFO_PERIOD_MS, PING_PERIOD_MS, Role};
use super::master::{InstanceId, Master, Stage};

/// `SENTINEL_TILT_PERIOD`: how long a sentinel only monitors after its clock became doubtful.
const TILT_PERIOD_MS: i64 = 30 * PING_PERIOD_MS;

impl Master {
    /// The periodic work at every tick of the timer (`sentinelHandleRedisInstance` for the
    /// master, then its replicas, then the sentinels).
    pub(super) fn handle(&mut self, core: &mut Core) {
        let down_after_ms = self.settings.down_after_ms();
        let hello = self.hello(core);
        self.server.reconnect(core);
        self.server
            .send_periodic(core, Some(INFO_PERIOD_MS), down_after_ms, &hello);
        if acts(core) {
            self.check_down(core, &InstanceId::Master);
            self.check_objectively_down(core);
            if self.starts_failover(core) {
                self.ask_peers(core, Asking::Now);
            }
            self.go_on_with_failover(core);
            self.ask_peers(core, Asking::WhenDue);
        }
        let hello = self.hello(core);
        let failover_is_near = self.is_objectively_down || self.failover.is_some();
        for address in self.replicas.keys().cloned().collect::<Vec<_>>() {
            if let Some(replica) = self.replicas.get_mut(&address) {
                let period_ms = match failover_is_near || replica.link_down_ms != 0 {
                    true => PING_PERIOD_MS,
                    false => INFO_PERIOD_MS,
                };
                let server = &mut replica.server;
                server.reconnect(core);
                server.send_periodic(core, Some(period_ms), down_after_ms, &hello);
            }
            if acts(core) {
                self.check_down(core, &InstanceId::Replica(address));
            }
        }
        for run_id in self.peers.keys().cloned().collect::<Vec<_>>() {
            if let Some(peer) = self.peers.get_mut(&run_id) {
                peer.server.reconnect(core);
                peer.server.send_periodic(core, None, down_after_ms, &hello);
            }
            if acts(core) {
                self.check_down(core, &InstanceId::Peer(run_id));
            }
        }
        if self.failover.as_ref().map(|f| f.stage) == Some(Stage::UpdateConfig) {
            self.switch_to_promoted(core);
        }
    }

    fn check_down(&mut self, core: &mut Core, who: &InstanceId) {
        let down_after_ms = self.settings.down_after_ms();
        let Some(server) = self.server_mut(who) else {
            return;
        };
        let lies = *who == InstanceId::Master
            && server.role == Role::Replica
            && core.since(server.role_since_ms) > down_after_ms + 2 * INFO_PERIOD_MS;
        if let Some(event) = server.check_down(core, down_after_ms, lies) {
            core.event(event, self.describe(who));
        }
    }
}

/// Whether the sentinel may act, and not only monitor. Ends TILT mode after its period.
fn acts(core: &mut Core) -> bool {
    let Some(since_ms) = core.tilt_since_ms else {
        return true;
    };
    if core.since(since_ms) < TILT_PERIOD_MS {
        return false;
    }
    core.tilt_since_ms = None;
    core.event("-tilt", "#tilt mode exited");
    true
}
