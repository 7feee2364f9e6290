//! What an attack leaves open where no lock could have prevented a violation.

use locklab_evidence::{Judgement, Tally, thousands};
use locklab_runner::prediction::Comparison;

/// What is told where every prediction is set aside.
const NOTHING_ELSE: &str = "no prediction is left: no lock of this kind could have prevented what was violated, and these \
                            runs say nothing more about the lock";

/// Sets the predictions aside of which every violation is excused; returns what that leaves open, a sentence each.
pub(super) fn set_aside(
    comparisons: &mut [Comparison],
    is_excused: impl Fn(&Comparison) -> bool,
) -> Vec<String> {
    let mut open = Vec::new();
    let mut excused = { comparisons.iter_mut() }
        .filter(|it| is_excused(it))
        .peekable();
    let has_excuses = excused.peek().is_some();
    for comparison in excused {
        open.extend(open_in_others(comparison));
        (comparison.predicted, comparison.judgement) = (None, Judgement::Unpredicted);
    }
    if has_excuses && comparisons.iter().all(|it| it.predicted.is_none()) {
        open.push(NOTHING_ELSE.to_owned());
    }
    open
}

/// What the runs without an excused violation leave open; `None` if they show that the property holds, or there are none.
fn open_in_others(comparison: &Comparison) -> Option<String> {
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
        let others = match others {
            1 => "run is".to_owned(),
            _ => format!("{} runs are", thousands(others)),
        };
        format!(
            "{property}: its violations are excused, and the other {others} too few to say whether it holds{more}"
        )
    })
}

#[cfg(test)]
mod tests {
    use locklab_check::Property;
    use locklab_evidence::Prediction;

    use super::*;

    fn compared(property: Property, holds: u64, violated: u64) -> Comparison {
        let tally = Tally {
            holds,
            violated,
            inconclusive: 0,
            struck: holds + violated,
            violated_struck: violated,
        };
        Comparison::of(property, Some(Prediction::HOLDS), tally)
    }

    /// What is left open of `lease`, with these runs, beside another property that holds.
    fn open(holds: u64, violated: u64) -> Vec<String> {
        let lease = compared(Property::Lease, holds, violated);
        let mut all = [lease, compared(Property::Progress, 500, 0)];
        set_aside(&mut all, |it| it.property == Property::Lease)
    }

    #[test]
    fn the_other_runs_have_to_show_that_it_holds() {
        assert_eq!(open(0, 3), [""; 0]);
        assert_eq!(open(500, 3), [""; 0]);
        let told = open(3, 1);
        let begins = "lease: its violations are excused, and the other 3 runs are too few to say whether it holds; ";
        assert!(told.len() == 1 && told[0].starts_with(begins), "{told:?}");
        assert!(open(1, 1)[0].contains("the other run is too few"));
    }

    #[test]
    fn an_attack_of_which_nothing_is_predicted_shows_nothing() {
        let excuse = |excused: bool| {
            let mut all = [compared(Property::Lease, 0, 3)];
            let open = set_aside(&mut all, |_| excused);
            (open, all[0].predicted.is_some())
        };
        assert_eq!(excuse(true), (vec![NOTHING_ELSE.to_owned()], false));
        assert_eq!(excuse(false), (vec![], true));
    }
}
