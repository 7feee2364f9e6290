//! Which claims are chosen, and when and how the locks are compared.

use std::sync::atomic::AtomicBool;

use super::*;
use locklab_lab::test_session::Bench;
use locklab_lab::work::Ended;
use locklab_lab::{Program, Stop, execute, export};
use locklab_model::scenario::load;

const WHOLE: Options = Options {
    claims: None,
    only: vec![],
    quick: false,
    seeds: None,
    on: On::World,
};

fn chosen(only: &[&str]) -> Result<Vec<String>, String> {
    let critique = Critique::shipped();
    let only: Vec<String> = only.iter().map(|&wanted| wanted.into()).collect();
    let claims = choose(&critique, &only).map_err(|error| error.to_string())?;
    Ok(claims
        .iter()
        .map(|place| critique.claims[*place].id.clone())
        .collect())
}

#[test]
fn a_claim_is_chosen_by_its_letter_or_its_number() {
    assert_eq!(chosen(&["k1"]).as_deref(), Ok(&["K1".to_owned()][..]));
    let all = chosen(&[]).expect("no choice");
    let of_k: Vec<String> = all
        .iter()
        .filter(|id| id.starts_with('K'))
        .cloned()
        .collect();
    assert!(of_k.len() > 10);
    assert_eq!(chosen(&["K"]), Ok(of_k));
    let error = chosen(&["K10", "X"]).expect_err("nobody claims X");
    assert!(
        error.starts_with("unknown claim \"X\"; the claims are K1, "),
        "{error}"
    );
}

#[test]
fn locks_are_compared_only_with_the_whole_debate() {
    let (quick, only) = (true, vec!["R5".into()]);
    let claims = Some(PathBuf::from("ours.toml"));
    assert!(!Options { quick, ..WHOLE }.is_whole());
    assert!(!Options { claims, ..WHOLE }.is_whole());
    let places = |options| Reproduce::plan(&options).map(|plan| plan.place.is_some());
    assert!(places(WHOLE).expect("it ships"));
    assert!(!places(Options { only, ..WHOLE }).expect("it is a claim"));
}

#[test]
fn rates_of_all_claims_can_be_found_to_differ_on_real_redis() {
    let plan = Reproduce::plan(&WHOLE).expect("it ships");
    let criteria = Criteria::of(plan.scenarios.iter(), WITHIN);
    let fewest = criteria.fewest_runs();
    assert!(fewest <= REAL_RUNS.most, "{criteria:?}: {fewest}");
}

/// The comparison of these locks, and no claim.
fn compared(locks: &[&str]) -> Reproduce {
    let locks: Vec<String> = locks.iter().map(|&lock| lock.into()).collect();
    Reproduce {
        begun: Instant::now(),
        command: machine::command(&WHOLE),
        critique: Critique::shipped(),
        claims: vec![],
        quick: false,
        redis: None,
        names: vec![],
        scenarios: vec![],
        swept: vec![],
        jobs: vec![],
        place: Some(compare_locks(&locks).expect("their runs end")),
    }
}

/// As `place --all` has published them, which the check of the published results holds to the code.
#[test]
fn page_compares_locks_as_place_does_also_after_an_interruption() {
    static STOPPED: AtomicBool = AtomicBool::new(true);
    let reproduce = compared(&["setnx", "set-nx-px (with token)"]);
    let mut bench = Bench::new("every-step");
    bench.0.stop = Stop::by_user(&STOPPED);
    let (report, ended) = execute(&reproduce, &bench.0).expect("it stops");
    assert!(report.is_none() && matches!(ended, Ended::Interrupted(_)));
    bench.0.stop = Stop::never();
    let (report, ended) = execute(&reproduce, &bench.0).expect("it resumes");
    let report = report.expect("all is done");
    assert_eq!(ended, Ended::Whole);

    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../reports/place/place.json"
    );
    let published = fs::read_to_string(published).expect("it is published");
    let published: serde_json::Value = serde_json::from_str(&published).expect("it is JSON");
    let both = report.document["place"]["locks"]
        .as_array()
        .expect("a list");
    assert_eq!(both.len(), 2);
    for lock in both {
        let of_published = published["locks"].as_array().expect("a list");
        assert!(of_published.contains(lock), "{}", lock["label"]);
    }

    let section = &report.sections[0];
    let text: Vec<&str> = section.text.split_whitespace().collect();
    let text = text.join(" ");
    assert!(
        text.contains("Some placements violate that of `set-nx-px (with token)` (19 of 3,068)."),
        "{text}"
    );
    let files = export::files(section).expect("they can be made");
    let (_, page) = &files[0];
    let page = String::from_utf8_lossy(page);
    assert!(
        page.contains("<th scope=\"row\">set-nx-px (with token)</th><td class=\"\">63</td>"),
        "{page}"
    );
}

/// A page beside that to play with, as both are published.
#[test]
fn a_claim_links_to_its_run_in_the_page_to_play_with() {
    let outer = Bench::new("debate-beside-play");
    let of = |claims: &str| {
        let plan = Reproduce::plan(&Options {
            only: vec![claims.into()],
            seeds: Some(40),
            ..WHOLE
        });
        let store = outer.0.store.below("critique").expect("a folder");
        let session = Session::new(Program::running(), store, 1);
        let (report, _) = execute(&plan.expect("it ships"), &session).expect("it runs");
        let files = export::files(&report.expect("it is whole").sections[0]).expect("made");
        String::from_utf8(files[0].1.clone()).expect("text")
    };
    assert!(!of("A1").contains("play/index.html"));
    let play = outer.0.store.below("play").expect("a folder");
    play.write("index.html", b"").expect("written");
    let page = of("A1");
    let link = "href=\"../play/index.html#scenario=kleppmann/k1&#38;seed=";
    let (_, rest) = page.split_once(link).expect("a link");
    let (seed, rest) = rest.split_once("&#38;claim=A1\"").expect("its end");
    assert!(
        rest.contains(&format!("<figcaption>Seed {seed}: ")),
        "{seed}"
    );
    assert_ne!(seed, "0", "another run has the earliest violation");
}

/// As if Ctrl-C arrived between the last run in the simulator and the first one on Redis.
#[test]
fn a_debate_without_its_real_runs_is_not_whole() {
    static STOPPED: AtomicBool = AtomicBool::new(true);
    let k1 = load("kleppmann/k1", &[]).expect("it ships");
    let programs = Programs::find().expect("redis-server is installed");
    let reproduce = Reproduce {
        names: vec![k1.name.clone()],
        scenarios: vec![k1],
        redis: Some((programs, "any version".into())),
        place: None,
        ..compared(&["setnx"])
    };
    let mut bench = Bench::new("debate-without-real-runs");
    bench.0.stop = Stop::by_user(&STOPPED);
    let (report, ended) = execute(&reproduce, &bench.0).expect("it stops");
    assert!(report.is_none() && matches!(ended, Ended::Interrupted(_)));
}
