//! The servers of the baselines: locks that do not use Redis.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_services::consensus::Timing;
use locklab_services::disk::Disk;
use locklab_services::serve::{consensus, database};
use locklab_world::{Host, HostId, World};

use super::injector::Faults;
use super::recorder::Recorder;
use crate::simulated_env::PORT;
use locklab_history::Name;
use locklab_model::scenario::Commit;

/// Starts a database on the host `name`.
pub(super) fn start_database(
    commit: Commit,
    name: &Name,
    recorder: &Rc<Recorder>,
    faults: &Rc<Faults>,
    world: &mut World,
) {
    let disk = disk(name, faults, &world.host(recorder.id(name)));
    let delay = match commit {
        Commit::Synchronous => None,
        Commit::Asynchronous => Some(Duration::from_millis(Commit::DELAY_MS)),
    };
    world.start(recorder.id(name), move |host| {
        database::database(host, disk.clone(), delay, PORT)
    });
}

/// Starts the member `name` of a consensus service whose members are `nodes`.
pub(super) fn start_member(
    name: &Name,
    nodes: &[Name],
    recorder: &Rc<Recorder>,
    faults: &Rc<Faults>,
    world: &mut World,
) {
    let member = |name: &Name| (name.to_string(), recorder.id(name));
    let members: Rc<[(String, HostId)]> = nodes.iter().map(member).collect();
    let disk = disk(name, faults, &world.host(recorder.id(name)));
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

/// The disk of a server, which outlives its processes.
fn disk(name: &Name, faults: &Rc<Faults>, host: &Host) -> Rc<RefCell<Disk>> {
    let disk = Disk::default().telling(faults.on_sync(name, host));
    Rc::new(RefCell::new(disk))
}
