//! Any recording there can be, sensible or not.

use std::convert::Infallible;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::recording::{Environment, FORMAT, Footer, Header, Recording, VERSION};
use locklab_check::{Property, Verdict, Violation};
use locklab_history::{
    Access, ClockKind, Deadline, Event, FaultyLinks, History, Message, Name, Op, Outcome,
    PacketFault, Phase, Record,
};
use locklab_history::{
    Aim, Effect, Failpoint, Fault, FaultKind, Leg, Links, Point, Request, Schedule, Start, Step,
};

pub(super) fn recordings() -> impl Strategy<Value = Recording> {
    let records = vec(
        (any::<u64>(), names(), any::<u64>(), any::<u64>(), events()),
        0..12,
    );
    let records = records.prop_map(|mut records| {
        records.sort_by_key(|&(at_ns, ..)| at_ns);
        let records = records.into_iter();
        records
            .map(|(at_ns, host, wall_ns, mono_ns, event)| Record {
                at_ns,
                host,
                wall_ns,
                mono_ns,
                event,
            })
            .collect()
    });
    let histories =
        (records, vec(messages(), 0..4), any::<u64>()).prop_map(|(records, messages, end_ns)| {
            History {
                records,
                messages,
                end_ns,
            }
        });
    let verdicts = btree_map(prop::sample::select(&Property::ALL), verdicts(), 0..8);
    let footers = ("[0-9a-f]{16}", verdicts).prop_map(|(trace_hash, verdicts)| Footer {
        trace_hash,
        verdicts: verdicts.into_iter().collect(),
    });
    let recording = |(header, history, footer)| Recording {
        header,
        history,
        footer,
    };
    (headers(), histories, footers).prop_map(recording)
}

fn headers() -> impl Strategy<Value = Header> {
    let environment = prop::sample::select(&[Environment::World, Environment::Redis]);
    let scenario = (".*", any::<f64>(), any::<i64>(), any::<u64>()).prop_map(
        |(title, factor, offset, ttl)| {
            serde_json::json!({ "title": title, "lock": { "drift": factor, "offset": offset, "ttl": ttl } })
        },
    );
    let schedule = vec(faults(), 0..4).prop_map(|faults| Schedule { faults });
    let program = vec(".*", 0..3);
    let unshown = prop::collection::btree_map(prop::sample::select(&Property::ALL), ".*", 0..3);
    let lock = prop::option::of(".*");
    let of_program = (program, unshown, any::<Option<u64>>(), lock);
    (scenario, any::<u64>(), schedule, environment, of_program).prop_map(
        |(scenario, seed, schedule, environment, (program, unshown, lease_ns, lock))| Header {
            redis: matches!(environment, Environment::Redis).then(|| "7.0.15".into()),
            locklab: VERSION.into(),
            format: FORMAT,
            scenario,
            seed,
            schedule,
            environment,
            program,
            unshown: unshown.into_iter().collect(),
            lease_ns,
            lock,
        },
    )
}

/// Steps whose hosts and commands are words, as they are in a run.
fn steps() -> impl Strategy<Value = Step> {
    let name = || "[a-z][a-z0-9]{0,5}".prop_map(Name::from);
    let leg = prop_oneof![
        Just(Leg::Leaves),
        (1..u32::MAX).prop_map(|nth| Leg::Arrives { nth }),
        (1..u32::MAX).prop_map(Leg::ReplyLeaves),
        (1..u32::MAX, 1..u32::MAX).prop_map(|(reply, nth)| Leg::ReplyArrives { reply, nth }),
    ];
    let request = (name(), "[A-Z]{1,8}", 1..u32::MAX, name());
    let message = (request, leg).prop_map(|((from, command, nth, to), leg)| Step::Message {
        request: Request {
            from,
            command: command.into(),
            nth,
            to,
        },
        leg,
    });
    let timer = (name(), 1..u32::MAX).prop_map(|(host, nth)| Step::Timer { host, nth });
    let sync = (name(), 1..u32::MAX).prop_map(|(host, nth)| Step::Sync { host, nth });
    prop_oneof![message, timer, sync]
}

fn faults() -> impl Strategy<Value = Fault> {
    let points = prop::sample::select(Failpoint::ALL);
    let start = prop_oneof![
        any::<u64>().prop_map(|at_ns| Start::At { at_ns }),
        (names(), points, any::<u32>(), any::<u64>()).prop_map(|(client, point, nth, delay_ns)| {
            Start::After {
                client,
                point,
                nth,
                delay_ns,
            }
        }),
        (steps(), any::<u64>()).prop_map(|(step, delay_ns)| Start::AtStep { step, delay_ns }),
    ];
    let hosts = || vec(names(), 0..3);
    let links = (hosts(), hosts(), any::<bool>()).prop_map(|(from, to, both_ways)| Links {
        from,
        to,
        both_ways,
    });
    let amounts = (any::<u64>(), 0.0..=1.0, any::<i64>(), any::<i64>());
    let kinds = prop::sample::select(FaultKind::ALL);
    (
        names(),
        start,
        option::of(any::<u64>()),
        kinds,
        amounts,
        hosts(),
        links,
    )
        .prop_map(|(name, start, duration_ns, kind, amounts, hosts, links)| {
            let mut amount = Amount(amounts);
            let effect = match kind.aim() {
                Aim::Processes(fault) | Aim::Machines(fault) | Aim::Servers(fault) => {
                    let Ok(fault) =
                        fault.convert(&mut amount, Amount::step, Amount::rate, |_, ()| {
                            Ok("CLIENT KILL TYPE normal".into())
                        });
                    Effect::Hosts { fault, hosts }
                }
                Aim::Links(fault) => {
                    let Ok(fault) = fault.convert(&mut amount, Amount::delay, Amount::share);
                    Effect::Links { fault, links }
                }
            };
            Fault {
                name,
                start,
                duration_ns,
                effect,
            }
        })
}

/// Gives a kind the amount that it has.
struct Amount((u64, f64, i64, i64));

impl Amount {
    fn delay(&mut self, (): ()) -> Result<u64, Infallible> {
        Ok(self.0.0)
    }

    fn share(&mut self, (): ()) -> Result<f64, Infallible> {
        Ok(self.0.1)
    }

    fn step(&mut self, (): ()) -> Result<i64, Infallible> {
        Ok(self.0.2)
    }

    fn rate(&mut self, (): ()) -> Result<i64, Infallible> {
        Ok(self.0.3)
    }
}

fn events() -> impl Strategy<Value = Event> {
    let ops = || {
        prop::sample::select(&[
            Op::Acquire,
            Op::Extend,
            Op::Release,
            Op::Read,
            Op::Write,
            Op::Add,
            Op::Members,
        ])
    };
    let outcomes = prop::sample::select(&[
        Outcome::Ok,
        Outcome::Failed,
        Outcome::Unknown,
        Outcome::Unsupported,
    ]);
    let clocks = prop::sample::select(&[ClockKind::Wall, ClockKind::Monotonic]);
    let phases = prop::sample::select(&[Phase::Before, Phase::Begins, Phase::Ends, Phase::Missed]);
    let deadlines = (clocks, any::<u64>()).prop_map(|(clock, at_ns)| Deadline { clock, at_ns });
    let accesses = prop_oneof![
        any::<u64>().prop_map(|version| Access::Read { version }),
        any::<(u64, u64)>().prop_map(|(based_on, version)| Access::Write { based_on, version }),
    ];
    prop_oneof![
        (any::<u32>(), ops()).prop_map(|(call, op)| Event::Invoke { call, op }),
        (any::<u32>(), ops(), outcomes, ".*").prop_map(|(call, op, outcome, detail)| {
            Event::Complete {
                call,
                op,
                outcome,
                detail,
            }
        }),
        (
            any::<u32>(),
            option::of(deadlines),
            option::of(any::<u64>()),
            any::<bool>()
        )
            .prop_map(|(grant, deadline, token, shared)| Event::BeliefBegins {
                grant,
                deadline,
                token,
                shared
            }),
        any::<u32>().prop_map(|grant| Event::BeliefEnds { grant }),
        any::<(u32, u32)>().prop_map(|(grant, removed)| Event::Released { grant, removed }),
        prop::sample::select(Failpoint::ALL).prop_map(Event::reached),
        names().prop_map(|name| Event::Reached {
            point: Point::Notice(format!("+{name}").into()),
        }),
        (
            names(),
            any::<u32>(),
            accesses,
            option::of(any::<u64>()),
            any::<bool>()
        )
            .prop_map(|(client, grant, access, token, accepted)| Event::Access {
                client,
                grant,
                access,
                token,
                accepted
            }),
        (
            names(),
            prop::sample::select(FaultKind::ALL),
            phases,
            option::of(faulty_links().prop_map(Box::new))
        )
            .prop_map(|(fault, kind, phase, links)| Event::Fault {
                fault,
                kind,
                phase,
                links
            }),
    ]
}

fn faulty_links() -> impl Strategy<Value = FaultyLinks> {
    let packets = prop_oneof![
        Just(PacketFault::Cut),
        any::<u64>().prop_map(|extra_ns| PacketFault::Slow { extra_ns }),
        (0.0..=1.0).prop_map(|probability| PacketFault::Lossy { probability }),
    ];
    let side = || vec(names(), 0..3);
    (side(), side(), any::<bool>(), packets).prop_map(|(from, to, both_ways, packets)| {
        FaultyLinks {
            from,
            to,
            both_ways,
            packets,
        }
    })
}

fn messages() -> impl Strategy<Value = Message> {
    (
        any::<u64>(),
        option::of(any::<u64>()),
        names(),
        names(),
        ".*",
    )
        .prop_map(|(sent_ns, arrived_ns, from, to, label)| Message {
            sent_ns,
            arrived_ns,
            from,
            to,
            label,
        })
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Holds),
        ".*".prop_map(|why| Verdict::Inconclusive { why }),
        (any::<(u64, u64)>(), vec(names(), 0..3), ".*").prop_map(
            |((at_ns, until_ns), clients, what)| {
                Verdict::Violated(Violation {
                    at_ns,
                    until_ns,
                    clients,
                    what,
                })
            }
        ),
    ]
}

fn names() -> impl Strategy<Value = Name> {
    ".{0,6}".prop_map(Name::from)
}
