//! The scenarios that the page offers, the claims with their quotations, and the lessons.
//!
//! The quotations are those of the page of all claims, `src/ask/reproduce/claims.toml`; a lesson names a claim and does not
//! quote it again.

use std::collections::BTreeMap;

use locklab_model::scenario::SHIPPED;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const CLAIMS: &str = include_str!("../ask/reproduce/claims.toml");
const LESSONS: &str = include_str!("lessons.toml");

/// The claims of the debate, as far as the page shows them.
#[derive(Deserialize)]
struct Claims {
    sources: BTreeMap<String, Origin>,
    claim: Vec<Claim>,
}

#[derive(Deserialize, Serialize)]
struct Origin {
    title: String,
    author: String,
    date: String,
    url: String,
}

#[derive(Deserialize, Serialize)]
struct Claim {
    id: String,
    source: String,
    /// Verbatim; some claims have none.
    quote: Option<String>,
    says: String,
    prediction: String,
    #[serde(default)]
    scenarios: Vec<String>,
    #[serde(skip_serializing)]
    condition: Option<String>,
    #[serde(skip_serializing)]
    not_reproduced: Option<String>,
    /// Where it stands, as the page of all claims says; absent where no scenario shows it.
    #[serde(skip_deserializing)]
    standing: Option<String>,
}

impl Claim {
    fn judged(mut self) -> Claim {
        let stands = match (self.condition.as_deref(), self.not_reproduced.as_deref()) {
            (Some(condition), _) => format!("Supported with conditions: {condition}"),
            (None, Some(reason)) => format!("Not reproduced: {reason}"),
            (None, None) => "Supported.".to_owned(),
        };
        self.standing = (!self.scenarios.is_empty()).then_some(stands);
        self
    }
}

/// The lessons, in the order in which they are offered.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Lessons {
    lesson: Vec<Lesson>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Lesson {
    /// The claim that it is about.
    claim: String,
    title: String,
    step: Vec<Step>,
}

/// A step: what is to be read, and the run beside it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Step {
    title: String,
    text: String,
    /// The claim that is quoted.
    quote: Option<String>,
    scenario: String,
    #[serde(default)]
    sets: Vec<String>,
    seed: u64,
    /// The question whose answer is to be guessed first; the run is shown afterwards.
    question: Option<Question>,
    /// Whether many runs are made.
    #[serde(default)]
    many: bool,
    /// The verdict of this run on what the scenario is about; absent where the text says none.
    shows: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Question {
    asks: String,
    options: Vec<String>,
    /// The place of the right option, from 0.
    right: usize,
    /// What is said once something was chosen.
    because: String,
}

/// What the list of scenarios says of one. Nobody waits for the rest of all of them to be checked.
#[derive(Deserialize)]
struct Listed {
    title: String,
    claim: Option<String>,
}

/// Everything that the page lists before a scenario is chosen.
pub fn contents() -> Result<Value, Value> {
    let broken =
        |what: &str, why: &dyn ToString| json!({ "error": format!("{what}: {}", why.to_string()) });
    let claims: Claims = toml::from_str(CLAIMS).map_err(|why| broken("claims", &why))?;
    let lessons: Lessons = toml::from_str(LESSONS).map_err(|why| broken("lessons", &why))?;
    let scenarios = SHIPPED.iter().map(|(name, text)| {
        let Listed { title, claim } = toml::from_str(text)?;
        Ok(json!({ "name": name, "title": title, "claim": claim }))
    });
    let scenarios: Result<Vec<Value>, toml::de::Error> = scenarios.collect();
    Ok(json!({
        "scenarios": scenarios.map_err(|why| broken("scenarios", &why))?,
        "sources": claims.sources,
        "claims": claims.claim.into_iter().map(Claim::judged).collect::<Vec<_>>(),
        "lessons": lessons.lesson,
    }))
}
