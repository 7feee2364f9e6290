//! Without settings that a scenario can do without.

use serde_json::Value;

use crate::json::{pointer, without};
use crate::optional::{OF_HOSTS, OPTIONAL, PERSISTENCE, SETTLED};
use crate::trial::Best;
use locklab_check::Property;
use locklab_model::fault::FaultSpec;
use locklab_model::scenario::Scenario;

/// Without one of them.
pub(crate) fn left_out(best: &Best, property: Property) -> Vec<Scenario> {
    let scenario = &best.scenario;
    let value = scenario.to_json();
    let owned = |path: &[&str]| -> Vec<String> { path.iter().map(|key| (*key).into()).collect() };
    let mut paths: Vec<Vec<String>> = OPTIONAL.iter().map(|path| owned(path)).collect();
    if !{ scenario.fault.values() }.any(ends_process) {
        paths.push(owned(PERSISTENCE));
    }
    if property != Property::Recovery {
        paths.push(owned(SETTLED));
    }
    for table in OF_HOSTS {
        for (host, settings) in entries(value.pointer(&pointer(table))) {
            let whole = [owned(table), vec![host.clone()]].concat();
            let setting = |key: &String| [&whole[..], std::slice::from_ref(key)].concat();
            paths.push(whole.clone());
            paths.extend(entries(Some(settings)).map(|(key, _)| setting(key)));
        }
    }
    { paths.iter() }
        .filter_map(|path| without(scenario, &value, path))
        .collect()
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn ends_process(fault: &FaultSpec) -> bool {
    fault.kind().ends_process()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::{Persistence, load};
    use locklab_runner::judged;
    use locklab_runner::simulate::Keep;

    /// Whether some candidate keeps nothing on disk.
    fn loses_persistence(name: &str) -> bool {
        let scenario = load(name, &["node.persistence=aof-always".into()]).expect("it is valid");
        let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
        let best = Best {
            scenario,
            seed: 0,
            run,
        };
        let candidates = left_out(&best, Property::Lease);
        assert!(!candidates.is_empty());
        let mut persistence = candidates.iter().map(|it| it.node.persistence);
        persistence.any(|kept| kept == Persistence::None)
    }

    #[test]
    fn persistence_stays_where_a_process_ends() {
        assert!(loses_persistence("kleppmann/k10"));
        assert!(!loses_persistence("redis-docs/r12"));
    }
}
