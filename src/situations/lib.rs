//! Situations of a run that strain its lock, by name: a lease lapsed while its holder was paused, a release
//! reached another client's key. [`met`] finds those of a run.
//!
//! A property that no run violates says little if no run could have brought the lock into trouble. Within a
//! run this is a matter of `locklab_check`: without the opportunity for a violation its verdict is
//! inconclusive. Situations are finer, and are counted over many runs: [`Property::needs`] says which ones put a
//! property to the test, and [`can_meet`] which of them a lock can meet.
//!
//! [`Property::needs`]: locklab_check::Property::needs
//!
//! A situation is judged from the history of the run and, where no history shows it, from what its servers
//! held for whom (`locklab_truth`). No verdict of a run depends on it.

mod calls;
mod can_meet;
mod faults;
mod grants;
mod holders;
mod lapse;
mod release;
mod restarts;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod tests;
mod untold;

use locklab_history::timeline::Timeline;
use locklab_history::{Contents, History, Topology, Visit};
use locklab_locks::LockSpec;
use locklab_truth::{Holdings, rule};
use locklab_vecmap::VecSet;

pub use self::can_meet::can_meet;
use self::faults::Faults;
pub use self::faults::{Period, periods};
use self::holders::Holders;
use self::lapse::lapses;
pub use self::restarts::is_switch;
pub use locklab_check::Situation;

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its history.
    pub history: &'a History,
    /// What its servers held, if that was kept.
    pub contents: Option<&'a Contents>,
    /// Its hosts.
    pub topology: &'a Topology,
    /// Its lock.
    pub lock: &'a LockSpec,
}

/// The situations that a run met.
pub fn met(subject: &Subject) -> VecSet<Situation> {
    let Subject {
        history,
        contents,
        topology,
        lock,
    } = *subject;
    let rule = rule(lock, topology).ok();
    let holdings = contents
        .zip(rule)
        .map(|(contents, rule)| Holdings::of(history, contents, topology, rule));
    let visits = contents.map_or(&[][..], |contents| &contents.visits);
    let mut met = met_by(history, holdings.as_ref(), visits, topology);
    if lock.asks_resource() {
        // The resource keeps the counter, whatever becomes of the servers.
        met.remove(&Situation::TokenAfterRestart);
    }
    if lock.facts().lease_ms.is_none() {
        // A client relies on the lock until it releases it, whatever a clock says.
        met.remove(&Situation::ClockStepped);
    }
    met
}

/// The situations of a history and of these holdings.
fn met_by(
    history: &History,
    holdings: Option<&Holdings>,
    visits: &[Visit],
    topology: &Topology,
) -> VecSet<Situation> {
    let timeline = Timeline::of(history);
    let faults = Faults::of(history);
    let holders = holdings.map(|all| Holders::of(all, topology));
    let lapses = lapses(&timeline, holders.as_ref());
    let by_servers = |is_met: &dyn Fn(&Holders) -> bool| holders.as_ref().is_some_and(is_met);
    let is_met = |situation: &Situation| match situation {
        Situation::LapsedWhileStopped => lapse::while_stopped(&lapses, &faults),
        Situation::LapsedWhileCutOff => lapse::while_cut_off(&lapses, &faults, topology),
        Situation::ClockStepped => grants::is_clock_stepped(&timeline, topology),
        Situation::HolderDied => grants::has_holder_died(&timeline),
        Situation::ForgottenGrant => {
            by_servers(&|holders| restarts::is_grant_forgotten(&timeline, holders))
        }
        Situation::FailedOver => restarts::is_failed_over(&timeline),
        Situation::TokenAfterRestart => restarts::is_token_drawn_late(&timeline, topology),
        Situation::SplitNodes => {
            by_servers(&|holders| holders.rule().need > 1 && holders.are_split())
        }
        Situation::UntoldGrant => {
            by_servers(&|holders| untold::is_grant_untold(&timeline, holders))
        }
        Situation::ForeignKeyMet => {
            by_servers(&|holders| release::is_foreign_key_met(&timeline, holders, visits))
        }
        Situation::WaiterWoke => grants::has_waiter_woken(&timeline),
    };
    Situation::ALL.into_iter().filter(is_met).collect()
}
