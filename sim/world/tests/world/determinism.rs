//! A run is a function of its seed and its programs, wherever and however often it is executed.

use std::thread;

use locklab_values::random::{Rng, Stream};
use locklab_world::{
    Config, Host, HostConfig, HostId, Renewal, TaskOrder, World, first_difference,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{PORT, SECOND, ms};

/// How a run may differ from another.
#[derive(Debug, Clone, Copy)]
struct Variant {
    seed: u64,
    order: TaskOrder,
    /// How many extra numbers each client draws from an unrelated stream.
    idle_draws: usize,
    /// When its streams begin anew.
    renewal: Option<Renewal>,
}

const PLAIN: Variant = Variant {
    seed: 1,
    order: TaskOrder::FirstInFirstOut,
    idle_draws: 0,
    renewal: None,
};

/// Three clients that talk to two servers for a while, at random moments, over lossy links; one
/// server is paused and one client crashes.
fn world_of(variant: Variant) -> World {
    let config = Config {
        seed: variant.seed,
        renewals: variant.renewal.into_iter().collect(),
        order: variant.order,
        loss: 0.02,
        keep_trace: true,
        ..Config::default()
    };
    let mut world = World::new(config, &[HostConfig::default(); 5]);
    let [one, other, a, b, c] = world.hosts()[..] else {
        unreachable!("five hosts were asked for")
    };
    for server in [one, other] {
        world.start(server, |host| async move {
            let listener = host.listen(PORT).await.unwrap();
            while let Ok((mut stream, _)) = listener.accept().await {
                host.spawn(async move {
                    while let Ok(number) = stream.read_u64().await {
                        if stream.write_u64(number).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }
    for client in [a, b, c] {
        world.start(client, move |host| async move {
            for task in 0..3 {
                let mut idle = host.stream("idle");
                for _ in 0..variant.idle_draws {
                    idle.next_u64();
                }
                let random = host.stream(&format!("client/{}/{task}", host.id().index()));
                host.spawn(converse(host.clone(), [one, other], random));
            }
        });
    }
    world.at(SECOND / 10, move |world| world.pause(one));
    world.at(SECOND / 5, move |world| world.resume(one));
    world.at(SECOND / 4, move |world| world.crash(c));
    world.at(SECOND / 3, move |world| world.restart(c));
    world
}

async fn converse(host: Host, servers: [HostId; 2], mut random: Stream) {
    let server = servers[random.below(2) as usize];
    let Ok(mut stream) = host.connect(server, PORT).await else {
        return;
    };
    for _ in 0..20 {
        host.sleep(ms(random.below(30))).await;
        let number = random.next_u64();
        if stream.write_u64(number).await.is_err() {
            return;
        }
        let Ok(answer) = stream.read_u64().await else {
            return;
        };
        assert_eq!(answer, number);
    }
}

fn fingerprint(variant: Variant) -> (u64, u64) {
    let mut world = world_of(variant);
    world.run(60 * SECOND);
    let fingerprint = world.fingerprint();
    assert!(fingerprint.1 > 100, "the run did something");
    fingerprint
}

#[test]
fn same_seed_repeats_the_run_in_sequence() {
    for order in [TaskOrder::FirstInFirstOut, TaskOrder::Shuffled] {
        for seed in 0..20 {
            let variant = Variant {
                seed,
                order,
                ..PLAIN
            };
            assert_eq!(fingerprint(variant), fingerprint(variant), "{variant:?}");
        }
    }
}

#[test]
fn same_seed_repeats_the_run_on_parallel_threads() {
    let here = fingerprint(PLAIN);
    let threads: Vec<_> = (0..8)
        .map(|_| thread::spawn(|| (0..5).map(|_| fingerprint(PLAIN)).collect::<Vec<_>>()))
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), [here; 5]);
    }
}

#[test]
fn another_seed_or_order_gives_another_run() {
    let shuffled = Variant {
        order: TaskOrder::Shuffled,
        ..PLAIN
    };
    let seeded = Variant { seed: 2, ..PLAIN };
    assert_ne!(fingerprint(PLAIN), fingerprint(shuffled));
    assert_ne!(fingerprint(PLAIN), fingerprint(seeded));
}

#[test]
fn extra_draws_from_one_stream_do_not_shift_others() {
    let drawing = Variant {
        idle_draws: 7,
        ..PLAIN
    };
    assert_eq!(fingerprint(PLAIN), fingerprint(drawing));
}

/// Whether a run is executed in one piece or in many makes no difference.
#[test]
fn a_run_can_be_interrupted() {
    let mut world = world_of(PLAIN);
    for second in 1..=60 {
        world.run(second * SECOND / 10);
    }
    world.run(60 * SECOND);
    let in_pieces = world.fingerprint();
    drop(world);
    assert_eq!(in_pieces, fingerprint(PLAIN));
}

/// Two runs with one past, and each with a future of its own.
#[test]
fn streams_that_begin_anew_change_only_what_comes_later() {
    const AT_NS: u64 = SECOND / 5;
    let renewed = |seed| Variant {
        renewal: Some(Renewal { at_ns: AT_NS, seed }),
        ..PLAIN
    };
    let trace = |variant| {
        let mut world = world_of(variant);
        world.run(60 * SECOND);
        world.take_trace()
    };
    let (one, other) = (trace(renewed(8)), trace(renewed(9)));
    let parting = first_difference(&one, &other).expect("they differ");
    assert!(parting > 100 && one[parting].at_ns >= AT_NS);
    assert_ne!(fingerprint(renewed(8)), fingerprint(PLAIN));
    assert_eq!(fingerprint(renewed(8)), fingerprint(renewed(8)));
}

#[test]
fn traces_show_where_two_runs_diverge() {
    let log = |fault_at_ns: u64| {
        let mut world = world_of(PLAIN);
        let host = world.hosts()[0];
        world.at(fault_at_ns, move |world| world.step_wall(host, 1));
        world.run(60 * SECOND);
        world.take_trace()
    };
    let (early, late) = (log(SECOND / 2), log(SECOND));
    assert_eq!(first_difference(&early, &early), None);
    let parting = first_difference(&early, &late).expect("they differ");
    assert_eq!(early[parting].what, "clock step");
    assert_eq!(early[parting].at_ns, SECOND / 2);
}
