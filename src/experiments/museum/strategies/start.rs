//! One search, until a run shows the mistake.

use locklab_check::Property;
use serde::{Deserialize, Serialize};

use super::sighting::{Cost, Sighting};
use super::way::Search;
use crate::museum::trial::Trial;

/// What a search took until it found something; `None` if it did not within its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Until a run violated the property, whatever the reason.
    pub(super) violated: Option<Cost>,
    /// Until a run showed the mistake: it violated the property, and the same run without the mistake did not.
    pub(super) shown: Option<Cost>,
}

impl Start {
    /// The cost of the first sighting, and of the first one that shows the mistake. The runs without the mistake are
    /// a proof; they are no part of the search, and not counted.
    ///
    /// # Errors
    ///
    /// If a run has no result, or if the search is stopped before its end.
    pub(super) fn of(
        search: &Search,
        property: Property,
        sightings: impl Iterator<Item = anyhow::Result<Sighting>>,
    ) -> anyhow::Result<Start> {
        let mut start = Start::default();
        for sighting in sightings {
            let sighting = sighting?;
            start.violated.get_or_insert(sighting.cost);
            if search.mended(&sighting, property)? == Trial::Mended {
                start.shown = Some(sighting.cost);
                break;
            }
        }
        Ok(start)
    }
}
