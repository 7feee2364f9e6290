//! A scenario as JSON: in recordings, and where one is made from another by its keys.
//!
//! Other crates call these two functions. Each crate that called serde itself would compile the whole of it again.

use serde_json::Value;

use super::Scenario;

impl Scenario {
    /// Its keys as a file has them; the name and the overrides are not among them.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("JSON can say every value of a scenario")
    }

    /// The scenario with these keys, without a name. Its values are not checked.
    ///
    /// # Errors
    ///
    /// If a key is unknown or missing, or a value has another form.
    pub fn from_json(value: Value) -> serde_json::Result<Scenario> {
        serde_json::from_value(value)
    }
}
