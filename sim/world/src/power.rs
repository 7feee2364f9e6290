//! Faults: operations on a host or a link during a run.

use std::future::Future;

use super::task::Timer;
use super::{Event, Host, HostId, World, program};
use locklab_link::{LinkRule, RuleId};

impl World {
    /// Starts `main` as the process of `host`, replacing any that ran there, and remembers it
    /// for [`World::restart`].
    pub fn start<F, Fut>(&mut self, host: HostId, main: F)
    where
        F: Fn(Host) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let before = self.core.hosts.borrow_mut()[host.index()]
            .program
            .replace(program(main));
        if before.is_some() {
            self.drop_tasks(host);
            self.drop_connections(host);
        }
        self.boot(host);
    }

    /// Ends a [`World::kill`] or [`World::crash`]: the process of `host` starts again, with
    /// power restored. Overlapping outages act as one long outage. A process that starts on a
    /// paused host waits until the pause ends.
    pub fn restart(&mut self, host: HostId) {
        let recovered = {
            let outages = &mut self.core.hosts.borrow_mut()[host.index()].outages;
            let was_down = *outages > 0;
            *outages = outages.saturating_sub(1);
            was_down && *outages == 0
        };
        if recovered {
            self.drop_connections(host);
            self.boot(host);
        }
    }

    fn boot(&mut self, host: HostId) {
        self.network.set_silent(host, false);
        self.core.hosts.borrow_mut()[host.index()].outages = 0;
        let program = self.core.hosts.borrow()[host.index()].program.clone();
        if let Some(program) = program {
            self.note("start", (host.0.into(), 0));
            turmoil_net::set_current(self.net_hosts[host.index()]);
            self.core.spawn(host, program(self.host(host)));
        }
    }

    /// Whether `host` has power and its process has not been killed.
    pub fn is_up(&self, host: HostId) -> bool {
        self.core.hosts.borrow()[host.index()].outages == 0
    }

    /// Pauses the process of `host`, as SIGSTOP or a stop-the-world garbage collection does:
    /// its kernel still acknowledges and accepts, and its clocks run.
    pub fn pause(&mut self, host: HostId) {
        self.note("pause", (host.0.into(), 0));
        self.core.hosts.borrow_mut()[host.index()].pauses += 1;
    }

    /// Ends a [`World::pause`]. Overlapping pauses act as one long pause.
    pub fn resume(&mut self, host: HostId) {
        self.note("resume", (host.0.into(), 0));
        let parked = {
            let mut hosts = self.core.hosts.borrow_mut();
            let state = &mut hosts[host.index()];
            state.pauses = state.pauses.saturating_sub(1);
            if state.is_paused() {
                Vec::new()
            } else {
                std::mem::take(&mut state.parked)
            }
        };
        for task in parked {
            self.ready.push(task);
        }
    }

    /// Suspends the machine of `host`, its monotonic clock and its timers too, like a suspended
    /// virtual machine. Arriving packets wait in its network card.
    pub fn suspend(&mut self, host: HostId) {
        self.pause(host);
        let now_ns = self.now_ns();
        self.network.suspend(host, now_ns);
        let mut hosts = self.core.hosts.borrow_mut();
        let state = &mut hosts[host.index()];
        state.suspensions += 1;
        state.clocks.set_suspended(true, now_ns);
    }

    /// Ends a [`World::suspend`].
    pub fn wake(&mut self, host: HostId) {
        let now_ns = self.now_ns();
        let inbox = {
            let mut hosts = self.core.hosts.borrow_mut();
            let state = &mut hosts[host.index()];
            state.suspensions = state.suspensions.saturating_sub(1);
            let still = state.suspensions > 0;
            state.clocks.set_suspended(still, now_ns);
            if still {
                Vec::new()
            } else {
                for (route, at_ns) in self.network.wake(host, now_ns) {
                    self.core.schedule(at_ns, Event::Retry(route));
                }
                std::mem::take(&mut state.inbox)
            }
        };
        for transit in inbox {
            self.arrive(transit);
        }
        self.wake_timers(host, |timer| timer.follows_wall);
        self.resume(host);
    }

    /// Ends the process of `host`; its kernel closes its sockets. Each peer sees the end of the
    /// stream, or a reset if the process had not read all that the peer sent.
    pub fn kill(&mut self, host: HostId) {
        self.note("kill", (host.0.into(), 0));
        self.core.hosts.borrow_mut()[host.index()].outages += 1;
        self.drop_tasks(host);
    }

    /// Cuts the power of `host`: it becomes silent, then its memory is lost. After
    /// [`World::restart`] its peers' old connections are answered with resets.
    pub fn crash(&mut self, host: HostId) {
        // Packets that the process sent before the crash are already on the wire.
        self.flush_kernels();
        self.note("crash", (host.0.into(), 0));
        let now_ns = self.now_ns();
        {
            let state = &mut self.core.hosts.borrow_mut()[host.index()];
            state.outages += 1;
            state.crashed_ns = Some(now_ns);
        }
        self.network.set_silent(host, true);
        self.drop_tasks(host);
        self.drop_connections(host);
        self.network.forget(host);
        let inbox = std::mem::take(&mut self.core.hosts.borrow_mut()[host.index()].inbox);
        for transit in inbox {
            self.send_again(transit);
        }
    }

    /// Makes the kernel of `host`, which has no live process, forget the connections that its
    /// processes left behind. Otherwise they would keep its ports: turmoil-net has no
    /// `SO_REUSEADDR`, which every server sets to listen.
    fn drop_connections(&mut self, host: HostId) {
        // The packets that are still to be sent leave first.
        self.flush_kernels();
        for reset in self.network.resets_for(host) {
            self.net.deliver(reset);
        }
        self.needs_flush = true;
        self.flush_kernels();
    }

    /// Resets every connection of `host` at both ends: what is under way on them is lost, and their
    /// processes learn of it at once. New connections can be made.
    pub fn reset_connections(&mut self, host: HostId) {
        self.flush_kernels();
        self.note("reset", (host.0.into(), 0));
        for reset in self.network.resets_of(host) {
            self.net.deliver(reset);
        }
        self.needs_flush = true;
        self.flush_kernels();
    }

    /// Installs a fault on links.
    pub fn install(&mut self, rule: LinkRule<HostId>) -> RuleId {
        self.note("link fault", (rule.from.len() as u64, rule.to.len() as u64));
        self.network.install(rule)
    }

    /// Ends a fault on links.
    pub fn lift(&mut self, rule: RuleId) {
        self.note("link healed", (0, 0));
        self.network.lift(rule);
    }

    /// Steps the wall clock of `host`, backwards if negative.
    pub fn step_wall(&mut self, host: HostId, step_ns: i64) {
        self.note("clock step", (host.0.into(), step_ns as u64));
        let now_ns = self.now_ns();
        self.core.hosts.borrow_mut()[host.index()]
            .clocks
            .step_wall(step_ns, now_ns);
        self.wake_timers(host, |timer| timer.follows_wall);
    }

    /// Sets the rate error of both clocks of `host`, in parts per million; returns the previous
    /// one.
    pub fn set_drift_ppm(&mut self, host: HostId, drift_ppm: i64) -> i64 {
        self.note("clock rate", (host.0.into(), drift_ppm as u64));
        let now_ns = self.now_ns();
        let before = self.core.hosts.borrow_mut()[host.index()]
            .clocks
            .set_drift_ppm(drift_ppm, now_ns);
        self.wake_timers(host, |_| true);
        before
    }

    /// Lets timers of a host compute their virtual time anew.
    fn wake_timers(&self, host: HostId, which: impl Fn(&Timer) -> bool) {
        let timers = self.core.timers.borrow();
        for (_, timer) in timers
            .iter()
            .filter(|(_, timer)| timer.host == host && which(timer))
        {
            timer.waker.wake_by_ref();
        }
    }

    pub(super) fn drop_tasks(&mut self, host: HostId) {
        let keys: Vec<_> = {
            let tasks = self.core.tasks.borrow();
            tasks
                .iter()
                .filter(|(_, task)| task.host == host)
                .map(|(key, _)| key)
                .collect()
        };
        turmoil_net::set_current(self.net_hosts[host.index()]);
        for key in keys {
            // Removed first: the destructor of a future may access the tasks.
            let task = self.core.tasks.borrow_mut().remove(key);
            drop(task);
        }
        self.core.hosts.borrow_mut()[host.index()].parked.clear();
        self.needs_flush = true;
    }
}
