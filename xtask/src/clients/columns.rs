//! What each table strikes its locks with, and what stands above it.

use serde::Deserialize;

/// A table of locks.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Table {
    /// On one server, or several that know nothing of each other.
    #[default]
    Apart,
    /// In a Redis Cluster.
    Cluster,
    /// Locks that are held for long, under what breaks servers in production.
    Production,
}

/// What all locks of a table are struck with.
pub(super) struct Column {
    /// Its name, in the table and in the files that are kept.
    pub(super) name: &'static str,
    pub(super) scenario: &'static str,
    /// Overrides of the scenario.
    pub(super) sets: &'static [&'static str],
    /// The number of its seeds, if none is given.
    pub(super) seeds: u64,
}

/// The scenario whose faults strike at times: a violation is repeated by a scenario of its own.
pub(super) const DRAWN: &str = "attack/drawn";

const PAUSE: &str = "attack/pause";

const fn of(scenario: &'static str, seeds: u64) -> Column {
    Column {
        name: scenario,
        scenario,
        sets: &[],
        seeds,
    }
}

const fn struck(name: &'static str, sets: &'static [&'static str]) -> Column {
    Column {
        name,
        scenario: PAUSE,
        sets,
        seeds: 5,
    }
}

const ON_DISK: &str = "node.persistence=aof-everysec";

/// For two and a half seconds, or at one time, from when c1 says that it has the lock.
const PRODUCTION: &[Column] = &[
    struck(
        "FLUSHALL",
        &[
            "fault={ f = { kind = 'command', on = 'n1', command = 'FLUSHALL', after = 'c1 acquired', delay_ms = 50 } }",
        ],
    ),
    struck(
        "READONLY",
        &[
            "fault={ f = { kind = 'command', on = 'n1', command = 'REPLICAOF 127.0.0.1 1', after = 'c1 acquired' }, \
               g = { kind = 'command', on = 'n1', command = 'REPLICAOF NO ONE', after = 'c1 acquired', delay_ms = 2500 } }",
        ],
    ),
    struck(
        "full disk",
        &[
            "fault={ f = { kind = 'disk-full', on = 'n1', after = 'c1 acquired', duration_ms = 2500 } }",
            ON_DISK,
        ],
    ),
    struck(
        "SCRIPT FLUSH",
        &[
            "fault={ f = { kind = 'command', on = 'n1', command = 'SCRIPT FLUSH', every_ms = 50, until_ms = 20000 } }",
        ],
    ),
    struck(
        "CLIENT KILL",
        &[
            "fault={ f = { kind = 'command', on = 'n1', command = 'CLIENT KILL TYPE normal', every_ms = 500, until_ms = 20000 } }",
        ],
    ),
    struck(
        "busy script",
        &[
            "fault={ f = { kind = 'command', on = 'n1', command = \"EVAL 'while true do end' 0\", after = 'c1 acquired' }, \
               g = { kind = 'command', on = 'n1', command = 'SCRIPT KILL', after = 'c1 acquired', delay_ms = 2500 } }",
        ],
    ),
    struck("stalled thread", &["fault.pause.kind='stall'"]),
];

impl Table {
    pub(super) fn columns(self) -> &'static [Column] {
        const APART: &[Column] = &[of(PAUSE, 5), of(DRAWN, 20)];
        const CLUSTER: &[Column] = &[
            of("attack/cluster-behind", 5),
            of("attack/cluster-minority", 5),
            of("attack/cluster-moves", 5),
        ];
        match self {
            Table::Apart => APART,
            Table::Cluster => CLUSTER,
            Table::Production => PRODUCTION,
        }
    }

    /// The name of its files in `reports/clients/`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Table::Apart => "clients",
            Table::Cluster => "cluster",
            Table::Production => "production",
        }
    }

    /// What stands above it.
    pub(super) fn head(self) -> &'static str {
        match self {
            Table::Apart => APART,
            Table::Cluster => CLUSTER,
            Table::Production => PRODUCTION_HEAD,
        }
    }
}

const APART: &str = "\
# Real client libraries under faults

Written by `cargo xtask clients` from the runs that it made; [reports/README.md](../README.md) says how. Each row is one
lock of a library, in the way its documentation uses it, on real Redis. Two runs of one seed are not equal, so the list
below says how often the command came to the same violation. Of `attack/drawn` it runs a file in `again/`:
faults of the same seed before the violation, placed after what the clients had done, in place of times.

How to read it:

- `belief`: two workers had the lock at the same time. `resource`, `stale-write`, `lost-update`: a worker wrote after
  another had taken over. **Any lease without fencing tokens allows these** if a worker is paused for longer than its
  lease, so in `attack/pause` they tell nothing about a library.
- `lease`: a worker still could rely on the lock, by its own clock, when another was granted it. If the deadline is
  *told* or *derived*, a pause of a worker alone cannot cause this. If it is *none*, the library renews the lease and
  tells its user no deadline: then `lease` says the same as `belief`, and follows from the pause too.
- `attack/drawn` also crashes nodes, steps clocks and cuts links. One node that restarts without its keys, or whose
  clock steps, ends a lease early, with any library. Several nodes are to survive one such fault. Programs in Go have the
  clocks of the machine, so their rows have no wrong clock and no suspension of a worker, and compare with no other row.
- *3 of 4*: it was violated in 3 of the 4 runs that say whether it is. In other runs nothing could have violated it.
  A property that is not named was violated in no run. These are too few runs to say that it holds.
- deadline: *told* by the library; *derived*, the lease counted from before the request; *none*, renewed until released.

";

const CLUSTER: &str = "\
# Lock libraries in a Redis Cluster

Written by `cargo xtask clients --cluster` from the runs that it made, on real Redis: three masters with a replica each,
which notice a failure after a second. Each row is one lock of a library, held for four seconds at a time.

- `attack/cluster-behind`: the master of the lock's slot dies before its replica has the lock, and the replica is elected.
- `attack/cluster-minority`: the master and its client are cut off from all others. It goes on for its time-out.
- `attack/cluster-moves`: an operator moves the slot to another master, step by step, while the lock is held.

`lease`: a worker still could rely on the lock, by its own clock, when another was granted it. *3 of 4*: it was violated
in 3 of the 4 runs that say whether it is; in other runs nothing could have violated it: a lock that was not granted was
not lost. These are too few runs to say that what was not violated holds. What was violated in the first two columns is
no fault of the library's: replication is asynchronous, and a lock on one key is as safe as its last replica.

";

const PRODUCTION_HEAD: &str = "\
# Lock libraries under what breaks servers in production

Written by `cargo xtask clients --production` from the runs that it made, on real Redis. Each row is one lock of a library
on one server. The renewed ones are held for three seconds at a time, three times as long as their lease, so that a
renewal that fails loses the lock. Each column is a fault that begins when the first worker says that it has the lock, and
lasts two and a half seconds where it lasts:

- `FLUSHALL`: an operator empties the server. `READONLY`: the server is made a replica, and refuses writes.
- `full disk`: the server cannot append to its file, and refuses writes (`MISCONF`).
- `SCRIPT FLUSH`, `CLIENT KILL`: an operator removes all scripts twenty times a second, closes all connections twice a
  second.
- `busy script`: a script runs for ever, until an operator kills it. Meanwhile the server does nothing else.
- `stalled thread`: the thread that uses the lock stands still, and those of the library run.

`lease`: a worker still could rely on the lock, by its own clock, when another was granted it. *3 of 4*: it was violated
in 3 of the 4 runs that say whether it is; in other runs nothing could have violated it. These are too few runs to say
that what was not violated holds. No lock on one server survives `FLUSHALL`. A lock that is renewed and tells its user no
deadline cannot survive a server that refuses renewals for longer than a lease, unless it stops its user.

";
