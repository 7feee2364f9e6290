//! Mistakes in the checks.

use super::Plant;

/// The list.
pub const PLANTS: &[Plant] = &[];
