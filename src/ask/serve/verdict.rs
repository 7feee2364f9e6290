//! The verdict on a lock of served nodes, from what its clients sent.
//!
//! What is certain of each grant follows from the wire, by the rules of `locklab_history::wire`. One is added: who sends a
//! request that names its owner, and does not ask for the lock, has believed until then. A test releases what it has
//! acquired, so a release that comes after another's grant shows that both were in.

use std::path::Path;

use locklab_check::{Ms, Property, Verdict, Violation, judge_by};
use locklab_history::timeline::Timeline;
use locklab_history::wire::{self, Answer, Doubt, Grant, Possible, RETRIES_NS, Wire};
use locklab_history::{History, Record};
use locklab_judge::unbounded;
use locklab_lab::Store;
use locklab_report::{Provenance, Sheet, spacetime, svg};
use locklab_serve::witness::Seen;
use locklab_values::untrusted;
use locklab_vecmap::VecMap;

/// Judges a lock: a line with the verdict, one for each property, and where the picture of a violation is.
pub(super) fn judge(
    seen: &Seen,
    nodes: usize,
    out: &Path,
    picture: &str,
) -> Result<Vec<String>, String> {
    let key = untrusted::line(&seen.key);
    let wire = Wire {
        exchanges: &seen.exchanges,
        history: &seen.blind,
        ended: &[],
        nodes,
        lapse: &|_, from_ns: u64, ttl_ns| from_ns.saturating_add(ttl_ns),
    };
    if wire::has_several(&wire, &seen.key) {
        return Err(format!(
            "`{key}` is a set, a list or a hash with several fields, which several clients may have at once"
        ));
    }
    let mut answers = wire::grants(&wire, &seen.key);
    for answer in &mut answers {
        if let Answer::Granted(grant) = answer {
            grant.until_ns = believed_until_ns(seen, grant);
        }
    }
    let history = history(seen, &answers);
    let verdicts = verdicts(&history, &answers, nodes);
    let mut all = verdicts.values();
    let mut of_exclusion = [Property::Belief, Property::Lease].iter();
    let word = if all.any(|verdict| matches!(verdict, Verdict::Violated(_))) {
        "violated"
    } else if !seen.is_full
        && of_exclusion.any(|property| verdicts.get(property) == Some(&Verdict::Holds))
    {
        "holds"
    } else {
        "inconclusive"
    };
    let mut lines = vec![word.to_owned(), format!("lock {key}")];
    let mut drawn = None;
    for (property, verdict) in &verdicts {
        lines.push(match verdict {
            Verdict::Holds => format!("{property}: holds"),
            Verdict::Inconclusive { why } => format!("{property}: inconclusive: {why}"),
            Verdict::Violated(violation) => {
                // What is the lock's fault, if it is.
                if drawn.is_none() || *property == Property::Lease {
                    drawn = Some(violation);
                }
                format!("{property}: violated: {}", violation.what)
            }
        });
    }
    for (name, text) in seen.owners.iter().take(OWNERS) {
        lines.push(format!("{name} is {}", untrusted::line(text)));
    }
    if seen.is_full {
        lines.push("clients sent more than is kept; what came later was not judged".to_owned());
    }
    if let Some(violation) = drawn {
        let drawn = draw(seen, history, violation, out, picture);
        lines.push(drawn.map_err(|error| format!("{error:#}"))?);
    }
    Ok(lines)
}

/// So many owners are named.
const OWNERS: usize = 8;

/// Until when the owner of a grant believed in it for certain: until it released it, or found out that it was lost, if
/// nothing was held back since it asked for it, nor shortly before.
fn believed_until_ns(seen: &Seen, grant: &Grant) -> u64 {
    let mut hiding = seen.faults.iter().filter(|fault| fault.hides());
    let is_in_sight = hiding.all(|fault| {
        let over_ns = fault.until_ns.saturating_add(RETRIES_NS);
        over_ns < grant.asked_ns || fault.from_ns > grant.gives_up_ns
    });
    let says_so = grant.gives_up_ns < u64::MAX && !grant.asks_again;
    match says_so && grant.is_certain() && is_in_sight {
        true => grant.until_ns.max(grant.gives_up_ns),
        false => grant.until_ns,
    }
}

/// What owners did, for certain.
fn history(seen: &Seen, answers: &[Answer]) -> History {
    let end_ns = seen.blind.end_ns;
    let events = wire::events(answers, |_, at_ns| at_ns).into_iter();
    let records = events.filter(|(at_ns, ..)| *at_ns < end_ns);
    let records = records.map(|(at_ns, host, event)| Record {
        at_ns,
        host,
        wall_ns: at_ns,
        mono_ns: at_ns,
        event,
    });
    History {
        records: records.collect(),
        messages: Vec::new(),
        end_ns,
    }
}

/// Whether two were in at once, whether that was the lock's fault, and whether one released another's lock.
fn verdicts(history: &History, answers: &[Answer], nodes: usize) -> VecMap<Property, Verdict> {
    let mut properties = vec![Property::Belief, Property::Lease];
    if nodes == 1 {
        properties.push(Property::ForeignRelease);
    }
    let bounds = unbounded(nodes as u32);
    let mut verdicts = judge_by(&Timeline::of(history), &bounds, &properties);
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
    for (property, found) in overlaps {
        let is_open = |verdict: &&mut Verdict| !matches!(verdict, Verdict::Violated(_));
        let verdict = verdicts.get_mut(&property).filter(is_open);
        if let (Some(found), Some(verdict)) = (found, verdict) {
            *verdict = Verdict::Inconclusive { why: unseen(found) };
        }
    }
    verdicts
}

/// What the wire does not show of two grants.
fn unseen(Possible { earlier, later }: Possible<'_>) -> String {
    let why = match earlier.doubt.or(later.doubt) {
        None => format!("its lease was over at {}", Ms(earlier.lapse_ns)),
        Some(Doubt::LateReply) => "a reply came late".to_owned(),
        Some(Doubt::Unseen) => "a fault held requests back".to_owned(),
    };
    format!(
        "{} was granted the lock at {}, and nothing shows whether {}, granted it at {}, relied on it still: {why}",
        later.client,
        Ms(later.from_ns),
        earlier.client,
        Ms(earlier.from_ns),
    )
}

/// Draws a violation with the faults around it; returns a line that says where.
fn draw(
    seen: &Seen,
    mut history: History,
    violation: &Violation,
    out: &Path,
    name: &str,
) -> anyhow::Result<String> {
    for (number, fault) in (1..).zip(&seen.faults) {
        let records = fault.records(number, &fault.node, None);
        let end_ns = history.end_ns;
        (history.records).extend(records.filter(|record| record.at_ns < end_ns));
    }
    history.records.sort_by_key(|record| record.at_ns);
    let title = format!("lock {}", untrusted::line(&seen.key));
    let drawing = spacetime::draw(&history, &title, Some(violation), &[], &Sheet::SCREEN)?;
    let provenance = Provenance {
        subject: "locklab serve".into(),
        overrides: vec![],
        seeds: "a test".into(),
        environment: "served nodes, real time".into(),
    };
    let picture = svg(&provenance.stamp(drawing));
    let path = Store::at(out, &[])?.write(name, picture.as_bytes())?;
    Ok(format!("picture {}", path.display()))
}
