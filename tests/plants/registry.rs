//! The list of planted mistakes, each with the scenario or test that must catch it.

mod baselines;
mod checks;
mod one_node;
mod real;
mod redisson;
mod redlock;
mod world;

use Binary::{Agreement, Check, Injectors, Lib, LockUnits, Locks, Paper, World};

/// A mistake that the feature `plants` compiles in.
pub struct Plant {
    /// Its name in the source and in the environment.
    pub name: &'static str,
    /// A description in one sentence.
    pub what: &'static str,
    /// The scenario or test that must catch it.
    pub caught_by: Catcher,
}

/// A scenario or test that detects a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catcher {
    /// A shipped scenario: its observed result differs from its prediction.
    Scenario(&'static str),
    /// The tests in a binary whose names contain this: at least one of them fails.
    Test(Binary, &'static str),
}

/// A test binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binary {
    /// `tests/agreement.rs`: on real servers.
    Agreement,
    /// The unit tests of `locklab-check`.
    Check,
    /// `tests/injectors.rs`.
    Injectors,
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
    /// All binaries.
    pub const ALL: [Binary; 8] = [
        Agreement, Check, Injectors, Lib, LockUnits, Locks, Paper, World,
    ];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Agreement => "agreement",
            Check => "locklab_check",
            Injectors => "injectors",
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

/// Every planted mistake.
pub fn plants() -> impl Iterator<Item = &'static Plant> {
    let lists = [
        redlock::PLANTS,
        one_node::PLANTS,
        real::PLANTS,
        baselines::PLANTS,
        redisson::PLANTS,
        world::PLANTS,
        checks::PLANTS,
    ];
    lists.into_iter().flatten()
}
