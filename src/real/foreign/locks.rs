//! Takes a run of programs with several locks apart: every lock has a history of its own, with all that struck the
//! programs, and is judged like the only one.
//!
//! A semaphore of `n` permits becomes `n` exclusive locks. A grant takes a permit that nobody relies on, or else one of
//! which the lease is over, or else any; so two clients have one permit together if, and only if, more than `n` have the
//! semaphore together: intervals of which no more than `n` overlap can be spread over `n` so that none do, by giving
//! each the first that is free.

use locklab_check::Property;
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, History, Name, Op, Outcome, Record};
use locklab_vecmap::{VecMap, VecSet};

use super::records::{Converted, Granted, OfLock, assign_grants, program_of};
use crate::child_protocol::Accessed;

/// What happened around one lock. Times are those of the machine's monotonic clock.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// The lock, in words; empty if there is one.
    pub(crate) lock: Name,
    /// In the order of time.
    pub(crate) records: Vec<Record>,
    /// What is not judged of it, and why.
    pub(crate) unshown: VecMap<Property, String>,
}

impl Part {
    /// All that Locklab's own clients did, who have one lock.
    pub(crate) fn own(records: Vec<Record>) -> Part {
        Part {
            records,
            ..Part::default()
        }
    }
}

/// What is not judged of a permit.
const OF_PERMITS: &str = "several clients may have a semaphore, so this is not judged";

/// The parts of a run, one at least. `shared` is what happened to the programs, in the order of time. Adds notes on what
/// belongs to no lock.
pub(crate) fn parts(
    shared: &[Record],
    accesses: Vec<Accessed>,
    converted: &mut Converted,
) -> Vec<Part> {
    let mut locks = std::mem::take(&mut converted.locks);
    if locks.is_empty() {
        locks.insert("".into(), OfLock::default());
    }
    let mut accesses = by_lock(accesses, &locks, &mut converted.notes);
    let is_one = locks.len() == 1;
    let mut parts = Vec::new();
    for (name, of_lock) in locks {
        let used = accesses.remove(&name).unwrap_or_default();
        let lock: Name = match &*name {
            _ if is_one => "".into(),
            "" => "without a name".into(),
            _ => name,
        };
        match of_lock.permits > 1 {
            true => parts.extend(of_semaphore(shared, &lock, of_lock)),
            false => parts.push(Part {
                lock,
                records: joined(shared, of_lock.records, used, &of_lock.grants),
                unshown: VecMap::new(),
            }),
        }
    }
    parts
}

/// A part for each permit of a semaphore.
fn of_semaphore(shared: &[Record], lock: &Name, of_lock: OfLock) -> Vec<Part> {
    let most = of_lock.permits;
    let comma = if lock.is_empty() { "" } else { ", " };
    let spread = (1..).zip(spread(shared, of_lock.records, most));
    let part = |(permit, records): (u32, Vec<Record>)| Part {
        lock: format!("{lock}{comma}permit {permit} of {most}").into(),
        records: joined(shared, records, vec![], &[]),
        unshown: unshown(),
    };
    spread.map(part).collect()
}

/// The accesses of each lock. The key of the resource is the name of the lock that protects it; a program with one lock
/// has any one key.
fn by_lock(
    accesses: Vec<Accessed>,
    locks: &VecMap<Name, OfLock>,
    notes: &mut Vec<String>,
) -> VecMap<Name, Vec<Record>> {
    let mut of_locks: VecMap<Name, Vec<Record>> = VecMap::new();
    let only = (locks.len() == 1)
        .then(|| locks.keys().next().cloned())
        .flatten();
    let first = accesses.first().map(|it| it.key.clone());
    let mut strangers = VecSet::new();
    for Accessed { key, record } in accesses {
        let lock = match &only {
            Some(only) => (Some(&key) == first.as_ref()).then(|| only.clone()),
            None => locks.contains_key(&key).then(|| key.clone()),
        };
        match lock {
            Some(lock) => of_locks.entry(lock).or_default().push(record),
            None => {
                strangers.insert(key);
            }
        }
    }
    if !strangers.is_empty() {
        let keys: Vec<String> = strangers
            .iter()
            .take(5)
            .map(|key| format!("`{key}`"))
            .collect();
        let keys = keys.join(", ");
        let why = match only {
            Some(_) => "a program with one lock has one key",
            None => "none of its locks has this name",
        };
        notes.push(format!(
            "accesses to {keys} of the resource are not judged: {why}"
        ));
    }
    of_locks
}

/// Everything of a lock, in the order of time: what happened to a program happened to each of its tasks.
fn joined(
    shared: &[Record],
    told: Vec<Record>,
    accesses: Vec<Record>,
    grants: &[Granted],
) -> Vec<Record> {
    let mut tasks: VecMap<&str, VecSet<Name>> = VecMap::new();
    for record in &told {
        let program = program_of(&record.host);
        if *program != *record.host {
            tasks
                .entry(program)
                .or_default()
                .insert(record.host.clone());
        }
    }
    let mut records = Vec::new();
    for record in shared {
        let mut record = record.clone();
        if let Event::Fault {
            links: Some(links), ..
        } = &mut record.event
        {
            for side in [&mut links.from, &mut links.to] {
                let of_side: Vec<Name> = { side.iter() }
                    .flat_map(|host| tasks.get(&**host).into_iter().flatten().cloned())
                    .collect();
                side.extend(of_side);
            }
        }
        let of_program = tasks.get(&*record.host).into_iter().flatten();
        let of_tasks: Vec<Record> = of_program
            .map(|host| Record {
                host: host.clone(),
                ..record.clone()
            })
            .collect();
        records.push(record);
        records.extend(of_tasks);
    }
    records.extend(told);
    records.extend(accesses);
    records.sort_by_key(|record| record.at_ns);
    assign_grants(&mut records, grants);
    records
}

/// What each permit of a semaphore was used for, as if it were a lock: who relied on it, and who was refused while it was
/// taken. Only permits that were used are here.
fn spread(shared: &[Record], told: Vec<Record>, permits: u32) -> Vec<Vec<Record>> {
    let history = History {
        records: joined(shared, told.clone(), vec![], &[]),
        ..History::default()
    };
    let timeline = Timeline::of(&history);
    // The permit of each stretch of a grant, with its beginning; and when each permit is free: certainly, and by its
    // leases.
    let mut of_grants: VecMap<(Name, u32), Vec<(u64, usize)>> = VecMap::new();
    let mut free_ns: Vec<(u64, u64)> = Vec::new();
    for grant in &timeline.grants {
        let now_ns = grant.begins_ns;
        let own = of_grants.entry((grant.client.clone(), grant.number));
        let own = own.or_default();
        let last = own.last().map(|(_, permit)| *permit);
        // One that is extended after its lease has its permit still, unless another one has got it.
        let kept = last.filter(|permit| free_ns[*permit].1 <= now_ns);
        let unused = (free_ns.len() < permits as usize).then_some(free_ns.len());
        let permit = kept
            .or_else(|| free_ns.iter().position(|(ends_ns, _)| *ends_ns <= now_ns))
            .or(unused)
            .or_else(|| {
                free_ns
                    .iter()
                    .position(|(_, lapses_ns)| *lapses_ns <= now_ns)
            })
            .unwrap_or(0);
        own.push((now_ns, permit));
        if permit == free_ns.len() {
            free_ns.push((0, 0));
        }
        let (ends_ns, lapses_ns) = &mut free_ns[permit];
        *ends_ns = grant.ends_ns.max(*ends_ns);
        *lapses_ns = grant.lapses_ns.max(*lapses_ns);
    }
    let mut spread = vec![Vec::new(); free_ns.len()];
    let mut asks: VecMap<Name, Vec<Record>> = VecMap::new();
    for record in told {
        let host = record.host.clone();
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                asks.insert(host, vec![record]);
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => {
                let mut call = asks.remove(&host).unwrap_or_default();
                let gives_up = Record {
                    event: Event::reached(Failpoint::GivingUp),
                    ..record.clone()
                };
                call.push(record.clone());
                match outcome {
                    // Its grant follows.
                    Outcome::Ok => {
                        asks.insert(host, call);
                    }
                    _ => {
                        call.push(gives_up);
                        for permit in &mut spread {
                            permit.extend(call.iter().cloned());
                        }
                    }
                }
            }
            Event::BeliefBegins { grant, .. } => {
                let permits = of_grants.get(&(host.clone(), *grant));
                let mut begun = permits.into_iter().flatten();
                let last = begun.rfind(|(begins_ns, _)| *begins_ns <= record.at_ns);
                if let Some((_, permit)) = last {
                    spread[*permit].extend(asks.remove(&host).unwrap_or_default());
                    spread[*permit].push(record);
                }
            }
            Event::BeliefEnds { grant } => {
                let permits = of_grants.get(&(host, *grant)).into_iter().flatten();
                let permits: VecSet<usize> = permits.map(|(_, permit)| *permit).collect();
                permits
                    .into_iter()
                    .for_each(|permit| spread[permit].push(record.clone()));
            }
            _ => {}
        }
    }
    spread
}

/// What a permit does not show, which is all but that two have it.
fn unshown() -> VecMap<Property, String> {
    let judged = [Property::Belief, Property::Lease];
    let others = { Property::ALL.into_iter() }.filter(|property| !judged.contains(property));
    others
        .map(|property| (property, OF_PERMITS.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests;
