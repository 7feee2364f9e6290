//! The scenario that a request is about: a shipped one or a text, with overrides.

use locklab_model::scenario::{Place, Scenario, ScenarioError, Source, parse};
use locklab_values::shell::quoted;
use serde::Deserialize;
use serde_json::{Value, json};

/// A scenario with overrides.
#[derive(Deserialize, Clone)]
pub struct Subject {
    /// The name of a shipped scenario; of a text it is `stdin`, as `locklab` calls what it reads there.
    name: String,
    /// The text of a scenario that does not ship.
    text: Option<String>,
    /// Overrides, each `path=value`.
    #[serde(default)]
    sets: Vec<String>,
}

impl Subject {
    /// The scenario, or `{"error":…}`, with line and column if it is in the text.
    pub fn scenario(&self) -> Result<Scenario, Value> {
        self.with(&[])
    }

    /// The same with further overrides, which take the place of its own of the same path.
    pub fn with(&self, sets: &[String]) -> Result<Scenario, Value> {
        let path = |set: &String| set.split('=').next().unwrap_or_default().to_owned();
        let replaced: Vec<String> = sets.iter().map(path).collect();
        let kept = self
            .sets
            .iter()
            .filter(|set| !replaced.contains(&path(set)));
        let sets: Vec<String> = kept.chain(sets).cloned().collect();
        let parsed = match &self.text {
            Some(text) => parse(&self.name, text, &sets),
            None => Source::find(&self.name).and_then(|source| source.scenario(&sets)),
        };
        parsed.map_err(|error| problem(&error))
    }

    /// The text of the scenario, without the overrides.
    pub fn text(&self) -> Result<String, Value> {
        match &self.text {
            Some(text) => Ok(text.clone()),
            None => Source::find(&self.name)
                .map(|source| source.text().to_owned())
                .map_err(|error| problem(&error)),
        }
    }

    /// What a text is called, which has no name.
    pub fn label(&self) -> Option<&'static str> {
        self.text.as_ref().map(|_| "a text of your own")
    }

    /// Whether something is overridden, so that the predictions of the scenario are not about these runs.
    pub fn is_changed(&self) -> bool {
        !self.sets.is_empty()
    }

    /// The command of a shell that does this with the scenario.
    pub fn command(&self, words: &str, options: &str) -> String {
        let sets = self
            .sets
            .iter()
            .map(|set| format!(" --set {}", quoted(set)));
        let sets: String = sets.collect();
        let Subject { name, text, .. } = self;
        match text {
            None => format!("locklab {words} {name}{sets}{options}"),
            Some(text) => {
                let text = text.trim_end();
                format!("locklab {words} -{sets}{options} <<'SCENARIO'\n{text}\nSCENARIO")
            }
        }
    }
}

fn problem(error: &ScenarioError) -> Value {
    match error {
        ScenarioError::Invalid {
            place: Place::File { line, column, .. },
            what,
        } => json!({ "error": what, "line": line, "column": column }),
        other => json!({ "error": other.to_string() }),
    }
}
