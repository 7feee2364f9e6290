//! Makes records of what the wire shows of programs that neither show nor tell anything.
//!
//! What is certain of their grants follows from their requests and the replies ([`locklab_history::wire`]), and
//! becomes records like those of what programs tell.

use std::fmt;

use locklab_check::{Ms, Property};
use locklab_history::wire::{
    self, Answer, At, Doubt, Exchange, Grant, GrantedKeys, Possible, Wire,
};
use locklab_history::{Event, History, Name, Record};
use locklab_shim::Readings;
use locklab_values::units::{NS_PER_MS, NS_PER_S};
use locklab_values::untrusted;
use locklab_vecmap::{VecMap, VecSet};

use super::records::HostReadings;
use super::removals::removals;

/// What passed between programs and nodes.
pub(crate) struct Seen<'a> {
    pub(crate) history: &'a History,
    pub(crate) exchanges: &'a [Exchange],
    /// When programs ended by themselves, in nanoseconds since the run began.
    pub(crate) ended: &'a [(Name, u64)],
    /// The number of independent nodes.
    pub(crate) nodes: usize,
    /// The programs that are judged by it.
    pub(crate) silent: &'a VecSet<Name>,
    /// The key of the lock, if the user names it.
    pub(crate) key: Option<&'a str>,
    pub(crate) clocks: &'a dyn HostReadings,
    /// When the run began, by the machine's monotonic clock.
    pub(crate) origin_ns: u64,
}

/// What follows from it.
pub(crate) struct Inferred {
    /// The records of the clients. Their `at_ns` is since the run began.
    pub(crate) records: Vec<Record>,
    /// Which key was taken for the lock, in words.
    pub(crate) note: String,
    /// Why the wire does not show whether a property holds.
    pub(crate) unshown: VecMap<Property, String>,
    /// The longest time to live that a request gave the key, in nanoseconds.
    pub(crate) lease_ns: Option<u64>,
    /// The renewals of clients that did not have the lock, in words.
    pub(crate) wrong_renewals: Vec<String>,
    /// What the releases deleted of programs that tell everything but that.
    pub(crate) removals: Vec<Record>,
}

/// Why nothing follows from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blind {
    /// What the nodes held is not known, for this reason.
    Unknown(String),
    /// No key was granted.
    NoKey,
    /// The key that the user named was not granted.
    NotGranted(String),
    /// Several keys were granted.
    SeveralKeys(Vec<String>),
    /// The key may belong to several clients at once.
    Shared(String),
}

impl fmt::Display for Blind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blind::Unknown(why) => write!(f, "it is not known what the nodes held: {why}"),
            Blind::NoKey => f.write_str(
                "no request made a key exist that has a time to live, or was set with NX",
            ),
            Blind::NotGranted(key) => {
                let key = untrusted::line(key);
                write!(f, "no request made the key `{key}` exist as a lock does")
            }
            Blind::SeveralKeys(_) => f.write_str("several keys were granted"),
            Blind::Shared(key) => {
                let key = untrusted::line(key);
                write!(
                    f,
                    "the key `{key}` is a set, a list or a hash with several fields, so several clients may have \
                     the lock at once"
                )
            }
        }
    }
}

/// Infers what these programs were granted.
///
/// # Errors
///
/// Why that is not possible.
pub(crate) fn infer(seen: &Seen<'_>) -> Result<Inferred, Blind> {
    let wire = Wire {
        exchanges: seen.exchanges,
        history: seen.history,
        ended: seen.ended,
        nodes: seen.nodes,
        lapse: &|client, from_ns, ttl_ns| seen.lapse_ns(client, from_ns, ttl_ns),
    };
    let key = key(&wire, seen.key)?;
    if wire::has_several(&wire, &key) {
        return Err(Blind::Shared(key));
    }
    let wrong_renewals = wire::wrong_renewals(&wire, &key).into_iter();
    let mut answers = wire::grants(&wire, &key);
    let removals = removals(seen.history, &answers);
    let removals = removals.into_iter().map(|event| seen.record(event));
    let removals = removals.collect();
    answers.retain(|answer| match answer {
        Answer::Granted(grant) => seen.silent.contains(&grant.client),
        Answer::Refused { client, .. } => seen.silent.contains(client),
    });
    let end_ns = seen.history.end_ns;
    let events = wire::events(&answers, |client, at_ns| seen.at(client, at_ns).mono_ns);
    let events = events.into_iter().filter(|(at_ns, ..)| *at_ns < end_ns);
    Ok(Inferred {
        records: events.map(|event| seen.record(event)).collect(),
        note: format!(
            "judged from the wire: the program tells nothing, and `{}` is taken for the key of its lock{}",
            untrusted::line(&key),
            quorum(&wire)
        ),
        unshown: unshown(&answers),
        lease_ns: wire::longest_lease_ns(&wire, &key),
        wrong_renewals: wrong_renewals.map(|it| it.to_string()).collect(),
        removals,
    })
}

/// What is taken for a grant of several nodes: a program to which fewer suffice shows nothing of that.
fn quorum(wire: &Wire) -> String {
    match wire.nodes {
        1 => String::new(),
        nodes => format!(
            ", which {} of {nodes} nodes have to grant; a lock to which fewer suffice has to tell",
            wire.need()
        ),
    }
}

/// The key of the lock: the named one if it was granted, or the only likely one.
fn key(wire: &Wire, named: Option<&str>) -> Result<String, Blind> {
    let GrantedKeys { all, mut likely } = wire::granted_keys(wire);
    match (named, likely.len()) {
        (Some(key), _) if all.iter().any(|it| it == key) => Ok(key.to_owned()),
        (Some(key), _) => Err(Blind::NotGranted(key.to_owned())),
        (None, 0) => Err(Blind::NoKey),
        (None, 1) => Ok(likely.remove(0)),
        (None, _) => Err(Blind::SeveralKeys(likely)),
    }
}

impl Seen<'_> {
    fn record(&self, (at_ns, host, event): At) -> Record {
        let Readings { wall_ns, mono_ns } = self.at(&host, at_ns);
        Record {
            at_ns,
            host,
            wall_ns,
            mono_ns,
            event,
        }
    }

    /// What the clocks of a host showed, at a time since the run began; a lease may end long after it.
    fn at(&self, host: &Name, at_ns: u64) -> Readings {
        let latest_ns = self.history.end_ns.saturating_add(FAR_NS);
        let at_ns = at_ns.min(latest_ns);
        self.clocks.at(host, self.origin_ns.saturating_add(at_ns))
    }

    /// When a time to live is over that a program counts from this time, at the earliest: by the machine's clock,
    /// which a program sees into which no library can be loaded, or by either clock of its host. A clock may be
    /// set, so it is read every millisecond.
    fn lapse_ns(&self, client: &Name, from_ns: u64, ttl_ns: u64) -> u64 {
        let lapse_ns = from_ns.saturating_add(ttl_ns);
        if !self.clocks.may_be_wrong(client) {
            return lapse_ns;
        }
        let begun = self.at(client, from_ns);
        let is_over = |at_ns: &u64| {
            let now = self.at(client, *at_ns);
            now.mono_ns.saturating_sub(begun.mono_ns) >= ttl_ns
                || now.wall_ns.saturating_sub(begun.wall_ns) >= ttl_ns
        };
        let last_ns = lapse_ns.min(self.history.end_ns);
        let mut times = (from_ns..last_ns).step_by(NS_PER_MS as usize);
        let over_ns = times.find(is_over);
        over_ns.map_or(lapse_ns, |over_ns| over_ns.saturating_sub(NS_PER_MS))
    }
}

/// A year, in nanoseconds: where a lease ends after a run does not matter.
const FAR_NS: u64 = 365 * 24 * 3600 * NS_PER_S;

/// Why the calls of a program are not known.
const NO_CALLS: &str =
    "the program tells nothing, and the wire does not show when it gives up waiting for its lock";

/// Why nothing is known of what the lock protects.
const NO_RESOURCE: &str =
    "the program does not use the resource, and the wire does not show what its lock protects";

/// What a run with these histories does not show because no program used the resource.
pub(crate) fn without_resource<'h>(
    histories: impl IntoIterator<Item = &'h History>,
) -> VecMap<Property, String> {
    let is_access = |record: &Record| matches!(record.event, Event::Access { .. });
    let mut histories = histories.into_iter();
    if histories.any(|history| history.records.iter().any(is_access)) {
        return VecMap::new();
    }
    let all = [&[Property::Resource], &Property::PARTS_OF_RESOURCE[..]].concat();
    { all.into_iter() }
        .map(|property| (property, NO_RESOURCE.to_owned()))
        .collect()
}

/// The properties of which the wire does not show whether they hold.
fn unshown(answers: &[Answer]) -> VecMap<Property, String> {
    let waits = [
        Property::Deadlock,
        Property::Availability,
        Property::Recovery,
        Property::Fifo,
    ];
    let waits = waits.map(|property| (property, NO_CALLS.to_owned()));
    let overlaps = [
        (
            Property::Belief,
            wire::possible(answers, |grant| grant.gives_up_ns),
        ),
        (
            Property::Lease,
            wire::possible(answers, |grant| grant.gives_up_ns.min(grant.lapse_ns)),
        ),
    ];
    let overlaps = overlaps.into_iter();
    let overlaps = overlaps.filter_map(|(property, found)| Some((property, sentence(found?))));
    waits.into_iter().chain(overlaps).collect()
}

/// Who may have held the lock together with whom, and what the wire cannot show.
fn sentence(Possible { earlier, later }: Possible<'_>) -> String {
    let Grant {
        client,
        from_ns,
        lapse_ns,
        until_ns,
        ..
    } = earlier;
    let why = match earlier.doubt.or(later.doubt) {
        None => format!("its lease was over at {}", Ms(*lapse_ns)),
        Some(Doubt::LateReply) => {
            "the reply came late, or to a process that stood still".to_owned()
        }
        Some(Doubt::Unseen) => format!(
            "from {} on it may have failed to send a release",
            Ms(*until_ns)
        ),
    };
    format!(
        "{} was granted the lock at {}, and {client}, granted it at {}, had not given it up; {why}, and the wire \
         does not show whether the program relied on it then",
        later.client,
        Ms(later.from_ns),
        Ms(*from_ns),
    )
}

#[cfg(test)]
mod tests;
