//! What an attack leaves open where no lock could have prevented a violation.

use locklab_evidence::{Judgement, Tally, thousands};
use locklab_runner::prediction::Comparison;

/// Every violation is excused, and nothing else is predicted.
pub(super) const NOTHING_ELSE: &str = "nothing is left to predict: these faults show only what no lock of this kind \
                                       could have prevented, so this says nothing for the lock";

/// What the other runs leave open of a property whose violations are all excused; `None` if they show that it holds,
/// or there are none.
pub(super) fn open(comparison: &Comparison) -> Option<String> {
    let Comparison {
        property, tally, ..
    } = comparison;
    let others = tally.runs() - tally.violated;
    // An excused run says as much of the lock as one that could not have shown a violation.
    let rest = Tally {
        inconclusive: tally.inconclusive + tally.violated,
        violated: 0,
        violated_struck: 0,
        ..*tally
    };
    let rest = Comparison::of(*property, comparison.predicted, rest);
    (others > 0 && rest.judgement == Judgement::Inconclusive).then(|| {
        let more = rest.more_runs.map_or(String::new(), |runs| {
            format!("; {} more would decide", thousands(runs))
        });
        format!(
            "{property}: its violations are excused, and the other {} too few to say whether it holds{more}",
            match others {
                1 => "run is".to_owned(),
                _ => format!("{} runs are", thousands(others)),
            }
        )
    })
}

#[cfg(test)]
mod tests {
    use locklab_check::Property;
    use locklab_evidence::Prediction;

    use super::*;

    #[test]
    fn the_other_runs_have_to_show_that_it_holds() {
        let open = |holds, violated| {
            let tally = Tally {
                holds,
                violated,
                inconclusive: 0,
                struck: holds + violated,
                violated_struck: violated,
            };
            let predicted = Some(Prediction::HOLDS);
            open(&Comparison::of(Property::Lease, predicted, tally))
        };
        assert_eq!(open(0, 3), None);
        assert_eq!(open(500, 3), None);
        let told = open(3, 1).expect("three are too few");
        let begins = "lease: its violations are excused, and the other 3 runs are too few to say whether it holds; ";
        assert!(told.starts_with(begins), "{told}");
        assert!(open(1, 1).is_some_and(|told| told.contains("the other run is too few")));
    }
}
