//! What a run of somebody else's program comes to: which violations are held against it, what could not be
//! shown, how many runs the machine bears at once, and how one is repeated.

use locklab_check::Property;
use locklab_runner::prediction::Comparison;

pub(crate) mod advice;
pub(crate) mod again;
pub(crate) mod excuse;
pub(crate) mod gate;
pub(crate) mod unshown;

/// Whether something is told of a property of somebody else's lock. Few locks keep an order or work without
/// their servers, so these two are told where they are predicted.
pub(crate) fn is_told(comparison: &Comparison) -> bool {
    let is_rare = matches!(comparison.property, Property::Fifo | Property::Availability);
    !is_rare || comparison.predicted.is_some()
}
