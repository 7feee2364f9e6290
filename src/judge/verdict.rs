//! The verdicts on one lock.

use std::fmt;

use locklab_check::{Bounds, Property, ResourceRole, Violation, judge_by};
use locklab_history::timeline::Timeline;
use locklab_history::{History, Name};
use serde::Serialize;

use crate::checks::{grant_tokens, permits, unheld_release};
use crate::clocks::true_deadlines;
use crate::evidence::Evidence;
use crate::history::{Call, KeyHistory, LockHistory, Outcome, What};
use crate::intervals::Intervals;
use crate::models::{
    Act, Fenced, Lease, ModelName, Mutex, Owner, ReadWrite, Reentrant, ReentrantFenced,
    ReentrantReadWrite, Semaphore, Step,
};
use crate::search::{Found, Searched, Stuck, search};

/// What a history is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criterion {
    /// A property that Locklab judges in every run.
    Checked(Property),
    /// No more permits are surely held at once than there are.
    Permits,
    /// A grant that was asked for after another had returned has a higher token.
    GrantTokens,
    /// No release succeeds for which its holder had no grant.
    UnheldRelease,
    /// Some order of the calls is what the model allows.
    Linearizable,
}

impl Criterion {
    /// The name in output and in files.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Checked(property) => property.name(),
            Criterion::Permits => "permits",
            Criterion::GrantTokens => "grant-tokens",
            Criterion::UnheldRelease => "unheld-release",
            Criterion::Linearizable => "linearizable",
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Criterion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The judgement of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing in the history contradicts it.
    Holds,
    /// The history contradicts it.
    Violated(Evidence),
    /// The history does not say.
    Inconclusive {
        /// The reason, in words.
        why: String,
    },
}

impl Verdict {
    /// The verdict of a check of `locklab-check`, with the evidence for a violation.
    pub fn of(
        verdict: locklab_check::Verdict,
        evidence: impl FnOnce(Violation) -> Evidence,
    ) -> Verdict {
        match verdict {
            locklab_check::Verdict::Holds => Verdict::Holds,
            locklab_check::Verdict::Inconclusive { why } => Verdict::Inconclusive { why },
            locklab_check::Verdict::Violated(violation) => Verdict::Violated(evidence(violation)),
        }
    }
}

impl Verdict {
    /// Violated, if there is evidence; otherwise it holds if the history could have contradicted it.
    fn new(
        evidence: Option<Evidence>,
        had_opportunity: impl FnOnce() -> bool,
        why: &str,
    ) -> Verdict {
        match evidence {
            Some(evidence) => Verdict::Violated(evidence),
            None if had_opportunity() => Verdict::Holds,
            None => Verdict::Inconclusive { why: why.into() },
        }
    }
}

/// The verdicts on one lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReport {
    /// The lock.
    pub key: String,
    /// How many calls its history has.
    pub calls: usize,
    /// The criterion that says whether the lock excluded.
    pub exclusion: Criterion,
    /// What was judged.
    pub verdicts: Vec<(Criterion, Verdict)>,
    /// Why no order was searched for, if none was.
    pub not_searched: Option<String>,
}

impl KeyReport {
    /// Whether a violation of this criterion is one of what the lock promises: that a holder outlives
    /// its lease is not.
    pub fn counts(&self, criterion: Criterion) -> bool {
        criterion == self.exclusion
            || match criterion {
                Criterion::Checked(property) => property.surprises(),
                _ => true,
            }
    }

    /// The verdict of a criterion, if it was judged.
    pub fn verdict(&self, criterion: Criterion) -> Option<&Verdict> {
        let mut verdicts = self.verdicts.iter();
        verdicts.find_map(|(judged, verdict)| (*judged == criterion).then_some(verdict))
    }
}

/// Judges the history of one lock, and has what happened around a violation of exclusion. The search for an order
/// tries at most `budget` calls.
pub fn judge_key(
    history: &LockHistory,
    key: KeyHistory,
    budget: u64,
) -> (KeyReport, Option<History>) {
    let searched = by_search(history, &key, budget);
    let mut report = KeyReport {
        key: key.key.clone(),
        calls: key.calls.len(),
        exclusion: exclusion(history, &key),
        verdicts: Vec::new(),
        not_searched: None,
    };
    let around;
    (report.verdicts, around) = judge_intervals(history, key);
    let verdicts = &mut report.verdicts;
    match searched {
        Ok(verdict) => {
            let is_open =
                |(_, verdict): &(_, Verdict)| matches!(verdict, Verdict::Inconclusive { .. });
            let verdict = match verdict {
                // Any calls of one client after the other have an order.
                Verdict::Holds if verdicts.iter().all(is_open) => Verdict::Inconclusive {
                    why: "no call could have contradicted the model".into(),
                },
                verdict => verdict,
            };
            verdicts.push((Criterion::Linearizable, verdict));
        }
        Err(why) => report.not_searched = Some(why),
    }
    (report, around)
}

/// Judges the history of one lock by intervals alone: what is surely held overlaps nothing that it
/// excludes, and what follows from that.
fn judge_intervals(
    history: &LockHistory,
    key: KeyHistory,
) -> (Vec<(Criterion, Verdict)>, Option<History>) {
    let model = history.header.model;
    let mut of_calls = Vec::new();
    if key.calls.iter().any(|call| call.token.is_some()) {
        let regressed = grant_tokens::check(&key, model, history.told);
        let verdict = Verdict::new(
            regressed,
            || grant_tokens::had_opportunity(&key),
            "no grant was asked for after another had returned with its token",
        );
        of_calls.push((Criterion::GrantTokens, verdict));
    }
    if model.knows_owners() {
        let unheld = unheld_release::check(&key, history.told);
        let verdict = Verdict::new(
            unheld,
            || unheld_release::had_opportunity(&key),
            "no release was answered",
        );
        of_calls.push((Criterion::UnheldRelease, verdict));
    }
    let (mut verdicts, around) = by_intervals(history, key);
    verdicts.extend(of_calls);
    (verdicts, around)
}

/// The criterion that says whether the lock excluded.
fn exclusion(history: &LockHistory, key: &KeyHistory) -> Criterion {
    match (history.header.model.is_exclusive(), is_leased(key)) {
        (false, _) => Criterion::Permits,
        (true, true) => Criterion::Checked(Property::Lease),
        (true, false) => Criterion::Checked(Property::Belief),
    }
}

/// Whether a grant of this history has a deadline.
fn is_leased(key: &KeyHistory) -> bool {
    let mut calls = key.calls.iter();
    calls.any(|call| call.deadline.is_some() && call.outcome == Outcome::Ok)
}

/// What `locklab-check` says of the history, of the properties that apply to it. It frees what the
/// timeline replaces, since a history may have a million events; the calls of a semaphore are needed to the end.
fn by_intervals(
    history: &LockHistory,
    mut key: KeyHistory,
) -> (Vec<(Criterion, Verdict)>, Option<History>) {
    let exclusion = exclusion(history, &key);
    let properties = properties(history, &key, exclusion);
    let intervals = Intervals::of(&key, history.header.model);
    key.points = Vec::new();
    if exclusion != Criterion::Permits {
        key.calls = Vec::new();
    }
    let mut around = None;
    let mut timeline = Timeline::of(&intervals.history);
    timeline.told = history.told;
    let mut verdicts = Vec::new();
    if exclusion == Criterion::Permits {
        let permits = history.header.permits;
        let verdict = Verdict::new(
            permits::check(&intervals, &timeline, permits),
            || permits::had_opportunity(&intervals, &timeline, &key.calls, permits),
            "no client asked for more permits than were left",
        );
        verdicts.push((Criterion::Permits, verdict));
    }
    for (property, verdict) in judge_by(&timeline, &unbounded(history.header.servers), &properties)
    {
        let of_resource = Property::PARTS_OF_RESOURCE.contains(&property);
        let verdict = match &key.accesses_doubt {
            Some(why) if of_resource => Verdict::Inconclusive { why: why.clone() },
            _ => Verdict::of(verdict, |it| intervals.evidence(&timeline, &it)),
        };
        if let Verdict::Violated(evidence) = &verdict
            && exclusion == Criterion::Checked(property)
        {
            around = Some(intervals.around(evidence));
        }
        verdicts.push((Criterion::Checked(property), verdict));
    }
    (verdicts, around)
}

fn properties(history: &LockHistory, key: &KeyHistory, exclusion: Criterion) -> Vec<Property> {
    let mut properties = Vec::new();
    let model = history.header.model;
    if model.is_exclusive() {
        properties.push(Property::Belief);
    }
    if exclusion == Criterion::Checked(Property::Lease) {
        properties.push(Property::Lease);
    }
    let accesses = || key.accesses.iter();
    let mut writes = accesses().filter(|access| access.writes).peekable();
    if model.is_exclusive() && writes.peek().is_some() {
        properties.push(Property::StaleWrite);
        if writes.all(|write| write.based_on.is_some() && write.version.is_some()) {
            properties.push(Property::LostUpdate);
        }
    }
    if accesses().any(|access| access.token.is_some()) {
        properties.push(Property::TokenRegression);
    }
    if model.is_exclusive() && model.knows_owners() && history.header.servers == 1 {
        properties.push(Property::ForeignRelease);
    }
    properties
}

/// No bound: a history from elsewhere does not say how soon a free lock has to be taken.
pub fn unbounded(servers: u32) -> Bounds {
    Bounds {
        deadlock_ns: u64::MAX,
        time_outs_ns: 0,
        round_trips: 0,
        reply_slack_ns: None,
        resource: ResourceRole::Apart,
        compares_tokens: true,
        masters: servers,
        nodes: servers,
        acts_within_ns: Bounds::ACTS_WITHIN_NS,
        settle_ns: None,
        horizon_ns: u64::MAX,
    }
}

/// Whether some order of the calls is what the model allows. The search tries at most `budget` steps.
///
/// # Errors
///
/// Why no order was searched for, if the model does not fit the history.
pub fn by_search(history: &LockHistory, key: &KeyHistory, budget: u64) -> Result<Verdict, String> {
    let header = &history.header;
    let anybody_releases = !header.model.knows_owners();
    let ends = is_leased(key) || key.points.iter().any(|point| point.what == What::Lost);
    let calls = searched(key, ends, header.servers);
    let found = match header.model {
        ModelName::Reentrant
        | ModelName::ReentrantFenced
        | ModelName::ReentrantReadWrite
        | ModelName::Semaphore
        | ModelName::ReadWrite
            if ends =>
        {
            let (model, has) = (
                header.model,
                if is_leased(key) {
                    "deadlines"
                } else {
                    "holders that lose it"
                },
            );
            return Err(format!(
                "the model {model} has no {has}, and this history has"
            ));
        }
        ModelName::Mutex | ModelName::Owner | ModelName::Fenced if ends => {
            search(&Lease { anybody_releases }, &calls, budget)
        }
        ModelName::Mutex => search(&Mutex, &calls, budget),
        ModelName::Owner => search(&Owner, &calls, budget),
        ModelName::Fenced => search(&Fenced, &calls, budget),
        ModelName::Reentrant => search(&Reentrant, &calls, budget),
        ModelName::ReentrantFenced => search(&ReentrantFenced, &calls, budget),
        ModelName::ReentrantReadWrite => search(&ReentrantReadWrite, &calls, budget),
        ModelName::ReadWrite => search(&ReadWrite, &calls, budget),
        ModelName::Lease | ModelName::Renewal => {
            search(&Lease { anybody_releases }, &calls, budget)
        }
        ModelName::Semaphore => {
            let permits = header.permits;
            search(&Semaphore { permits }, &calls, budget)
        }
    };
    Ok(match found {
        Found::Order => Verdict::Holds,
        Found::None(stuck) => Verdict::Violated(describe(key, &stuck)),
        Found::BudgetSpent {
            ordered,
            calls,
            tried,
        } => Verdict::Inconclusive {
            why: format!(
                "the budget was spent: the search put {ordered} of {calls} calls in order and tried \
                 {tried} steps; try a larger --budget"
            ),
        },
    })
}

/// The calls that the search puts in order.
fn searched(key: &KeyHistory, ends: bool, servers: u32) -> Vec<Searched> {
    let deadlines = match ends {
        true => true_deadlines(key),
        false => vec![None; key.calls.len()],
    };
    let mut searched = Vec::with_capacity(key.calls.len());
    for (index, call) in key.calls.iter().enumerate() {
        // On several servers a release may have deleted what was left of a lock that was lost.
        let may_be_rest = servers > 1 && call.act == Act::Release;
        let is_known = call.outcome == Outcome::Ok && !may_be_rest;
        // An extension of unknown outcome may have made the lease shorter.
        let changes = is_known || call.act != Act::Extend || deadlines[index].is_some();
        if call.outcome == Outcome::Failed || !changes {
            continue;
        }
        let step = Step {
            holder: call.holder,
            act: call.act,
            is_known,
            shared: call.shared,
            permits: call.permits,
            token: call.token,
            deadline_ns: deadlines[index],
            invoked_ns: call.invoked_ns,
            returned_ns: match call.returned {
                Some((at_ns, _)) if is_known => at_ns,
                _ => u64::MAX,
            },
        };
        searched.push(Searched {
            step,
            index,
            process: call.process,
        });
    }
    searched
}

fn describe(key: &KeyHistory, stuck: &Stuck) -> Evidence {
    let call = &key.calls[stuck.call];
    let before = stuck.before.iter().map(|&index| &key.calls[index]);
    let told: Vec<String> = before.clone().map(|call| outline(key, call)).collect();
    let before_it = match told.len() {
        0 => String::new(),
        _ => format!(", the last of them {}", told.join(", ")),
    };
    let what = format!(
        "no order of the calls explains {}: those before it can be put in order{before_it}, and with it \
         no more",
        outline(key, call),
    );
    let lines = before.clone().chain([call]).flat_map(Call::lines);
    let at_ns = call.returned.map_or(call.invoked_ns, |(at_ns, _)| at_ns);
    let mut clients: Vec<Name> = Vec::new();
    for call in before.clone().chain([call]) {
        let name = &key.names[call.process as usize];
        if !clients.contains(name) {
            clients.push(name.clone());
        }
    }
    let violation = Violation {
        at_ns: call.invoked_ns,
        until_ns: at_ns,
        clients,
        what,
    };
    Evidence::new(violation, lines)
}

fn outline(key: &KeyHistory, call: &Call) -> String {
    let process = &key.names[call.process as usize];
    let act = match call.act {
        Act::Acquire => "acquire",
        Act::Release => "release",
        Act::Extend => "extend",
    };
    match call.returned {
        Some((_, line)) => format!("{process}'s {act} (lines {} and {line})", call.invoked_line),
        None => format!("{process}'s {act} (line {})", call.invoked_line),
    }
}

#[cfg(test)]
mod tests;
