//! The clocks of the hosts of a real run: those that may be wrong are read from a file, by our own
//! processes directly and by Redis through a preloaded library.

use std::io;
use std::path::{Path, PathBuf};

use locklab_shim::{ClockFile, ClockReader, ClockRecord, Readings};
use locklab_values::units::ns_from_fractional_ms;
use locklab_vecmap::{VecMap, VecSet};

use super::foreign::records::HostReadings;
use crate::real_env::Clocks;
use locklab_history::{Name, Schedule};
use locklab_model::scenario::Scenario;
use locklab_runner::nemesis::rates::Rates;

impl HostReadings for HostClocks {
    fn at(&self, host: &Name, mono_ns: u64) -> Readings {
        HostClocks::at(self, host, mono_ns)
    }

    fn may_be_wrong(&self, host: &Name) -> bool {
        self.0.contains_key(host)
    }
}

/// The clocks of a run's hosts that are not, or not always, those of the machine.
pub(super) struct HostClocks(VecMap<Name, HostClock>);

struct HostClock {
    path: PathBuf,
    file: ClockFile,
    /// Its records, each from its base on.
    past: Vec<ClockRecord>,
    /// As the testbed reads them.
    clocks: Clocks,
    rates: Rates,
    /// The stalls in force.
    stalls: u32,
    /// The faults that fill the disk.
    fills: u32,
}

impl HostClocks {
    /// Clocks with the errors that the scenario gives them, in files of `folder`. All others are
    /// exact, and no fault of `schedule` changes that.
    pub(super) fn new(scenario: &Scenario, schedule: &Schedule, folder: &Path) -> io::Result<Self> {
        let wrong = scenario.clocks.host.keys().map(|host| Name::from(&**host));
        let struck = (schedule.faults.iter()).filter(|fault| fault.kind().is_preloaded());
        let struck = struck.flat_map(|fault| fault.effect.hosts().cloned());
        let hosts: VecSet<Name> = wrong.chain(struck).collect();
        let clock = |host: Name| {
            let path = folder.join(format!("{host}.clock"));
            let mut file = ClockFile::create(&path)?;
            let own = scenario.clocks.host.get(&*host);
            let own = own.cloned().unwrap_or_default();
            file.step_wall(ns_from_fractional_ms(own.offset_ms) as i64)?;
            file.set_drift_ppm(own.drift_ppm)?;
            let clock = HostClock {
                clocks: Clocks::set_by(ClockReader::open(&path)?),
                path,
                past: vec![file.record()],
                file,
                rates: Rates::new(own.drift_ppm),
                stalls: 0,
                fills: 0,
            };
            Ok((host, clock))
        };
        hosts
            .into_iter()
            .map(clock)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// The file that sets the clocks of a host; `None` if they are exact.
    pub(super) fn file(&self, host: &Name) -> Option<PathBuf> {
        self.0.get(host).map(|clock| clock.path.clone())
    }

    /// The clocks of a host, as the testbed reads them.
    pub(super) fn of(&self, host: &Name) -> Clocks {
        let clock = self.0.get(host);
        clock.map_or_else(Clocks::default, |clock| clock.clocks.clone())
    }

    /// What the clocks of a host showed when the machine's monotonic clock showed this.
    pub(super) fn at(&self, host: &Name, mono_ns: u64) -> Readings {
        let now = Readings::of_machine();
        let right = Readings {
            wall_ns: (now.wall_ns + mono_ns).saturating_sub(now.mono_ns),
            mono_ns,
        };
        let past = self.0.get(host).map_or(&[][..], |clock| &clock.past);
        let mut until = past.iter().rev();
        let record = until.find(|record| record.base_mono_ns <= right.mono_ns);
        record.map_or(right, |record| record.readings(right))
    }

    /// Sets the wall clocks of these hosts forward, by nanoseconds.
    pub(super) fn step(&mut self, hosts: &[Name], by_ns: i64) -> io::Result<()> {
        self.change(hosts, |clock| clock.file.step_wall(by_ns))
    }

    /// Begins a fault of the schedule that gives the clocks of these hosts this rate error.
    pub(super) fn begin_rate(
        &mut self,
        hosts: &[Name],
        fault: usize,
        drift_ppm: i64,
    ) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.rates.begin(fault, drift_ppm);
            clock.file.set_drift_ppm(clock.rates.now_ppm()).map(|_| ())
        })
    }

    /// Ends such a fault.
    pub(super) fn end_rate(&mut self, hosts: &[Name], fault: usize) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.rates.end(fault);
            clock.file.set_drift_ppm(clock.rates.now_ppm()).map(|_| ())
        })
    }

    /// Stops the monotonic clocks of these hosts.
    pub(super) fn freeze(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| clock.file.freeze())
    }

    /// Resumes them.
    pub(super) fn thaw(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| clock.file.thaw())
    }

    /// Begins a stall of one thread on each of these hosts.
    pub(super) fn begin_stall(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.stalls += 1;
            match clock.stalls {
                1 => clock.file.turn_stall(),
                _ => Ok(()),
            }
        })
    }

    /// Ends such a stall.
    pub(super) fn end_stall(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.stalls = clock.stalls.saturating_sub(1);
            match clock.stalls {
                0 => clock.file.turn_stall(),
                _ => Ok(()),
            }
        })
    }

    /// Fills the disks of these hosts.
    pub(super) fn fill_disks(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.fills += 1;
            clock.file.set_disk_full(true)
        })
    }

    /// Makes room on them, unless other faults fill them too.
    pub(super) fn empty_disks(&mut self, hosts: &[Name]) -> io::Result<()> {
        self.change(hosts, |clock| {
            clock.fills = clock.fills.saturating_sub(1);
            clock.file.set_disk_full(clock.fills > 0)
        })
    }

    fn change(
        &mut self,
        hosts: &[Name],
        change: impl Fn(&mut HostClock) -> io::Result<()>,
    ) -> io::Result<()> {
        for host in hosts {
            if let Some(clock) = self.0.get_mut(host) {
                change(clock)?;
                clock.past.push(clock.file.record());
            }
        }
        Ok(())
    }
}
