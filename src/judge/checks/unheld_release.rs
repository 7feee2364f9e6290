//! No release succeeds for which its holder had no grant.
//!
//! A release that returned is for a call of `acquire` of the same holder that was made before, did not
//! fail, and was not released before. What `foreign-release` judges is another question: there the
//! holder had the lock, and has lost it to somebody.

use locklab_check::Violation;
use locklab_history::Told;

use crate::evidence::Evidence;
use crate::history::{KeyHistory, Outcome, What};
use crate::models::Act;

/// Whether a release was answered: any of them may have been one too many.
pub fn had_opportunity(key: &KeyHistory) -> bool {
    let mut calls = key.calls.iter();
    calls.any(|call| call.act == Act::Release && call.outcome != Outcome::Unknown)
}

/// The first release without a grant.
pub fn check(key: &KeyHistory, told: Told) -> Option<Evidence> {
    let mut had: Vec<u64> = vec![0; key.names.len()];
    for point in &key.points {
        let (What::Invoked(index) | What::Returned(index)) = point.what else {
            continue;
        };
        let call = &key.calls[index as usize];
        let is_call = matches!(point.what, What::Invoked(_));
        let had = &mut had[call.holder as usize];
        match (call.act, call.outcome, is_call) {
            (Act::Acquire, Outcome::Ok | Outcome::Unknown, true) => *had += u64::from(call.permits),
            (Act::Release, Outcome::Ok, false) => match had.checked_sub(u64::from(call.permits)) {
                Some(left) => *had = left,
                None => {
                    let what = format!(
                        "{} released the lock at {} without having been granted it",
                        key.names[call.process as usize],
                        told.at(point.at_ns),
                    );
                    let violation = Violation {
                        at_ns: point.at_ns,
                        until_ns: point.at_ns,
                        clients: vec![key.names[call.process as usize].clone()],
                        what,
                    };
                    return Some(Evidence::new(violation, call.lines()));
                }
            },
            _ => {}
        }
    }
    None
}
