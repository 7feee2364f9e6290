//! `locklab study museum`: reported bugs, each found by a search.

use locklab_check::Verdict;
use locklab_model::scenario::parse;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use serde_json::Value;

use crate::bench::Bench;

#[test]
fn a_mistake_is_told_from_its_fault() {
    let bench = Bench::new("museum");
    let names = ["non-atomic-acquire", "late-reply", "wrong-lease"];
    let done = bench.locklab(&[&["study", "museum", "--json"], &names[..]].concat());
    assert_eq!(done.code, Some(0), "{}", done.told());
    let document: Value = serde_json::from_str(&done.out).expect("JSON");
    let exhibits = document["exhibits"].as_array().expect("a list");
    let count = |place: usize, what: &str| exhibits[place][what].as_u64().expect("a number");
    for (place, name) in names.iter().enumerate() {
        assert_eq!(exhibits[place]["exhibit"], *name);
        let parts = ["mended", "inconclusive", "both"].map(|part| count(place, part));
        assert_eq!(
            parts.iter().sum::<u64>(),
            count(place, "violated"),
            "{name}"
        );
        assert!(parts[0] > 0, "{name}");
    }
    assert!(count(0, "violated") < count(0, "runs"));
    // A pause longer than the lease is enough without the mistake.
    assert!(count(1, "both") > 0);
    // A client that dies before it has sent anything hurts nobody with SET.
    assert!(count(0, "inconclusive") > 0);
    assert_eq!(document["bugs"].as_array().map(Vec::len), Some(100));
    for exhibit in exhibits {
        a_minimum_stands_alone(&bench, exhibit);
    }
}

/// The file of an exhibit violates its property, and with the mended lock the same run holds.
fn a_minimum_stands_alone(bench: &Bench, exhibit: &Value) {
    let name = exhibit["exhibit"].as_str().expect("a name");
    let minimum = &exhibit["shown"]["minimum"];
    assert_eq!(minimum["is_minimal"], true, "{name}");
    let faults = |size: &str| minimum[size]["faults"].as_u64().expect("a number");
    assert!(faults("after") <= faults("before"), "{name}");
    let files = bench.files();
    let file = |end: &str| {
        let end = format!("museum/{name}{end}");
        let found = files.iter().find(|file| file.ends_with(&end));
        found.unwrap_or_else(|| panic!("{end} in {files:?}"))
    };
    let text = bench.read(file(".toml"));
    assert!(text.contains("\n1. "), "its story:\n{text}");
    for picture in [".svg", "-mended.svg"] {
        assert!(bench.read(file(picture)).starts_with("<svg"), "{name}");
    }
    let seed = minimum["seed"].as_u64().expect("a seed");
    let mended = minimum["mended_with"].as_array().expect("a list");
    let mended: Vec<String> = { mended.iter() }
        .map(|set| set.as_str().expect("an override").to_owned())
        .collect();
    let verdict = |sets: &[String]| {
        let scenario = parse(file(".toml"), &text, sets).unwrap_or_else(|error| panic!("{error}"));
        let run = judged::run(&scenario, seed, Keep::default()).expect("it ends");
        let mut verdicts = run.verdicts.into_iter();
        let verdict = verdicts.find(|(property, _)| exhibit["property"] == property.name());
        verdict.expect("it is judged").1
    };
    assert!(matches!(verdict(&[]), Verdict::Violated(_)), "{name}");
    assert_eq!(verdict(&mended), Verdict::Holds, "{name}");
}
