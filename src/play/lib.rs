//! The engine of the page in which a reader plays with the debate: a request in JSON is answered by one or more lines of
//! JSON. What a run is, how it is judged and how it looks, this crate takes from `runner`, `check`, `evidence` and `view`.
//! It knows nothing of browsers: `main.rs` is the same program on a machine and as WebAssembly, and `assets/engine.js` is
//! all that a browser or Node.js adds.

mod batch;
mod knobs;
mod lessons;
mod run;
mod shrink;
mod subject;

use serde::Deserialize;
use serde_json::{Value, json};

use subject::Subject;

/// What the page asks.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Request {
    /// The scenarios, the claims with their quotations, and the lessons.
    Contents,
    /// A scenario and what can be changed in it.
    Scenario(Subject),
    /// One run.
    Run {
        #[serde(flatten)]
        subject: Subject,
        /// Its seed.
        seed: u64,
    },
    /// The smallest scenario that violates what one run does.
    Shrink {
        #[serde(flatten)]
        subject: Subject,
        /// The seed of the run.
        seed: u64,
    },
    /// Many runs.
    Batch {
        #[serde(flatten)]
        subject: Subject,
        /// The seeds are those from 0 to this.
        seeds: u64,
        /// After so many runs there is a line.
        every: u64,
    },
}

/// Answers a request, and tells each line of the answer as soon as it is known. An error is a line `{"error":…}`.
pub fn answer(request: &str, tell: &mut (dyn FnMut(&str) + Send)) {
    let mut say = |value: Value| tell(&value.to_string());
    let said = match serde_json::from_str(request) {
        Ok(Request::Contents) => lessons::contents().map(&mut say),
        Ok(Request::Scenario(subject)) => knobs::scenario(&subject).map(&mut say),
        Ok(Request::Run { subject, seed }) => run::one(&subject, seed).map(&mut say),
        Ok(Request::Shrink { subject, seed }) => {
            shrink::smallest(&subject, seed, &mut say).map(&mut say)
        }
        Ok(Request::Batch {
            subject,
            seeds,
            every,
        }) => batch::many(&subject, seeds, every, &mut say),
        Err(error) => Err(json!({ "error": format!("unknown request: {error}") })),
    };
    if let Err(error) = said {
        say(error);
    }
}
