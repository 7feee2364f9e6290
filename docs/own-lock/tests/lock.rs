//! What `cargo test` says of our lock.

use locklab::check::Property;
use locklab::evidence::Judgement;
use locklab::{Exit, Lab, run};
use own_lock::LOCKS;

#[test]
fn it_keeps_its_promises() {
    Lab::new(LOCKS).assert(&["scenarios"]);
}

/// Every command knows the lock. `matrix` predicts nothing of it, and so finds nothing that differs.
#[test]
fn every_command_knows_it() {
    let out = std::env::temp_dir().join(format!("own-lock-commands-{}", std::process::id()));
    for command in [
        "run scenarios/outlived.toml",
        "study sweep scenarios/outlived.toml --vary lock.ttl_ms=200,300 --seeds 5",
        "study matrix --lock team-lock --seeds 5",
        "study cost --lock team-lock --seeds 2",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let folder = out.to_string_lossy();
        let words = [&words[..], &["--out", &folder]].concat();
        assert_eq!(run(LOCKS, &words), Exit::AsPredicted, "{command}");
    }
    std::fs::remove_dir_all(&out).expect("it is ours");
}

/// The same lock with a release that deletes whatever it finds, to see that the test above would
/// notice.
#[test]
fn a_plain_del_is_caught() {
    let out = std::env::temp_dir().join(format!("own-lock-{}", std::process::id()));
    std::fs::create_dir_all(&out).expect("the folder can be written");
    let right = std::fs::read_to_string("scenarios/outlived.toml").expect("it is there");
    let wrong = right.replace("ttl_ms = 300", "ttl_ms = 300\nrelease = \"del\"");
    let file = out.join("wrong.toml");
    std::fs::write(&file, wrong).expect("the folder can be written");

    let lab = Lab::new(LOCKS).out(&out);
    let results = lab.check(&[&file.to_string_lossy()]).expect("it runs");
    let [case] = &results.cases[..] else {
        panic!("one scenario: {results:?}");
    };
    let of = |property| {
        case.properties
            .iter()
            .find(move |found| found.property == property)
    };
    let found = of(Property::ForeignRelease).expect("it was predicted");
    assert_eq!(found.judgement, Judgement::Differs);
    let evidence = found.evidence.as_ref().expect("a run that shows it");
    assert!(
        evidence
            .what
            .contains("deleted a lock that was not its own")
    );

    // A test that fails says so in plain text.
    let failed = std::panic::catch_unwind(|| lab.assert(&[&file.to_string_lossy()]));
    let told = failed.expect_err("a verdict differs");
    let told = told.downcast_ref::<String>().expect("a text");
    assert!(
        told.contains("\n    replay  cargo run --quiet -- run "),
        "{told}"
    );
    assert!(!told.contains("<br>"), "{told}");

    let check = out.join("check");
    let junit = std::fs::read_to_string(check.join("junit.xml")).expect("a report");
    assert!(junit.contains("<failure"), "{junit}");
    assert!(check.join(&evidence.picture).is_file());
    std::fs::remove_dir_all(&out).expect("it is ours");
}
