//! What the page offers and says is true: its numbers, its commands and its lessons.

use locklab_results::recording;
use locklab_runner::judged;
use serde_json::{Value, json};

use crate::answer;

fn one(request: Value) -> Value {
    let mut lines = answer(&request);
    assert_eq!(lines.len(), 1, "{request}");
    lines.remove(0)
}

/// The digest is that of the file that `locklab run` writes, although the page keeps more of the run.
#[test]
fn the_digest_is_that_of_the_recording() {
    let scenario = locklab_model::scenario::load("kleppmann/k10", &["lock.ttl_ms=900".into()]);
    let recorded = judged::record(&scenario.expect("it is valid"), 7).expect("it ends");
    let bytes = recording::write(&recorded);
    let said = one(
        json!({ "ask": "run", "name": "kleppmann/k10", "sets": ["lock.ttl_ms=900"], "seed": 7 }),
    );
    assert_eq!(said["bytes"], bytes.len());
    assert_eq!(
        said["sha1"],
        sha1_smol::Sha1::from(&bytes).digest().to_string()
    );
    let options = "kleppmann/k10 --set lock.ttl_ms=900";
    assert_eq!(said["view"], format!("locklab view {options} --seed 7"));
    assert_eq!(
        said["record"],
        format!("locklab run {options} --seeds 7..8")
    );
}

#[test]
fn numbers_have_the_words_and_the_ranges_of_charts() {
    let said =
        one(json!({ "ask": "scenario", "name": "antirez/a9", "sets": ["network.loss=0.25"] }));
    let numbers = said["numbers"].as_array().expect("a list");
    let find = |path: &str| numbers.iter().find(|it| it["path"] == path).expect(path);
    let pause = find("fault.gc.duration_ms.uniform.1");
    assert_eq!(
        (&pause["name"], &pause["unit"]),
        (&"longest pause".into(), &"ms".into())
    );
    assert_eq!(
        (&pause["value"], &pause["most"]),
        (&4000.0.into(), &12000.0.into())
    );
    let lease = find("lock.ttl_ms");
    assert_eq!(
        (&lease["name"], &lease["value"]),
        (&"lease".into(), &1000.0.into())
    );
    assert!(
        lease["least"].as_f64() > Some(0.0),
        "a lease of nothing is none"
    );
    assert_eq!(find("network.loss")["value"], 0.25);
    assert_eq!(find("clocks.host.c1.drift_ppm")["value"], 0.0);
    // A range that the scenario's own sweep has.
    let said = one(json!({ "ask": "scenario", "name": "kleppmann/k1" }));
    let pause = said["numbers"].as_array().expect("a list").iter();
    let pause = pause
        .clone()
        .find(|it| it["path"] == "fault.gc.duration_ms");
    assert_eq!(pause.expect("K1 has a pause")["most"], 2000.0);
}

/// Each choice that is offered gives a valid scenario, and exactly one of them is chosen.
#[test]
fn choices_are_valid_and_one_is_chosen() {
    for name in [
        "kleppmann/k1",
        "kleppmann/k8",
        "kleppmann/k10",
        "redis-docs/r4",
    ] {
        let said = one(json!({ "ask": "scenario", "name": name }));
        let choices = said["choices"].as_array().expect("a list");
        // Redlock gives no tokens, so nothing can compare them.
        let compares = choices.iter().any(|it| it["name"] == "fencing tokens");
        assert_eq!(compares, name != "kleppmann/k10", "{name}");
        for choice in choices {
            let options = choice["options"].as_array().expect("a list");
            let chosen = options.iter().filter(|it| it["chosen"] == true);
            assert_eq!(chosen.count(), 1, "{name}: {choice}");
            for option in options {
                let changed =
                    one(json!({ "ask": "scenario", "name": name, "sets": option["sets"] }));
                assert_eq!(changed["error"], Value::Null, "{name}: {option}");
            }
        }
    }
}

#[test]
fn a_mistake_in_a_text_has_its_place() {
    let text = "title = \"t\"\n[lock]\nname = \"redlok\"\n";
    let said = one(json!({ "ask": "run", "name": "stdin", "text": text, "seed": 0 }));
    assert_eq!((&said["line"], &said["column"]), (&3.into(), &8.into()));
    let what = said["error"].as_str().expect("text");
    assert!(what.contains("did you mean \"redlock\"?"), "{what}");
    let text = "title = \"t\"\n[lock]\nname = \"set-nx-px\"\nttl_ms = 1000\n";
    let said = one(json!({ "ask": "run", "name": "stdin", "text": text, "seed": 3 }));
    let expected = format!("locklab view - --seed 3 <<'SCENARIO'\n{text}SCENARIO");
    assert_eq!(said["view"], expected);
}

/// A line comes after each so many runs, with the counts so far; what is changed is not judged by what the scenario
/// predicts for its own values.
#[test]
fn counts_grow_and_are_judged_only_as_the_scenario_is() {
    let lines =
        answer(&json!({ "ask": "batch", "name": "kleppmann/k1", "seeds": 25, "every": 10 }));
    let runs: Vec<&Value> = lines.iter().map(|line| &line["runs"]).collect();
    assert_eq!(runs, [10, 20, 25]);
    let seeds = |line: &Value| line["violating"].as_array().map_or(0, Vec::len);
    assert_eq!(
        lines.iter().map(seeds).sum::<usize>(),
        25,
        "each seed is named once"
    );
    let resource = |line: &Value| {
        let all = line["properties"].as_array().expect("a list").iter();
        all.clone()
            .find(|it| it["property"] == "resource")
            .cloned()
            .expect("it is judged")
    };
    let last = resource(&lines[2]);
    assert_eq!(
        (&last["violated"], &last["range"]),
        (&25.into(), &json!([0.95, 1.0]))
    );
    assert_eq!(last["words"], "25 of 25 runs (at least 87 %)");
    let changed = json!({ "ask": "batch", "name": "kleppmann/k1", "sets": ["fault.gc.duration_ms=500"], "seeds": 10, "every": 10 });
    let changed = resource(&answer(&changed)[0]);
    assert_eq!(
        (&changed["violated"], &changed["judgement"]),
        (&0.into(), &"unpredicted".into())
    );
}

/// The results of `locklab shrink` are published; only their files have other names.
#[test]
fn the_smallest_counterexample_is_that_of_the_command() {
    for (name, file) in [
        ("kleppmann/k10", "kleppmann-k10.toml"),
        ("kleppmann/k13-unchecked", "kleppmann-k13-unchecked.toml"),
    ] {
        let lines = answer(&json!({ "ask": "shrink", "name": name, "seed": 0 }));
        let (found, progress) = lines.split_last().expect("it says something");
        let runs: Vec<&Value> = progress.iter().map(|line| &line["runs"]).collect();
        assert_eq!(runs[..2], [25, 50], "{name}");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/shrink/");
        let published = std::fs::read_to_string(format!("{root}{file}")).expect("it is published");
        assert_eq!(found["text"], published.replace(file, "shrunk.toml"));
    }
}

#[test]
fn a_run_that_violates_nothing_cannot_be_shrunk() {
    let run = |ask: &str, pause_ms: u32| {
        let sets = [format!("fault.gc.duration_ms={pause_ms}")];
        one(json!({ "ask": ask, "name": "kleppmann/k1", "sets": sets, "seed": 0 }))
    };
    assert_eq!(run("run", 1500)["violated"], "resource");
    assert_eq!(run("run", 500)["violated"], Value::Null);
    assert_eq!(run("shrink", 500)["error"], "the run violates nothing");
}

/// Each step of a lesson names a claim and shows a run, and the run shows what the text says.
#[test]
fn lessons_show_what_they_say() {
    let contents = one(json!({ "ask": "contents" }));
    let claims = contents["claims"].as_array().expect("a list");
    let lessons = contents["lessons"].as_array().expect("a list");
    assert!(lessons.len() >= 5);
    for lesson in lessons {
        let steps = lesson["step"].as_array().expect("a list");
        assert!((3..=5).contains(&steps.len()), "{}", lesson["claim"]);
        for step in steps {
            let (name, sets) = (&step["scenario"], &step["sets"]);
            let what = format!("{}: {}", lesson["claim"], step["title"]);
            let mut with_quotation = claims.iter().filter(|claim| claim["quote"].is_string());
            let mut quoted = |quote: &Value| with_quotation.any(|claim| claim["id"] == *quote);
            assert!(step["quote"].is_null() || quoted(&step["quote"]), "{what}");
            if let Some(question) = step["question"].as_object() {
                let options = question["options"].as_array().map_or(0, Vec::len) as u64;
                assert!(question["right"].as_u64() < Some(options), "{what}");
            }
            let name = name.as_str().expect("a name");
            let sets: Vec<String> = serde_json::from_value(sets.clone()).expect("overrides");
            let scenario = locklab_model::scenario::load(name, &sets).expect(name);
            let seed = step["seed"].as_u64().expect("a seed");
            let run = judged::run(&scenario, seed, Default::default()).expect("it ends");
            let Some(shows) = step["shows"].as_str() else {
                continue;
            };
            let headline = scenario.headline();
            let shown = match (run.violates(headline), run.decides(headline)) {
                (true, _) => "violated",
                (_, true) => "holds",
                _ => "inconclusive",
            };
            assert_eq!(shown, shows, "{what}: {headline} of {name}");
        }
    }
}

#[test]
fn each_claim_says_where_it_stands_and_why() {
    let said = one(json!({ "ask": "contents" }));
    let claims = said["claims"].as_array().expect("a list");
    let standing = |id: &str| {
        let claim = claims.iter().find(|claim| claim["id"] == id).expect(id);
        claim["standing"].as_str().unwrap_or_default()
    };
    assert_eq!(standing("K1"), "Supported.");
    for (id, begins) in [
        ("K13", "Supported with conditions: "),
        ("K15", "Not reproduced: "),
    ] {
        let text = standing(id);
        let why = text.strip_prefix(begins);
        assert!(why.is_some_and(|why| why.ends_with('.')), "{id}: {text}");
    }
    // It is shown by a measurement.
    assert_eq!(standing("A12"), "");
}

const BEGIN: &str = "<!-- claims:begin -->\n";
const END: &str = "<!-- claims:end -->\n";

/// Each claim that a scenario shows, with its place in the page.
#[test]
fn book_links_each_claim() {
    let said = one(json!({ "ask": "contents" }));
    let claims = said["claims"].as_array().expect("a list").iter();
    let shown = claims.filter(|claim| claim["scenarios"] != json!([]));
    let row = |claim: &Value| {
        let text = |key: &str| claim[key].as_str().unwrap_or_default().to_owned();
        let id = text("id");
        format!(
            "- [{id}](../reports/play/index.html#claim={id}): {}\n",
            text("says")
        )
    };
    let list: String = shown.map(row).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/play.md");
    let book = || std::fs::read_to_string(path).expect("it is in the book");
    let found = book();
    let (before, rest) = found.split_once(BEGIN).expect("where it begins");
    let (_, after) = rest.split_once(END).expect("where it ends");
    let expected = format!("{before}{BEGIN}{list}{END}{after}");
    if std::env::var_os("LOCKLAB_BLESS").is_some() {
        std::fs::write(path, &expected).expect("the book can be written");
    }
    assert!(
        book() == expected,
        "docs/play.md is out of date: run this test with LOCKLAB_BLESS=1"
    );
}
