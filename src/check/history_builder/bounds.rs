//! What a history under construction is judged by.

use super::{HistoryBuilder, MS};
use crate::{Bounds, ResourceRole};

impl HistoryBuilder {
    /// What it is judged by.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Sets the bound on how long a client may wait for a free lock.
    pub fn deadlock_after(mut self, bound_ms: u64) -> Self {
        self.bounds.deadlock_ns = bound_ms * MS;
        self
    }

    /// Sets the most time that clients may lose on servers that do not answer.
    pub fn times_out_after(mut self, time_outs_ms: u64) -> Self {
        self.bounds.time_outs_ns = time_outs_ms * MS;
        self
    }

    /// Sets how much later than usual replies may arrive before their clients give up on them.
    pub fn patient_for(mut self, slack_ms: u64) -> Self {
        self.bounds.reply_slack_ns = Some(slack_ms * MS);
        self
    }

    /// Makes the resource the source of the lock's tokens.
    pub fn with_tokens_of_the_resource(mut self) -> Self {
        self.bounds.resource = ResourceRole::GivesTokens;
        self
    }

    /// Makes the resource accept every access, whatever its token.
    pub fn compares_no_tokens(mut self) -> Self {
        self.bounds.compares_tokens = false;
        self
    }

    /// Sets how long the run could have lasted.
    pub fn until(mut self, horizon_ms: u64) -> Self {
        self.bounds.horizon_ns = horizon_ms * MS;
        self
    }

    /// Sets the number of the lock's nodes.
    pub fn on_nodes(mut self, nodes: u32) -> Self {
        (self.bounds.nodes, self.bounds.masters) = (nodes, nodes);
        self
    }

    /// Sets how long after the last fault the lock has settled.
    pub fn settles_within(mut self, settle_ms: u64) -> Self {
        self.bounds.settle_ns = Some(settle_ms * MS);
        self
    }
}
