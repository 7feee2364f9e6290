//! The list of mistakes, with who has to catch each.

use std::path::{Path, PathBuf};

use Binary::{Lib, Locks, Paper, SimLib, World};
use Catcher::{Scenario, Test};

/// A mistake that the feature `plants` builds in.
pub struct Plant {
    /// How the source and the environment name it.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    #[allow(dead_code, reason = "for whoever reads the list")]
    pub what: &'static str,
    /// Who has to notice.
    pub caught_by: Catcher,
}

/// What notices a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catcher {
    /// A shipped scenario: what is observed differs from what it predicts.
    Scenario(&'static str),
    /// Of the tests in a binary those whose names contain this: one of them fails.
    Test(Binary, &'static str),
}

/// A binary with tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binary {
    /// The unit tests of `locklab`.
    Lib,
    /// `tests/locks`.
    Locks,
    /// `tests/paper.rs`.
    Paper,
    /// The unit tests of `locklab-sim`.
    SimLib,
    /// `sim/tests/world`.
    World,
}

impl Binary {
    /// Each of them.
    pub const ALL: [Binary; 5] = [Lib, Locks, Paper, SimLib, World];

    /// How its file is called.
    pub fn name(self) -> &'static str {
        match self {
            Lib => "locklab",
            Locks => "locks",
            Paper => "paper",
            SimLib => "locklab_sim",
            World => "world",
        }
    }

    /// Where cargo would run it.
    pub fn folder(self) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        match self {
            Lib | Locks | Paper => root.into(),
            SimLib | World => root.join("sim"),
        }
    }
}

const fn plant(name: &'static str, what: &'static str, caught_by: Catcher) -> Plant {
    Plant {
        name,
        what,
        caught_by,
    }
}

/// Every mistake there is.
pub const PLANTS: &[Plant] = &[
    // Redlock.
    plant(
        "redlock-quorum-too-small",
        "One node fewer than a majority is enough.",
        Test(Locks, "redlock::redlock_works"),
    ),
    plant(
        "redlock-any-reply",
        "A node that refuses counts as one that grants.",
        Scenario("redis-docs/r9-released"),
    ),
    plant(
        "redlock-same-token",
        "Every grant has the same random value.",
        Test(Locks, "redlock::"),
    ),
    plant(
        "redlock-no-node-timeout",
        "A client waits for a silent node for ever.",
        Scenario("problems/node-down"),
    ),
    plant(
        "redlock-no-drift-allowance",
        "Nothing is taken off the validity for drift.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-from-the-reply",
        "The validity counts from the last reply instead of the first request.",
        Scenario("kleppmann/k13"),
    ),
    plant(
        "redlock-no-elapsed-check",
        "A lease that is over before it was granted counts.",
        Scenario("kleppmann/k13"),
    ),
    plant(
        "redlock-no-release-after-failure",
        "A failed attempt gives nothing back.",
        Test(Locks, "redlock::a_failed_attempt"),
    ),
    plant(
        "redlock-release-only-where-acquired",
        "A failed attempt gives back only where the reply said that it was granted.",
        Test(Locks, "redlock::what_was_granted"),
    ),
    plant(
        "redlock-releases-first-alone",
        "The first node alone is released.",
        Test(Locks, "redlock::redlock_works"),
    ),
    plant(
        "redlock-extends-without-majority",
        "An extension counts without a majority.",
        Test(Locks, "redlock::redlock_extends"),
    ),
    plant(
        "redlock-extends-too-late",
        "The time that extending took is not counted.",
        Test(Locks, "redlock::an_extension"),
    ),
    plant(
        "redlock-parallel-in-turn",
        "Nodes that are to be asked at once are asked in turn.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-parallel-waits-for-first",
        "Of nodes that are asked at once the first alone is asked.",
        Test(Locks, "redlock::redlocks_validity"),
    ),
    plant(
        "redlock-random-value-constant",
        "The random value that is shown as a token is always the same.",
        Scenario("kleppmann/k6"),
    ),
    plant(
        "redlock-fenced-token-from-nowhere",
        "The token is not the resource's.",
        Scenario("antirez/a2"),
    ),
    plant(
        "redlock-fenced-no-last-look",
        "A grant counts though its token came when the lease was over.",
        Scenario("antirez/a2-late"),
    ),
    plant(
        "redlock-fenced-lowest-counter",
        "Of the nodes' counters the lowest counts.",
        Test(Locks, "redlock_fenced::"),
    ),
    plant(
        "redlock-fenced-without-majority",
        "One node that counted is enough.",
        Test(Locks, "redlock_fenced::"),
    ),
    plant(
        "redlock-fenced-not-written-back",
        "The highest counter is not written back.",
        Scenario("kleppmann/k8-written-back"),
    ),
    // Waiting and guards.
    plant(
        "retry-no-jitter",
        "The delay between two attempts has no jitter.",
        Test(Lib, "locks::lock::"),
    ),
    plant(
        "request-without-patience",
        "A waiter waits beyond its patience.",
        Test(Lib, "locks::lock::"),
    ),
    plant(
        "guard-always-valid",
        "A guard says of itself that it is valid, whatever the clock says.",
        Test(Locks, "locker::"),
    ),
    plant(
        "deadline-too-late",
        "A lease's deadline is 50 ms after its end.",
        Test(Locks, "set_nx_px::the_lease_ends"),
    ),
    plant(
        "set-nx-px-from-the-reply",
        "The deadline counts from the reply instead of the request.",
        Test(Locks, "set_nx_px::the_lease_ends"),
    ),
    // Releases on one node.
    plant(
        "del-deletes-nothing",
        "`DEL` deletes another key.",
        Test(Locks, "set_nx_px::"),
    ),
    plant(
        "get-del-ignores-value",
        "The value is not compared before `DEL`.",
        Test(Locks, "set_nx_px::only_del"),
    ),
    plant(
        "watch-del-without-watch",
        "The transaction watches nothing.",
        Test(Locks, "set_nx_px::a_transaction"),
    ),
    plant(
        "compare-delete-without-comparing",
        "The script deletes whoever's lock it is.",
        Test(Locks, "set_nx_px::only_del"),
    ),
    plant(
        "compare-expire-without-comparing",
        "The script prolongs whoever's lease it is.",
        Test(Locks, "set_nx_px::a_lease_is_prolonged"),
    ),
    plant(
        "compare-expire-does-nothing",
        "The script prolongs nothing and says that it did.",
        Test(Locks, "set_nx_px::a_lease_is_prolonged"),
    ),
    // Locks on one node.
    plant(
        "set-without-nx",
        "`SET` overwrites another's lock.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "set-without-px",
        "`SET` gives no lease.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "set-nx-px-same-token",
        "Every grant has the same value.",
        Test(Locks, "set_nx_px::a_token_is"),
    ),
    plant(
        "set-with-token-constant",
        "The script gives every grant the same fencing token.",
        Test(Locks, "set_nx_px::fencing_tokens"),
    ),
    plant(
        "set-with-token-without-px",
        "The script that draws a token gives no lease.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "wait-for-no-replica",
        "The lock counts before a replica has it.",
        Test(Locks, "replicas::"),
    ),
    plant(
        "never-resent",
        "A command without reply is not sent again.",
        Test(Locks, "set_nx_px::a_set_that_is_resent"),
    ),
    plant(
        "expire-never",
        "The second command is never sent.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "expire-at-once",
        "The lease is one millisecond.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "repair-nothing",
        "A lock without lease is left so.",
        Scenario("seeds/setnx-expire-repair"),
    ),
    plant(
        "setnx-expire-lua-without-lease",
        "The script gives no lease.",
        Test(Locks, "setnx_expire::"),
    ),
    plant(
        "getset-believes-the-loser",
        "Who loses the race for an expired lock believes that it has it.",
        Scenario("redis-docs/s2"),
    ),
    plant(
        "getset-ignores-the-time",
        "A lock whose time is not past is taken over.",
        Test(Locks, "getset::"),
    ),
    plant(
        "getset-release-unchecked",
        "The holder does not look at the clock before it deletes.",
        Scenario("redis-docs/s3-checked"),
    ),
    plant(
        "getset-as-listed-never-expires",
        "No lock is ever found expired.",
        Scenario("seeds/getset-as-listed"),
    ),
    plant(
        "local-counts-keep-the-last",
        "The last hold is counted but never given back.",
        Test(Lib, "locks::local_counts"),
    ),
    plant(
        "local-counts-of-anybody",
        "One owner gets the lock from the count of another.",
        Test(Lib, "locks::local_counts"),
    ),
    // Baselines.
    plant(
        "cas-ignores-version",
        "An update that found another version counts.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "cas-ignores-owner",
        "A row that has an owner is taken.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "unique-ignores-index",
        "An insert that the index refused counts.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-watches-the-holder",
        "Everybody watches the lowest node, and not the next lower one.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-need-not-be-lowest",
        "A node is enough, whatever its place.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-session-unchecked",
        "A client whose session ended while it waited has the lock.",
        Test(Locks, "baselines::who_is_not"),
    ),
    plant(
        "consensus-token-constant",
        "Every grant has the same fencing token.",
        Test(Locks, "baselines::"),
    ),
    plant(
        "consensus-pings-once",
        "The session is kept alive by one ping.",
        Scenario("kleppmann/k18"),
    ),
    // Redisson: watchdog, waiting, resending.
    plant(
        "watchdog-renews-once",
        "The watchdog renews once.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-never-stops",
        "The watchdog goes on after the release.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-too-slow",
        "The watchdog renews after twice the lease.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "watchdog-renews-what-is-lost",
        "The watchdog goes on when the lock is another's.",
        Test(Locks, "redisson"),
    ),
    plant(
        "watchdog-survives-errors",
        "The watchdog tries again after an error that ends it.",
        Scenario("redisson/watchdog-stops"),
    ),
    plant(
        "resend-never",
        "A command without reply is not sent again.",
        Test(Lib, "resend"),
    ),
    plant(
        "resend-forgets-doubt",
        "An earlier sending that was not answered is forgotten.",
        Test(Lib, "resend"),
    ),
    plant(
        "listening-is-deaf",
        "No message wakes a waiter.",
        Test(Locks, "redisson_waiting::"),
    ),
    plant(
        "listening-without-asking-again",
        "A waiter that has subscribed does not ask again.",
        Test(Locks, "redisson_waiting::"),
    ),
    plant(
        "back-off-does-not-grow",
        "The back-off does not grow.",
        Test(Lib, "waiting"),
    ),
    plant(
        "replicas-unconfirmed",
        "A lock counts that no replica has confirmed.",
        Scenario("redisson/no-replica"),
    ),
    // Redisson: locks made of several.
    plant(
        "multi-takes-one",
        "One of the locks is enough.",
        Test(Locks, "redisson_many::a_multi_lock"),
    ),
    plant(
        "redisson-redlock-minority",
        "A minority of the locks is enough.",
        Test(Locks, "redisson_many::"),
    ),
    plant(
        "many-keeps-what-it-took",
        "An attempt that fails keeps what it took.",
        Test(Locks, "redisson_many::"),
    ),
    plant(
        "many-does-not-prolong",
        "The user's lease is not set on what was taken.",
        Test(Locks, "redisson_many::"),
    ),
    // Redisson's scripts.
    plant(
        "redisson-takes-what-is-anothers",
        "A lock that another has is taken.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-is-not-reentrant",
        "An owner waits for itself.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-without-lease",
        "No lease is set.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-fenced-token-constant",
        "Every grant has the same fencing token.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-fenced-takes-what-is-anothers",
        "A lock that another has is taken.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-does-not-count",
        "The first release gives all holds back.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-is-not-published",
        "Nobody is told of a release.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-release-keeps-the-lock",
        "The key is not deleted.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-latch-is-not-read",
        "A release that is sent again is done again.",
        Test(Locks, "redisson_runs::a_release"),
    ),
    plant(
        "redisson-latch-is-not-kept",
        "The answer to a release is not kept.",
        Test(Locks, "redisson_runs::a_release"),
    ),
    plant(
        "redisson-silent-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-silent-release-does-not-count",
        "The first release gives all holds back.",
        Test(Locks, "redisson_relatives::"),
    ),
    plant(
        "redisson-renews-what-is-anothers",
        "Another's lease is renewed.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "redisson-renewal-does-nothing",
        "A renewal sets no lease and says that it did.",
        Test(Locks, "redisson::"),
    ),
    plant(
        "write-beside-readers",
        "A writer is let in beside readers.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-is-not-reentrant",
        "A writer waits for itself.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-beside-a-writer",
        "A reader is let in beside a writer.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-shortens-the-lease",
        "A second reader cuts the lock's lease to a millisecond.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-release-is-not-published",
        "Nobody is told that the last reader is gone.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-release-frees-for-all",
        "The first reader that goes frees the lock for all.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "read-renews-the-key-alone",
        "A renewal leaves out the readers' holds.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-releases-what-is-anothers",
        "Another writer's lock is given back.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "write-release-is-not-published",
        "Nobody is told that the writer is gone.",
        Test(Locks, "redisson_read_write::"),
    ),
    plant(
        "fair-serves-the-tail",
        "The last in the queue is served first.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-ignores-the-queue",
        "Whoever finds the lock free takes it.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-keeps-the-stale",
        "A waiter that is gone keeps its place for ever.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-without-lease",
        "No lease is set.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-wakes-nobody",
        "The head of the queue is not told of a release.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-releases-what-is-anothers",
        "Another's lock is given back.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "fair-stays-in-the-queue",
        "Who gives up stays in the queue.",
        Test(Locks, "redisson_fair::"),
    ),
    plant(
        "raise-counter-does-not",
        "A counter is said to be raised and is not.",
        Test(Locks, "redlock_fenced::"),
    ),
    // The resource.
    plant(
        "resource-refuses-an-equal-token",
        "The second access of the same holder is refused.",
        Test(Lib, "workload::resource"),
    ),
    plant(
        "resource-admits-everybody",
        "A lower token is admitted.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-forgets-the-highest-token",
        "No token is remembered.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-compares-no-reads",
        "Reads are not compared.",
        Scenario("kleppmann/f1-reads-and-writes"),
    ),
    plant(
        "resource-compares-no-writes",
        "Writes are not compared.",
        Scenario("kleppmann/k5"),
    ),
    plant(
        "resource-issues-one-token",
        "The resource hands out one token again and again.",
        Test(Locks, "redlock_fenced::"),
    ),
    // Faults and the world.
    plant(
        "pause-does-not-pause",
        "A pause does nothing.",
        Scenario("kleppmann/k1"),
    ),
    plant(
        "suspend-lets-the-clock-run",
        "The monotonic clock of a suspended machine runs.",
        Scenario("kleppmann/k13-frozen"),
    ),
    plant(
        "kill-closes-no-sockets",
        "The kernel of a killed process closes nothing.",
        Test(World, "processes::"),
    ),
    plant(
        "crash-says-goodbye",
        "A host without power still ends its connections.",
        Test(World, "processes::"),
    ),
    plant(
        "nobody-restarts",
        "What has crashed stays down.",
        Scenario("kleppmann/k11"),
    ),
    plant(
        "failover-is-not-ordered",
        "The operator does nothing.",
        Scenario("redis-docs/r4-failover"),
    ),
    plant(
        "two-ways-are-one",
        "What concerns both directions concerns one.",
        Test(World, "links::what_a_partition"),
    ),
    plant(
        "cut-lets-through",
        "A partition lets through.",
        Scenario("redis-docs/r4"),
    ),
    plant(
        "link-never-heals",
        "A link's fault never ends.",
        Scenario("redisson/watchdog-retries"),
    ),
    plant(
        "slow-link-adds-nothing",
        "A slow link is as fast as the others.",
        Scenario("kleppmann/k4"),
    ),
    plant(
        "loss-loses-nothing",
        "A lossy link loses nothing.",
        Test(World, "links::"),
    ),
    plant(
        "clock-step-with-the-wrong-sign",
        "A clock is stepped the other way.",
        Scenario("kleppmann/k9-back"),
    ),
    plant(
        "clock-step-in-whole-seconds",
        "A step is rounded to seconds.",
        Test(Lib, "fault::expand"),
    ),
    plant(
        "clock-rate-is-ignored",
        "Clocks that run wrong run right.",
        Scenario("antirez/a6"),
    ),
    plant(
        "faults-a-tenth-too-short",
        "Every fault is over a tenth too soon.",
        Test(Paper, "k1_with_exponential_pauses"),
    ),
];
