//! The sentinels of a simulated run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::sentinel::{
    Address, Monitor, SavedMaster, SentinelConfig, SentinelFile, Uptime,
};
use locklab_services::serve::sentinel::{Surroundings, sentinel};
use locklab_values::random::Stream;
use locklab_world::World;

use super::injector::Faults;
use super::recorder::Recorder;
use crate::simulated_env::PORT;
use locklab_env::redis::MASTER;
use locklab_history::Role;
use locklab_history::{Event, Name, Point};
use locklab_model::scenario::Scenario;

/// The names of the sentinels.
pub(super) fn names(scenario: &Scenario) -> Rc<[Name]> {
    let servers = scenario.topology.servers().into_iter();
    servers
        .filter(|server| server.role == Role::Sentinel)
        .map(|server| server.name.into())
        .collect()
}

/// Starts a sentinel that has been running for long: it knows the replicas and the other
/// sentinels. Its events are recorded as points that it reached: `+switch-master`.
pub(super) fn start(
    scenario: &Scenario,
    name: &Name,
    recorder: &Rc<Recorder>,
    faults: &Rc<Faults>,
    world: &mut World,
) {
    let host = world.host(recorder.id(name));
    let around = Rc::new(Surroundings {
        file: RefCell::new(file(scenario, name, host.seed())),
        resolve: {
            let recorder = recorder.clone();
            Box::new(move |name| recorder.directory.get(name).copied())
        },
        log: {
            let (recorder, faults, name) = (recorder.clone(), faults.clone(), name.clone());
            Box::new(move |notice| {
                faults.notice(&name, notice.channel, &host);
                let point = Point::Notice(notice.channel.into());
                recorder.record(&host, &name, Event::Reached { point });
            })
        },
    });
    let (name, recorder) = (name.clone(), recorder.clone());
    let uptime = Cell::new(Uptime::Long);
    world.start(recorder.id(&name), move |host| {
        let mut stream = recorder.starts(&name, &host);
        let config = SentinelConfig {
            announce: address(&name),
            monitor: Vec::new(),
            file: Some(around.file.borrow().clone()),
            uptime: uptime.replace(Uptime::Zero),
            random: Box::new(move |n| stream.below(n)),
        };
        sentinel(host, config, around.clone())
    });
}

/// What the sentinel `me` has in its configuration file when the run begins.
fn file(scenario: &Scenario, me: &str, seed: u64) -> SentinelFile {
    let run_id = |name: &str| {
        let mut random = Stream::new(seed, &format!("sentinels/{name}"));
        let words: [u64; 3] = std::array::from_fn(|_| random.below(u64::MAX));
        format!("{:016x}{:016x}{:08x}", words[0], words[1], words[2] >> 32)
    };
    let servers = scenario.topology.servers();
    let named = |is: fn(&Role) -> bool| {
        let names = servers.iter().filter(move |server| is(&server.role));
        names.map(|server| server.name.as_str())
    };
    let replicas = named(|role| matches!(role, Role::Replica { .. }));
    let others = named(|role| *role == Role::Sentinel).filter(|name| *name != me);
    SentinelFile {
        run_id: run_id(me),
        epoch: 0,
        masters: vec![SavedMaster {
            monitor: monitor(scenario),
            config_epoch: 0,
            vote_epoch: 0,
            replicas: replicas.map(address).collect(),
            peers: others.map(|name| (run_id(name), address(name))).collect(),
        }],
    }
}

fn address(name: &str) -> Address {
    Address {
        host: name.to_owned(),
        port: PORT,
    }
}

fn monitor(scenario: &Scenario) -> Monitor {
    let options = &scenario.sentinel;
    let majority = scenario.topology.sentinels / 2 + 1;
    // A scenario with sentinels has one node.
    let mut servers = scenario.topology.servers().into_iter();
    let node = servers.find(|server| server.role == Role::Node);
    let address = address(&node.expect("a scenario has a node").name);
    Monitor {
        down_after: Duration::from_millis(options.down_after_ms),
        failover_timeout: Duration::from_millis(options.failover_timeout_ms),
        parallel_syncs: options.parallel_syncs as usize,
        ..Monitor::new(MASTER, address, options.quorum.unwrap_or(majority) as usize)
    }
}
