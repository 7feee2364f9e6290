//! The story of a run that violates a property: what happened in it, a sentence each, in the order of
//! true time. For short runs; of a long one the part that the picture shows.

use super::spacetime::duration;
use super::spacetime::window::Window;
use locklab_check::{Ms, Violation};
use locklab_history::leases::{End, Lease};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{
    Access, Effect, Event, Fault, History, HostFault, LinkFault, Name, Phase, Point, Record,
    Schedule,
};
use locklab_values::untrusted;

/// The story of a violation. `leases` is what the nodes held, if it is known.
pub fn story(
    history: &History,
    schedule: &Schedule,
    violation: &Violation,
    leases: &[Lease],
) -> Vec<String> {
    let timeline = Timeline::of(history);
    let until_ns = violation.at_ns.max(violation.until_ns);
    let window = Window::of(history, Some(violation)).unwrap_or(Window {
        from_ns: 0,
        to_ns: until_ns,
    });
    let is_told =
        |client: &Name| violation.clients.is_empty() || violation.clients.contains(client);
    let mut told: Vec<Told> = Vec::new();
    told.extend(
        schedule
            .faults
            .iter()
            .flat_map(|fault| of_fault(fault, history)),
    );
    let mut tell = |at_ns: u64, place: usize, sentence: String| {
        if window.contains(at_ns) {
            told.push((at_ns, place, sentence));
        }
    };
    for grant in timeline.grants.iter().filter(|grant| is_told(grant.client)) {
        of_grant(grant, history, &mut tell);
    }
    for lease in leases
        .iter()
        .filter(|lease| lease.owner.is_some_and(is_told))
    {
        of_lease(lease, &mut tell);
    }
    for (place, record) in history.records.iter().enumerate() {
        if let Some(sentence) = of_record(record, &is_told) {
            tell(record.at_ns, place, sentence);
        }
    }
    told.retain(|(at_ns, ..)| *at_ns <= until_ns);
    told.sort();
    let dated = |(at_ns, _, sentence): &Told| format!("{}: {sentence}.", Ms(*at_ns));
    told.iter().map(dated).collect()
}

/// A sentence, with its true time in nanoseconds and the place of its record among those of the run.
type Told = (u64, usize, String);

/// The place of what no record says: a clock that reaches a deadline does so before anything else
/// happens.
const UNRECORDED: usize = 0;

/// The place of what follows from other events of the same instant.
const AFTERWARDS: usize = usize::MAX;

/// The beginning of a fault, and its end.
fn of_fault(fault: &Fault, history: &History) -> Vec<Told> {
    let at = |wanted: Phase| {
        let mut records = history.records.iter().enumerate();
        records.find_map(|(place, record)| match &record.event {
            Event::Fault {
                fault: name, phase, ..
            } if *name == fault.name && *phase == wanted => Some((record.at_ns, place)),
            _ => None,
        })
    };
    let Some((begins_ns, begins)) = at(Phase::Begins) else {
        return vec![];
    };
    let mut told = vec![(begins_ns, begins, words(fault))];
    let ends = at(Phase::Ends).filter(|(ends_ns, _)| *ends_ns > begins_ns);
    if let (Some((ends_ns, ends)), Some(_)) = (ends, fault.duration_ns) {
        told.push((ends_ns, ends, end(fault)));
    }
    told
}

/// The fault as a sentence.
fn words(fault: &Fault) -> String {
    let lasts = match fault.duration_ns {
        Some(0) => " at this moment".to_owned(),
        Some(ns) => format!(" for {}", duration(ns)),
        None => String::new(),
    };
    let starts_again = match fault.duration_ns {
        Some(0) => ", and start{s|} again at once".to_owned(),
        Some(ns) => format!(", and start{{s|}} again {} later", duration(ns)),
        None => ", and {does|do} not start again".into(),
    };
    let place = match &fault.effect {
        Effect::Hosts { hosts, .. } => listed(hosts),
        Effect::Links { links, .. } => {
            let (from, to) = (listed(&links.from), listed(&links.to));
            match links.both_ways {
                true => format!("between {from} and {to}"),
                false => format!("from {from} to {to}"),
            }
        }
    };
    let sentence = fault.kind().story();
    let sentence = sentence.replace("{where}", &place);
    let sentence = sentence.replace("{amount}", &amount(&fault.effect));
    let sentence = sentence.replace("{lasts}", &lasts);
    let sentence = sentence.replace("{restarts}", &starts_again);
    numbered(&sentence, fault.effect.hosts().count())
}

/// A sentence about so many hosts, with one of the two forms in each `{one|several}`.
fn numbered(sentence: &str, hosts: usize) -> String {
    let mut parts = sentence.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (forms, rest) = part.split_once('}').unwrap_or((part, ""));
        let (one, several) = forms.split_once('|').unwrap_or((forms, forms));
        text += if hosts == 1 { one } else { several };
        text += rest;
    }
    text
}

/// How large a fault is; empty if its kind has no amount.
fn amount(effect: &Effect) -> String {
    match effect {
        Effect::Hosts { fault, .. } => match fault {
            HostFault::ClockStep { step } => {
                let direction = if *step < 0 { "back" } else { "forward" };
                format!("{direction} by {}", duration(step.unsigned_abs()))
            }
            HostFault::ClockRate { drift_ppm } => {
                let speed = if *drift_ppm < 0 { "slow" } else { "fast" };
                let share = drift_ppm.unsigned_abs() as f64 / 10_000.0;
                format!("{share} % {speed}")
            }
            HostFault::Command { line } => untrusted::line(line).to_string(),
            _ => String::new(),
        },
        Effect::Links { fault, .. } => match fault {
            LinkFault::SlowLink { extra } => duration(*extra),
            LinkFault::Loss { probability } => format!("{} %", 100.0 * probability),
            LinkFault::Partition => String::new(),
        },
    }
}

/// The end of the fault as a sentence.
fn end(fault: &Fault) -> String {
    let hosts = || match &fault.effect {
        Effect::Hosts { hosts, .. } => listed(hosts),
        Effect::Links { links, .. } => format!("{} and {}", listed(&links.from), listed(&links.to)),
    };
    let number = fault.effect.hosts().count();
    let kind = fault.kind();
    if kind.ends_process() {
        numbered(&format!("{} start{{s|}} again", hosts()), number)
    } else if kind.stands_still() {
        numbered(&format!("{} go{{es|}} on", hosts()), number)
    } else {
        format!("the {} of {} is over", kind.noun(), hosts())
    }
}

/// `c1`, `c1 and n3`, `c1, n3 and n4`.
fn listed(hosts: &[Name]) -> String {
    match hosts {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.join(""),
    }
}

fn of_grant(grant: &Grant, history: &History, tell: &mut impl FnMut(u64, usize, String)) {
    let client = grant.client;
    let reads = if grant.shared { " for reading" } else { "" };
    let token = grant
        .token
        .map_or(String::new(), |token| format!(" with token {token}"));
    tell(
        grant.begins_ns,
        grant.began,
        format!("{client} is granted the lock{reads}{token}"),
    );
    if grant.lapses_ns < grant.ends_ns {
        tell(
            grant.lapses_ns,
            UNRECORDED,
            format!(
                "the lease of {client} is over by its own clock, and it has not released the lock"
            ),
        );
    }
    let released = grant.ended.and_then(|ended| history.records.get(ended));
    if released.is_some_and(|record| matches!(record.event, Event::BeliefEnds { .. })) {
        let place = grant.ended.unwrap_or(UNRECORDED);
        tell(grant.ends_ns, place, format!("{client} releases the lock"));
    }
}

fn of_lease(lease: &Lease, tell: &mut impl FnMut(u64, usize, String)) {
    let (node, Some(owner)) = (lease.node, lease.owner) else {
        return;
    };
    match lease.end {
        End::Expired => tell(
            lease.until_ns,
            AFTERWARDS,
            format!("the key of {owner} expires on {node}, by the clock of {node}"),
        ),
        End::Lost => tell(
            lease.until_ns,
            AFTERWARDS,
            format!("the key of {owner} is lost on {node}"),
        ),
        End::Deleted if lease.ended_by.is_some_and(|by| by != owner) => {
            let by = lease.ended_by.map_or("", |by| by);
            tell(
                lease.until_ns,
                AFTERWARDS,
                format!("{by} deletes the key of {owner} on {node}"),
            );
        }
        End::Deleted | End::Replaced | End::Run => {}
    }
}

fn of_record(record: &Record, is_told: &impl Fn(&Name) -> bool) -> Option<String> {
    match &record.event {
        Event::Access {
            client,
            access,
            accepted,
            ..
        } if is_told(client) => Some(match (access, accepted) {
            (Access::Read { version }, true) => format!("{client} reads version {version}"),
            (Access::Write { based_on, version }, true) => {
                format!("{client} writes version {version}, computed from version {based_on}")
            }
            (access, false) => format!("the resource refuses the {} of {client}", access.name()),
        }),
        Event::Reached {
            point: Point::Notice(notice),
        } if &**notice == "+switch-master" => Some(format!(
            "{} reports another master (+switch-master)",
            record.host
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use locklab_history::{FaultKind, Start};

    use super::*;

    #[track_caller]
    fn check(fault: HostFault, hosts: &[&str], duration_ns: Option<u64>, begins: &str, ends: &str) {
        let hosts = hosts.iter().map(|&host| host.into()).collect();
        let fault = Fault {
            name: "f".into(),
            start: Start::At { at_ns: 0 },
            duration_ns,
            effect: Effect::Hosts { fault, hosts },
        };
        assert_eq!(words(&fault), begins);
        assert_eq!(end(&fault), ends);
    }

    #[test]
    fn one_host_loses_power_and_two_lose_it() {
        let (crash, second) = (HostFault::Crash, Some(1_000_000_000));
        let one = "n1 loses power, and starts again 1.00 s later";
        check(crash.clone(), &["n1"], second, one, "n1 starts again");
        let two = "n1 and n2 lose power, and start again at once";
        check(
            crash.clone(),
            &["n1", "n2"],
            Some(0),
            two,
            "n1 and n2 start again",
        );
        let three = "n1, n2 and n3 lose power, and do not start again";
        let end = "n1, n2 and n3 start again";
        check(crash, &["n1", "n2", "n3"], None, three, end);
    }

    #[test]
    fn every_kind_of_fault_is_told_without_a_placeholder() {
        for kind in FaultKind::ALL {
            for hosts in [1, 2] {
                let told = kind.story().replace("{where}", "").replace("{amount}", "");
                let told = told.replace("{lasts}", "").replace("{restarts}", "");
                let told = numbered(&told, hosts);
                assert!(!told.contains(['{', '}', '|']), "{told}");
            }
        }
        let pauses = "the processes of c1 and c2 stand still at this moment";
        check(
            HostFault::Pause,
            &["c1", "c2"],
            Some(0),
            pauses,
            "c1 and c2 go on",
        );
    }
}
