//! Runs written by hand: a history, and what the nodes held.

use std::sync::LazyLock;

use locklab_check::history_builder::{HistoryBuilder, MS};
use locklab_check::{Property, Verdict, judge};
use locklab_history::ClockKind::Wall;
use locklab_history::Name;
use locklab_history::leases::End;
use locklab_history::timeline::Timeline;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::coverage::Rule;
use crate::holdings::{Holding, Holdings};
use crate::{deadlock, foreign_release, lease};
use locklab_locks::Shape;

static NAMES: LazyLock<Vec<Name>> =
    LazyLock::new(|| ["c1", "c2", "c3", "n1", "n2", "n3"].map(Name::from).into());

fn name(wanted: &str) -> &'static Name {
    NAMES
        .iter()
        .find(|it| &***it == wanted)
        .expect("it is listed")
}

/// A holding: node, client, from and until in milliseconds, and who deleted it, if somebody did.
type Told = (&'static str, &'static str, u64, u64, Option<&'static str>);

fn holdings<const N: usize>(need: usize, told: [Told; N]) -> Holdings<'static> {
    let holding = |(node, client, from_ms, until_ms, by): Told| Holding {
        node: name(node),
        client: name(client),
        from_ns: from_ms * MS,
        until_ns: until_ms * MS,
        end: by.map_or(End::Expired, |_| End::Deleted),
        ended_by: by.map(name),
    };
    Holdings {
        all: told.into_iter().map(holding).collect(),
        rule: Rule {
            need,
            intersects: true,
            shape: Shape::Text,
        },
    }
}

/// What the nodes show that contradicts this verdict, or else that of the check.
#[track_caller]
fn check(
    property: Property,
    builder: &HistoryBuilder,
    holdings: &Holdings,
    verdict: Option<Verdict>,
    expected: Option<&str>,
) {
    let history = builder.clone().history();
    let bounds = builder.bounds();
    let verdict = verdict.unwrap_or_else(|| judge(&history, bounds)[&property].clone());
    let timeline = Timeline::of(&history);
    let found = match property {
        Property::ForeignRelease => {
            foreign_release::contradiction(&timeline, holdings, &verdict, bounds)
        }
        Property::Lease => lease::contradiction(&timeline, holdings, &verdict),
        _ => deadlock::contradiction(&timeline, holdings, &verdict, bounds),
    };
    assert_eq!(found.as_deref(), expected);
}

/// c1 outlives its lease, c2 takes over, and c1's release deletes what is there.
fn deletes_anothers() -> HistoryBuilder {
    HistoryBuilder::default()
        .tries(0, "c1")
        .holds_for(10, "c1", Wall, 100)
        .tries(200, "c2")
        .granted(210, "c2")
        .releases(300, "c1")
        .released(310, "c1", 1)
}

#[test]
fn a_release_of_anothers_lock_is_foreign_by_history_and_nodes() {
    let nodes = holdings(
        1,
        [
            ("n1", "c1", 5, 105, None),
            ("n1", "c2", 205, 305, Some("c1")),
        ],
    );
    let of_check = |verdict, expected| {
        check(
            Property::ForeignRelease,
            &deletes_anothers(),
            &nodes,
            verdict,
            expected,
        );
    };
    of_check(None, None);
    let missed = "violated: c1 deleted at 305.0 ms on n1 the lock that c2 held";
    of_check(Some(Verdict::Holds), Some(missed));
}

#[test]
fn an_accused_client_that_deleted_its_own_lock_is_innocent() {
    let nodes = holdings(
        1,
        [
            ("n1", "c1", 5, 305, Some("c1")),
            ("n1", "c2", 306, 400, None),
        ],
    );
    let expected = "until 310.0 ms, c1 deleted no lock that another client held";
    check(
        Property::ForeignRelease,
        &deletes_anothers(),
        &nodes,
        None,
        Some(expected),
    );
}

#[test]
fn a_release_reports_no_more_than_the_nodes_deleted() {
    let nodes = holdings(
        1,
        [("n1", "c1", 5, 105, None), ("n1", "c2", 205, 400, None)],
    );
    let expected = "c1 was told at 310.0 ms that it had deleted 1, and the nodes deleted 0 for it";
    check(
        Property::ForeignRelease,
        &deletes_anothers(),
        &nodes,
        None,
        Some(expected),
    );
}

#[test]
fn a_removal_that_no_reply_shows_is_no_difference() {
    let nodes = holdings(
        1,
        [
            ("n1", "c1", 5, 105, None),
            ("n1", "c2", 299, 305, Some("c1")),
        ],
    );
    // c2's reply comes after c1 has sent its release.
    let history = HistoryBuilder::default()
        .tries(0, "c1")
        .holds_for(10, "c1", Wall, 100)
        .tries(298, "c2")
        .releases(300, "c1")
        .granted(304, "c2")
        .released(310, "c1", 1);
    check(Property::ForeignRelease, &history, &nodes, None, None);
    assert!(foreign_release::first(&nodes).is_some());
}

#[test]
fn only_the_node_that_a_majority_lacks_counts() {
    let held = |of_n3| {
        holdings(
            2,
            [
                ("n1", "c2", 5, 50, Some("c1")),
                ("n2", "c2", 6, 60, None),
                ("n3", "c2", 7, of_n3, None),
            ],
        )
    };
    assert_eq!(foreign_release::first(&held(60)), None);
    let removal = foreign_release::first(&held(40)).expect("two of three, and then one");
    assert_eq!((removal.at_ns, &*removal.node), (50 * MS, "n1"));
}

#[test]
fn a_grant_stands_on_the_nodes() {
    let history = HistoryBuilder::default()
        .tries(0, "c1")
        .holds_for(10, "c1", Wall, 100);
    check(
        Property::Lease,
        &history,
        &holdings(1, [("n1", "c1", 5, 105, None)]),
        None,
        None,
    );
    let late = holdings(1, [("n1", "c1", 11, 105, None)]);
    let expected = "c1 was granted the lock at 10.0 ms, and not enough nodes had held it for c1 \
                    since it asked";
    check(Property::Lease, &history, &late, None, Some(expected));
}

/// A node that held the lock twice is one node.
#[test]
fn enough_nodes_are_not_one_node_often_enough() {
    let history = HistoryBuilder::default()
        .tries(0, "c1")
        .holds_for(50, "c1", Wall, 100);
    let held = |second| {
        holdings(
            2,
            [("n1", "c1", 5, 20, None), (second, "c1", 30, 105, None)],
        )
    };
    check(Property::Lease, &history, &held("n2"), None, None);
    let expected = "c1 was granted the lock at 50.0 ms, and not enough nodes had held it for c1 \
                    since it asked";
    check(Property::Lease, &history, &held("n1"), None, Some(expected));
}

/// c2 is granted the lock while c1 can rely on it.
fn both_rely() -> HistoryBuilder {
    HistoryBuilder::default()
        .tries(0, "c1")
        .holds_for(10, "c1", Wall, 300)
        .tries(100, "c2")
        .holds_for(110, "c2", Wall, 300)
        .releases(150, "c2")
}

#[test]
fn of_two_that_rely_on_the_lock_the_nodes_hold_it_for_one() {
    let ends = |until_ms, by| {
        let (first, second) = (("n1", "c1", 5, until_ms, by), ("n1", "c2", 105, 405, None));
        holdings(1, [first, second])
    };
    let lease = |nodes: &Holdings, verdict, expected| {
        check(Property::Lease, &both_rely(), nodes, verdict, expected);
    };
    lease(&ends(50, None), None, None);
    let both = "at 110.0 ms the nodes held the lock for c1 and for c2";
    lease(&ends(200, None), None, Some(both));
    let given = "c1 had deleted its own lock at 50.0 ms on n1, before 110.0 ms";
    lease(&ends(50, Some("c1")), None, Some(given));
    // What another client deleted was not given back.
    lease(&ends(50, Some("c2")), None, None);
    let missed = "violated: at 110.0 ms c1 and c2 both relied on the lock, and the nodes held it \
                  for c2";
    lease(&ends(50, None), Some(Verdict::Holds), Some(missed));
}

/// A grant within one's own may come from a count in the client, and one within another's may not.
#[test]
fn a_grant_within_anothers_stands_on_the_nodes_too() {
    let nodes = holdings(1, [("n1", "c1", 5, 50, None)]);
    let expected = "c2 was granted the lock at 110.0 ms, and not enough nodes had held it for c2 \
                    since it asked";
    check(Property::Lease, &both_rely(), &nodes, None, Some(expected));
}

/// c1 holds the lock for ever by the node; c2 asks and asks.
fn stuck() -> HistoryBuilder {
    HistoryBuilder::default()
        .deadlock_after(1000)
        .tries(0, "c1")
        .holds_for(10, "c1", Wall, 100)
        .tries(50, "c2")
        .ends(3000)
}

#[test]
fn a_lock_that_is_held_for_nobody_who_relies_on_it_is_stuck() {
    let nodes = holdings(1, [("n1", "c1", 5, 3000, None)]);
    check(Property::Deadlock, &stuck(), &nodes, None, None);
    let missed = "violated: c2 asked for the lock from 110.0 ms to 3000.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check(
        Property::Deadlock,
        &stuck(),
        &nodes,
        Some(Verdict::Holds),
        Some(missed),
    );
}

#[test]
fn a_lock_that_its_holder_relies_on_is_not_free() {
    let nodes = holdings(1, [("n1", "c1", 5, 3000, None)]);
    let violated = judge(&stuck().history(), stuck().bounds())[&Property::Deadlock].clone();
    let relies = HistoryBuilder::default()
        .deadlock_after(1000)
        .tries(0, "c1")
        .holds(10, "c1")
        .tries(50, "c2")
        .ends(3000);
    let expected = "from 10.0 ms to 3000.0 ms the nodes held the lock for c1, which relied on it";
    check(
        Property::Deadlock,
        &relies,
        &nodes,
        Some(violated),
        Some(expected),
    );
}

/// What the nodes show if the check says that nobody waits in vain: c1's key stays on the node for ever.
#[track_caller]
fn check_stuck(history: &HistoryBuilder, expected: Option<&str>) {
    let nodes = holdings(1, [("n1", "c1", 5, 9000, None)]);
    let verdict = Some(Verdict::Holds);
    check(Property::Deadlock, history, &nodes, verdict, expected);
}

#[test]
fn a_client_asks_all_the_time_until_it_gives_up() {
    let asks = || {
        HistoryBuilder::default()
            .deadlock_after(1000)
            .tries(0, "c1")
            .holds_for(10, "c1", Wall, 100)
            .tries(50, "c2")
            .fails(900, "c2")
    };
    let again = asks()
        .tries(1000, "c2")
        .fails(1800, "c2")
        .tries(2700, "c2")
        .fails(3500, "c2")
        .ends(4000);
    let missed = "violated: c2 asked for the lock from 110.0 ms to 3500.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&again, Some(missed));
    // However long it waits between two attempts.
    let late = || asks().tries(2500, "c2").fails(2800, "c2").ends(4000);
    let missed = "violated: c2 asked for the lock from 110.0 ms to 2800.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&late(), Some(missed));
    let gives_up = asks().gives_up(900, "c2").tries(1000, "c2");
    check_stuck(&gives_up.fails(1800, "c2").ends(4000), None);
    let waits = asks().waits(950, "c2").gives_up(1000, "c2");
    check_stuck(&waits.ends(4000), None);
    // Refused for the last time.
    check_stuck(&asks().ends(4000), None);
}

#[test]
fn a_client_that_died_asks_no_more() {
    let dies = stuck()
        .fault_begins(100, "c2", "crash")
        .fault_ends(200, "c2", "crash")
        .ends(9000);
    check_stuck(&dies, None);
    // Any other event of the client leaves it in its call.
    let missed = "violated: c2 asked for the lock from 110.0 ms to 9000.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&stuck().waits(3000, "c2").ends(9000), Some(missed));
}

#[test]
fn a_fault_of_the_node_excuses_a_wait_and_one_of_another_client_does_not() {
    let pauses = |host| stuck().fault_begins(120, host, "pause").ends(9000);
    check_stuck(&pauses("n1"), None);
    check_stuck(&pauses("c2"), None);
    let missed = "violated: c2 asked for the lock from 110.0 ms to 9000.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&pauses("c1"), Some(missed));
}

/// A fault of two nodes that has ended on one of them is still in effect.
#[test]
fn a_fault_excuses_a_wait_until_it_has_ended_on_every_host() {
    let ends = |on: &[&'static str]| {
        let both = stuck()
            .fault_begins(200, "n1", "pause")
            .fault_begins(200, "n2", "pause");
        let ended = on
            .iter()
            .fold(both, |it, host| it.fault_ends(500, host, "pause"));
        ended.ends(9000)
    };
    check_stuck(&ends(&["n2"]), None);
    let missed = "violated: c2 asked for the lock from 1800.0 ms to 9000.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&ends(&["n1", "n2"]), Some(missed));
}

#[test]
fn a_fault_that_ended_excuses_a_wait_for_its_length_and_a_second() {
    let waits = |ms| {
        stuck()
            .fault_begins(200, "n1", "pause")
            .fault_ends(500, "n1", "pause")
            .ends(ms)
    };
    // It has no effect after 500 + (500 - 200) + 1000 ms, and the bound is 1000 ms.
    check_stuck(&waits(2800), None);
    let missed = "violated: c2 asked for the lock from 1800.0 ms to 2801.0 ms, and the nodes held \
                  it for nobody that relied on it";
    check_stuck(&waits(2801), Some(missed));
}

const NODES: [&str; 3] = ["n1", "n2", "n3"];
const CLIENTS: [&str; 3] = ["c1", "c2", "c3"];

/// Who may end a holding: a client, a node that propagates another's deletion, or nobody.
const ENDERS: [Option<&str>; 5] = [Some("c1"), Some("c2"), Some("c3"), Some("n1"), None];

/// Periods on three nodes for three clients, each ended by anybody; no two end at the same time, and those of
/// one node for one client do not overlap.
fn periods() -> impl Strategy<Value = Vec<Told>> {
    let one = (0..3_usize, 0..3_usize, 0..40_u64, 1..20_u64, 0..5_usize);
    vec(one, 0..9).prop_map(|drawn| {
        let mut told: Vec<Told> = Vec::new();
        for (node, client, from, lasts, by) in drawn {
            // Ten apart, and the place keeps two from ending together.
            let (from_ms, place) = (10 * from, told.len() as u64);
            let until_ms = from_ms + 10 * lasts + place;
            let meets = |it: &Told| it.2 <= until_ms && from_ms <= it.3;
            let (node, client) = (NODES[node], CLIENTS[client]);
            if !told
                .iter()
                .any(|it| (it.0, it.1) == (node, client) && meets(it))
            {
                told.push((node, client, from_ms, until_ms, ENDERS[by]));
            }
        }
        told
    })
}

fn held(need: usize, told: &[Told]) -> Holdings<'static> {
    let mut holdings = holdings(need, []);
    for one in told {
        holdings.all.extend(self::holdings(need, [*one]).all);
    }
    holdings
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Two clients release at overlapping times, and anybody deletes anybody's entries meanwhile. What counts for a
    /// release is what its own client deleted during its call.
    #[test]
    fn a_release_is_held_to_its_own_clients_deletions(
        told in periods(),
        releases in vec((0..600_u64, 0..80_u64, 0..3_u32), 2),
    ) {
        let mut events: Vec<(u64, usize, Option<u32>)> = Vec::new();
        for (client, &(called_ms, lasts_ms, removed)) in releases.iter().enumerate() {
            events.push((called_ms, client, None));
            events.push((called_ms + lasts_ms, client, Some(removed)));
        }
        events.sort_by_key(|event| event.0);
        let mut history = HistoryBuilder::default();
        for (at_ms, client, removed) in events {
            history = match removed {
                None => history.releases(at_ms, CLIENTS[client]),
                Some(removed) => history.released(at_ms, CLIENTS[client], removed),
            };
        }
        let wrong = releases.iter().zip(CLIENTS).any(|(&(called_ms, lasts_ms, removed), client)| {
            let during = called_ms..=called_ms + lasts_ms;
            let own = told.iter().filter(|it| it.4 == Some(client) && during.contains(&it.3));
            own.count() < removed as usize
        });
        let (history, bounds) = (history.clone().history(), *history.bounds());
        let timeline = Timeline::of(&history);
        let holds = Verdict::Holds;
        let found = foreign_release::contradiction(&timeline, &held(2, &told), &holds, &bounds);
        let found = found.is_some_and(|found| found.contains("was told"));
        prop_assert_eq!(found, wrong);
    }

    /// Another client takes the lock from its holder with the deletion after which too few nodes hold it.
    #[test]
    fn a_removal_is_anothers_deletion_of_the_entry_that_was_needed(told in periods(), need in 1..4_usize) {
        let count = |client: &str, at_ms: u64| {
            let holds = |it: &&Told| it.1 == client && it.2 <= at_ms && at_ms < it.3;
            told.iter().filter(holds).count()
        };
        // What a server deletes later, it deletes because its master did.
        let copies = |client: &str, at_ms: u64| {
            let by_server = |it: &&Told| it.4.is_some_and(|by| by.starts_with('n'));
            let holds = |it: &&Told| it.1 == client && it.2 <= at_ms && at_ms < it.3;
            told.iter().filter(holds).filter(by_server).count()
        };
        let removals = told.iter().filter(|&&(_, client, _, until_ms, by)| {
            let another = by.filter(|by| by.starts_with('c') && *by != client);
            let left = count(client, until_ms) - copies(client, until_ms);
            another.is_some() && count(client, until_ms - 1) >= need && left < need
        });
        let expected = removals.min_by_key(|it| it.3);
        let expected = expected.map(|it| (it.3 * MS, it.4.expect("somebody"), it.1, it.0));
        let found = foreign_release::first(&held(need, &told));
        let found = found.as_ref().map(|it| (it.at_ns, &*it.by, &*it.from, &*it.node));
        prop_assert_eq!(found, expected);
    }
}
