//! The rate at which lost packets delay a write beyond its lease, from runs and on paper.

use locklab_check::Property;

use super::{MANY, agrees, check, printed, some_of};

/// The rate of `kleppmann/k4-loss`, derived in the scenario: the write is late if it is lost
/// four times (its fifth transmission comes after 1.6 s), and never comes if it is lost 18 times.
fn paper(probability: f64) -> f64 {
    probability.powi(4) - probability.powi(18)
}

#[test]
fn a_write_comes_too_late_as_often_as_it_is_lost_four_times() {
    for probability in [0.3, 0.5, 0.7, 0.85] {
        let set = format!("fault.loss.probability={probability}");
        let expected = paper(probability);
        check("kleppmann/k4-loss", &[&set], Property::Resource, expected);
    }
}

/// Shows that the test can fail: three losses differ from four.
#[test]
fn a_wrong_formula_would_be_noticed() {
    let set = "fault.loss.probability=0.5";
    let rate = printed(
        "kleppmann/k4-loss",
        &[set],
        Property::Resource,
        some_of(MANY),
    );
    assert!(!agrees(rate, 0.125));
}
