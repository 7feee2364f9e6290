//! The smallest counterexample of a run: the text that `locklab shrink` writes of it.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use locklab_shrink::{self as shrink, Counterexample, Options, USUAL_TRIES};
use serde_json::{Value, json};

use super::subject::Subject;

/// After so many runs there is a line.
const EVERY: u64 = 25;

/// Shrinks the run with this seed. It is the page that ends a search: it ends the engine.
pub fn smallest(
    subject: &Subject,
    seed: u64,
    say: &mut (dyn FnMut(Value) + Send),
) -> Result<Value, Value> {
    let run = shrink::Subject::of(&subject.scenario()?, seed);
    let property = run.violated().map_err(failed)?;
    let property = property.ok_or_else(|| failed("the run violates nothing"))?;
    let told = Mutex::new((0, say));
    let stop = AtomicBool::new(false);
    let options = Options {
        property,
        tries: USUAL_TRIES,
        // There are no threads in a browser's module.
        threads: 1,
        stop: &stop,
        accepts: &|_| true,
        progress: &|made| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.0 += made;
            if told.0.is_multiple_of(EVERY) {
                let runs = told.0;
                told.1(json!({ "runs": runs }));
            }
        },
    };
    let minimum = shrink::shrink(&run, &options).map_err(failed)?;
    let found = Counterexample::of(minimum, property, 1, &stop).map_err(failed)?;
    Ok(json!({
        "text": found.toml(&run, "shrunk.toml"),
        "seed": found.minimum.best.seed,
        "words": found.words().join("; "),
    }))
}

fn failed(why: impl ToString) -> Value {
    json!({ "error": why.to_string() })
}
