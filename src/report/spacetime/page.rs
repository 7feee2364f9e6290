//! The page of a picture while its parts draw on it.

use super::{
    super::drawing::Drawing, labels::Labels, lanes::Lanes, scene::Scene, time_scale::Scale,
};

/// A page in progress, with its layout.
pub(super) struct Page<'a> {
    pub(super) drawing: Drawing,
    pub(super) labels: Labels,
    pub(super) scale: Scale,
    pub(super) lanes: Lanes<'a>,
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Page<'_> {
    /// The two ends of a time span on the page; a span that continues beyond the picture is
    /// drawn to its edge.
    pub(super) fn span(&self, scene: &Scene, from_ns: u64, until_ns: u64) -> (f64, f64) {
        let left = match from_ns < scene.window.from_ns {
            true => self.left,
            false => self.scale.x(from_ns),
        };
        let right = match until_ns > scene.window.to_ns {
            true => self.right,
            false => self.scale.x(until_ns),
        };
        (left, right)
    }
}
