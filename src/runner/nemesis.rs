//! Executes a fault schedule on the simulated world, and records when each fault
//! really took effect.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locklab_world::{HostId, LinkEffect, LinkRule, RuleId, World};

use super::lab::Lab;
use super::operator;
use crate::fault::trigger::Due;
use crate::fault::{Fault, FaultKind, Schedule, Start, failover};
use crate::history::{Event, FaultyLinks, Name, PacketFault, Phase};
use crate::plant;

/// The schedule of one run under execution.
pub(super) struct Nemesis {
    lab: Rc<Lab>,
    schedule: Schedule,
    began: RefCell<Vec<bool>>,
    /// The rules of the links' faults in force, by their place in the schedule.
    rules: RefCell<BTreeMap<usize, RuleId>>,
    rates: RefCell<BTreeMap<HostId, Rates>>,
}

/// The rate errors of one host's clocks in parts per million, each with its fault's
/// place in the schedule: the latest in force is last, and first of all is the host's
/// own, of no fault.
type Rates = Vec<(Option<usize>, i64)>;

impl Nemesis {
    pub(super) fn new(lab: Rc<Lab>, schedule: Schedule) -> Rc<Self> {
        let began = RefCell::new(vec![false; schedule.faults.len()]);
        Rc::new(Self {
            lab,
            schedule,
            began,
            rules: RefCell::default(),
            rates: RefCell::default(),
        })
    }

    /// Puts the faults that are placed by time on the world's agenda.
    pub(super) fn install(self: &Rc<Self>, world: &mut World) {
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            if let Start::At { at_ns } = fault.start {
                let nemesis = self.clone();
                world.at(at_ns, move |world| nemesis.begin(index, world));
            }
        }
    }

    /// A client has reached the point where these faults are placed.
    pub(super) fn strike(self: &Rc<Self>, due: &[Due], world: &mut World) {
        for &Due { fault, delay_ns } in due {
            if delay_ns == 0 {
                self.begin(fault, world);
            } else {
                let nemesis = self.clone();
                let at_ns = world.now_ns().saturating_add(delay_ns);
                world.at(at_ns, move |world| nemesis.begin(fault, world));
            }
        }
    }

    /// Records the faults that never took effect.
    pub(super) fn record_missed(&self, world: &World) {
        for (fault, began) in self.schedule.faults.iter().zip(self.began.borrow().iter()) {
            if !began {
                for host in fault.kind.hosts() {
                    self.record(fault, host, Phase::Missed, world);
                }
            }
        }
    }

    fn begin(self: &Rc<Self>, index: usize, world: &mut World) {
        let fault = &self.schedule.faults[index];
        let strikes_process =
            matches!(fault.kind, FaultKind::Pause { .. } | FaultKind::Kill { .. });
        if strikes_process && !fault.kind.hosts().all(|host| self.lab.is_running(host)) {
            return;
        }
        if let FaultKind::Failover { hosts } = &fault.kind {
            hosts
                .iter()
                .for_each(|host| self.order_failover(index, host, world));
            return;
        }
        self.began.borrow_mut()[index] = true;
        self.record_before(fault, world);
        self.apply(index, world);
        self.record_all(fault, Phase::Begins, world);
        if let Some(duration_ns) = fault.duration_ns {
            let nemesis = self.clone();
            let at_ns = world.now_ns().saturating_add(duration_ns);
            world.at(at_ns, move |world| nemesis.end(index, world));
        }
    }

    /// Has an operator ask for a failover. It has begun when the server says OK: a sentinel
    /// refuses if it is in one already, or has no replica that would do.
    fn order_failover(self: &Rc<Self>, index: usize, name: &Name, world: &World) {
        let (nemesis, name) = (self.clone(), name.clone());
        let host = world.host(self.lab.id(&name));
        let Some(role) = self.lab.role(&name) else {
            return;
        };
        let words = failover::order(&role);
        host.clone().spawn(async move {
            if plant("failover-is-not-ordered") || operator::types(&host, words).await {
                nemesis.began.borrow_mut()[index] = true;
                let fault = &nemesis.schedule.faults[index];
                let event = event(fault, Phase::Begins);
                nemesis.lab.record(&host, &name, event);
            }
        });
    }

    fn apply(&self, index: usize, world: &mut World) {
        let fault = &self.schedule.faults[index];
        let ids = self.ids(fault.kind.hosts());
        match &fault.kind {
            FaultKind::Pause { .. } if plant("pause-does-not-pause") => {}
            FaultKind::Pause { .. } => ids.iter().for_each(|host| world.pause(*host)),
            FaultKind::Suspend { .. } => ids.iter().for_each(|host| world.suspend(*host)),
            FaultKind::Kill { hosts } => {
                self.lab
                    .unheard(|| ids.iter().for_each(|host| world.kill(*host)));
                self.lab
                    .died(hosts, fault.duration_ns.is_some(), &world.host(ids[0]));
            }
            FaultKind::Crash { hosts } => {
                self.lab
                    .unheard(|| ids.iter().for_each(|host| world.crash(*host)));
                self.lab
                    .died(hosts, fault.duration_ns.is_some(), &world.host(ids[0]));
            }
            FaultKind::ClockStep { step_ns, .. } => {
                ids.iter().for_each(|host| world.step_wall(*host, *step_ns));
            }
            FaultKind::ClockRate { drift_ppm, .. } => {
                for host in ids {
                    let own = world.set_drift_ppm(host, *drift_ppm);
                    let mut rates = self.rates.borrow_mut();
                    let rates = rates.entry(host).or_insert_with(|| vec![(None, own)]);
                    rates.push((Some(index), *drift_ppm));
                }
            }
            FaultKind::Partition { .. } | FaultKind::SlowLink { .. } | FaultKind::Loss { .. } => {
                if let Some(links) = links(&fault.kind) {
                    self.spoil(index, &links, world);
                }
            }
            // An operator's doing: see `order_failover`.
            FaultKind::Failover { .. } => {}
        }
    }

    /// Puts a fault on these links.
    fn spoil(&self, index: usize, links: &FaultyLinks, world: &mut World) {
        let rule = LinkRule {
            from: self.ids(&links.from),
            to: self.ids(&links.to),
            both_ways: links.both_ways,
            effect: match links.packets {
                PacketFault::Cut => LinkEffect::Cut,
                PacketFault::Slow { extra_ns } => LinkEffect::Slow { extra_ns },
                PacketFault::Lossy { probability } => LinkEffect::Lossy { probability },
            },
        };
        let id = world.install(rule);
        self.rules.borrow_mut().insert(index, id);
    }

    fn end(&self, index: usize, world: &mut World) {
        let fault = &self.schedule.faults[index];
        let ids = self.ids(fault.kind.hosts());
        self.record_before(fault, world);
        match &fault.kind {
            FaultKind::Pause { .. } => ids.iter().for_each(|host| world.resume(*host)),
            FaultKind::Suspend { .. } => ids.iter().for_each(|host| world.wake(*host)),
            FaultKind::Kill { .. } | FaultKind::Crash { .. } if plant("nobody-restarts") => {}
            FaultKind::Kill { .. } | FaultKind::Crash { .. } => {
                ids.iter().for_each(|host| world.restart(*host));
            }
            FaultKind::ClockStep { step_ns, .. } => {
                ids.iter().for_each(|host| world.step_wall(*host, -step_ns));
            }
            FaultKind::ClockRate { .. } => {
                for host in ids {
                    self.end_rate(index, host, world);
                }
            }
            FaultKind::Partition { .. } | FaultKind::SlowLink { .. } | FaultKind::Loss { .. } => {
                if plant("link-never-heals") {
                    return;
                }
                if let Some(rule) = self.rules.borrow_mut().remove(&index) {
                    world.lift(rule);
                }
            }
            FaultKind::Failover { .. } => {}
        }
        self.record_all(fault, Phase::Ends, world);
    }

    /// The clocks of `host` run on as the other faults in force have it, else as they did
    /// before any.
    fn end_rate(&self, index: usize, host: HostId, world: &mut World) {
        let mut rates = self.rates.borrow_mut();
        let Some(rates) = rates.get_mut(&host) else {
            return;
        };
        rates.retain(|(fault, _)| *fault != Some(index));
        if let Some((_, drift_ppm)) = rates.last() {
            world.set_drift_ppm(host, *drift_ppm);
        }
    }

    fn ids<'a>(&self, names: impl IntoIterator<Item = &'a Name>) -> Vec<HostId> {
        names.into_iter().map(|name| self.lab.id(name)).collect()
    }

    /// Where a clock is about to change its course, a record of how it ran until now.
    fn record_before(&self, fault: &Fault, world: &World) {
        match fault.kind {
            FaultKind::Suspend { .. }
            | FaultKind::ClockStep { .. }
            | FaultKind::ClockRate { .. } => self.record_all(fault, Phase::Before, world),
            _ => {}
        }
    }

    fn record_all(&self, fault: &Fault, phase: Phase, world: &World) {
        for host in fault.kind.hosts() {
            self.record(fault, host, phase, world);
        }
    }

    fn record(&self, fault: &Fault, host: &Name, phase: Phase, world: &World) {
        let event = event(fault, phase);
        self.lab.record(&world.host(self.lab.id(host)), host, event);
    }
}

fn event(fault: &Fault, phase: Phase) -> Event {
    Event::Fault {
        fault: fault.name.clone(),
        kind: fault.kind.name().into(),
        phase,
        links: links(&fault.kind),
    }
}

/// The links that a fault of this kind is on; `None` if it strikes hosts.
fn links(kind: &FaultKind) -> Option<FaultyLinks> {
    let (from, to, both_ways, packets) = match kind {
        FaultKind::Partition {
            from,
            to,
            both_ways,
        } => (from, to, both_ways, PacketFault::Cut),
        FaultKind::SlowLink {
            from,
            to,
            both_ways,
            extra_ns,
        } => {
            let extra_ns = *extra_ns;
            (from, to, both_ways, PacketFault::Slow { extra_ns })
        }
        FaultKind::Loss {
            from,
            to,
            both_ways,
            probability,
        } => {
            let probability = *probability;
            (from, to, both_ways, PacketFault::Lossy { probability })
        }
        _ => return None,
    };
    Some(FaultyLinks {
        from: from.clone(),
        to: to.clone(),
        both_ways: *both_ways,
        packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::expand;
    use crate::runner::simulate::{Keep, simulate};
    use crate::scenario::parse;

    /// Two faults whose spans overlap, so that the first to begin is the first to
    /// end. The clocks' last course is the one that they had before.
    #[test]
    fn overlapping_rates_leave_the_clocks_as_they_were() {
        let text = r#"
            headline = "lease"
            title = "Clocks run wrong twice"
            about = "Two faults of one host overlap."
            source = "this test"
            topology = { nodes = 1, clients = 1 }
            lock = { name = "set-nx-px", ttl_ms = 1000 }
            workload = { hold_ms = 1000 }

            [clocks.host]
            c1 = { drift_ppm = 5 }

            [fault]
            one = { kind = "clock-rate", on = "c1", at_ms = 10, drift_ppm = 100_000, duration_ms = 90 }
            other = { kind = "clock-rate", on = "c1", at_ms = 50, drift_ppm = 500_000, duration_ms = 150 }
        "#;
        let scenario = parse("t.toml", text, &[]).expect("a sound scenario");
        let schedule = expand(&scenario.fault, 1);
        let run = simulate(&scenario, 1, &schedule, Keep::default()).expect("it ends");
        let clocks: Vec<_> = run
            .history
            .records
            .iter()
            .filter(|r| matches!(r.event, Event::Fault { .. } | Event::RunEnds))
            .map(|r| (r.at_ns, r.mono_ns))
            .collect();
        let courses: Vec<_> = clocks
            .windows(2)
            .filter(|pair| pair[0].0 < pair[1].0)
            .map(|pair| {
                let (elapsed, by_clock) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                (by_clock as f64 / elapsed as f64 * 1e6).round() as i64 - 1_000_000
            })
            .collect();
        assert_eq!(courses, [100_000, 500_000, 500_000, 5]);
    }
}
