//! Executes a fault schedule on the simulated world, and records when each fault
//! really took effect.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locklab_sim::world::{HostId, LinkEffect, LinkRule, RuleId, World};

use super::lab::Lab;
use crate::fault::trigger::Due;
use crate::fault::{Fault, FaultKind, Schedule, Start};
use crate::history::{Event, Name, Phase};

/// The schedule of one run under execution.
pub(super) struct Nemesis {
    lab: Rc<Lab>,
    schedule: Schedule,
    began: RefCell<Vec<bool>>,
    /// What the end of a fault must undo, by its place in the schedule.
    undo: RefCell<BTreeMap<usize, Undo>>,
}

enum Undo {
    Rule(RuleId),
    /// The rate errors from before, in the order of the fault's hosts.
    Drift(Vec<i64>),
}

impl Nemesis {
    pub(super) fn new(lab: Rc<Lab>, schedule: Schedule) -> Rc<Self> {
        let began = RefCell::new(vec![false; schedule.faults.len()]);
        Rc::new(Self {
            lab,
            schedule,
            began,
            undo: RefCell::default(),
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

    fn apply(&self, index: usize, world: &mut World) {
        let fault = &self.schedule.faults[index];
        let ids = self.ids(fault.kind.hosts());
        match &fault.kind {
            FaultKind::Pause { .. } => ids.iter().for_each(|host| world.pause(*host)),
            FaultKind::Suspend { .. } => ids.iter().for_each(|host| world.suspend(*host)),
            FaultKind::Kill { hosts } => {
                ids.iter().for_each(|host| world.kill(*host));
                self.lab
                    .died(hosts, fault.duration_ns.is_some(), &world.host(ids[0]));
            }
            FaultKind::Crash { hosts } => {
                ids.iter().for_each(|host| world.crash(*host));
                self.lab
                    .died(hosts, fault.duration_ns.is_some(), &world.host(ids[0]));
            }
            FaultKind::ClockStep { step_ns, .. } => {
                ids.iter().for_each(|host| world.step_wall(*host, *step_ns));
            }
            FaultKind::ClockRate { drift_ppm, .. } => {
                let before = ids
                    .iter()
                    .map(|host| world.set_drift_ppm(*host, *drift_ppm));
                let before = before.collect();
                self.undo.borrow_mut().insert(index, Undo::Drift(before));
            }
            FaultKind::Partition {
                from,
                to,
                both_ways,
            } => {
                self.link(index, [from, to], *both_ways, LinkEffect::Cut, world);
            }
            FaultKind::SlowLink {
                from,
                to,
                both_ways,
                extra_ns,
            } => {
                let effect = LinkEffect::Slow {
                    extra_ns: *extra_ns,
                };
                self.link(index, [from, to], *both_ways, effect, world);
            }
            FaultKind::Loss {
                from,
                to,
                both_ways,
                probability,
            } => {
                let effect = LinkEffect::Lossy {
                    probability: *probability,
                };
                self.link(index, [from, to], *both_ways, effect, world);
            }
        }
    }

    fn link(
        &self,
        index: usize,
        [from, to]: [&[Name]; 2],
        both_ways: bool,
        effect: LinkEffect,
        world: &mut World,
    ) {
        let rule = LinkRule {
            from: self.ids(from),
            to: self.ids(to),
            both_ways,
            effect,
        };
        let id = world.install(rule);
        self.undo.borrow_mut().insert(index, Undo::Rule(id));
    }

    fn end(&self, index: usize, world: &mut World) {
        let fault = &self.schedule.faults[index];
        let ids = self.ids(fault.kind.hosts());
        self.record_before(fault, world);
        match &fault.kind {
            FaultKind::Pause { .. } => ids.iter().for_each(|host| world.resume(*host)),
            FaultKind::Suspend { .. } => ids.iter().for_each(|host| world.wake(*host)),
            FaultKind::Kill { .. } | FaultKind::Crash { .. } => {
                ids.iter().for_each(|host| world.restart(*host));
            }
            FaultKind::ClockStep { step_ns, .. } => {
                ids.iter().for_each(|host| world.step_wall(*host, -step_ns));
            }
            FaultKind::ClockRate { .. }
            | FaultKind::Partition { .. }
            | FaultKind::SlowLink { .. }
            | FaultKind::Loss { .. } => {}
        }
        match self.undo.borrow_mut().remove(&index) {
            Some(Undo::Rule(rule)) => world.lift(rule),
            Some(Undo::Drift(before)) => {
                for (host, drift_ppm) in ids.iter().zip(before) {
                    world.set_drift_ppm(*host, drift_ppm);
                }
            }
            None => {}
        }
        self.record_all(fault, Phase::Ends, world);
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
        let event = Event::Fault {
            fault: fault.name.clone(),
            kind: fault.kind.name().into(),
            phase,
        };
        self.lab.record(&world.host(self.lab.id(host)), host, event);
    }
}
