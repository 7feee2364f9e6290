//! A scenario as JSON, to edit a value wherever it stands.

use locklab_model::scenario::Scenario;
use serde_json::Value;

/// The scenario with another value at a path of its JSON; `None` if it is not one any more.
pub(crate) fn replaced(
    scenario: &Scenario,
    value: &Value,
    path: &[String],
    new: Value,
) -> Option<Scenario> {
    let mut value = value.clone();
    *value.pointer_mut(&pointer(path))? = new;
    read(scenario, value)
}

/// The scenario without the key at a path of its JSON; `None` if it has no such key, or is not one
/// without it.
pub(crate) fn without(scenario: &Scenario, value: &Value, path: &[String]) -> Option<Scenario> {
    let mut value = value.clone();
    let (last, table) = path.split_last()?;
    let table = value.pointer_mut(&pointer(table))?.as_object_mut()?;
    table.remove(last)?;
    read(scenario, value)
}

/// A scenario from its JSON, with the name of the one that it was made from.
fn read(from: &Scenario, value: Value) -> Option<Scenario> {
    let scenario = Scenario::from_json(value).ok()?;
    Some(Scenario {
        name: from.name.clone(),
        overrides: from.overrides.clone(),
        ..scenario
    })
}

/// A path as a JSON pointer.
pub(crate) fn pointer(path: &[impl AsRef<str>]) -> String {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    { path.iter() }
        .map(|key| format!("/{}", escaped(key.as_ref())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_path_may_have_any_character() {
        assert_eq!(pointer(&["fault", "a/b~c"]), "/fault/a~1b~0c");
    }
}
