//! What a campaign counts, and what it says of too few situations.

use std::num::NonZeroU64;

use locklab_check::Property;
use locklab_evidence::Tally;
use locklab_history::{Fault, FaultKind};
use locklab_results::table::Look;
use locklab_runner::batch::Part as _;
use locklab_runner::pool::{Broken, Why};
use locklab_runner::simulate::Keep;
use locklab_situations::Situation::{self, *};
use locklab_vecmap::VecMap;

use super::coverage::{self, Coverage};
use super::searched::Searched;
use super::tables::SAFETY;
use super::{Campaign, scenarios};
use crate::campaign::strategy::{Rehearsals, Strategy};
use locklab_lab::Program;

/// What so many runs without a violation come to, all of which could have violated this property.
fn holding(property: Property, runs: u64, met: &[(Situation, u64)]) -> Searched {
    let mut searched = Searched::default();
    let holds = Tally {
        holds: runs,
        ..Tally::default()
    };
    searched.cell.tallies.insert(property, holds);
    searched.met = met.iter().copied().collect();
    searched
}

/// Calls this with the runs of a lock.
fn with<T>(lock: &str, searched: &Searched, quota: u64, tell: impl Fn(&Coverage) -> T) -> T {
    let rows = scenarios(&[lock.into()]).expect("it is in the catalogue");
    let (row, scenario) = &rows[0];
    tell(&Coverage {
        row,
        scenario,
        searched,
        runs: 100,
        quota,
    })
}

/// The field of `resource` in the table of safety.
#[track_caller]
fn check(lock: &str, searched: &Searched, quota: u64, look: Look, detail: &str) {
    let table = |it: &Coverage| SAFETY.table(100, &[*it], Strategy::Uniform);
    let table = with(lock, searched, quota, table);
    let resource = &table.rows[0].fields[2];
    assert_eq!(resource.look, look);
    assert_eq!(resource.detail, detail);
}

#[test]
fn property_that_no_run_violates_is_inconclusive_below_the_quota() {
    let held = |met: &[_]| holding(Property::Resource, 100, met);
    let holds = "0 of 100 runs (at most 3.7 %)";
    let lapsed = "a lease lapsed while its holder was paused or suspended";
    let never = format!("{holds}; inconclusive, never met: {lapsed}");
    check("set-nx-px", &held(&[]), 1, Look::Inconclusive, &never);
    let other = held(&[(LapsedWhileCutOff, 100)]);
    check("set-nx-px", &other, 1, Look::Inconclusive, &never);
    let once = held(&[(LapsedWhileStopped, 1)]);
    check("set-nx-px", &once, 1, Look::Holds, holds);
    let seldom = format!("{holds}; inconclusive, met in 1 of 100 runs, quota 2: {lapsed}");
    check("set-nx-px", &once, 2, Look::Inconclusive, &seldom);
    // A token, too.
    let token = "a token was drawn after a failover or a restart of a server";
    let no_token = format!("{holds}; inconclusive, never met: {token}");
    let fenced = "set-nx-px (with token)";
    check(fenced, &once, 1, Look::Inconclusive, &no_token);
    let neither = format!("{holds}; inconclusive, never met: {lapsed}; {token}");
    check(fenced, &held(&[]), 1, Look::Inconclusive, &neither);
    // A lock without a lease.
    check("database-unique", &held(&[]), 1, Look::Holds, holds);
}

#[test]
fn violation_needs_no_situation() {
    let mut searched = holding(Property::Resource, 99, &[]);
    if let Some(tally) = searched.cell.tallies.get_mut(&Property::Resource) {
        tally.violated = 1;
    }
    let told = "1.0 % (0.2–5.4 %), 1 of 100 runs";
    check("set-nx-px", &searched, 1, Look::Violated(0.01), told);
    let gaps = |it: &Coverage| coverage::tell_gaps(&[Property::Resource], &[*it]);
    assert_eq!(with("set-nx-px", &searched, 1, gaps), "");
}

#[test]
fn gaps_name_the_reason_once_and_the_locks_below_it() {
    let mut searched = holding(Property::Resource, 0, &[]);
    let whys = [
        ("rare".into(), 3),
        ("common".into(), 5),
        ("usual".into(), 5),
    ];
    searched.whys = [(Property::Resource, VecMap::from(whys))].into();
    let gaps = |it: &Coverage| coverage::tell_gaps(&[Property::Resource], &[*it, *it]);
    assert_eq!(
        with("set-nx-px", &searched, 1, gaps),
        "Inconclusive: no run violates these, but too few runs put them to the test:\n  \
         resource: no run could have violated it: common\n    set-nx-px, set-nx-px\n"
    );
}

#[test]
fn situations_of_a_lock_that_cannot_meet_them_are_not_missing() {
    let searched = holding(Property::Lease, 100, &[(ClockStepped, 7)]);
    let texts = |lock: &str| {
        with(lock, &searched, 1, |it| {
            let table = coverage::table("Situations".into(), 1, &[*it]);
            let fields = table.rows[0].fields.iter();
            let texts: Vec<String> = fields.map(|field| field.text.clone()).collect();
            texts.join(" ")
        })
    };
    assert_eq!(
        texts("set-nx-px"),
        "never never 7 never never never – – never never –"
    );
    assert_eq!(
        texts("redlock-fenced"),
        "never never 7 never never – – never never never –"
    );
    assert_eq!(texts("database-unique"), "– – 7 never – – – – – – –");
}

/// What a campaign draws is overridden where faults are drawn, and nowhere else.
#[test]
fn mix_draws_and_places_the_kinds_that_are_asked_for() {
    let locks = ["set-nx-px".into()];
    let sets = vec!["campaign.heals_ms=9000".into()];
    let kinds = [FaultKind::Pause, FaultKind::Crash];
    let one = NonZeroU64::MIN;
    let campaign = Campaign::plan(&locks, sets, &kinds, 0..64, Strategy::Mixed, one);
    let source = &campaign.expect("it fits").sources[0];
    let rehearsals = Rehearsals::of_threads(1);
    for seed in [0, 16, 63] {
        let chosen = source.choose(seed, &rehearsals).expect("it ends");
        let faults = chosen.drawn.schedule.faults;
        assert!(!faults.is_empty(), "seed {seed}");
        let is_asked_for = |it: &Fault| kinds.contains(&it.kind());
        assert!(faults.iter().all(is_asked_for), "seed {seed}: {faults:?}");
        let drawn = source.scenario_of(seed).campaign.as_ref();
        assert_eq!(drawn.map(|it| it.heals_ms), (seed == 63).then_some(9000));
    }
}

/// A campaign at steps, whose runs are short.
fn at_steps(seeds: u64) -> Campaign {
    let locks = ["set-nx-px".into()];
    let one = NonZeroU64::MIN;
    Campaign::plan(&locks, vec![], &[], 0..seeds, Strategy::Steps, one).expect("it fits")
}

#[test]
fn parts_join_to_the_counts_of_the_whole() {
    const SEEDS: u64 = 160;
    let campaign = at_steps(SEEDS);
    let rehearsals = Rehearsals::of_threads(1);
    let add = |seed, part: &mut Searched| {
        let chosen = campaign.sources[0].choose(seed, &rehearsals);
        let chosen = chosen.expect("it has steps");
        let run = chosen.run(Keep::HELD).expect("it ends");
        part.add(seed, &run, &chosen);
    };
    let mut whole = Searched::default();
    let mut parts = vec![Searched::default(); 3];
    for seed in 0..SEEDS {
        add(seed, &mut whole);
        add(seed, &mut parts[seed as usize % 3]);
    }
    let mut joined = Searched::default();
    for (number, part) in parts.into_iter().enumerate() {
        let runs = (0..SEEDS).filter(|seed| *seed as usize % 3 == number);
        assert_eq!(part.why_not(runs.count() as u64), None);
        joined.join(part);
    }
    assert_eq!(joined, whole);
    assert_eq!(whole.why_not(SEEDS), None);
    let sometimes = |it: &Situation| (1..SEEDS).contains(&whole.met(*it));
    let some: Vec<Situation> = Situation::ALL.into_iter().filter(sometimes).collect();
    assert!(some.contains(&HolderDied), "{some:?}");
    assert!(some.contains(&LapsedWhileStopped), "{some:?}");
    // No token, no second node, no replica, nobody who listens.
    for never in [TokenAfterRestart, SplitNodes, FailedOver, WaiterWoke] {
        assert_eq!(whole.met(never), 0, "{never}");
    }
}

#[test]
fn counts_that_somebody_edited_are_refused() {
    let counted = || {
        let mut searched = Searched::default();
        searched.cell.writes.runs = 3;
        let tally = Tally {
            holds: 1,
            inconclusive: 2,
            ..Tally::default()
        };
        searched.cell.tallies.insert(Property::Lease, tally);
        searched.met = [(HolderDied, 3)].into();
        let whys = VecMap::from([("early".into(), 1), ("late".into(), 1)]);
        searched.whys = [(Property::Lease, whys)].into();
        searched
    };
    assert_eq!(counted().why_not(3), None);
    let edits: [fn(&mut Searched); 4] = [
        |it| it.met = [(HolderDied, 4)].into(),
        |it| it.whys.clear(),
        |it| {
            _ = it
                .whys
                .insert(Property::Lease, [("early".into(), 3)].into())
        },
        |it| _ = it.whys.insert(Property::Fifo, [("early".into(), 1)].into()),
    ];
    for (number, edit) in edits.iter().enumerate() {
        let mut searched = counted();
        edit(&mut searched);
        assert!(searched.why_not(3).is_some(), "{number}");
    }
}

#[test]
fn quota_of_more_than_all_runs_is_refused() {
    let plan = |quota| {
        let quota = NonZeroU64::new(quota).expect("it is no zero");
        Campaign::plan(&[], vec![], &[], 5..15, Strategy::Uniform, quota)
    };
    assert!(plan(10).is_ok());
    let error = plan(11).err().expect("it cannot be reached");
    assert_eq!(
        error.to_string(),
        "--quota 11 is more than the 10 runs of each lock; write at most 10, or more seeds"
    );
}

#[test]
fn bug_is_repeated_with_all_that_was_chosen() {
    let told = |faults: &[FaultKind], strategy| {
        let locks = ["redlock (sequential)".into()];
        let sets = vec!["lock.ttl_ms=300".into()];
        let one = NonZeroU64::MIN;
        let campaign = Campaign::plan(&locks, sets, faults, 0..9, strategy, one).expect("it fits");
        let broken = Broken {
            job: 0,
            seed: 7,
            why: Why::Failed("it stands still".into()),
        };
        let error = campaign.bug(broken, &Program::started_with("locklab"));
        let error = error.to_string();
        let (_, command) = error.split_once("reproduce  ").expect("a command");
        command.to_owned()
    };
    let common = "locklab study campaign --lock 'redlock (sequential)' --seeds 7..8";
    let set = "--set lock.ttl_ms=300";
    let kinds = [FaultKind::Pause, FaultKind::Reset];
    assert_eq!(told(&[], Strategy::Uniform), format!("{common} {set}"));
    assert_eq!(
        told(&kinds, Strategy::Swarm),
        format!("{common} --strategy swarm {set} --set 'campaign.faults=[\"pause\",\"reset\"]'")
    );
    for strategy in [Strategy::Steps, Strategy::Mixed] {
        let name = strategy.name();
        assert_eq!(
            told(&kinds, strategy),
            format!("{common} --strategy {name} {set} --fault pause --fault reset")
        );
    }
}
