//! FAILOVER: a handover of the role of the master that is under way.

/// A handover in progress.
pub(in crate::engine) struct Handover {
    /// The target: host and port, as the replica announces them. None: the first replica that has
    /// everything.
    pub(in crate::engine) target: Option<(String, u16)>,
    pub(in crate::engine) deadline: Option<Deadline>,
    pub(in crate::engine) stage: Stage,
}

/// The time limit set by TIMEOUT.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Deadline {
    /// The end, by the node's wall clock in milliseconds since the epoch.
    pub(in crate::engine) at_ms: i64,
    pub(in crate::engine) then: AtDeadline,
}

/// The action if the replica does not have everything in time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum AtDeadline {
    GiveUp,
    /// FORCE: proceed, and lose what the replica does not have.
    Force,
}

/// The phase of a handover.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Stage {
    /// Still a master: waits for a replica to have everything.
    Waiting,
    /// Follows its replica, which has not yet confirmed that it is the master.
    Asking,
}

impl Handover {
    pub(in crate::engine) fn new(
        target: Option<(String, u16)>,
        deadline: Option<Deadline>,
    ) -> Self {
        Handover {
            target,
            deadline,
            stage: Stage::Waiting,
        }
    }

    /// The name of the state in INFO.
    pub(in crate::engine) fn state_name(&self) -> &'static str {
        match self.stage {
            Stage::Waiting => "waiting-for-sync",
            Stage::Asking => "failover-in-progress",
        }
    }

    /// When an action is due regardless of input from replicas, in milliseconds since the epoch.
    pub(in crate::engine) fn next_due_ms(&self) -> Option<i64> {
        let deadline = self.deadline.filter(|_| self.stage == Stage::Waiting);
        deadline.map(|deadline| deadline.at_ms)
    }

    /// Whether there is a time limit (`failover_end_time`).
    pub(in crate::engine) fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether this server has asked its replica to become the master.
    pub(in crate::engine) fn is_asking(&self) -> bool {
        self.stage == Stage::Asking
    }
}
