//! What a violation that a program's lock should have prevented means, and what prevents it.

use locklab_check::Property;
use locklab_model::scenario::Scenario;
use locklab_model::workload::Fencing;
use locklab_vecmap::VecSet;

/// What is told of a program with several locks.
pub(crate) fn of_several(seed: u64, lock: &str) -> String {
    let has = match lock.contains("permit ") {
        true => "a semaphore is judged by each of its permits",
        false => "the program has several locks",
    };
    format!("{has}, and a run counts by the worst of them; with seed {seed} that is {lock}")
}

/// A line for each of these properties that tells something new.
pub(crate) fn advice(blamed: impl Iterator<Item = Property>, scenario: &Scenario) -> Vec<String> {
    let compares = scenario.resource.fencing != Fencing::None;
    let mut told = VecSet::new();
    let mut lines = Vec::new();
    for property in blamed {
        if let Some(meaning) = meaning(property, compares)
            && told.insert(meaning)
        {
            lines.push(format!("  {property} means that {meaning}"));
        }
    }
    lines
}

/// In two or three sentences, with the chapter; `None` for what no program is blamed for.
fn meaning(property: Property, compares: bool) -> Option<&'static str> {
    Some(match property {
        Property::Lease => {
            "two clients could rely on the lock at once, each by its own clock. Look at how it is taken (only if it is \
             free, or has a permit left, in one step), extended and released (only by its owner, in a script), and count the deadline from \
             before the request. docs/properties.md, \"lease\""
        }
        Property::Resource | Property::StaleWrite | Property::LostUpdate | Property::Progress
            if compares =>
        {
            "the tokens did not keep apart who had the lock from who had had it. Each grant needs a higher token than all \
             before, and each access has to show it. docs/properties.md, \"token-regression\""
        }
        Property::Resource | Property::StaleWrite | Property::LostUpdate => {
            "a client wrote under a lock that it no longer had. Look at the deadline just before each write; where a \
             write can still come late, only a resource that compares fencing tokens refuses it. docs/properties.md, \
             \"resource\""
        }
        Property::TokenRegression => {
            "the resource accepted an older token after a newer one. Each grant needs a higher token than all before, \
             and the resource has to refuse lower ones. docs/properties.md, \"token-regression\""
        }
        Property::Deadlock => {
            "nobody was granted a lock that was free. Give the key its time to live in the command that sets it, and \
             ask again after a refusal. docs/properties.md, \"deadlock\""
        }
        Property::ForeignRelease => {
            "a release deleted the lock of another client. Compare the value and delete the key in one script, and look \
             at its reply. docs/properties.md, \"foreign-release\""
        }
        _ => return None,
    })
}
