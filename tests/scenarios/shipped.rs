//! The shipped scenarios: each of them parses, and so does each cell of its grid.

use std::fs;
use std::path::Path;

use locklab_check::Property;
use locklab_evidence::Prediction;
use locklab_model::scenario::grid::{Grid, overrides};
use locklab_model::scenario::{SHIPPED, Scenario, load};

#[test]
fn every_file_below_scenarios_ships_under_its_path() {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    collect(&root, "", &mut found);
    found.sort();
    let shipped: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    assert_eq!(shipped, found);
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("scenarios/ is there") {
        let path = entry.expect("scenarios/ can be listed").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{stem}");
        match path.is_dir() {
            true => collect(&path, &format!("{name}/"), found),
            false => found.push(name),
        }
    }
}

#[test]
fn every_shipped_scenario_loads_and_has_claim_and_predictions() {
    for scenario in all() {
        let name = &scenario.name;
        assert!(scenario.claim.is_some(), "{name} has no claim");
        assert!(scenario.source.is_some(), "{name} has no source");
        assert!(!scenario.about.is_empty(), "{name} is not explained");
        let only_measures = name.starts_with("costs/");
        assert!(
            only_measures || !scenario.expect.is_empty(),
            "{name} expects nothing"
        );
    }
}

/// Any number of runs without a violation agrees with *violated* at no rate, so such a prediction cannot fail.
#[test]
fn what_is_predicted_to_be_violated_has_a_rate() {
    // In some 8 of 600 runs, and it is what the claim says: that it happens.
    const RARE: [(&str, Property); 1] = [("kleppmann/k16", Property::Lease)];
    let without: Vec<(String, Property)> = all()
        .iter()
        .flat_map(|scenario| {
            let open = scenario.expect.iter().filter(|(_, prediction)| {
                matches!(prediction, Prediction::Violated { rate: None, .. })
            });
            open.map(|(property, _)| (scenario.name.clone(), *property))
        })
        .collect();
    assert_eq!(
        without,
        RARE.map(|(name, property)| (name.to_owned(), property))
    );
}

#[test]
fn every_cell_of_every_shipped_sweep_loads_and_differs() {
    for scenario in all() {
        let Some(sweep) = &scenario.sweep else {
            continue;
        };
        let cells = Grid::parse(&sweep.vary).expect("a shipped grid").cells();
        let load_cell = |cell: &Vec<_>| match load(&scenario.name, &overrides(cell)) {
            Ok(variant) => toml::to_string(&variant).expect("a scenario is TOML"),
            Err(error) => panic!("{}: {error}", scenario.name),
        };
        let mut variants: Vec<String> = cells.iter().map(load_cell).collect();
        variants.sort();
        variants.dedup();
        assert_eq!(variants.len(), cells.len(), "{}", scenario.name);
    }
}

/// A scenario that is written out parses to the same scenario.
#[test]
fn a_scenario_survives_being_written_and_read() {
    for scenario in all() {
        let text = toml::to_string(&scenario).expect("a scenario is TOML");
        let file = format!("scenarios/{}.toml", scenario.name);
        match locklab_model::scenario::parse(&file, &text, &[]) {
            Ok(again) => assert_eq!(again, scenario),
            Err(error) => panic!("{error}\n{text}"),
        }
    }
}

#[test]
fn a_file_and_its_shipped_copy_are_the_same_scenario() {
    let path = format!("{}/scenarios/kleppmann/k1.toml", env!("CARGO_MANIFEST_DIR"));
    let from_file = load(&path, &[]).expect("k1");
    let shipped = load("kleppmann/k1", &[]).expect("k1");
    assert_eq!(from_file, shipped);
    assert_eq!(shipped.name, "kleppmann/k1");
}

fn all() -> Vec<Scenario> {
    let load_one = |(name, _): &(&str, &str)| match load(name, &[]) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    };
    SHIPPED.iter().map(load_one).collect()
}
