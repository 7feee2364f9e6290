//! Processes that stand still, and go on.

use nix::sys::signal::Signal;

use super::Testbed;
use crate::ConfirmError;
use crate::child::Child;
use crate::foreign::processes;
use locklab_history::Name;

impl Testbed<'_> {
    /// Stops the processes of these hosts; on return they have stopped.
    pub(crate) fn pause(&mut self, names: &[Name]) {
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses += 1;
                host.child.iter().for_each(Child::stop);
            }
        }
        self.signal_others(names.iter(), Signal::SIGSTOP);
        for name in names {
            if let Some(host) = self.hosts.get(name)
                && host.pauses == 1
            {
                host.child.iter().for_each(Child::await_stop);
            }
        }
    }

    /// Signals the processes of the foreign clients among these hosts that have left their groups.
    fn signal_others<'n>(&self, names: impl Iterator<Item = &'n Name>, signal: Signal) {
        let foreign: Vec<&Name> = names.filter(|name| self.is_foreign(name)).collect();
        if !foreign.is_empty() {
            processes::signal(&foreign, self.plan.folder.path(), signal);
        }
    }

    /// Ends a [`Testbed::pause`].
    pub(crate) fn resume(&mut self, names: &[Name]) {
        let mut going = vec![];
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses = host.pauses.saturating_sub(1);
                going.extend((host.pauses == 0).then_some(name));
            }
        }
        self.signal_others(going.iter().copied(), Signal::SIGCONT);
        for name in going {
            self.hosts[name].child.iter().for_each(Child::resume);
        }
    }

    /// Stalls one thread of each of these clients. A server has one thread: it is paused.
    pub(crate) fn stall(&mut self, names: &[Name]) -> Result<(), ConfirmError> {
        let (clients, servers) = self.split(names);
        self.pause(&servers);
        self.set_clocks(|clocks| clocks.begin_stall(&clients))
    }

    /// Ends a [`Testbed::stall`].
    pub(crate) fn end_stall(&mut self, names: &[Name]) -> Result<(), ConfirmError> {
        let (clients, servers) = self.split(names);
        self.resume(&servers);
        self.set_clocks(|clocks| clocks.end_stall(&clients))
    }

    /// The clients among these hosts, and the others.
    fn split(&self, names: &[Name]) -> (Vec<Name>, Vec<Name>) {
        { names.iter().cloned() }.partition(|name| self.clients().contains(name))
    }

    /// Suspends the machines of these hosts, with their monotonic clocks; arriving data waits.
    pub(crate) fn suspend(&mut self, names: &[Name]) -> Result<(), ConfirmError> {
        names.iter().for_each(|name| self.proxy.suspend(name));
        self.pause(names);
        self.plan.clocks.freeze(names).map_err(ConfirmError::Folder)
    }

    /// Ends a [`Testbed::suspend`].
    pub(crate) fn wake(&mut self, names: &[Name]) -> Result<(), ConfirmError> {
        let thawed = self.plan.clocks.thaw(names);
        self.resume(names);
        names.iter().for_each(|name| self.proxy.wake(name));
        thawed.map_err(ConfirmError::Folder)
    }
}
