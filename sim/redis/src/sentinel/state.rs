//! All that a sentinel knows.

use locklab_vecmap::VecMap;

use super::core::Core;
use super::master::{InstanceId, Master};
use super::monitor::Monitor;

/// The state of a sentinel, without what only concerns its driver.
pub(super) struct State {
    pub(super) core: Core,
    /// The monitored masters, by name.
    pub(super) masters: VecMap<String, Master>,
}

impl State {
    /// Starts to monitor a master (`SENTINEL MONITOR`).
    pub(super) fn monitor(&mut self, settings: Monitor) {
        let (name, quorum) = (settings.name.clone(), settings.quorum);
        let master = Master::new(settings, self.core.now_ms);
        self.core.unsaved = true;
        let what = master.describe(&InstanceId::Master);
        self.core
            .event("+monitor", format!("{what} quorum {quorum}"));
        self.masters.insert(name, master);
    }
}
