//! A grant that was asked for after another had returned has a higher token.
//!
//! Only then is their order known: calls that overlap may have been served in any order. Readers may
//! share a token, and so may the grants of one holder of a reentrant lock.

use locklab_check::Violation;
use locklab_history::Told;

use crate::evidence::Evidence;
use crate::history::{Call, KeyHistory, Outcome, What};
use crate::models::{Act, ModelName};

/// The first grant whose token is too low.
pub fn check(key: &KeyHistory, model: ModelName, told: Told) -> Option<Evidence> {
    // The highest token that has returned, and per call what it was when the call was made.
    let mut highest: Option<(u64, usize, u64)> = None;
    let mut at_call: Vec<Option<(u64, usize, u64)>> = vec![None; key.calls.len()];
    for point in &key.points {
        match point.what {
            What::Invoked(index) => at_call[index as usize] = highest,
            What::Returned(index) => {
                let index = index as usize;
                let call = &key.calls[index];
                let Some(token) = call.token.filter(|_| is_grant(call)) else {
                    continue;
                };
                if let Some((higher, other, at_ns)) = at_call[index]
                    && at_ns < call.invoked_ns
                    && is_regression(call, token, &key.calls[other], higher, model)
                {
                    return Some(evidence(key, index, other, told));
                }
                if highest.is_none_or(|(high, ..)| token >= high) {
                    highest = Some((token, index, point.at_ns));
                }
            }
            What::Lost | What::Access(_) | What::Clocks => {}
        }
    }
    None
}

/// Whether a grant with a token was asked for after another one had returned.
pub fn had_opportunity(key: &KeyHistory) -> bool {
    let tokens = || {
        key.calls
            .iter()
            .filter(|call| is_grant(call) && call.token.is_some())
    };
    let returned = tokens().filter_map(|call| Some(call.returned?.0));
    let first_ns = returned.min();
    first_ns.is_some_and(|first_ns| tokens().any(|call| call.invoked_ns > first_ns))
}

fn is_grant(call: &Call) -> bool {
    call.act == Act::Acquire && call.outcome == Outcome::Ok && !call.shared
}

fn is_regression(call: &Call, token: u64, other: &Call, higher: u64, model: ModelName) -> bool {
    let is_reentrant = matches!(model, ModelName::Reentrant | ModelName::ReentrantFenced);
    let may_share = is_reentrant && call.holder == other.holder;
    token < higher || token == higher && !may_share
}

fn evidence(key: &KeyHistory, index: usize, other: usize, told: Told) -> Evidence {
    let (call, other) = (&key.calls[index], &key.calls[other]);
    let returned_ns = |call: &Call| call.returned.map_or(call.invoked_ns, |(at_ns, _)| at_ns);
    let token = |call: &Call| call.token.unwrap_or_default();
    let at_ns = returned_ns(call);
    let what = format!(
        "{} asked for the lock at {} and was granted it with token {}, although {} had been granted it \
         with token {} at {}",
        key.names[call.process as usize],
        told.at(call.invoked_ns),
        token(call),
        key.names[other.process as usize],
        token(other),
        told.at(returned_ns(other)),
    );
    let clients = [other, call].map(|call| key.names[call.process as usize].clone());
    let violation = Violation {
        at_ns,
        until_ns: at_ns,
        clients: clients.into(),
        what,
    };
    Evidence::new(violation, call.lines().chain(other.lines()))
}
