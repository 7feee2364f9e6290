//! One run in the simulator.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::num::{NonZeroU32, NonZeroU64};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::{EvictionPolicy, NodeConfig, Parameters};
use locklab_services::disk::{Disk, FLUSHER_PERIOD_NS};
use locklab_services::serve::{self, Setup};
use locklab_values::random::{Rng, Stream};
use locklab_values::units::{NS_PER_S, ns_from_fractional_ms, ns_from_ms};
use locklab_world::clock::EPOCH_NS;
use locklab_world::{Config, Ending, Host, HostConfig, Renewal, SentMessage, TaskOrder, World};

use super::injector::Faults;
use super::key_watcher::KeyWatcher;
use super::observer::WorldObserver;
use super::recorder::Recorder;
use super::run::Run;
use super::sentinels;
use super::steps::Steps;
use super::{RunError, baselines, label};
use crate::simulated_env::{Directory, PORT, SimulatedEnv};
use crate::workload::adds::{Adder, FinalRead};
use crate::workload::client::LabClient;
use crate::workload::other_writes;
use crate::workload::resource::{self, Register};
use locklab_env::observe::Observer;
use locklab_env::redis::MASTER;
use locklab_history::{Contents, Event, History, Message, Name, RESOURCE, Role, Schedule, Server};
use locklab_locks::{Locker, Servers};
use locklab_model::scenario::{NodeClock, Scenario};
use locklab_model::workload::WorkloadKind;

/// The data to keep of a run besides its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    /// Every message, for the space-time diagram.
    pub messages: bool,
    /// Every event of the simulator, to find where two runs diverge.
    pub trace: bool,
    /// The bytes of the messages, and what the nodes hold, for the viewer.
    pub contents: bool,
    /// The steps, at which faults can be placed.
    pub steps: bool,
}

impl Keep {
    /// Every message.
    pub const MESSAGES: Keep = Keep {
        messages: true,
        trace: false,
        contents: false,
        steps: false,
    };
    /// Every message and every event.
    pub const EVERYTHING: Keep = Keep {
        messages: true,
        trace: true,
        contents: false,
        steps: false,
    };
    /// Every message with its bytes, and what the nodes hold.
    pub const CONTENTS: Keep = Keep {
        messages: true,
        trace: false,
        contents: true,
        steps: false,
    };
    /// What the nodes hold, and who sends them requests, without the messages.
    pub const HELD: Keep = Keep {
        messages: false,
        trace: false,
        contents: true,
        steps: false,
    };
    /// Every step.
    pub const STEPS: Keep = Keep {
        messages: false,
        trace: false,
        contents: false,
        steps: true,
    };
}

/// Runs `scenario` with this seed and schedule. A pure function of its arguments.
///
/// # Errors
///
/// If the scenario cannot be run to the end.
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    schedule: &Schedule,
    keep: Keep,
) -> Result<Run, RunError> {
    simulate_renewed(scenario, seed, &[], schedule, keep)
}

/// The same, but all that is drawn during the run is drawn anew from some times on.
///
/// # Errors
///
/// If the scenario cannot be run to the end.
pub fn simulate_renewed(
    scenario: &Scenario,
    seed: u64,
    renewals: &[Renewal],
    schedule: &Schedule,
    keep: Keep,
) -> Result<Run, RunError> {
    let run = simulate_until_full(scenario, seed, renewals, schedule, keep)?;
    match run.full_ns {
        Some(at_ns) => Err(RunError::TooManyRecords { at_ns }),
        None => Ok(run),
    }
}

/// The same, but a run with more records than a history can hold ends there, and is no error.
///
/// # Errors
///
/// If the scenario cannot be run, or so many messages are to be kept that they are too many.
pub fn simulate_until_full(
    scenario: &Scenario,
    seed: u64,
    renewals: &[Renewal],
    schedule: &Schedule,
    keep: Keep,
) -> Result<Run, RunError> {
    let names: Vec<Name> = scenario
        .topology
        .hosts()
        .into_iter()
        .map(Name::from)
        .collect();
    let config = Config {
        seed,
        renewals: renewals.to_vec(),
        latency: scenario.network.latency_ms.clone(),
        loss: scenario.network.loss,
        // A run begins at a random point within a second of the wall clock.
        epoch_ns: EPOCH_NS + Stream::new(seed, "epoch").below(NS_PER_S),
        order: TaskOrder::Shuffled,
        keep_messages: keep.messages,
        keep_trace: keep.trace,
    };
    let mut world = World::new(config, &clocks(scenario, &names));
    let directory = Directory::new(names.iter().cloned().zip(world.hosts()).collect());
    let (clients, others) = names.split_at(scenario.topology.clients as usize);
    let nodes = &others[..scenario.topology.nodes as usize];
    let recorder = Recorder::new(directory, &scenario.topology, clients);
    let steps = Steps::new(&names, &scenario.topology, schedule, keep.steps);
    let faults = Faults::new(recorder.clone(), schedule.clone(), steps);
    let watcher: Option<Rc<KeyWatcher>> = keep.contents.then(Rc::default);
    for server in scenario.topology.servers() {
        let name: Name = server.name.clone().into();
        match (&server.role, scenario.lock.servers()) {
            (Role::Sentinel, _) => {
                sentinels::start(scenario, &name, &recorder, &faults, &mut world);
            }
            (_, Servers::Redis) => {
                let watchers = Watchers {
                    keys: watcher.as_ref(),
                    faults: &faults,
                };
                start_node(scenario, server, &recorder, &watchers, &mut world)?;
            }
            (_, Servers::Database) => {
                let commit = scenario.node.commit;
                baselines::start_database(commit, &name, &recorder, &faults, &mut world);
            }
            (_, Servers::Consensus) => {
                baselines::start_member(&name, nodes, &recorder, &faults, &mut world);
            }
        }
    }
    start_resource(scenario, &recorder, &faults, &mut world);
    for client in clients {
        start_client(scenario, client, nodes, &recorder, &faults, &mut world);
    }
    faults.start(&mut world);
    let ending = world.run(ns_from_ms(scenario.horizon_ms));
    let at_ns = world.now_ns();
    let is_full = recorder.is_full();
    match ending {
        _ if is_full => recorder.lift_limit(),
        Ending::Stalled => return Err(RunError::StandsStill { at_ns }),
        Ending::MessagesFull => return Err(RunError::TooManyMessages { at_ns }),
        Ending::Stopped | Ending::Idle | Ending::Horizon => {}
    }
    faults.finish(&mut world);
    for client in clients {
        recorder.record(&world.host(recorder.id(client)), client, Event::RunEnds);
    }
    let (trace_hash, _) = world.fingerprint();
    let sent = world.take_messages();
    let contents = watcher.map(|watcher| Contents {
        payloads: sent
            .iter()
            .map(|message| message.payload.to_vec())
            .collect(),
        snapshots: watcher.finish(|name| world.host(recorder.id(name))),
        visits: watcher.visits(),
        unknown: None,
    });
    let history = History {
        records: recorder.records.take(),
        messages: sent.into_iter().map(|m| message(m, &names)).collect(),
        end_ns: world.now_ns(),
    };
    Ok(Run {
        history,
        trace_hash,
        trace: world.take_trace(),
        contents,
        full_ns: is_full.then_some(at_ns),
        steps: faults.steps(Steps::take_log).flatten(),
        ..Run::default()
    })
}

fn clocks(scenario: &Scenario, names: &[Name]) -> Vec<HostConfig> {
    let clock_of = |name: &Name| match scenario.clocks.host.get(name.as_ref()) {
        Some(clock) => HostConfig {
            offset_ns: ns_from_fractional_ms(clock.offset_ms) as i64,
            drift_ppm: clock.drift_ppm,
        },
        None => HostConfig::default(),
    };
    names.iter().map(clock_of).collect()
}

/// What looks at a node.
struct Watchers<'a> {
    keys: Option<&'a Rc<KeyWatcher>>,
    faults: &'a Rc<Faults>,
}

fn start_node(
    scenario: &Scenario,
    server: Server,
    recorder: &Rc<Recorder>,
    watchers: &Watchers<'_>,
    world: &mut World,
) -> Result<(), RunError> {
    let Server { name, role } = server;
    let name: Name = name.into();
    let spec = &scenario.node;
    let mut parameters = Parameters::default().persistence(&spec.persistence.into());
    if let Some(most) = spec.maxclients {
        let most = NonZeroU32::new(most).ok_or_else(|| RunError::Node {
            host: name.to_string(),
            what: "maxclients 0: it has to take a client".to_owned(),
        })?;
        parameters = parameters.max_clients(most);
    }
    if let Some(bytes) = spec.maxmemory.and_then(NonZeroU64::new) {
        let policy = spec.maxmemory_policy.as_deref();
        let policy = policy.and_then(EvictionPolicy::named).unwrap_or_default();
        parameters = parameters.max_memory(bytes, policy);
    }
    if scenario.topology.replicas > 0 {
        parameters = parameters
            // Otherwise the first five seconds of a run would pass without replication.
            .sync_delay(Duration::ZERO)
            .announce_host(&name)
            .min_replicas_to_write(spec.min_replicas_to_write);
        if let Role::Replica { of } = &role {
            parameters = parameters.replica_of(of, PORT);
        }
    }
    let (id, faults) = (recorder.id(&name), watchers.faults);
    let disk = Rc::new(RefCell::new(disk(&world.host(id), &name, faults)));
    faults.has_disk(id, disk.clone());
    let setup = Setup {
        parameters,
        hosts: match scenario.topology.replicas {
            // No node connects to another.
            0 => Rc::default(),
            _ => Rc::new(
                (recorder.directory.iter())
                    .map(|(name, id)| (name.to_string(), *id))
                    .collect(),
            ),
        },
        clock: match spec.clock {
            NodeClock::Wall => serve::Clock::Wall,
            NodeClock::Monotonic => serve::Clock::Monotonic,
        },
        restart_delay: Duration::from_millis(spec.restart_delay_ms),
        disk,
        ..Setup::default()
    };
    let others = spec.other_writes_every_ms.filter(|_| role == Role::Node);
    let bytes = spec.other_writes_bytes;
    let (watcher, clock) = (watchers.keys.cloned(), spec.clock);
    let imitated = spec.imitate.into();
    let recorder = recorder.clone();
    world.start(recorder.id(&name), move |host| {
        let mut random = recorder.starts(&name, &host);
        let config = NodeConfig {
            run_id_seed: random.next_u64(),
            imitated,
        };
        if let Some(every) = others.map(Duration::from_millis) {
            let first = Duration::from_nanos(random.below(every.as_nanos() as u64));
            let env = SimulatedEnv::new(host.clone(), recorder.directory.clone(), "other-writes");
            host.spawn(other_writes::write(env, name.clone(), every, first, bytes));
        }
        let setup = Setup {
            config,
            watch: (watcher.as_ref())
                .map(|watcher| watcher.of(&name, &host, clock, &recorder.directory)),
            ..setup.clone()
        };
        serve::run(host, setup, PORT)
    });
    Ok(())
}

/// The disk of a server. When its kernel's flusher thread wakes has nothing to do with the run.
fn disk(host: &Host, server: &Name, faults: &Rc<Faults>) -> Disk {
    let mut random = host.stream(&format!("nodes/{server}/write-back"));
    Disk::new(random.below(FLUSHER_PERIOD_NS)).telling(faults.on_sync(server, host))
}

fn start_resource(
    scenario: &Scenario,
    recorder: &Rc<Recorder>,
    faults: &Rc<Faults>,
    world: &mut World,
) {
    let name: Name = RESOURCE.into();
    let id = recorder.id(&name);
    // The resource keeps its state when its process dies.
    let register = Rc::new(RefCell::new(Register::new(scenario.resource.fencing)));
    let observer = WorldObserver::new(world.host(id), name, recorder.clone(), faults.clone());
    world.start(id, move |host| {
        let (register, observer) = (register.clone(), observer.clone());
        async move {
            let Ok(listener) = host.listen(PORT).await else {
                return;
            };
            while let Ok((stream, _)) = listener.accept().await {
                host.spawn(resource::serve(stream, register.clone(), observer.clone()));
            }
        }
    });
}

fn start_client(
    scenario: &Scenario,
    name: &Name,
    nodes: &[Name],
    recorder: &Rc<Recorder>,
    faults: &Rc<Faults>,
    world: &mut World,
) {
    let id = recorder.id(name);
    let observer = WorldObserver::new(
        world.host(id),
        name.clone(),
        recorder.clone(),
        faults.clone(),
    );
    let spec = scenario.lock.clone();
    let options = scenario.client_options();
    let timers_late = scenario.clocks.timers_late();
    let workload = scenario.workload.of(name);
    let sentinels = sentinels::names(scenario);
    let nodes = match sentinels.is_empty() {
        true => nodes.to_vec(),
        false => vec![MASTER.into()],
    };
    let (name, recorder) = (name.clone(), recorder.clone());
    let starts = Cell::new(0);
    let gate = faults.gate(id);
    world.start(id, move |host| {
        // A restarted process must not draw the same random numbers again.
        starts.set(starts.get() + 1);
        let stream = match starts.get() {
            1 => name.to_string(),
            nth => format!("{name}#{nth}"),
        };
        let env = SimulatedEnv::new(host.clone(), recorder.directory.clone(), &stream)
            .watched(observer.points())
            .with_sentinels(sentinels.clone())
            .with_client_options(options)
            .with_late_timers(timers_late);
        let random = host.stream(&format!("workload/{stream}"));
        let program: Pin<Box<dyn Future<Output = ()>>> = match workload.kind {
            WorkloadKind::Lock => {
                let client = LabClient {
                    name: name.clone(),
                    locker: Locker::new(
                        env.clone(),
                        spec.build(env.clone(), &nodes),
                        observer.clone(),
                    ),
                    env,
                    observer: observer.clone(),
                    workload: workload.clone(),
                    random,
                };
                Box::pin(client.run())
            }
            WorkloadKind::Adds => {
                let adder = Adder {
                    name: name.clone(),
                    env,
                    observer: observer.clone(),
                    master: nodes[0].clone(),
                    workload: workload.clone(),
                    random,
                    origin_ns: 0,
                };
                Box::pin(adder.run(FinalRead::of(&name)))
            }
        };
        let (name, recorder, gate) = (name.clone(), recorder.clone(), gate.clone());
        async move {
            gate.holds_up(program).await;
            recorder.finished(&name, &host);
        }
    });
}

fn message(sent: SentMessage, names: &[Name]) -> Message {
    Message {
        sent_ns: sent.sent_ns,
        arrived_ns: sent.arrived_ns,
        from: names[sent.from.index()].clone(),
        to: names[sent.to.index()].clone(),
        label: label::of(&sent.payload),
    }
}
