//! Runs written by hand: a history, and what the servers held. Each situation has runs that meet it, and
//! runs that miss it by one detail.

use std::sync::LazyLock;

use locklab_check::history_builder::{HistoryBuilder, MS};
use locklab_history::ClockKind::Wall;
use locklab_history::leases::End;
use locklab_history::{Event, History, Name, PacketFault, Point, Record, Topology, Visit};
use locklab_locks::Shape;
use locklab_truth::{Holding, Holdings, Rule};

use crate::Situation::{self, *};
use crate::met_by;

static NAMES: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let names = ["c1", "c2", "c3", "n1", "n2", "n3", "n1r1", "s1"];
    names.map(Name::from).into()
});

fn name(wanted: &str) -> &'static Name {
    let mut names = NAMES.iter();
    names.find(|it| &***it == wanted).expect("it is listed")
}

/// A run under construction.
#[derive(Clone)]
struct Run {
    history: History,
    holdings: Vec<Holding<'static>>,
    visits: Vec<Visit>,
    need: usize,
    topology: Topology,
}

/// A run with this history, on one node.
fn run(builder: HistoryBuilder) -> Run {
    Run {
        history: builder.history(),
        holdings: Vec::new(),
        visits: Vec::new(),
        need: 1,
        topology: Topology {
            clients: 3,
            ..Topology::default()
        },
    }
}

impl Run {
    /// A server holds the lock for a client between these times in milliseconds.
    fn held(self, node: &str, client: &str, ms: [u64; 2], end: End) -> Run {
        self.held_and_ended(node, client, ms, end, None)
    }

    fn deleted(self, node: &str, client: &str, ms: [u64; 2], by: &str) -> Run {
        self.held_and_ended(node, client, ms, End::Deleted, Some(name(by)))
    }

    fn held_and_ended(
        mut self,
        node: &str,
        client: &str,
        [from_ms, until_ms]: [u64; 2],
        end: End,
        ended_by: Option<&'static Name>,
    ) -> Run {
        self.holdings.push(Holding {
            node: name(node),
            client: name(client),
            from_ns: from_ms * MS,
            until_ns: until_ms * MS,
            end,
            ended_by,
        });
        self
    }

    /// A node executes a request of a client.
    fn visits(mut self, ms: u64, client: &str, node: &str) -> Run {
        self.visits.push(Visit {
            at_ns: ms * MS,
            node: name(node).clone(),
            by: name(client).clone(),
        });
        self
    }

    /// A sentinel logs this.
    fn notices(mut self, ms: u64, notice: &str) -> Run {
        let records = &mut self.history.records;
        let before = records.partition_point(|record| record.at_ns <= ms * MS);
        let record = Record {
            at_ns: ms * MS,
            host: name("s1").clone(),
            wall_ns: 0,
            mono_ns: ms * MS,
            event: Event::Reached {
                point: Point::Notice(notice.into()),
            },
        };
        records.insert(before, record);
        self
    }

    /// Of so many nodes, with so many replicas each.
    fn on(mut self, nodes: u32, replicas: u32) -> Run {
        self.need = nodes as usize / 2 + 1;
        self.topology.nodes = nodes;
        self.topology.replicas = replicas;
        self.topology.sentinels = u32::from(replicas > 0);
        self
    }

    /// Whether the run meets this situation.
    #[track_caller]
    fn check(&self, situation: Situation, expected: bool) {
        let mut all = self.holdings.clone();
        all.sort_by_key(|it| it.from_ns);
        let holdings = Holdings {
            all,
            rule: Rule {
                need: self.need,
                intersects: self.topology.replicas == 0,
                shape: Shape::Text,
            },
        };
        let met = met_by(&self.history, Some(&holdings), &self.visits, &self.topology);
        assert_eq!(met.contains(&situation), expected, "{met:?}");
    }

    #[track_caller]
    fn meets(&self, situation: Situation) {
        self.check(situation, true);
    }

    #[track_caller]
    fn misses(&self, situation: Situation) {
        self.check(situation, false);
    }
}

/// c1 has the lock from 10 ms on, until it gives it back.
fn holds() -> HistoryBuilder {
    HistoryBuilder::default().tries(0, "c1").granted(10, "c1")
}

/// The same, for 100 ms by its wall clock.
fn leased() -> HistoryBuilder {
    let tries = HistoryBuilder::default().tries(0, "c1");
    tries.granted_for(10, "c1", Wall, 100)
}

#[test]
fn lease_lapses_by_the_clock_of_a_holder_that_stands_still() {
    let paused = |from_ms, to_ms| {
        let paused = leased().fault_begins(from_ms, "c1", "pause");
        run(paused.fault_ends(to_ms, "c1", "pause").releases(300, "c1"))
    };
    paused(50, 200).meets(LapsedWhileStopped);
    paused(50, 100).misses(LapsedWhileStopped);
    paused(120, 200).misses(LapsedWhileStopped);
    // Another client's pause, and a holder that gives the lock back in time.
    let other = leased().fault_begins(50, "c2", "pause");
    run(other.releases(300, "c1")).misses(LapsedWhileStopped);
    let early = leased().releases(60, "c1").fault_begins(70, "c1", "pause");
    run(early.ends(300)).misses(LapsedWhileStopped);
    let killed = leased().fault_begins(50, "c1", "kill");
    run(killed.ends(300)).misses(LapsedWhileStopped);
}

#[test]
fn lease_lapses_by_the_clocks_of_the_servers() {
    let paused = || {
        let paused = holds().fault_begins(50, "c1", "pause");
        run(paused.fault_ends(200, "c1", "pause").releases(300, "c1"))
    };
    let expires = |node, ms| paused().held(node, "c1", [5, ms], End::Expired);
    expires("n1", 105).meets(LapsedWhileStopped);
    expires("n1", 205).misses(LapsedWhileStopped);
    paused()
        .deleted("n1", "c1", [5, 105], "c2")
        .misses(LapsedWhileStopped);
    // Of three nodes two are enough; a replica may be the master.
    let three = |third| {
        let two = expires("n1", 105).held("n2", "c1", [5, third], End::Deleted);
        two.held("n3", "c1", [5, 300], End::Deleted).on(3, 0)
    };
    three(90).meets(LapsedWhileStopped);
    three(300).misses(LapsedWhileStopped);
    let replica = expires("n1r1", 105).held("n1", "c1", [5, 300], End::Deleted);
    replica.on(1, 1).meets(LapsedWhileStopped);
}

#[test]
fn holder_is_cut_off_from_the_server_on_which_its_lease_ends() {
    let cut = |sides, packets| {
        let cut = holds().links_fail(50, "split", sides, packets);
        let healed = cut.links_heal(200, "split", sides, packets);
        run(healed.releases(300, "c1"))
    };
    let expires = |run: Run| run.held("n1", "c1", [5, 105], End::Expired).on(1, 1);
    expires(cut(["c1", "n1"], PacketFault::Cut)).meets(LapsedWhileCutOff);
    expires(cut(["n1", "c1"], PacketFault::Cut)).meets(LapsedWhileCutOff);
    expires(cut(["c1", "n1r1"], PacketFault::Cut)).misses(LapsedWhileCutOff);
    expires(cut(["c2", "n1"], PacketFault::Cut)).misses(LapsedWhileCutOff);
    let slow = PacketFault::Slow { extra_ns: 1 };
    expires(cut(["c1", "n1"], slow)).misses(LapsedWhileCutOff);
    let one_way = holds().one_way_fails(50, "split", ["n1", "c1"], PacketFault::Cut);
    expires(run(one_way.releases(300, "c1"))).meets(LapsedWhileCutOff);
    let late = cut(["c1", "n1"], PacketFault::Cut).held("n1", "c1", [5, 205], End::Expired);
    late.misses(LapsedWhileCutOff);
    // By its own clock: from every node.
    let by_clock = |nodes| {
        let cut = leased().links_fail(50, "split", ["c1", "n1"], PacketFault::Cut);
        run(cut.releases(300, "c1")).on(nodes, 0)
    };
    by_clock(1).meets(LapsedWhileCutOff);
    by_clock(3).misses(LapsedWhileCutOff);
}

#[test]
fn clock_of_the_holder_or_of_a_server_is_stepped_during_a_lease() {
    let steps = |ms, host| run(leased().steps(ms, host, 20).releases(300, "c1"));
    steps(50, "c1").meets(ClockStepped);
    steps(50, "n1").meets(ClockStepped);
    steps(50, "c2").misses(ClockStepped);
    steps(50, "s1").on(1, 1).misses(ClockStepped);
    let before = HistoryBuilder::default().tries(0, "c1").steps(5, "n1", 20);
    run(before.granted_for(10, "c1", Wall, 100)).misses(ClockStepped);
    steps(150, "n1").misses(ClockStepped);
    run(leased().drifts(50, "n1", 1000).releases(90, "c1")).misses(ClockStepped);
}

#[test]
fn holder_dies_with_the_lock() {
    for kind in ["kill", "crash"] {
        run(holds().fault_begins(50, "c1", kind)).meets(HolderDied);
        run(holds().fault_begins(50, "c2", kind)).misses(HolderDied);
        let after = holds().releases(40, "c1").fault_begins(50, "c1", kind);
        run(after).misses(HolderDied);
    }
    run(holds().fault_begins(50, "c1", "pause")).misses(HolderDied);
}

#[test]
fn waiter_is_granted_the_lock_before_it_gives_up() {
    let waits = || holds().tries(20, "c2").fails(25, "c2").waits(30, "c2");
    run(waits().releases(40, "c1").tries(50, "c2").granted(55, "c2")).meets(WaiterWoke);
    run(waits().gives_up(40, "c2").tries(50, "c2").granted(55, "c2")).misses(WaiterWoke);
    let dead = waits().fault_begins(40, "c2", "kill");
    run(dead.tries(50, "c2").granted(55, "c2")).misses(WaiterWoke);
    run(waits().releases(40, "c1").tries(50, "c3").granted(55, "c3")).misses(WaiterWoke);
    run(waits().releases(40, "c1")).misses(WaiterWoke);
}

#[test]
fn restarted_server_grants_what_it_has_forgotten() {
    let history = |lease_ms| {
        let tries = HistoryBuilder::default().tries(0, "c1");
        let granted = tries.granted_for(10, "c1", Wall, lease_ms);
        run(granted
            .tries(70, "c2")
            .granted(85, "c2")
            .releases(300, "c1"))
    };
    let lost = |run: Run, end| run.held("n1", "c1", [5, 50], end);
    let again = |run: Run, client| run.held("n1", client, [80, 200], End::Expired);
    again(lost(history(100), End::Lost), "c2").meets(ForgottenGrant);
    again(lost(history(60), End::Lost), "c2").misses(ForgottenGrant);
    again(lost(history(100), End::Expired), "c2").misses(ForgottenGrant);
    // It has read its file.
    again(lost(history(100), End::Lost), "c1").misses(ForgottenGrant);
    let elsewhere = lost(history(100), End::Lost).held("n2", "c2", [80, 200], End::Expired);
    elsewhere.on(3, 0).misses(ForgottenGrant);
}

#[test]
fn master_is_replaced_during_a_grant() {
    let switched = |ms| run(holds().releases(100, "c1")).notices(ms, "+switch-master");
    switched(50).meets(FailedOver);
    switched(5).misses(FailedOver);
    switched(100).misses(FailedOver);
    let down = run(holds().releases(100, "c1")).notices(50, "+odown");
    down.misses(FailedOver);
}

#[test]
fn token_is_drawn_after_a_server_restarted_or_was_replaced() {
    let crashed = |host| {
        let crashed = HistoryBuilder::default().fault_begins(10, host, "crash");
        crashed.fault_ends(20, host, "crash").tries(30, "c1")
    };
    run(crashed("n1").granted_with_token(40, "c1", 5)).meets(TokenAfterRestart);
    run(crashed("n1").granted(40, "c1")).misses(TokenAfterRestart);
    run(crashed("c2").granted_with_token(40, "c1", 5)).misses(TokenAfterRestart);
    let paused = HistoryBuilder::default().fault_begins(10, "n1", "pause");
    let paused = paused.fault_ends(20, "n1", "pause").tries(30, "c1");
    run(paused.granted_with_token(40, "c1", 5)).misses(TokenAfterRestart);
    // Asked for before.
    let asked = HistoryBuilder::default().tries(5, "c1");
    let asked = asked.fault_begins(10, "n1", "crash");
    let asked = asked.fault_ends(20, "n1", "crash");
    run(asked.granted_with_token(40, "c1", 5)).misses(TokenAfterRestart);
    let drawn = |ms| {
        let tries = HistoryBuilder::default().tries(30, "c1");
        run(tries.granted_with_token(40, "c1", 5)).notices(ms, "+switch-master")
    };
    drawn(20).meets(TokenAfterRestart);
    drawn(50).misses(TokenAfterRestart);
}

#[test]
fn two_clients_hold_nodes_at_once() {
    let both = |second: [u64; 2]| {
        let one = run(holds()).held("n1", "c1", [5, 50], End::Deleted);
        one.held("n2", "c2", second, End::Deleted)
    };
    both([40, 90]).on(3, 0).meets(SplitNodes);
    both([50, 90]).on(3, 0).misses(SplitNodes);
    // A master and its replica are one node.
    both([40, 90]).misses(SplitNodes);
    let same = run(holds()).held("n1", "c1", [5, 50], End::Deleted);
    let same = same.held("n2", "c1", [6, 90], End::Deleted);
    same.on(3, 0).misses(SplitNodes);
}

#[test]
fn servers_grant_the_lock_to_a_client_that_is_not_told() {
    let asks = || HistoryBuilder::default().tries(0, "c1");
    let held = |builder, ms| run(builder).held("n1", "c1", [ms, 105], End::Expired);
    held(asks().fails(20, "c1"), 5).meets(UntoldGrant);
    held(asks().fault_begins(20, "c1", "kill"), 5).meets(UntoldGrant);
    held(asks().granted(20, "c1"), 5).misses(UntoldGrant);
    held(asks().fails(20, "c1"), 25).misses(UntoldGrant);
    held(asks().ends(20), 5).misses(UntoldGrant);
    // Fewer nodes than the lock needs.
    let some = held(asks().fails(20, "c1"), 5);
    some.clone().on(3, 0).misses(UntoldGrant);
    let enough = some.held("n2", "c1", [6, 105], End::Expired);
    enough.on(3, 0).meets(UntoldGrant);
    // Two servers of one node are one.
    let replica = held(asks().fails(20, "c1"), 5).held("n1r1", "c1", [6, 105], End::Expired);
    replica.on(3, 1).misses(UntoldGrant);
    // It was granted before the crash, and is read from the file while the client asks in vain.
    let before = asks().granted(10, "c1").releases(15, "c1");
    let again = run(before.released(18, "c1", 1).tries(60, "c1").fails(80, "c1"));
    let lost = || again.clone().held("n1", "c1", [5, 50], End::Lost);
    let held = |run: Run| run.held("n1", "c1", [70, 105], End::Expired);
    held(lost()).misses(UntoldGrant);
    // Another's entry was there in between.
    held(lost().held("n1", "c2", [55, 65], End::Deleted)).meets(UntoldGrant);
    held(again.clone()).meets(UntoldGrant);
}

#[test]
fn release_reaches_a_server_that_holds_anothers_key() {
    let releases = || {
        let released = holds().releases(100, "c1").released(120, "c1", 0);
        run(released).held("n1", "c1", [5, 50], End::Expired)
    };
    let others = |ms: [u64; 2]| releases().held("n1", "c2", ms, End::Expired);
    others([60, 200])
        .visits(110, "c1", "n1")
        .meets(ForeignKeyMet);
    others([60, 200])
        .visits(90, "c1", "n1")
        .misses(ForeignKeyMet);
    others([60, 200])
        .visits(130, "c1", "n1")
        .misses(ForeignKeyMet);
    others([60, 200])
        .visits(110, "c2", "n1")
        .misses(ForeignKeyMet);
    others([60, 200])
        .visits(110, "c1", "n2")
        .misses(ForeignKeyMet);
    others([60, 105])
        .visits(110, "c1", "n1")
        .misses(ForeignKeyMet);
    others([110, 200])
        .visits(110, "c1", "n1")
        .misses(ForeignKeyMet);
    releases().visits(110, "c1", "n1").misses(ForeignKeyMet);
    // Deleted by this very request, and by another.
    let deleted = |by| {
        let deleted = releases().deleted("n1", "c2", [60, 110], by);
        deleted.visits(110, "c1", "n1")
    };
    deleted("c1").meets(ForeignKeyMet);
    deleted("c3").misses(ForeignKeyMet);
    // Readers share an entry.
    let shared = others([60, 200]).held("n1", "c1", [55, 200], End::Deleted);
    shared.visits(110, "c1", "n1").misses(ForeignKeyMet);
}

#[test]
fn quiet_run_meets_nothing() {
    let quiet = run(holds().releases(50, "c1").released(60, "c1", 1));
    let quiet = quiet
        .deleted("n1", "c1", [5, 55], "c1")
        .visits(55, "c1", "n1");
    for situation in Situation::ALL {
        quiet.misses(situation);
    }
}

/// Nothing is shown by the servers of a run whose contents were not kept.
#[test]
fn without_contents_only_the_history_counts() {
    let paused = leased().fault_begins(50, "c1", "pause");
    let told = run(paused.releases(300, "c1"));
    let met = met_by(&told.history, None, &[], &told.topology);
    assert_eq!(met, [LapsedWhileStopped].into());
}
