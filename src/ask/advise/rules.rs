//! Which lock for which answers, as data: `rules.toml`, whose head says how it is read.

use anyhow::Context;
use locklab_check::Property;
use locklab_evidence::Expected;
use locklab_locks::LockSpec;
use locklab_model::scenario;
use locklab_values::dist::Dist;
use serde::Deserialize;

use super::answers::{Answers, Protects, Server};
use crate::risk::model::{Term, Time};

/// All rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    lease: Lease,
    #[serde(rename = "step")]
    steps: Vec<Step>,
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
    #[serde(rename = "lock")]
    locks: Vec<Sheet>,
}

/// How long a lease is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lease {
    times_of_work: f64,
    at_least: Time,
    at_most: Time,
    renewed: Time,
    session: Time,
}

/// What a client does, with a run that shows why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// When it does that: `before each write`.
    pub name: String,
    needs: Option<Needs>,
    /// What it does. `{retry}` stands for the times between two attempts of the lock.
    says: String,
    /// The scenario, and the property that it is about.
    pub shown: (String, Property),
}

/// Which locks a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Needs {
    /// A client that is refused asks again.
    Retry,
    /// The holder is told until when it has the lock.
    Deadline,
    /// The lock ends with the client's session, and tells no time.
    Session,
}

/// A lock for some answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    protects: Protects,
    tokens: Option<bool>,
    servers: Vec<Server>,
    /// The lock, as `locklab study risk` names it.
    pub lock: String,
    /// The same lock with tokens that the resource compares, if this one has none.
    pub tokens_lock: Option<String>,
    /// The same lock without tokens, if this one has some.
    pub plain_lock: Option<String>,
    /// Overrides of the scenario of `locklab study risk`.
    #[serde(default)]
    pub sets: Vec<String>,
    /// The advice in a sentence.
    pub says: String,
    /// The reason.
    pub why: String,
    /// What else can be done where no lock is enough.
    #[serde(default)]
    pub remains: Vec<String>,
}

/// How a lock is taken, and what it survives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sheet {
    name: String,
    /// How it is taken.
    pub take: String,
    /// How it is released.
    pub release: String,
    /// What it survives, and what not.
    pub claims: Vec<Claim>,
}

/// What goes wrong in a shipped scenario. Whether the lock survives it is what the scenario predicts of the property.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Claim(pub String, pub Property, pub String);

impl Claim {
    /// Whether its scenario says that the property holds.
    ///
    /// # Errors
    ///
    /// If there is no such scenario, or it predicts nothing of the property.
    pub fn holds(&self) -> anyhow::Result<bool> {
        let Claim(name, property, _) = self;
        let scenario = scenario::load(name, &[])?;
        let predicted = scenario.expect.get(property);
        let predicted = predicted.with_context(|| format!("{name} predicts nothing of {property}"));
        Ok(predicted?.expected() == Expected::Holds)
    }
}

impl Rules {
    /// The rules that ship.
    pub fn shipped() -> Rules {
        toml::from_str(include_str!("rules.toml")).expect("a test reads the rules that ship")
    }

    /// The rule for these answers. The user's servers are looked at in the order of the rules.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn choose(&self, answers: &Answers) -> anyhow::Result<&Rule> {
        let fits = |rule: &&Rule| {
            rule.protects == answers.protects
                && rule.tokens.is_none_or(|tokens| tokens == answers.tokens)
                && rule.servers.iter().any(|it| answers.servers.contains(it))
        };
        let found = self.rules.iter().find(fits);
        found.context("no lock is known for these servers")
    }

    /// What is known of a lock.
    ///
    /// # Errors
    ///
    /// If nothing is.
    pub fn sheet(&self, lock: &str) -> anyhow::Result<&Sheet> {
        let found = self.locks.iter().find(|sheet| sheet.name == lock);
        found.with_context(|| format!("nothing is known of {lock}"))
    }

    /// The lease for some work, and how often it is renewed, if it is. A session and a watchdog are renewed anyhow.
    pub fn lease(&self, work: &Dist, term: Term) -> (Time, Option<Time>) {
        let Lease {
            times_of_work,
            at_least,
            at_most,
            renewed,
            session,
        } = self.lease;
        if term != Term::Lease {
            return (session, None);
        }
        let needed_ms = (times_of_work * work.at_tail_ms(RARE_WORK)).max(at_least.0);
        let rounded = ROUND_S.iter().map(|seconds| Time(seconds * 1000.0));
        let mut enough = rounded.filter(|lease| lease.0 >= needed_ms && lease.0 <= at_most.0);
        match enough.next() {
            Some(lease) => (lease, None),
            None => (renewed, Some(Time(renewed.0 / 3.0))),
        }
    }

    /// The steps of a client of this lock, each with what it does.
    pub fn steps<'r>(&'r self, lock: &LockSpec) -> Vec<(&'r Step, String)> {
        let facts = lock.facts();
        let parameter = |name| {
            let value = serde_json::to_value(lock).ok()?;
            value.get(name)?.as_u64()
        };
        let retry = parameter("retry_delay_ms").map(|delay_ms| {
            let most_ms = delay_ms + parameter("retry_jitter_ms").unwrap_or(0);
            format!("{delay_ms} to {most_ms} ms")
        });
        let is_for = |step: &&Step| match step.needs {
            None => true,
            Some(Needs::Retry) => retry.is_some(),
            Some(Needs::Deadline) => facts.tells_deadline,
            Some(Needs::Session) => !facts.tells_deadline,
        };
        let told = |step: &'r Step| {
            let retry = retry.as_deref().unwrap_or_default();
            (step, step.says.replace("{retry}", retry))
        };
        self.steps.iter().filter(is_for).map(told).collect()
    }

    /// All claims, those of steps too.
    #[cfg(test)]
    pub(super) fn claims(&self) -> Vec<Claim> {
        let of_locks = self.locks.iter().flat_map(|lock| lock.claims.clone());
        let of_steps = self.steps.iter().map(|step| {
            let (scenario, property) = step.shown.clone();
            Claim(scenario, property, step.says.clone())
        });
        of_locks.chain(of_steps).collect()
    }
}

/// One work in a thousand takes longer.
pub(super) const RARE_WORK: f64 = 1e-3;

/// Leases that people remember, in seconds.
const ROUND_S: [f64; 10] = [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use clap::ValueEnum;
    use locklab_runner::batch::{BatchOptions, Job, run};

    use super::*;
    use crate::advise::Advise;
    use crate::advise::answers::Given;

    fn answers(protects: Protects, tokens: bool, servers: &[Server]) -> Answers {
        let given = Given {
            protects: Some(protects),
            tokens: Some(tokens),
            servers: servers.to_vec(),
            work: Some("2s".into()),
            ..Given::default()
        };
        given.complete(None::<&[u8]>).expect("all is said")
    }

    #[test]
    fn every_answer_has_a_lock_that_can_be_set_up() {
        for protects in Protects::value_variants() {
            for server in Server::value_variants() {
                for tokens in [false, true] {
                    let answers = answers(*protects, tokens, &[*server]);
                    let rules = Rules::shipped();
                    let rule = rules.choose(&answers).expect("a rule");
                    rules.sheet(&rule.lock).expect("it is described");
                    let plan = Advise::plan(answers, None, 100).expect("it can be set up");
                    assert!(plan.cases.len() > 1, "{}", rule.lock);
                }
            }
        }
    }

    #[test]
    fn correctness_without_tokens_is_promised_by_nobody() {
        for server in Server::value_variants() {
            let answers = answers(Protects::Correctness, false, &[*server]);
            let rules = Rules::shipped();
            let rule = rules.choose(&answers).expect("a rule");
            assert!(rule.says.starts_with("No lock "), "{}", rule.says);
            assert!(!rule.remains.is_empty());
            let claims = &rules.sheet(&rule.lock).expect("described").claims;
            let breaks = |claim: &Claim| !claim.holds().expect("predicted");
            assert!(claims.iter().any(breaks), "{}", rule.lock);
        }
    }

    #[test]
    fn best_of_several_servers_is_taken() {
        let chosen = |protects, tokens, servers: &[Server]| {
            let rules = Rules::shipped();
            let rule = rules.choose(&answers(protects, tokens, servers));
            rule.expect("a rule").lock.clone()
        };
        let all = Server::value_variants();
        assert_eq!(chosen(Protects::Correctness, true, all), "consensus");
        assert_eq!(chosen(Protects::Efficiency, true, all), "set-nx-px");
        let two = [Server::Redis, Server::Database];
        assert_eq!(chosen(Protects::Correctness, true, &two), "database-cas");
    }

    /// `tests/claims.rs` runs all predictions; these are the few runs that most of them take.
    #[test]
    fn each_sentence_says_what_its_scenario_shows() {
        let claims = Rules::shipped().claims();
        let mut jobs: Vec<Job> = Vec::new();
        let mut of_jobs: Vec<&Claim> = Vec::new();
        for claim in &claims {
            claim.holds().expect("its scenario predicts it");
            let scenario = scenario::load(&claim.0, &[]).expect("it ships");
            // Many rounds of many clients take long.
            if scenario.workload.rounds <= 3 && scenario.campaign.is_none() {
                jobs.push(Job::of(&scenario, 0..40));
                of_jobs.push(claim);
            }
        }
        assert!(3 * jobs.len() > 2 * claims.len(), "{}", jobs.len());
        let stop = AtomicBool::new(false);
        let cells = run(&jobs, &BatchOptions::quiet(2, &stop)).expect("no panic");
        for (claim, cell) in of_jobs.into_iter().zip(cells) {
            let cell = cell.expect("it was run");
            let is_violated = cell.shortest.contains_key(&claim.1);
            let holds = claim.holds().expect("predicted");
            assert_eq!(is_violated, !holds, "{claim:?}");
        }
    }

    #[test]
    fn lease_is_several_times_the_work_and_longer_work_renews_one() {
        let rules = Rules::shipped();
        let lease = |work_ms: f64, term| {
            let (lease, renewed) = rules.lease(&Dist::Constant(work_ms), term);
            (lease.0 / 1000.0, renewed.map(|every| every.0 / 1000.0))
        };
        assert_eq!(lease(10.0, Term::Lease), (3.0, None));
        assert_eq!(lease(2000.0, Term::Lease), (10.0, None));
        assert_eq!(lease(12_000.0, Term::Lease), (60.0, None));
        assert_eq!(lease(12_001.0, Term::Lease), (30.0, Some(10.0)));
        assert_eq!(lease(12_001.0, Term::Session), (10.0, None));
    }

    const BEGIN: &str = "<!-- rules:begin -->\n";
    const END: &str = "<!-- rules:end -->\n";

    /// A row for each server, a column for each purpose, and the reason for each lock that is not enough.
    fn table() -> String {
        let purposes = [
            (Protects::Efficiency, false),
            (Protects::Correctness, true),
            (Protects::Correctness, false),
        ];
        let mut text = "\
| you have | for efficiency | for correctness, the resource compares tokens | for correctness, it compares none |
|---|---|---|---|
"
        .to_owned();
        let rules = Rules::shipped();
        for server in Server::value_variants() {
            let value = server.to_possible_value().expect("it can be chosen");
            let help = value.get_help().expect("it is described").to_string();
            text += &format!("| {help} |");
            for (protects, tokens) in purposes {
                let rule = rules.choose(&answers(protects, tokens, &[*server]));
                let rule = rule.expect("a rule");
                let lock = rule.lock.replace("+replica", "");
                text += &match rule.remains.is_empty() {
                    true => format!(" `{lock}` |"),
                    false => format!(" no lock is enough; `{lock}` remains |"),
                };
            }
            text.push('\n');
        }
        text
    }

    #[test]
    fn book_has_the_rules_as_a_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/choosing.md");
        let book = || std::fs::read_to_string(path).expect("it is in the book");
        let found = book();
        let (before, rest) = found.split_once(BEGIN).expect("where it begins");
        let (_, after) = rest.split_once(END).expect("where it ends");
        let expected = format!("{before}{BEGIN}{}{END}{after}", table());
        if std::env::var_os("LOCKLAB_BLESS").is_some() {
            std::fs::write(path, &expected).expect("the book can be written");
        }
        assert!(
            book() == expected,
            "docs/choosing.md is out of date: run this test with LOCKLAB_BLESS=1"
        );
    }
}
