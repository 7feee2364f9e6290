//! The edits that make a scenario smaller. Each is a function from the best scenario and its run to
//! candidates, the simplest first; the search keeps the first that still violates the property.
//!
//! No edit touches what is under test: the lock's parameters, the resource, the client's program,
//! and the servers' configuration.

pub(crate) mod constants;
pub(crate) mod faults;
pub(crate) mod horizon;
pub(crate) mod hosts;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod placement;
pub(crate) mod rounds;

use crate::trial::Best;
use locklab_check::Property;
use locklab_model::scenario::Scenario;

/// The candidates of one edit.
pub(crate) type Edit = fn(&Best, Property) -> Vec<Scenario>;

/// The edits that leave something out, in the order in which they are tried.
pub(crate) const REDUCTIONS: &[Edit] = &[
    faults::fewer,
    hosts::fewer,
    rounds::fewer,
    constants::settled,
];

/// The edits that make what is left read better. None is worth a violation that fewer seeds show.
pub(crate) const REFINEMENTS: &[Edit] = &[
    faults::with_fewer_targets,
    options::left_out,
    placement::by_moment,
    numbers::rounder,
];
