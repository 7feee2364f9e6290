//! The list of mistakes, with who has to catch each.

mod baselines;
mod checks;
mod one_node;
mod redisson;
mod redlock;
mod world;

use Binary::{Check, Lib, LockUnits, Locks, Paper, World};

/// A mistake that the feature `plants` builds in.
pub struct Plant {
    /// How the source and the environment name it.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub what: &'static str,
    /// Who has to notice.
    pub caught_by: Catcher,
}

/// What notices a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catcher {
    /// A shipped scenario: what is observed differs from what it predicts.
    Scenario(&'static str),
    /// Of the tests in a binary those whose names contain this: one of them fails.
    Test(Binary, &'static str),
}

/// A binary with tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binary {
    /// The unit tests of `locklab-check`.
    Check,
    /// The unit tests of `locklab`.
    Lib,
    /// The unit tests of `locklab-locks`.
    LockUnits,
    /// `tests/locks`.
    Locks,
    /// `tests/paper`.
    Paper,
    /// `sim/world/tests/world`.
    World,
}

impl Binary {
    /// Each of them.
    pub const ALL: [Binary; 6] = [Check, Lib, LockUnits, Locks, Paper, World];

    /// How its file is called.
    pub fn name(self) -> &'static str {
        match self {
            Check => "locklab_check",
            Lib => "locklab",
            LockUnits => "locklab_locks",
            Locks => "locks",
            Paper => "paper",
            World => "world",
        }
    }
}

const fn plant(name: &'static str, what: &'static str, caught_by: Catcher) -> Plant {
    Plant {
        name,
        what,
        caught_by,
    }
}

/// Every mistake there is.
pub fn plants() -> impl Iterator<Item = &'static Plant> {
    let lists = [
        redlock::PLANTS,
        one_node::PLANTS,
        baselines::PLANTS,
        redisson::PLANTS,
        world::PLANTS,
        checks::PLANTS,
    ];
    lists.into_iter().flatten()
}
