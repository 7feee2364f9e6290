//! Processes that stand still, and go on.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Testbed;
use crate::ConfirmError;
use crate::child::Child;
use crate::foreign::untranslated;
use locklab_history::Name;

impl Testbed<'_> {
    /// Stops the processes of these hosts; on return they have stopped. Returns since when they may have.
    pub(crate) fn pause(&mut self, names: &[Name]) -> u64 {
        let from_ns = self.now_ns();
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses += 1;
                host.child.iter().for_each(Child::stop);
            }
        }
        signal(&self.others(names), Signal::SIGSTOP);
        for name in names {
            if let Some(host) = self.hosts.get(name)
                && host.pauses == 1
            {
                host.child.iter().for_each(Child::await_stop);
            }
        }
        from_ns
    }

    /// Ends a [`Testbed::pause`]. Returns since when they may have gone on.
    pub(crate) fn resume(&mut self, names: &[Name]) -> u64 {
        let is_last = |name: &&Name| self.hosts.get(*name).is_some_and(|host| host.pauses <= 1);
        let going: Vec<Name> = names.iter().filter(is_last).cloned().collect();
        let others = self.others(&going);
        let from_ns = self.now_ns();
        signal(&others, Signal::SIGCONT);
        for name in names {
            if let Some(host) = self.hosts.get_mut(name) {
                host.pauses = host.pauses.saturating_sub(1);
            }
        }
        for name in &going {
            self.hosts[name].child.iter().for_each(Child::resume);
        }
        from_ns
    }

    /// The processes of foreign clients among these hosts, also those that have left their groups. It takes some
    /// milliseconds to find them.
    fn others(&self, names: &[Name]) -> Vec<Pid> {
        let foreign: Vec<&Name> = names.iter().filter(|it| self.is_foreign(it)).collect();
        match foreign.is_empty() {
            true => vec![],
            false => untranslated::processes_of(&foreign, self.plan.folder.path()),
        }
    }

    /// Stalls one thread of each of these clients. A server has one thread: it is paused.
    pub(crate) fn stall(&mut self, names: &[Name]) -> Result<u64, ConfirmError> {
        let (clients, servers) = self.split(names);
        let from_ns = self.pause(&servers);
        self.set_clocks(|clocks| clocks.begin_stall(&clients))?;
        Ok(from_ns)
    }

    /// Ends a [`Testbed::stall`].
    pub(crate) fn end_stall(&mut self, names: &[Name]) -> Result<u64, ConfirmError> {
        let (clients, servers) = self.split(names);
        let from_ns = self.resume(&servers);
        self.set_clocks(|clocks| clocks.end_stall(&clients))?;
        Ok(from_ns)
    }

    /// The clients among these hosts, and the others.
    fn split(&self, names: &[Name]) -> (Vec<Name>, Vec<Name>) {
        { names.iter().cloned() }.partition(|name| self.clients().contains(name))
    }

    /// Suspends the machines of these hosts, with their monotonic clocks; arriving data waits.
    pub(crate) fn suspend(&mut self, names: &[Name]) -> Result<u64, ConfirmError> {
        names.iter().for_each(|name| self.proxy.suspend(name));
        let from_ns = self.pause(names);
        let frozen = self.plan.clocks.freeze(names);
        frozen.map_err(ConfirmError::Folder)?;
        Ok(from_ns)
    }

    /// Ends a [`Testbed::suspend`].
    pub(crate) fn wake(&mut self, names: &[Name]) -> Result<u64, ConfirmError> {
        let thawed = self.plan.clocks.thaw(names);
        let from_ns = self.resume(names);
        names.iter().for_each(|name| self.proxy.wake(name));
        thawed.map_err(ConfirmError::Folder)?;
        Ok(from_ns)
    }
}

fn signal(processes: &[Pid], signal: Signal) {
    for process in processes {
        // An error means that it has ended.
        let _ = kill(*process, signal);
    }
}
