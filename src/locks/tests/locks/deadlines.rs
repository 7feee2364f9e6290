//! The deadline of every grant and every extension, to the nanosecond, of every lock of the catalogue.
//!
//! [`definition`] has what each lock's text says: from which moment its lease counts, on which clock,
//! and how long it is. Histories have the moments, with both clocks of the client's host. The runs
//! step the client's clock, give it a wrong rate, pause it and suspend its machine, all several
//! times, in any order, also while a request is under way.

use std::collections::BTreeSet;

use locklab_history::{ClockKind, Deadline, Event, Failpoint, History, Op, Phase, Record};
use locklab_locks::getset_as_listed::Unit;
use locklab_locks::set_nx_px::Reentrant;
use locklab_locks::{CATALOGUE, LockSpec, Shipped, redlock};
use locklab_model::fault::expand;
use locklab_model::scenario::parse;
use locklab_runner::simulate::{Keep, simulate};

const NS_PER_MS: u64 = 1_000_000;

/// The lease, in milliseconds: one of which a hundredth is not a whole number of them.
const LEASE_MS: u64 = 1037;

const SEEDS: u64 = 6;

/// The moment from which a lease counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// The call of `acquire` or `extend`: before the first request.
    Call,
    /// The last time that the call came to this point, where another request follows; before it
    /// comes there, the call.
    Point(Failpoint),
    /// The return of the call.
    Return,
}

/// When the deadline of a grant is, by the lock's text.
struct Definition {
    clock: ClockKind,
    /// Of a grant; that of an extension counts from its call unless the lock is careless.
    from: From,
    of_extension: From,
    /// The deadline that a reading of the clock at that moment gives.
    ends_ns: Box<dyn Fn(u64) -> u64>,
}

/// The definition of each lock's deadline; `None`: it gives its user none.
fn definition(lock: &Shipped) -> Option<Definition> {
    use ClockKind::{Monotonic, Wall};
    /// Counts from the call.
    fn lasts(clock: ClockKind, lease_ns: u64) -> Definition {
        Definition {
            clock,
            from: From::Call,
            of_extension: From::Call,
            ends_ns: Box::new(move |now_ns| now_ns + lease_ns),
        }
    }
    let ms = |ms: u64| ms * NS_PER_MS;
    Some(match lock {
        // One node: the lease, from before the request that sets it.
        Shipped::SetNxPx(params) => Definition {
            from: match params.elapsed_check {
                true => From::Call,
                false => From::Return,
            },
            ..lasts(params.clock, ms(params.ttl_ms))
        },
        Shipped::SetnxExpireLua(params) => lasts(params.clock, ms(params.ttl_ms)),
        Shipped::SetnxExpire(params) => Definition {
            from: From::Point(Failpoint::Expiring),
            ..lasts(params.clock, ms(params.ttl_ms))
        },
        Shipped::SetnxExpireRepair(params) => Definition {
            from: From::Point(Failpoint::Expiring),
            ..lasts(params.clock, ms(params.ttl_ms))
        },
        // The value says when: the time in whole milliseconds, the lease, and one more.
        Shipped::Getset(params) => {
            let ttl_ms = params.ttl_ms;
            Definition {
                from: From::Point(Failpoint::Overwriting),
                ends_ns: Box::new(move |now_ns| (now_ns / NS_PER_MS + ttl_ms + 1) * NS_PER_MS),
                ..lasts(Wall, 0)
            }
        }
        // As listed in whole seconds, and only if it is told to add something.
        Shipped::GetsetAsListed(params) => {
            let ttl_ms = params.ttl_ms?;
            let unit_ms = match params.unit {
                Unit::Seconds => 1000,
                Unit::Milliseconds => 1,
            };
            Definition {
                from: From::Point(Failpoint::Overwriting),
                ends_ns: Box::new(move |now_ns| {
                    let stamp = now_ns / (unit_ms * NS_PER_MS) + ttl_ms.div_ceil(unit_ms);
                    stamp * unit_ms * NS_PER_MS
                }),
                ..lasts(Wall, 0)
            }
        }
        // The value says when; the holder stops earlier, by as much as its clock may be off.
        Shipped::LeaseGuard(params) => Definition {
            from: From::Point(Failpoint::Overwriting),
            ..lasts(Wall, ms(params.ttl_ms - params.uncertainty_ms))
        },
        // The TTL less the time since step 1, less the allowance for drift.
        Shipped::Redlock(params) => redlock_definition(params),
        Shipped::RedlockFenced(params) => {
            let ttl_ns = ms(params.ttl_ms);
            lasts(Wall, ttl_ns - ttl_ns / 100 - ms(2))
        }
        // The lease that the user gave; a watchdog gives none.
        Shipped::Redisson(params) => lasts(Monotonic, ms(params.lease_ms?)),
        Shipped::RedissonFenced(params) => lasts(Monotonic, ms(params.lease_ms?)),
        Shipped::RedissonNoPublish(params) => lasts(Monotonic, ms(params.lease_ms?)),
        Shipped::RedissonSpin(params) => lasts(Monotonic, ms(params.lease_ms?)),
        Shipped::RedissonFair(params) => lasts(Monotonic, ms(params.lease_ms?)),
        Shipped::RedissonReadWrite(params) => lasts(Monotonic, ms(params.lease_ms?)),
        // From before the step that sets the lease on all that were taken.
        Shipped::RedissonMulti(params) => Definition {
            from: From::Point(Failpoint::Prolonging),
            ..lasts(Monotonic, ms(params.lease_ms?))
        },
        Shipped::RedissonRedlock(params) => Definition {
            from: From::Point(Failpoint::Prolonging),
            ..lasts(Monotonic, ms(params.lease_ms?))
        },
        Shipped::DatabaseCas(params) => lasts(Monotonic, ms(params.ttl_ms)),
        Shipped::Setnx(_) | Shipped::DatabaseUnique(_) | Shipped::Consensus(_) => return None,
    })
}

#[test]
fn a_lock_says_its_lease_and_whether_its_user_is_told_when_it_ends() {
    for entry in CATALOGUE {
        for (form, parameters) in entry.forms {
            let lease = parameters.contains("LEASE").then_some(LEASE_MS);
            let parameters = parameters.replace("LEASE", &LEASE_MS.to_string());
            let text = format!("name = \"{}\"\n{parameters}", entry.name);
            let lock: LockSpec = toml::from_str(&text).expect(&text);
            let LockSpec::Shipped(shipped) = &lock else {
                panic!("{} is a lock of the catalogue", entry.name)
            };
            let facts = lock.facts();
            assert_eq!(facts.lease_ms, lease, "{} {form}", entry.name);
            let told = definition(shipped).is_some();
            assert_eq!(facts.tells_deadline, told, "{} {form}", entry.name);
        }
    }
}

fn redlock_definition(params: &redlock::Params) -> Definition {
    let ttl_ns = params.ttl_ms * NS_PER_MS;
    let allowance_ns = ttl_ns as f64 * params.drift_factor;
    let lease_ns = ttl_ns - allowance_ns as u64 - params.drift_extra_ms * NS_PER_MS;
    let from = match params.elapsed_check {
        true => From::Call,
        false => From::Return,
    };
    Definition {
        clock: params.clock,
        from,
        of_extension: from,
        ends_ns: Box::new(move |now_ns| now_ns + lease_ns),
    }
}

/// Every form of the catalogue, on each clock that its parameters allow, and without its check of the
/// elapsed time if it has that.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    for entry in CATALOGUE {
        for (_, parameters) in entry.forms {
            // These values of a parameter that the lock has and the form leaves open.
            let values = |name: &str, values: &'static [&'static str]| {
                let is_open = entry.parameters.iter().any(|(it, ..)| *it == name);
                match is_open && !parameters.contains(name) {
                    true => values,
                    false => &[""],
                }
            };
            let clocks = values("clock", &["clock = \"wall\"", "clock = \"monotonic\""]);
            let checks = values("elapsed_check", &["", "elapsed_check = false"]);
            let parameters = parameters.replace("LEASE", &LEASE_MS.to_string());
            for (clock, check) in clocks
                .iter()
                .flat_map(|it| checks.iter().map(move |c| (it, c)))
            {
                forms.push(format!(
                    "name = \"{}\"\n{parameters}\n{clock}\n{check}",
                    entry.name
                ));
            }
        }
    }
    // By default it adds nothing.
    for unit in ["seconds", "milliseconds"] {
        forms.push(format!(
            "name = \"getset-as-listed\"\nttl_ms = {LEASE_MS}\nunit = \"{unit}\""
        ));
    }
    forms
}

/// The clocks of both clients go wrong in every way, and both are paused and suspended, at any time. A
/// request and its reply take 10 ms, so that they often are under way then.
const FAULTS: &str = r#"
    [fault]
    forth = { kind = "clock-step", on = ["c1", "c2"], step_ms = 130.000001, every_ms = { uniform = [40, 200] }, until_ms = 9000 }
    back = { kind = "clock-step", on = ["c1", "c2"], step_ms = -190.000003, every_ms = { uniform = [40, 200] }, until_ms = 9000 }
    fast = { kind = "clock-rate", on = ["c1", "c2"], drift_ppm = 70_000, duration_ms = { uniform = [1, 60] }, every_ms = { uniform = [40, 200] }, until_ms = 9000 }
    slow = { kind = "clock-rate", on = ["c1", "c2"], drift_ppm = -90_000, duration_ms = { uniform = [1, 60] }, every_ms = { uniform = [40, 200] }, until_ms = 9000 }
    gc = { kind = "pause", on = ["c1", "c2"], duration_ms = { uniform = [1, 30] }, every_ms = { uniform = [40, 300] }, until_ms = 9000 }
    moved = { kind = "suspend", on = ["c1", "c2"], duration_ms = { uniform = [1, 30] }, every_ms = { uniform = [40, 300] }, until_ms = 9000 }
"#;

fn run(lock: &str, spec: &LockSpec, takes_over: bool, seed: u64) -> History {
    let (nodes, is_reentrant) = (spec.nodes(), is_reentrant(spec));
    // Somebody has to leave a lock behind that another takes over.
    let ending = match takes_over {
        true => "[workload.client.c2]\nending = \"forget\"",
        false => "",
    };
    // An owner that takes the lock a second time does so under its first hold.
    let work = match is_reentrant {
        true => "hold_ms = 50\ninner_ms = 300",
        false => "hold_ms = 400",
    };
    let text = format!(
        "headline = \"lease\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\nhorizon_ms = 9000\n\
         topology = {{ nodes = {nodes}, clients = 2 }}\nnetwork = {{ latency_ms = 5 }}\n\
         [lock]\n{lock}\n[workload]\nrounds = 3\n{work}\nextend_every_ms = 45\n{ending}\n{FAULTS}"
    );
    let scenario = parse("t.toml", &text, &[]).unwrap_or_else(|error| panic!("{lock}: {error}"));
    let schedule = expand(&scenario.fault, seed);
    let run = simulate(&scenario, seed, &schedule, Keep::default());
    run.unwrap_or_else(|error| panic!("{lock}: {error}"))
        .history
}

fn is_reentrant(spec: &LockSpec) -> bool {
    matches!(spec, LockSpec::Shipped(Shipped::SetNxPx(params)) if params.reentrant == Reentrant::Local)
}

/// What happened during calls whose deadlines were right.
#[derive(Default, Debug)]
struct Seen {
    grants: usize,
    extensions: usize,
    /// The faults that began on the client's host during a call.
    during: BTreeSet<&'static str>,
    /// Grants whose deadline does not count from their call: another request set the lease.
    from_points: usize,
}

/// A call under way.
struct Open<'h> {
    op: Op,
    called: &'h Record,
    at_point: Option<&'h Record>,
    during: BTreeSet<&'static str>,
}

fn look(what: &str, history: &History, definition: Option<&Definition>, seen: &mut Seen) {
    for client in ["c1", "c2"] {
        let mut open: Option<Open> = None;
        for record in history.records.iter().filter(|it| *it.host == *client) {
            match &record.event {
                Event::Invoke {
                    op: op @ (Op::Acquire | Op::Extend),
                    ..
                } => {
                    open = Some(Open {
                        op: *op,
                        called: record,
                        at_point: None,
                        during: BTreeSet::new(),
                    });
                }
                Event::Fault {
                    kind,
                    phase: Phase::Begins,
                    ..
                } => {
                    if let Some(open) = &mut open {
                        open.during.insert(kind.name());
                    }
                }
                Event::Reached { .. } => {
                    if let (Some(open), Some(definition)) = (&mut open, definition)
                        && let From::Point(point) = definition.from
                        && record.event.is_reached(point)
                    {
                        open.at_point = Some(record);
                    }
                }
                Event::BeliefBegins { deadline, .. } => {
                    let open = open.take().expect("a belief is the result of a call");
                    let expected = definition.map(|definition| expected(definition, &open, record));
                    assert_eq!(
                        *deadline, expected,
                        "{what}: {client} at {} ns, {:?}",
                        record.at_ns, open.op
                    );
                    match open.op {
                        Op::Extend => seen.extensions += 1,
                        _ => seen.grants += 1,
                    }
                    seen.from_points += usize::from(open.at_point.is_some());
                    seen.during.extend(open.during);
                }
                _ => {}
            }
        }
    }
}

fn expected(definition: &Definition, open: &Open, returned: &Record) -> Deadline {
    let from = match open.op {
        Op::Extend => definition.of_extension,
        _ => definition.from,
    };
    let moment = match from {
        From::Call => open.called,
        From::Point(_) => open.at_point.unwrap_or(open.called),
        From::Return => returned,
    };
    let now_ns = match definition.clock {
        ClockKind::Wall => moment.wall_ns,
        ClockKind::Monotonic => moment.mono_ns,
    };
    Deadline {
        clock: definition.clock,
        at_ns: (definition.ends_ns)(now_ns),
    }
}

#[test]
fn every_deadline_is_its_definition_to_the_nanosecond() {
    for lock in forms() {
        let spec: LockSpec =
            toml::from_str(&lock).unwrap_or_else(|error| panic!("{lock}: {error}"));
        let LockSpec::Shipped(shipped) = &spec else {
            panic!("{lock} is of the catalogue");
        };
        let definition = definition(shipped);
        let from = definition.as_ref().map(|definition| definition.from);
        let takes_over = from == Some(From::Point(Failpoint::Overwriting));
        let mut seen = Seen::default();
        for seed in 0..SEEDS {
            let history = run(&lock, &spec, takes_over, seed);
            look(
                &format!("{lock}, seed {seed}"),
                &history,
                definition.as_ref(),
                &mut seen,
            );
        }
        assert!(
            seen.grants >= 10 && seen.extensions >= 40,
            "{lock}: {seen:?}"
        );
        let all = BTreeSet::from(["clock-step", "clock-rate", "pause", "suspend"]);
        assert!(seen.during.is_superset(&all), "{lock}: {seen:?}");
        // Some that take over another's lock, or have to set the lease apart, do.
        if matches!(from, Some(From::Point(_))) {
            assert!(seen.from_points > 0, "{lock}: {seen:?}");
        }
    }
}
