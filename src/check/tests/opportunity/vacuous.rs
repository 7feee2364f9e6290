//! Scenarios whose fault could not have touched what they predict to hold.

use locklab_check::Property::{self, *};
use locklab_check::Verdict;

use crate::{scenario, verdicts};

/// Every property that the scenario predicts to hold is inconclusive with every seed, for this reason with
/// the first; for any if it is empty.
#[track_caller]
fn check(text: &str, expected: &[(Property, &str)]) {
    let scenario = scenario(text);
    let predicted: Vec<Property> = scenario.expect.keys().copied().collect();
    let listed: Vec<Property> = expected.iter().map(|(property, _)| *property).collect();
    assert_eq!(predicted, listed, "{}", scenario.title);
    for seed in 0..10 {
        let verdicts = verdicts(&scenario, seed);
        for (property, why) in expected {
            match &verdicts[property] {
                Verdict::Inconclusive { why: found } if seed == 0 && !why.is_empty() => {
                    assert_eq!(found, why, "{}: {property}", scenario.title);
                }
                Verdict::Inconclusive { .. } => {}
                verdict => panic!("{text}\nseed {seed}: {property}: {verdict:?}"),
            }
        }
    }
}

const NOBODY_MET: &str = "no fault met a client that used the lock";
const NOT_IN_LEASE: &str = "no client asked for the lock while another could rely on it";
const NO_UPDATE: &str = "no client asked for the lock between another's grant and its write";

#[test]
fn the_rival_is_cut_off_from_first_to_last() {
    let whys = [(Lease, NOT_IN_LEASE), (Resource, NO_UPDATE)];
    check(include_str!("cutoff.toml"), &whys);
    // Whatever keeps it from the node: a loss of everything, or one direction.
    let text = include_str!("cutoff.toml");
    let lossy = text.replace("\"partition\"", "\"loss\"\nprobability = 1");
    check(&lossy, &whys);
    check(
        &text.replace("at_ms = 0\n", "at_ms = 0\ndirection = \"one-way\"\n"),
        &whys,
    );
}

#[test]
fn every_grant_was_over_before_the_fault() {
    let not_held = "no client asked for the lock while another held it";
    let whys = [
        (Belief, not_held),
        (Lease, NOT_IN_LEASE),
        (Resource, NO_UPDATE),
    ];
    check(include_str!("before-fault.toml"), &whys);
}

#[test]
fn the_paused_client_is_a_bystander() {
    let whys = [
        (Belief, NOBODY_MET),
        (Lease, NOBODY_MET),
        (Resource, NOBODY_MET),
    ];
    let text = include_str!("bystander.toml");
    check(text, &whys);
    check(&text.replace("\"pause\"", "\"suspend\""), &whys);
    // It asks for the lock before its clock is right again, but nobody else does.
    let fast = text.replace("\"pause\"", "\"clock-rate\"\ndrift_ppm = 100_000");
    check(&fast, &[(Belief, ""), (Lease, ""), (Resource, "")]);
    // Its links, while it thinks.
    let links = "\"partition\"\nfrom = \"c1\"\nto = [\"n1\", \"resource\"]";
    let links = text.replace("\"pause\"\non = \"c1\"", links);
    check(
        &links.replace("duration_ms = 1500", "duration_ms = 1400"),
        &whys,
    );
}

#[test]
fn nobody_compares_the_tokens() {
    let why = "the resource compares no tokens, and refused nothing";
    let text = include_str!("progress-none.toml");
    // Where c1 is first, it is paused while it holds the lock, and c2 asks for it.
    let text = text.replace("hold_ms = 20", "hold_ms = 20\nclient.c2.start_ms = 30");
    check(&text, &[(Progress, why)]);
}

#[test]
fn the_adds_do_not_cross_the_faulty_link() {
    let why = "no add was acknowledged before the end of a fault of its servers";
    let text = include_str!("adds.toml");
    check(text, &[(AcknowledgedLost, why)]);
    let paused = text.replace(
        "\"partition\"\nfrom = \"c1\"\nto = \"resource\"",
        "\"pause\"\non = \"c1\"",
    );
    check(&paused, &[(AcknowledgedLost, why)]);
}

#[test]
fn all_clients_are_dead_before_anybody_could_want_the_freed_lock() {
    let early = "the lock was never contended where a fault could matter";
    let short = "no wait for the free lock began early enough to exceed its bound";
    let whys = [
        (Lease, early),
        (Resource, early),
        (ForeignRelease, early),
        (Deadlock, short),
    ];
    check(include_str!("dead.toml"), &whys);
}

#[test]
fn a_fault_of_no_effect_meets_nobody() {
    let short = "no wait for the free lock began early enough to exceed its bound";
    let whys = [
        (Lease, NOBODY_MET),
        (Resource, NOBODY_MET),
        (Deadlock, short),
    ];
    let text = include_str!("noop.toml");
    check(text, &whys);
    let only = |fault: &str| {
        let (scenario, rest) = text.split_once("[fault.l]").expect("its faults");
        let (_, expect) = rest.split_once("[expect]").expect("its predictions");
        format!("{scenario}[fault.l]\nat_ms = 0\n{fault}\n[expect]{expect}")
    };
    for fault in [
        "kind = \"loss\"\nfrom = \"c1\"\nto = \"n1\"\nprobability = 0",
        "kind = \"slow-link\"\nfrom = \"c1\"\nto = \"n1\"\nextra_ms = 0",
        "kind = \"clock-step\"\non = [\"c1\", \"n1\"]\nstep_ms = 0",
        "kind = \"clock-rate\"\non = [\"c1\", \"c2\"]\ndrift_ppm = 0",
        "kind = \"clock-rate\"\non = \"n1\"\ndrift_ppm = 0\nduration_ms = 50",
        "kind = \"clock-rate\"\non = \"resource\"\ndrift_ppm = 100_000",
        "kind = \"partition\"\nfrom = \"c1\"\nto = \"c2\"",
        "kind = \"partition\"\nfrom = \"n1\"\nto = \"resource\"",
    ] {
        check(&only(fault), &whys);
    }
}
