//! The experiments as data: what is done, what is looked at, and which verdict follows.

use std::str::FromStr;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::protocol::Word;

/// One behaviour of a lock library, and how it is found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name, which never changes: `O1`.
    pub id: String,
    /// The behaviour, in a few words.
    pub title: String,
    /// What it is about; the file it stands in.
    #[serde(skip_deserializing)]
    pub group: String,
    /// Whether a bad verdict contradicts what redis.io or the library promises, or loses the lock. Otherwise it is a
    /// fact: a matter of taste, or of a trade-off.
    #[serde(default)]
    pub must: bool,
    /// The question.
    pub asks: String,
    /// Why a user cares.
    pub why: String,
    /// Where users asked, as `owner/repository#number`.
    #[serde(default)]
    pub threads: Vec<String>,
    /// Ways to find it out. The first counts for which the library has what it needs.
    pub plans: Vec<Plan>,
}

/// A way to find it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the library must have a call for.
    #[serde(default)]
    pub needs: Vec<Word>,
    /// Independent servers.
    #[serde(default = "one")]
    pub nodes: u8,
    /// Processes with the library.
    #[serde(default = "one")]
    pub clients: u8,
    /// How many times the usual lease is asked for.
    #[serde(default = "once")]
    pub lease_factor: f64,
    /// What is done, one after the other.
    pub steps: Vec<Step>,
    /// The first rule that applies is the verdict.
    pub verdicts: Vec<Rule>,
}

fn one() -> u8 {
    1
}

fn once() -> f64 {
    1.0
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A process is given an order. Unless the answer has a name, it has to be `ok`, or there is no verdict.
    Do(Do),
    /// Waits for the answer to an order that was given before.
    Await(Await),
    /// A command at a server, or at all; `{key}` is the key of the lock.
    Operator(Operator),
    /// Another client takes the lock, in the form in which it is held now.
    Another(Another),
    /// Looks at the key of the lock on a server.
    Look(Look),
    /// Something happens to a process or its connections: `kill c1`, `stop n1`, `go n1`, `reset c1`, `wake c1`.
    Now(Now),
    /// What is to happen when the reply arrives that grants a client the lock.
    Trap(Trap),
    /// Waits until that has happened.
    Sprung(Sprung),
    /// Time passes.
    Sleep(Sleep),
    /// Waits until the library tells its user that the lock is lost.
    Lost(Lost),
    /// Counts the requests about the key for a time.
    Count(Count),
    /// Waits until a request is answered by an error.
    Refused(Refused),
    /// Waits until a request about the key leaves.
    Asked(Asked),
    /// Replies and requests take longer from now on.
    Slow(Slow),
    /// The wall clock of a process is stepped.
    Clock(Clock),
    /// Those that wait for the lock get it one after the other, and each releases it.
    Turns(Turns),
    /// The difference of two facts becomes a fact, if both were seen.
    Let(Let),
}

/// See [`Step::Do`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Do {
    /// The order.
    #[serde(rename = "do")]
    pub word: Word,
    /// The process.
    #[serde(default = "first")]
    pub by: String,
    /// The name of the answer.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The longest wait for the lock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How long to stand still, in leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leases: Option<f64>,
    /// Whether the next step does not wait for the answer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub begin: bool,
}

/// See [`Step::Await`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Await {
    /// The name of the answer.
    #[serde(rename = "await")]
    pub name: String,
}

/// See [`Step::Operator`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// The command.
    pub operator: String,
    /// The server; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// See [`Step::Another`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Another {
    /// Its lease, in leases.
    pub another: f64,
    /// The servers; absent: all.
    #[serde(default)]
    pub at: Vec<String>,
}

/// See [`Step::Look`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// The name of what is seen.
    pub look: String,
    /// The server.
    #[serde(default = "first_node")]
    pub at: String,
}

/// See [`Step::Now`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Now {
    /// What, and to whom.
    pub now: String,
}

/// See [`Step::Trap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trap {
    /// What happens.
    pub trap: Springs,
    /// The process whose grant it is.
    #[serde(default = "first")]
    pub by: String,
}

/// What happens when the granting reply arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Springs {
    /// All connections of the process are reset before it arrives.
    Reset,
    /// It waits, until `wake`.
    Hold,
    /// The process stops before it arrives, until `go`.
    Stop,
}

/// See [`Step::Sprung`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sprung {
    /// The process whose grant it is.
    pub sprung: String,
}

/// See [`Step::Sleep`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// How long, in leases.
    pub sleep: f64,
}

/// See [`Step::Lost`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The name of what was told.
    pub lost: String,
    /// The longest wait, in leases.
    pub within: f64,
}

/// See [`Step::Count`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The name of the count.
    pub count: String,
    /// For how long, in leases.
    pub leases: f64,
    /// Whose requests.
    #[serde(default = "first")]
    pub by: String,
}

/// See [`Step::Refused`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The longest wait, in leases; without an error until then there is no verdict.
    pub refused_within: f64,
}

/// See [`Step::Asked`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The longest wait, in leases; without a request until then there is no verdict.
    pub asked_within: f64,
}

/// See [`Step::Clock`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The process.
    pub clock: String,
    /// By this many seconds.
    pub by_s: i64,
}

/// See [`Step::Turns`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// The name of what is seen.
    pub turns: String,
    /// The names of the answers, in the order in which they were asked for.
    pub of: Vec<String>,
}

/// See [`Step::Slow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// By this many milliseconds, one way.
    pub slow_ms: u64,
    /// Whether requests do not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replies_only: bool,
}

/// See [`Step::Let`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Let {
    /// Its name; the number is its `is`.
    #[serde(rename = "let")]
    pub name: String,
    /// `take.ms - 1000`
    pub is: String,
}

fn first() -> String {
    "c1".into()
}

fn first_node() -> String {
    "n1".into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// A verdict, and when it is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// All of these have to be true.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// The verdict, in words.
    pub is: String,
    /// Whether that is what a user wants; absent: neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<bool>,
    /// The fact that is its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The unit of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// A comparison of a fact: `after.whose = another`, `take.ms < 2000`, `b.token > a.token`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    /// The fact.
    pub fact: String,
    /// How it is compared.
    pub is: Comparison,
    /// With what: a word, a number, or another fact.
    pub than: String,
}

/// How a fact is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    Different,
    /// `<`
    Less,
    /// `>`
    Greater,
}

impl Comparison {
    const ALL: [(&'static str, Comparison); 4] = [
        ("=", Comparison::Equal),
        ("!=", Comparison::Different),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    fn sign(self) -> &'static str {
        let found = Comparison::ALL.iter().find(|(_, it)| *it == self);
        found.map_or("=", |(sign, _)| sign)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        let [fact, sign, than] = words[..] else {
            return Err(format!("`{text}` is not like `after.whose = another`"));
        };
        let found = Comparison::ALL.iter().find(|(known, _)| *known == sign);
        let (_, is) = found.ok_or_else(|| format!("`{sign}` in `{text}` is not =, !=, < or >"))?;
        Ok(Condition {
            fact: fact.into(),
            is: *is,
            than: than.into(),
        })
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> String {
        format!(
            "{} {} {}",
            condition.fact,
            condition.is.sign(),
            condition.than
        )
    }
}

/// A file of experiments.
macro_rules! group {
    ($name:literal) => {
        ($name, include_str!(concat!("experiments/", $name, ".toml")))
    };
}

/// The files, by what they are about.
const GROUPS: [(&str, &str); 8] = [
    group!("ownership"),
    group!("acquire"),
    group!("lease"),
    group!("time"),
    group!("server"),
    group!("quorum"),
    group!("waiting"),
    group!("interface"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    experiment: Vec<Experiment>,
}

/// All experiments, in the order of the scorecard.
pub fn experiments() -> &'static [Experiment] {
    static ALL: OnceLock<Vec<Experiment>> = OnceLock::new();
    ALL.get_or_init(|| {
        GROUPS
            .iter()
            .flat_map(|(name, text)| read(name, text))
            .collect()
    })
}

fn read(name: &str, text: &str) -> Vec<Experiment> {
    let read: Result<Group, _> = toml::from_str(text);
    let group = read.unwrap_or_else(|error| panic!("experiments/{name}.toml: {error}"));
    let named = |experiment| Experiment {
        group: name.into(),
        ..experiment
    };
    group.experiment.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts that a step notes.
    fn noted(step: &Step) -> Vec<String> {
        let (name, facts): (Option<&str>, &[&str]) = match step {
            Step::Do(it) => {
                let facts = &[
                    "r", "ms", "leases", "begun_ms", "at_ms", "valid_ms", "until_ms", "token",
                    "class",
                ];
                (it.name.as_deref(), facts)
            }
            Step::Look(it) => {
                let facts = &[
                    "whose", "form", "value", "ttl_ms", "leases", "at_ms", "ends_ms",
                ];
                (Some(&it.look), facts)
            }
            Step::Lost(it) => (Some(&it.lost), &["r", "ms", "at_ms", "how"]),
            Step::Count(it) => (Some(&it.count), &["requests", "a_lease"]),
            Step::Let(it) => (Some(&it.name), &["is"]),
            Step::Turns(it) => (Some(&it.turns), &["r", "overtaken"]),
            _ => (None, &[]),
        };
        let of_name = |name| facts.iter().map(move |fact| format!("{name}.{fact}"));
        name.map(of_name).into_iter().flatten().collect()
    }

    /// A rule about a fact that nobody notes would never apply.
    #[test]
    fn rules_are_about_what_the_steps_note() {
        for experiment in experiments() {
            for plan in &experiment.plans {
                let known: Vec<String> = plan.steps.iter().flat_map(noted).collect();
                let of_rule = |rule: &Rule| {
                    let facts = rule.when.iter().map(|condition| condition.fact.clone());
                    facts.chain(rule.value.clone()).collect::<Vec<_>>()
                };
                let of_step = |step: &Step| match step {
                    Step::Let(it) => it.is.split(" - ").map(str::to_owned).collect(),
                    _ => vec![],
                };
                let used = { plan.verdicts.iter().flat_map(of_rule) }
                    .chain(plan.steps.iter().flat_map(of_step));
                for fact in used.filter(|fact| fact.parse::<f64>().is_err()) {
                    assert!(known.contains(&fact), "{}: {fact}", experiment.id);
                }
            }
        }
    }

    #[test]
    fn what_is_read_is_written_as_the_same() {
        for experiment in experiments() {
            let text = serde_json::to_string(experiment).expect("it has string keys");
            let mut again: Experiment = serde_json::from_str(
                &text.replace(&format!("\"group\":\"{}\",", experiment.group), ""),
            )
            .expect("it is an experiment");
            again.group.clone_from(&experiment.group);
            assert_eq!(again, *experiment);
        }
    }
}
