//! How sentinels agree that the master is down, and elect the one that acts.

use locklab_vecmap::VecMap;
use redis_protocol::resp2::types::BytesFrame;

use super::core::Core;
use super::instance::PING_PERIOD_MS;
use super::link::Expect;
use super::master::{InstanceId, Master};

/// `SENTINEL_ASK_PERIOD`; a reply stays valid for five of these.
const ASK_PERIOD_MS: i64 = PING_PERIOD_MS;

/// Whether the other sentinels are asked even if they were asked recently.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    WhenDue,
    Now,
}

impl Master {
    /// Checks whether a quorum considers the master down (`sentinelCheckObjectivelyDown`).
    pub(super) fn check_objectively_down(&mut self, core: &mut Core) {
        let others = self.peers.values().filter(|peer| peer.says_down).count();
        let (agree, quorum) = (others + 1, self.settings.quorum);
        let is_down = self.server.is_down && agree >= quorum;
        if is_down == self.is_objectively_down {
            return;
        }
        self.is_objectively_down = is_down;
        let what = self.describe(&InstanceId::Master);
        if is_down {
            core.event("+odown", format!("{what} #quorum {agree}/{quorum}"));
        } else {
            core.event("-odown", what);
        }
    }

    /// Asks the other sentinels whether they consider the master down and, during a failover
    /// of our own, for their votes (`sentinelAskMasterStateToOtherSentinels`).
    pub(super) fn ask_peers(&mut self, core: &mut Core, asking: Asking) {
        let address = &self.server.address;
        let port = address.port.to_string();
        let epoch = core.epoch.to_string();
        let candidate = match self.failover {
            Some(_) => core.run_id.clone(),
            None => "*".to_owned(),
        };
        for peer in self.peers.values_mut() {
            let silent_ms = core.since(peer.said_ms);
            if silent_ms > 5 * ASK_PERIOD_MS {
                peer.says_down = false;
                peer.vote = None;
            }
            if !self.server.is_down || (asking == Asking::WhenDue && silent_ms < ASK_PERIOD_MS) {
                continue;
            }
            if let Some(link) = &mut peer.server.commands {
                let words = [
                    "SENTINEL",
                    "is-master-down-by-addr",
                    &address.host,
                    &port,
                    &epoch,
                    &candidate,
                ];
                link.send(core, &words, Expect::MasterDown);
            }
        }
    }

    /// Handles the reply of another sentinel.
    pub(super) fn told_down(&mut self, core: &Core, run_id: &str, reply: &BytesFrame) {
        let (Some(peer), BytesFrame::Array(items)) = (self.peers.get_mut(run_id), reply) else {
            return;
        };
        let [
            BytesFrame::Integer(down),
            BytesFrame::BulkString(vote),
            BytesFrame::Integer(epoch),
        ] = &items[..]
        else {
            return;
        };
        peer.said_ms = core.now_ms;
        peer.says_down = *down == 1;
        if vote.as_ref() != b"*" {
            peer.vote = Some(String::from_utf8_lossy(vote).into_owned());
            peer.vote_epoch = *epoch as u64;
        }
    }

    /// Votes for the first candidate that asks in an epoch; returns the last vote and its
    /// epoch (`sentinelVoteLeader`). After a restart only the epoch is known.
    pub(super) fn vote_for(
        &mut self,
        core: &mut Core,
        epoch: u64,
        candidate: &str,
    ) -> (Option<String>, u64) {
        self.see_epoch(core, epoch);
        if self.vote_epoch < epoch && core.epoch <= epoch {
            self.vote = Some(candidate.to_owned());
            self.vote_epoch = core.epoch;
            core.unsaved = true;
            core.event(
                "+vote-for-leader",
                format!("{candidate} {}", self.vote_epoch),
            );
            // Another sentinel acts: delay our own attempt until that one may have failed.
            if candidate != core.run_id {
                self.failover_began_ms = core.now_ms + core.desync_ms();
            }
        }
        (self.vote.clone(), self.vote_epoch)
    }

    /// Adopts an epoch that is greater than the current one.
    pub(super) fn see_epoch(&mut self, core: &mut Core, epoch: u64) {
        if epoch > core.epoch {
            core.epoch = epoch;
            core.unsaved = true;
            core.event("+new-epoch", epoch.to_string());
        }
    }

    /// The leader elected in this epoch, if there is one: elected by a majority of all known
    /// sentinels, and by at least the quorum (`sentinelGetLeader`).
    pub(super) fn elected(&mut self, core: &mut Core, epoch: u64) -> Option<String> {
        let mut votes: VecMap<String, usize> = VecMap::new();
        for peer in self.peers.values() {
            if let Some(vote) = peer.vote.as_ref().filter(|_| peer.vote_epoch == core.epoch) {
                *votes.entry(vote.clone()).or_default() += 1;
            }
        }
        // This sentinel votes with the majority, or for itself.
        let candidate = match first_of_most(&votes) {
            Some((leading, _)) => leading.to_owned(),
            None => core.run_id.clone(),
        };
        if let (Some(vote), vote_epoch) = self.vote_for(core, epoch, &candidate)
            && vote_epoch == epoch
        {
            *votes.entry(vote).or_default() += 1;
        }
        let needed = self.majority().max(self.settings.quorum);
        first_of_most(&votes)
            .filter(|(_, count)| *count >= needed)
            .map(|(leader, _)| leader.to_owned())
    }

    /// More than half of all known sentinels, this one included.
    pub(super) fn majority(&self) -> usize {
        let all = self.peers.len() + 1;
        all / 2 + 1
    }
}

/// The candidate with the most votes.
fn first_of_most(votes: &VecMap<String, usize>) -> Option<(&str, usize)> {
    let most = votes.values().max()?;
    let (candidate, count) = votes.iter().find(|(_, count)| *count == most)?;
    Some((candidate, *count))
}
