//! One run with its verdicts, and everything needed to repeat it.

use std::mem;

use locklab_values::units::{NS_PER_MS, ns_from_ms};
use locklab_vecmap::VecMap;
use locklab_world::{Renewal, TraceEvent};

use super::RunError;
use super::run::Run;
use super::simulate::{Keep, simulate, simulate_renewed, simulate_until_full};
use super::steps::StepLog;
use locklab_check::{Bounds, Property, ResourceRole, Verdict, judge, retransmission_ns};
use locklab_env::redis::SENTINEL_LIMIT;
use locklab_history::Schedule;
use locklab_history::{Contents, History, Name};
use locklab_model::scenario::{Drawn, Network, Scenario};
use locklab_model::workload::Fencing;
use locklab_results::Judged;
use locklab_results::recording::{Environment, FORMAT, Footer, Header, Recording, VERSION};
use locklab_values::dist::Dist;

/// A run and its verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// The faults drawn for the run.
    pub schedule: Schedule,
    /// The history of the run.
    pub history: History,
    /// The verdicts.
    pub verdicts: VecMap<Property, Verdict>,
    /// The hash of every event of the simulator; 0 on real Redis, where no two runs are equal.
    pub trace_hash: u64,
    /// The events of the simulator, if they were kept.
    pub trace: Vec<TraceEvent>,
    /// The bytes of messages and the keys of nodes, if they were kept.
    pub contents: Option<Contents>,
    /// The command line of the clients, if they are a program of somebody else; else empty.
    pub program: Vec<String>,
    /// Why the history does not show whether a property holds.
    pub unshown: VecMap<Property, String>,
    /// See [`Run::lease_ns`].
    pub lease_ns: Option<u64>,
    /// Which lock it is about, if its programs have several.
    pub lock: Option<Name>,
    /// The steps, if they were kept.
    pub steps: Option<StepLog>,
    /// The version of the servers if they are real.
    pub server_version: Option<String>,
}

impl JudgedRun {
    /// Whether it violates this property.
    pub fn violates(&self, property: Property) -> bool {
        matches!(self.verdicts.get(&property), Some(Verdict::Violated(_)))
    }

    /// Whether it could have violated this property, or has: whether its verdict is not inconclusive.
    pub fn decides(&self, property: Property) -> bool {
        let verdict = self.verdicts.get(&property);
        matches!(verdict, Some(Verdict::Violated(_) | Verdict::Holds))
    }

    /// The parts of the run that a cell counts.
    pub fn judged(&self) -> Judged<'_> {
        Judged {
            history: &self.history,
            verdicts: &self.verdicts,
            trace_hash: self.trace_hash,
        }
    }
}

/// Runs `scenario` with `seed` in the simulator, and judges it. Whoever wrote a scenario can let it do less, so a run
/// with too many records is an error; but what a campaign draws nobody wrote, so there it ends as in
/// [`run_until_full`].
///
/// # Errors
///
/// See [`simulate`].
pub fn run(scenario: &Scenario, seed: u64, keep: Keep) -> Result<JudgedRun, RunError> {
    let is_drawn = scenario.campaign.is_some();
    let Drawn { scenario, schedule } = scenario.drawn(seed);
    match is_drawn {
        true => run_until_full(&scenario, seed, schedule, keep),
        false => run_schedule(&scenario, seed, schedule, keep),
    }
}

/// Runs `scenario` like [`run_schedule`], but a run with more records than a history can hold ends there. It shows
/// which properties it violates until then, and nothing of the others.
///
/// # Errors
///
/// See [`simulate_until_full`].
pub fn run_until_full(
    scenario: &Scenario,
    seed: u64,
    schedule: Schedule,
    keep: Keep,
) -> Result<JudgedRun, RunError> {
    let mut run = simulate_until_full(scenario, seed, &[], &schedule, keep)?;
    if let Some(at_ns) = run.full_ns {
        let why = RunError::TooManyRecords { at_ns }.to_string();
        run.unshown = Property::ALL.map(|property| (property, why.clone())).into();
    }
    Ok(JudgedRun::of(run, schedule, scenario))
}

/// Runs `scenario` with `seed` and the faults of `schedule` in the simulator.
///
/// # Errors
///
/// See [`simulate`].
pub fn run_schedule(
    scenario: &Scenario,
    seed: u64,
    schedule: Schedule,
    keep: Keep,
) -> Result<JudgedRun, RunError> {
    let run = simulate(scenario, seed, &schedule, keep)?;
    Ok(JudgedRun::of(run, schedule, scenario))
}

/// The same, but all that is drawn during the run is drawn anew from some times on.
///
/// # Errors
///
/// See [`simulate`].
pub fn run_renewed(
    scenario: &Scenario,
    seed: u64,
    renewals: &[Renewal],
    schedule: Schedule,
) -> Result<JudgedRun, RunError> {
    let run = simulate_renewed(scenario, seed, renewals, &schedule, Keep::default())?;
    Ok(JudgedRun::of(run, schedule, scenario))
}

impl JudgedRun {
    /// Judges a run of `scenario` with the faults of `schedule`.
    pub fn of(run: Run, schedule: Schedule, scenario: &Scenario) -> JudgedRun {
        JudgedRun {
            verdicts: judge_as_shown(
                &run.history,
                scenario,
                &Clients {
                    unshown: &run.unshown,
                    lease_ns: run.lease_ns,
                    program: &run.program,
                },
            ),
            schedule,
            history: run.history,
            trace_hash: run.trace_hash,
            trace: run.trace,
            contents: run.contents,
            program: run.program,
            unshown: run.unshown,
            lease_ns: run.lease_ns,
            lock: None,
            steps: run.steps,
            server_version: run.server_version,
        }
    }

    /// The same; of programs with several locks it judges each, and returns the run of the worst, the first of several
    /// such.
    pub fn of_worst_lock<K: Ord>(
        mut run: Run,
        schedule: &Schedule,
        scenario: &Scenario,
        badness: impl Fn(&JudgedRun) -> K,
    ) -> JudgedRun {
        let locks = mem::take(&mut run.locks);
        if locks.is_empty() {
            return JudgedRun::of(run, schedule.clone(), scenario);
        }
        let messages = mem::take(&mut run.history).messages;
        let judged = locks.into_iter().rev().map(|lock| {
            let mut of_lock = run.clone();
            of_lock.history = lock.history;
            of_lock.unshown.extend(lock.unshown);
            let judged = JudgedRun::of(of_lock, schedule.clone(), scenario);
            JudgedRun {
                lock: Some(lock.lock),
                ..judged
            }
        });
        let worst = judged.max_by_key(badness);
        let mut worst = worst.unwrap_or_else(|| unreachable!("there is a lock"));
        worst.history.messages = messages;
        worst
    }
}

/// [`Bounds::acts_within_ns`] of programs of others: they run in interpreters and sleep by timers, and a line of theirs is
/// read a moment after it was written.
const PROGRAM_ACTS_WITHIN_NS: u64 = 50 * NS_PER_MS;

/// What is known of the clients of a run beside its history.
pub struct Clients<'a> {
    /// See [`Run::unshown`].
    pub unshown: &'a VecMap<Property, String>,
    /// See [`Run::lease_ns`].
    pub lease_ns: Option<u64>,
    /// See [`Run::program`].
    pub program: &'a [String],
}

/// Judges the history of a run of `scenario`. Of a property that it does not show, only a violation counts. Where
/// foreign programs had a longer lease than that of the scenario, which its bound is made for, the lock is free so much
/// later after the death of its holder.
pub fn judge_as_shown(
    history: &History,
    scenario: &Scenario,
    clients: &Clients<'_>,
) -> VecMap<Property, Verdict> {
    let Clients {
        unshown,
        lease_ns,
        program,
    } = *clients;
    let mut bounds = bounds(scenario);
    if !program.is_empty() {
        bounds.acts_within_ns = PROGRAM_ACTS_WITHIN_NS;
    }
    if let (Some(lease_ns), Some(made_for_ms)) = (lease_ns, scenario.lock.facts().lease_ms) {
        let longer_ns = lease_ns.saturating_sub(ns_from_ms(made_for_ms));
        bounds.deadlock_ns = bounds.deadlock_ns.saturating_add(longer_ns);
    }
    let mut verdicts = judge(history, &bounds);
    for (property, why) in unshown {
        if let Some(verdict) = verdicts.get_mut(property)
            && !matches!(verdict, Verdict::Violated(_))
        {
            *verdict = Verdict::Inconclusive { why: why.clone() };
        }
    }
    verdicts
}

/// Runs `scenario` with `seed` in the simulator and keeps everything that a picture needs.
///
/// # Errors
///
/// See [`simulate`].
pub fn record(scenario: &Scenario, seed: u64) -> Result<Recording, RunError> {
    let run = run(scenario, seed, Keep::MESSAGES)?;
    Ok(recording(scenario, seed, run, Environment::World))
}

/// The run as a recording. It contains the scenario as this seed has drawn it, with what its file does not
/// contain: its name and its overrides.
pub fn recording(
    scenario: &Scenario,
    seed: u64,
    run: JudgedRun,
    environment: Environment,
) -> Recording {
    let mut drawn = scenario.drawn(seed).scenario.to_json();
    drawn["name"] = scenario.name.as_str().into();
    if !scenario.overrides.is_empty() {
        drawn["overrides"] = scenario.overrides.as_slice().into();
    }
    let header = Header {
        locklab: VERSION.into(),
        format: FORMAT,
        scenario: drawn,
        seed,
        schedule: run.schedule,
        environment,
        redis: run.server_version,
        program: run.program,
        unshown: run.unshown,
        lease_ns: run.lease_ns,
        lock: run.lock.as_deref().map(str::to_owned),
    };
    Recording {
        header,
        history: run.history,
        footer: Footer {
            trace_hash: format!("{:016x}", run.trace_hash),
            verdicts: run.verdicts,
        },
    }
}

/// The bounds that the checks need to know about `scenario`.
pub fn bounds(scenario: &Scenario) -> Bounds {
    let mut bound = scenario.lock.bound(&scenario.topology);
    let sentinels = scenario.topology.sentinels;
    if sentinels > 0 {
        // To find the master, a client connects to each sentinel in turn and asks it, then asks
        // the master for its role.
        bound.round_trips += 2 * sentinels + 1;
        bound.time_outs_ms += u64::from(sentinels) * SENTINEL_LIMIT.as_millis() as u64;
    }
    let round_trip_ns = round_trip_ns(&scenario.network);
    let (deadlock_ns, time_outs_ns) = match scenario.bound_ms {
        Some(bound_ms) => (ns_from_ms(bound_ms), 0),
        None => {
            let starting_ms = scenario.node.restart_delay_ms;
            let by_clock_ns = slowest(scenario, ns_from_ms(bound.by_clock_ms + starting_ms));
            // Between two of them a client may wait for a timer.
            let late_ns = scenario.clocks.timers_late().as_nanos() as u64;
            let round_trips_ns =
                u64::from(bound.round_trips).saturating_mul(round_trip_ns.saturating_add(late_ns));
            (
                by_clock_ns.saturating_add(round_trips_ns),
                ns_from_ms(bound.time_outs_ms),
            )
        }
    };
    let topology = &scenario.topology;
    Bounds {
        deadlock_ns,
        time_outs_ns,
        round_trips: bound.round_trips,
        reply_slack_ns: bound
            .reply_ms
            .map(|ms| ns_from_ms(ms).saturating_sub(round_trip_ns)),
        resource: match scenario.lock.asks_resource() {
            true => ResourceRole::GivesTokens,
            false => ResourceRole::Apart,
        },
        compares_tokens: scenario.resource.fencing != Fencing::None,
        masters: topology.nodes,
        nodes: topology.nodes * (1 + topology.replicas),
        acts_within_ns: Bounds::ACTS_WITHIN_NS,
        settle_ns: scenario.settle_ms.map(ns_from_ms),
        horizon_ns: ns_from_ms(scenario.horizon_ms),
    }
}

/// The maximum duration of a time measured by a clock of the scenario: any host's clock may be
/// the slowest.
fn slowest(scenario: &Scenario, by_clock_ns: u64) -> u64 {
    let drifts = scenario.clocks.host.values().map(|clock| clock.drift_ppm);
    let drift_ppm = drifts.min().unwrap_or(0).clamp(-999_999, 0);
    const WHOLE_PPM: i64 = 1_000_000;
    let rate_ppm = (WHOLE_PPM + drift_ppm).unsigned_abs();
    let ns = u128::from(by_clock_ns) * u128::from(WHOLE_PPM.unsigned_abs()) / u128::from(rate_ppm);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// The maximum duration of a request and its answer, on a network without faults. If the
/// latency has no upper bound, or packets are lost, the value exceeded once in a million.
fn round_trip_ns(network: &Network) -> u64 {
    // The natural logarithm of a million, and the standard normal quantile exceeded with
    // probability one in a million.
    const EXPONENTIAL: f64 = 13.815_510_557_964_274;
    const NORMAL: f64 = 4.753_424_308_822_899;
    let one_way_ms = match network.latency_ms {
        Dist::Constant(ms) | Dist::Uniform(_, ms) => ms,
        Dist::Exponential(mean) => mean * EXPONENTIAL,
        Dist::LogNormal { median, sigma } => median * (sigma * NORMAL).exp(),
        ref other => other.at_tail_ms(1e-6),
    };
    // The cast saturates.
    let one_way_ns = (one_way_ms * NS_PER_MS as f64).ceil() as u64;
    one_way_ns
        .saturating_mul(2)
        .saturating_add(retransmission_ns(network.loss))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::LockRun;
    use locklab_check::history_builder::HistoryBuilder;
    use locklab_history::{ClockKind, Message};
    use locklab_model::scenario::load;

    /// `b` and `c` are held by two clients at once; `a` has more properties that hold than `b`.
    #[test]
    fn a_run_of_several_locks_is_that_of_the_worst() {
        let scenario = load("kleppmann/k1", &[]).expect("it ships");
        let granted = |host| HistoryBuilder::default().tries(95, "c2").granted(100, host);
        let both = granted("c1").tries(150, "c2").granted(200, "c2");
        let lock = |name: &str, history: HistoryBuilder| LockRun {
            lock: name.into(),
            history: history.ends(3000).history(),
            unshown: VecMap::new(),
        };
        let locks = [("a", granted("c1")), ("b", both.clone()), ("c", both)];
        let message = Message {
            sent_ns: 1,
            arrived_ns: None,
            from: "c1".into(),
            to: "n1".into(),
            label: "PING".into(),
        };
        let mut run = Run {
            locks: locks.map(|(name, history)| lock(name, history)).into(),
            ..Run::default()
        };
        run.history.messages.push(message);
        let violated = |run: &JudgedRun| {
            let all = run.verdicts.values();
            all.filter(|it| matches!(it, Verdict::Violated(_))).count()
        };
        let schedule = Schedule::default();
        let worst = JudgedRun::of_worst_lock(run, &schedule, &scenario, violated);
        assert_eq!(worst.lock.as_deref(), Some("b"));
        assert!(worst.violates(Property::Belief));
        assert_eq!(worst.history.messages.len(), 1);
    }

    /// c1 dies 50 ms after it was granted the lock for 6 s, where the scenario has a lease of 1 s.
    #[test]
    fn a_program_with_a_lease_of_its_own_is_judged_by_that() {
        let scenario = load("kleppmann/k1", &["lock.ttl_ms=1000".into()]).expect("it ships");
        let history = HistoryBuilder::default()
            .granted(100, "c1")
            .holds_for(100, "c1", ClockKind::Monotonic, 6000)
            .fault_begins(150, "c1", "kill")
            .tries(200, "c2");
        let judge = |lease_ns, end_ms| {
            let history = history.clone().ends(end_ms).history();
            let clients = Clients {
                unshown: &VecMap::new(),
                lease_ns,
                program: &["worker".to_owned()],
            };
            let verdicts = judge_as_shown(&history, &scenario, &clients);
            matches!(verdicts[&Property::Deadlock], Verdict::Violated(_))
        };
        let lease_ns = Some(ns_from_ms(6000));
        assert!(judge(None, 6000));
        assert!(!judge(lease_ns, 6000));
        // It is judged nevertheless.
        assert!(judge(lease_ns, 20_000));
        // A shorter one is the program's own, too, but faults and attempts have the scenario's times.
        assert!(judge(Some(0), 6000));
    }

    #[test]
    fn a_program_that_acts_a_moment_after_its_pause_was_kept_by_it() {
        let scenario = load("kleppmann/k1", &["lock.ttl_ms=1000".into()]).expect("it ships");
        let history = HistoryBuilder::default()
            .tries(90, "c1")
            .granted_for(100, "c1", ClockKind::Monotonic, 1000)
            .fault_begins(108, "c1", "pause")
            .tries(500, "c2")
            .granted_for(1150, "c2", ClockKind::Monotonic, 1000)
            .fault_ends(2608, "c1", "pause")
            .releases(2620, "c1")
            .ends(4000)
            .history();
        let holds = |program: &[String]| {
            let clients = Clients {
                unshown: &VecMap::new(),
                lease_ns: None,
                program,
            };
            judge_as_shown(&history, &scenario, &clients)[&Property::Lease] == Verdict::Holds
        };
        assert!(holds(&["worker".to_owned()]));
        assert!(!holds(&[]));
    }
}
