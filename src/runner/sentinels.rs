//! The sentinels of a simulated run.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::sentinel::{Address, Monitor, SentinelConfig, Uptime};
use locklab_services::serve::sentinel::{Surroundings, sentinel};
use locklab_world::World;

use super::recorder::Recorder;
use crate::simulated_env::PORT;
use locklab_env::redis::MASTER;
use locklab_history::Role;
use locklab_history::{Event, Name, Point};
use locklab_model::scenario::Scenario;

/// A sentinel asks a master for its replicas when it starts, and then every ten seconds. So it
/// starts after the replicas have connected.
pub(super) const START_AFTER: Duration = Duration::from_secs(1);

/// The names of the sentinels.
pub(super) fn names(scenario: &Scenario) -> Rc<[Name]> {
    let servers = scenario.topology.servers().into_iter();
    servers
        .filter(|server| server.role == Role::Sentinel)
        .map(|server| server.name.into())
        .collect()
}

/// Starts a sentinel. Its events are recorded as points that it reached: `+switch-master`.
pub(super) fn start(scenario: &Scenario, name: &Name, recorder: &Rc<Recorder>, world: &mut World) {
    let monitor = monitor(scenario);
    let host = world.host(recorder.id(name));
    let around = Rc::new(Surroundings {
        file: RefCell::default(),
        resolve: {
            let recorder = recorder.clone();
            Box::new(move |name| recorder.directory.get(name).copied())
        },
        log: {
            let (recorder, name) = (recorder.clone(), name.clone());
            Box::new(move |notice| {
                let point = Point::Notice(notice.channel.into());
                recorder.record(&host, &name, Event::Reached { point });
            })
        },
    });
    let (name, recorder) = (name.clone(), recorder.clone());
    world.start(recorder.id(&name), move |host| {
        let mut stream = recorder.starts(&name, &host);
        let config = SentinelConfig {
            announce: Address {
                host: name.to_string(),
                port: PORT,
            },
            monitor: vec![monitor.clone()],
            file: None,
            uptime: match around.file.borrow().is_some() {
                true => Uptime::Zero,
                false => Uptime::Long,
            },
            random: Box::new(move |n| stream.below(n)),
        };
        let around = around.clone();
        async move {
            host.sleep(START_AFTER).await;
            sentinel(host, config, around).await;
        }
    });
}

fn monitor(scenario: &Scenario) -> Monitor {
    let options = &scenario.sentinel;
    let majority = scenario.topology.sentinels / 2 + 1;
    // A scenario with sentinels has one node.
    let mut servers = scenario.topology.servers().into_iter();
    let node = servers.find(|server| server.role == Role::Node);
    let address = Address {
        host: node.expect("a scenario has a node").name,
        port: PORT,
    };
    Monitor {
        down_after: Duration::from_millis(options.down_after_ms),
        failover_timeout: Duration::from_millis(options.failover_timeout_ms),
        parallel_syncs: options.parallel_syncs as usize,
        ..Monitor::new(MASTER, address, options.quorum.unwrap_or(majority) as usize)
    }
}
