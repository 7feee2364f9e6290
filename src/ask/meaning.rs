//! What a violation means, and what would have prevented it: a sentence each, the same for every command.

use std::fmt;

use locklab_check::Property;
use locklab_lab::layout;
use locklab_model::scenario::Scenario;
use locklab_model::workload::Fencing;
use locklab_results::recording::Recording;
use locklab_runner::recorded;
use serde::{Deserialize, Serialize};

use self::excuse::{Excuse, Shown, excuses};

pub(crate) mod excuse;

/// Two sentences on a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meaning {
    /// The name of the violated property, or of another criterion.
    pub violated: String,
    /// What happened, as it follows "means that".
    pub happened: String,
    /// What prevents it, as a sentence.
    pub prevents: String,
    /// Why no lock could have prevented it.
    #[serde(skip)]
    pub(crate) excuse: Option<Excuse>,
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meaning {
            violated,
            happened,
            prevents,
            ..
        } = self;
        write!(f, "{violated} means that {happened}. {prevents}")
    }
}

impl Meaning {
    /// Of a violation of which nothing is known but whether the resource compared tokens.
    pub(crate) fn of(property: Property, compares: bool) -> Meaning {
        let (happened, prevents, chapter) = sentences(property, compares);
        Meaning {
            violated: property.name().to_owned(),
            happened: happened.to_owned(),
            prevents: format!("The usual remedy: {prevents} (docs/properties.md, \"{chapter}\")."),
            excuse: None,
        }
    }

    /// Both sentences below what was told before, with an empty line between.
    pub(crate) fn paragraph(&self) -> String {
        layout::fold(&format!("\n\n  {self}"))
    }

    fn excused(self, excuse: Option<Excuse>) -> Meaning {
        let prevents = match excuse {
            Some(excuse) => excuse.sentence(),
            None => self.prevents,
        };
        Meaning {
            prevents,
            excuse,
            ..self
        }
    }
}

/// What the violations of a run mean, of those of these properties. Of a recording that cannot be run, nothing is known.
pub(crate) fn meanings(run: &Recording, properties: &[Property]) -> Vec<Meaning> {
    let Ok(scenario) = recorded::scenario(run) else {
        return vec![];
    };
    let excuses = excuses(Shown::from(run), &scenario);
    let of = |property: &Property| {
        if is_promised_by_few(*property) && !scenario.expect.contains_key(property) {
            return None;
        }
        let (_, excuse) = excuses.iter().find(|(violated, _)| violated == property)?;
        Some(Meaning::of(*property, compares(&scenario)).excused(*excuse))
    };
    properties.iter().filter_map(of).collect()
}

/// What a run means: of a lock of ours the worst, of a program's all that is violated.
pub(crate) fn of_run(run: &Recording, scenario: &Scenario) -> Vec<Meaning> {
    let all = meanings(run, &Property::ALL);
    match run.header.program.is_empty() {
        true => worst(all, scenario.headline()).into_iter().collect(),
        false => distinct(all),
    }
}

/// The one that a user was after: of the headline, or of another property. That a holder outlived its lease comes last.
pub(crate) fn worst(meanings: Vec<Meaning>, headline: Property) -> Option<Meaning> {
    let rank = |it: &Meaning| {
        (
            it.violated == Property::Belief.name(),
            it.violated != headline.name(),
        )
    };
    meanings.into_iter().min_by_key(rank)
}

/// Those that tell something new. A program of somebody else has a lock of which nothing is known, so all are told.
fn distinct(meanings: Vec<Meaning>) -> Vec<Meaning> {
    let mut told: Vec<Meaning> = Vec::new();
    for meaning in meanings {
        let is_same =
            |it: &Meaning| (&it.happened, it.excuse) == (&meaning.happened, meaning.excuse);
        if !told.iter().any(is_same) {
            told.push(meaning);
        }
    }
    told
}

/// Those that the lock should have prevented.
pub(crate) fn blamed(mut meanings: Vec<Meaning>) -> Vec<Meaning> {
    meanings.retain(|it| it.excuse.is_none());
    distinct(meanings)
}

/// Few locks keep an order or work without their servers, so these two are told where they are predicted.
pub(crate) fn is_promised_by_few(property: Property) -> bool {
    matches!(property, Property::Fifo | Property::Availability)
}

fn compares(scenario: &Scenario) -> bool {
    scenario.resource.fencing != Fencing::None
}

/// What happened, what prevents it, and the chapter of docs/properties.md.
fn sentences(property: Property, compares: bool) -> (&'static str, &'static str, &'static str) {
    let (happened, prevents) = match property {
        Property::Belief => (
            "two clients believed at once that they hold the lock",
            "let the holder look at its deadline, or renew before it; every lock with a lease allows this",
        ),
        Property::Lease => (
            "two clients could rely on the lock at once, each by its own clock",
            "look at how it is taken (only if it is free, or has a permit left, in one step), extended and released (only \
             by its owner, in a script), and count the deadline from before the request",
        ),
        Property::Resource | Property::StaleWrite | Property::LostUpdate | Property::Progress
            if compares =>
        {
            return (
                "the tokens did not keep apart who had the lock from who had had it",
                "give each grant a higher token than all before, and show it with each access",
                Property::TokenRegression.name(),
            );
        }
        Property::Resource | Property::StaleWrite | Property::LostUpdate => {
            return (
                "a client wrote under a lock that it no longer had",
                "look at the deadline just before each write; where a write can still come late, only a resource that \
                 compares fencing tokens refuses it",
                Property::Resource.name(),
            );
        }
        Property::TokenRegression => (
            "the resource accepted an older token after a newer one",
            "give each grant a higher token than all before, and let the resource refuse lower ones",
        ),
        Property::Progress => (
            "the resource refused a client that had the lock",
            "let the resource refuse only tokens that are lower than one it has seen",
        ),
        Property::ForeignRelease => (
            "a release deleted the lock of another client",
            "compare the value and delete the key in one script, and look at its reply",
        ),
        Property::Deadlock => (
            "nobody was granted a lock that was free",
            "give the key its time to live in the command that sets it, and ask again after a refusal",
        ),
        Property::Availability => (
            "nobody was granted a free lock while servers, or links to them, were down",
            "take a lock that needs a majority of several servers, which is granted while one of them is down",
        ),
        Property::Recovery => (
            "nobody was granted a free lock after every fault was over",
            "give every key a time to live, close connections that do not answer, and ask again after an error",
        ),
        Property::Fifo => (
            "a client was granted the lock ahead of one that had asked earlier",
            "take a lock that keeps a queue",
        ),
        Property::AcknowledgedLost => (
            "an addition was lost that had been acknowledged",
            "wait until a majority of the replicas has it (`WAIT`), and let no replica be promoted that is behind",
        ),
    };
    (happened, prevents, property.name())
}

#[cfg(test)]
mod tests {
    use locklab_model::scenario::load;
    use locklab_runner::judged::record;

    use super::*;

    /// What the first run of a scenario means.
    fn told(name: &str, sets: &[&str]) -> String {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = load(name, &sets).expect("it ships");
        let run = record(&scenario, 0).expect("it can be run");
        let all = of_run(&run, &scenario);
        all.iter().map(Meaning::to_string).collect()
    }

    #[test]
    fn what_a_fault_explains_is_not_put_down_to_the_lock() {
        for (name, expected) in [
            ("kleppmann/k1", "the writer stood still past its lease"),
            ("kleppmann/k4", "the write came late"),
            ("redis-docs/r5", "compare the value and delete the key"),
            ("baselines/cas-asynchronous", "a server lost what it held"),
        ] {
            let text = told(name, &[]);
            assert!(
                text.to_lowercase().contains(&expected.to_lowercase()),
                "{name}: {text}"
            );
        }
    }

    #[test]
    fn it_is_two_sentences_on_the_property_that_the_scenario_is_about() {
        // In each of them c1 outlives its lease, too.
        for (name, property) in [
            ("kleppmann/k1", "resource"),
            ("kleppmann/k5", "belief"),
            ("redis-docs/r5", "foreign-release"),
        ] {
            let text = told(name, &[]);
            assert!(
                text.starts_with(&format!("{property} means that ")),
                "{text}"
            );
            assert_eq!(text.matches(". ").count(), 1, "{text}");
            assert!(text.ends_with('.'), "{text}");
        }
    }

    /// A database has what it answered, however it ends, unless it answers before it writes.
    #[test]
    fn database_that_was_killed_has_forgotten_nothing() {
        let killed = "fault.down={ kind = 'kill', on = 'n1', at_ms = 400, duration_ms = 100 }";
        let text = told("baselines/cas-unfenced", &[killed]);
        assert!(text.contains("The writer stood still"), "{text}");
    }

    #[test]
    fn what_few_locks_promise_is_told_where_it_is_predicted() {
        let any = "expect={ fifo = 'holds' }";
        assert_eq!(told("redis-docs/r1", &[]), "");
        let text = told("redis-docs/r1", &[any]);
        assert!(text.starts_with("fifo means that "), "{text}");
    }
}
