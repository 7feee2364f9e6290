//! The servers of the baselines: locks that do not use Redis.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_services::consensus::Timing;
use locklab_services::disk::Disk;
use locklab_services::serve::{consensus, database};
use locklab_world::{HostId, World};

use super::recorder::Recorder;
use crate::simulated_env::PORT;
use locklab_history::Name;

/// Starts a database on the host `name`. Committed data is on its disk.
pub(super) fn start_database(name: &Name, recorder: &Rc<Recorder>, world: &mut World) {
    let disk: Rc<RefCell<Disk>> = Rc::default();
    world.start(recorder.id(name), move |host| {
        database::database(host, disk.clone(), PORT)
    });
}

/// Starts the member `name` of a consensus service whose members are `nodes`.
pub(super) fn start_member(
    name: &Name,
    nodes: &[Name],
    recorder: &Rc<Recorder>,
    world: &mut World,
) {
    let member = |name: &Name| (name.to_string(), recorder.id(name));
    let members: Rc<[(String, HostId)]> = nodes.iter().map(member).collect();
    let disk: Rc<RefCell<Disk>> = Rc::default();
    let (name, recorder) = (name.clone(), recorder.clone());
    world.start(recorder.id(&name), move |host| {
        let setup = consensus::Setup {
            name: name.to_string(),
            members: members.clone(),
            timing: Timing::default(),
            disk: disk.clone(),
            random: recorder.starts(&name, &host),
        };
        consensus::consensus(host, setup, PORT)
    });
}
