//! The proxy's model and the simulator, side by side: the same schedule of faults and segments has
//! to give the same times of arrival, and the same resets.
//!
//! Both draw latency and loss from the stream `network` of their seed, so the times are equal to
//! the nanosecond.

use std::cell::RefCell;
use std::rc::Rc;

use locklab_link::LinkEffect::{self, Cut, Lossy, Slow};
use locklab_link::{LinkRule, RuleId};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;
use locklab_vecmap::VecMap;
use locklab_world::{Config, Host, HostConfig, TaskOrder, TcpStream, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::fixture::{Fixture, MS, S, Seen, Ways};
use crate::model::end::Side::{self, Connector, Server};

/// When a run is compared: after the longest wait for a retransmission.
const END_NS: u64 = 2_000 * S;

/// Something that happens to the connection between `c1`, which opens it at 0 ms, and `n1`, or to
/// these hosts or their links.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The process at this end writes a segment.
    Write(Side),
    /// A fault begins on the links from the host at this end.
    Install(usize, Side, Ways, LinkEffect),
    /// The fault with this number ends.
    Lift(usize),
    CutPower(Side),
    RestorePower(Side),
    Suspend(Side),
    Wake(Side),
}

use Step::{CutPower, Install, Lift, RestorePower, Suspend, Wake, Write};

/// A run: the latency, the seed, and what happens when, in milliseconds.
struct Plan<'a> {
    latency: Dist,
    seed: u64,
    steps: &'a [(u64, Step)],
}

/// The observations of a run.
#[derive(Debug, PartialEq, Default)]
struct Outcome {
    /// Each segment with data: sender, number, when it left, when it arrived.
    segments: Vec<(Side, String, u64, Option<u64>)>,
    /// Resets that processes saw.
    resets: Vec<(u64, Side)>,
}

fn other(side: Side) -> Side {
    match side {
        Connector => Server,
        Server => Connector,
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Connector => "c1",
        Server => "n1",
    }
}

fn in_the_proxy(plan: &Plan) -> Outcome {
    let mut fixture = Fixture::seeded(plan.latency.clone(), 0.0, plan.seed);
    let id = fixture.open();
    let mut rules: VecMap<usize, RuleId> = VecMap::new();
    for (number, (at_ms, step)) in plan.steps.iter().enumerate() {
        fixture.run_until(at_ms * MS);
        match *step {
            Write(Connector) => fixture.on_write(id.connector(), &number.to_string()),
            Write(Server) => fixture.on_write(id.server(), &number.to_string()),
            Install(fault, side, ways, effect) => {
                let id = fixture.install(name(side), name(other(side)), ways, effect);
                rules.insert(fault, id);
            }
            Lift(fault) => fixture.network.lift(rules[&fault]),
            CutPower(side) => {
                fixture.act(|network, now| network.cut_power(&name(side).into(), now))
            }
            RestorePower(side) => {
                fixture.act(|network, _| network.restore_power(&name(side).into()))
            }
            Suspend(side) => fixture.act(|network, now| network.suspend(&name(side).into(), now)),
            Wake(side) => fixture.act(|network, now| network.wake(&name(side).into(), now)),
        }
    }
    fixture.run_until(END_NS);
    let resets = fixture.seen.iter().filter_map(|(at_ns, seen)| match seen {
        Seen::Reset(side) => Some((*at_ns, *side)),
        _ => None,
    });
    let resets = resets.collect();
    let messages = fixture.network.take_messages().into_iter();
    let segments = messages.map(|message| {
        let from = if &*message.from == "c1" {
            Connector
        } else {
            Server
        };
        let text = String::from_utf8(message.payload.to_vec()).expect("a number");
        (from, text, message.sent_ns, message.arrived_ns)
    });
    Outcome {
        segments: segments.collect(),
        resets,
    }
}

/// The data that a process of the simulator has to write.
type Orders = Rc<RefCell<Option<UnboundedReceiver<String>>>>;

type Resets = Rc<RefCell<Vec<(u64, Side)>>>;

fn orders() -> (UnboundedSender<String>, Orders) {
    let (sender, receiver) = unbounded_channel();
    (sender, Rc::new(RefCell::new(Some(receiver))))
}

fn in_the_world(plan: &Plan) -> Outcome {
    let config = Config {
        seed: plan.seed,
        latency: plan.latency.clone(),
        order: TaskOrder::FirstInFirstOut,
        keep_messages: true,
        ..Config::default()
    };
    let mut world = World::new(config, &[HostConfig::default(); 2]);
    let [server, connector] = world.hosts()[..] else {
        unreachable!("it has two hosts")
    };
    let id = move |side| if side == Server { server } else { connector };
    let resets = Resets::default();
    let (to_server, of_server) = orders();
    let (to_connector, of_connector) = orders();
    let seen = resets.clone();
    world.start(server, move |host| {
        let (orders, seen) = (of_server.clone(), seen.clone());
        async move {
            let listener = host.listen(7).await.expect("the port is free");
            let Ok((stream, _)) = listener.accept().await else {
                return;
            };
            talk(host, stream, Server, orders, seen).await;
        }
    });
    let seen = resets.clone();
    world.start(connector, move |host| {
        let (orders, seen) = (of_connector.clone(), seen.clone());
        async move {
            match host.connect(server, 7).await {
                Ok(stream) => talk(host, stream, Connector, orders, seen).await,
                Err(_) => seen.borrow_mut().push((host.now_ns(), Connector)),
            }
        }
    });
    let rules: Rc<RefCell<VecMap<usize, RuleId>>> = Rc::default();
    for (number, (at_ms, step)) in plan.steps.iter().enumerate() {
        let (step, rules) = (*step, rules.clone());
        let (to_server, to_connector) = (to_server.clone(), to_connector.clone());
        world.at(at_ms * MS, move |world| match step {
            // A process that has died reads no orders.
            Write(Connector) => drop(to_connector.send(number.to_string())),
            Write(Server) => drop(to_server.send(number.to_string())),
            Install(fault, side, ways, effect) => {
                let rule = LinkRule {
                    from: vec![id(side)],
                    to: vec![id(other(side))],
                    both_ways: ways == Ways::Both,
                    effect,
                };
                rules.borrow_mut().insert(fault, world.install(rule));
            }
            Lift(fault) => world.lift(rules.borrow()[&fault]),
            CutPower(side) => world.crash(id(side)),
            RestorePower(side) => world.restart(id(side)),
            Suspend(side) => world.suspend(id(side)),
            Wake(side) => world.wake(id(side)),
        });
    }
    world.run(END_NS);
    let messages = world.take_messages().into_iter();
    let segments = messages.map(|message| {
        let from = if message.from == server {
            Server
        } else {
            Connector
        };
        let text = String::from_utf8(message.payload.to_vec()).expect("a number");
        (from, text, message.sent_ns, message.arrived_ns)
    });
    Outcome {
        segments: segments.collect(),
        resets: resets.take(),
    }
}

/// Writes the data of its orders, and reads until the connection ends.
async fn talk(host: Host, stream: TcpStream, side: Side, orders: Orders, resets: Resets) {
    let Some(mut orders) = orders.borrow_mut().take() else {
        return;
    };
    let (mut reader, mut writer) = tokio::io::split(stream);
    host.spawn(async move {
        while let Some(text) = orders.recv().await {
            if writer.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = [0; 64];
    loop {
        match reader.read(&mut buffer).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => return resets.borrow_mut().push((host.now_ns(), side)),
        }
    }
}

/// Compares both for a latency of 5 ms.
#[track_caller]
fn check(steps: &[(u64, Step)]) -> Outcome {
    check_plan(&Plan {
        latency: Dist::Constant(5.0),
        seed: 1,
        steps,
    })
}

#[track_caller]
fn check_plan(plan: &Plan) -> Outcome {
    let (proxy, world) = (in_the_proxy(plan), in_the_world(plan));
    assert_eq!(
        proxy, world,
        "proxy and world, seed {}, {:?}",
        plan.seed, plan.steps
    );
    proxy
}

/// When the segments arrived, in milliseconds.
fn arrivals_ms(outcome: &Outcome) -> Vec<Option<u64>> {
    let segments = outcome.segments.iter();
    segments
        .map(|segment| segment.3.map(|at_ns| at_ns / MS))
        .collect()
}

/// Forty segments and eight faults of links, some at the same time. Writes fall into even
/// milliseconds and faults into odd ones, since what happens at one instant has no order.
fn drawn(seed: u64) -> Vec<(u64, Step)> {
    let mut stream = Stream::new(seed, "plan");
    let mut steps = Vec::new();
    for number in 0..40 {
        let side = if stream.chance(0.5) {
            Connector
        } else {
            Server
        };
        steps.push((100 + 100 * number + 2 * stream.below(50), Write(side)));
    }
    for fault in 0..8 {
        let side = if stream.chance(0.5) {
            Connector
        } else {
            Server
        };
        let ways = if stream.chance(0.5) {
            Ways::One
        } else {
            Ways::Both
        };
        let effect = match stream.below(3) {
            0 => Cut,
            1 => Lossy {
                probability: stream.uniform_f64(),
            },
            _ => Slow {
                extra_ns: stream.below(50 * MS),
            },
        };
        let from_ms = 101 + 2 * stream.below(1_500);
        steps.push((from_ms, Install(fault, side, ways, effect)));
        steps.push((from_ms + 2 + 2 * stream.below(700), Lift(fault)));
    }
    steps.sort_by_key(|(at_ms, _)| *at_ms);
    steps
}

#[test]
fn segments_arrive_at_the_same_times_whatever_the_links_do() {
    let mut sent_again = 0;
    for seed in 0..200 {
        let outcome = check_plan(&Plan {
            latency: Dist::Uniform(1.0, 5.0),
            seed,
            steps: &drawn(seed),
        });
        assert_eq!(outcome.segments.len(), 40);
        for (.., sent_ns, arrived_ns) in outcome.segments {
            let arrived_ns = arrived_ns.expect("every fault ends");
            // Eight faults make a segment slower by at most 400 ms.
            sent_again += u32::from(arrived_ns - sent_ns > 410 * MS);
        }
    }
    // Otherwise the test would compare little but latencies.
    assert!(sent_again > 500, "{sent_again}");
}

#[test]
fn handshake_continues_at_the_same_time() {
    for (side, ways) in [
        (Connector, Ways::One),
        (Server, Ways::One),
        (Server, Ways::Both),
    ] {
        check(&[
            (0, Install(0, side, ways, Cut)),
            (4_321, Lift(0)),
            (20_000, Write(Connector)),
            (20_001, Write(Server)),
        ]);
    }
}

#[test]
fn a_sender_gives_up_at_the_same_time() {
    let outcome = check(&[
        (99, Install(0, Server, Ways::One, Cut)),
        (100, Write(Server)),
        (101, Write(Server)),
    ]);
    assert_eq!(outcome.resets, [(924_900 * MS, Server)]);
}

/// The second segment left later and was lost immediately; the first was in transit when the power
/// failed. Both arrive at a host that does not have their connection.
#[test]
fn segments_under_way_to_a_host_that_loses_power_are_sent_again_in_order() {
    let outcome = check(&[
        (100, Write(Connector)),
        (102, CutPower(Server)),
        (103, Write(Connector)),
        (150, RestorePower(Server)),
    ]);
    assert_eq!(arrivals_ms(&outcome), [Some(308), Some(308)]);
    assert_eq!(outcome.resets, [(313 * MS, Connector)]);
}

#[test]
fn suspension_stops_timers_in_proxy_and_simulator() {
    let outcome = check(&[
        (99, Install(0, Server, Ways::One, Cut)),
        (100, Write(Server)),
        (101, Lift(0)),
        (250, Suspend(Server)),
        (260, Suspend(Server)),
        (700, Wake(Server)),
        (1_000, Wake(Server)),
        (3_000, Write(Server)),
        (3_100, Write(Connector)),
    ]);
    // 50 of the 200 ms are left when it wakes.
    assert_eq!(arrivals_ms(&outcome), [1_055, 3_005, 3_105].map(Some));
}

#[test]
fn a_sender_that_stood_still_does_not_lose_patience_sooner() {
    let outcome = check(&[
        (99, Install(0, Server, Ways::One, Cut)),
        (100, Write(Server)),
        (250, Suspend(Server)),
        (500_250, Wake(Server)),
    ]);
    assert_eq!(outcome.resets, [(1_424_900 * MS, Server)]);
}

/// Nothing has acknowledged what waited in its network card.
#[test]
fn segments_that_a_suspended_host_loses_with_its_power_are_sent_again() {
    let outcome = check(&[
        (100, Suspend(Server)),
        (110, Write(Connector)),
        (120, Write(Connector)),
        (200, CutPower(Server)),
        (210, Wake(Server)),
        (300, RestorePower(Server)),
    ]);
    assert_eq!(arrivals_ms(&outcome), [405, 405].map(Some));
    assert_eq!(outcome.resets, [(410 * MS, Connector)]);
}

#[test]
fn host_without_power_retransmits_nothing() {
    let outcome = check(&[
        (100, Write(Connector)),
        (102, CutPower(Connector)),
        (103, CutPower(Server)),
        (150, RestorePower(Server)),
    ]);
    assert_eq!(arrivals_ms(&outcome), [None]);
}
