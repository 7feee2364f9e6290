//! Effects of links on messages: delay, order, loss, partitions, and when TCP gives up.

use locklab_link::{LinkEffect, LinkRule};
use locklab_values::dist::Dist;
use locklab_world::{Config, Ending, Host, HostId, SentMessage, TcpStream, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{Diary, MS, PORT, SECOND, config, ms, outcome, world, world_with};

/// Reads numbered messages until the stream ends, and records each.
async fn note_numbers(host: Host, diary: Diary) {
    let listener = host.listen(PORT).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    loop {
        match stream.read_u32().await {
            Ok(number) => diary.note(&host, number),
            Err(error) => return diary.note(&host, format_args!("{:?}", error.kind())),
        }
    }
}

/// Connects, then writes `count` numbers, one every `every_ms` from 100 ms on; closes much later.
fn start_writer(
    world: &mut World,
    [server, client]: [HostId; 2],
    (count, every_ms): (u32, u64),
    diary: &Diary,
) {
    diary.start(world, client, move |host, diary| async move {
        let mut stream = match host.connect(server, PORT).await {
            Ok(stream) => stream,
            Err(error) => return diary.note(&host, format_args!("connect: {:?}", error.kind())),
        };
        host.sleep(ms(94)).await;
        for number in 0..count {
            stream.write_u32(number).await.unwrap();
            host.sleep(ms(every_ms)).await;
        }
        let ending = outcome(stream.read_u8().await);
        diary.note(&host, format_args!("writer: {ending}"));
    });
}

/// The messages of a run in which one writer sends `count` numbers, one every millisecond.
fn messages(config: Config, count: u32) -> Vec<SentMessage> {
    let (mut world, hosts) = world_with(Config {
        keep_messages: true,
        ..config
    });
    let diary = Diary::default();
    diary.start(&mut world, hosts[0], note_numbers);
    start_writer(&mut world, hosts, (count, 1), &diary);
    world.run(3_600 * SECOND);
    let numbers: Vec<String> = diary
        .lines()
        .iter()
        .map(|line| line.split_once(' ').unwrap().1.to_owned())
        .collect();
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected, "in order, and nothing lost");
    world.take_messages()
}

fn delays_ms(messages: &[SentMessage]) -> Vec<f64> {
    let delay = |m: &SentMessage| (m.arrived_ns.unwrap() - m.sent_ns) as f64 / MS as f64;
    messages.iter().map(delay).collect()
}

/// A message may wait for its predecessor, which was sent at least 1 ms before and takes
/// at most 5 ms: no delay is above 5 ms.
#[test]
fn latency_stays_within_its_distribution_and_keeps_the_order() {
    let messages = messages(
        Config {
            latency: Dist::Uniform(1.0, 5.0),
            ..config()
        },
        2_000,
    );
    let delays = delays_ms(&messages);
    assert!(delays.iter().all(|delay| (1.0..=5.0).contains(delay)));
    // Waiting for predecessors can only increase the mean of 3 ms.
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((3.0..4.5).contains(&mean), "{mean}");
    let arrivals: Vec<_> = messages.iter().map(|m| m.arrived_ns).collect();
    assert!(arrivals.is_sorted());
}

/// There are 2 000 messages that no predecessor delays. A fifth is lost at first and arrives 200 ms
/// later, a fifth of these is lost again, and so on.
#[test]
fn a_lost_message_arrives_after_the_retransmission_timeout() {
    let (mut world, hosts) = world_with(Config {
        loss: 0.2,
        keep_messages: true,
        ..config()
    });
    let diary = Diary::default();
    diary.start(&mut world, hosts[0], note_numbers);
    start_writer(&mut world, hosts, (2_000, 10_000), &diary);
    world.run(30_000 * SECOND);
    let mut counts = [0; 4];
    for delay in delays_ms(&world.take_messages()) {
        let tries = [3.0, 203.0, 403.0].iter().position(|&d| d == delay);
        counts[tries.unwrap_or(3)] += 1;
    }
    // Expected 1600, 320, 64 and 16; the bounds are five standard deviations away.
    let [first, second, third, later] = counts;
    assert!((1_510..1_690).contains(&first), "{counts:?}");
    assert!((240..400).contains(&second), "{counts:?}");
    assert!((25..104).contains(&third), "{counts:?}");
    assert!((1..36).contains(&later), "{counts:?}");
}

/// Runs a writer of three numbers (at 100, 110 and 120 ms) with a fault of its link during
/// `from_ms..to_ms`.
#[track_caller]
fn check_link(
    effect: LinkEffect,
    from: impl Fn([HostId; 2]) -> LinkRule<HostId>,
    (from_ms, to_ms): (u64, u64),
    expected: &[&str],
) {
    let (mut world, hosts) = world();
    let diary = Diary::default();
    diary.start(&mut world, hosts[0], note_numbers);
    start_writer(&mut world, hosts, (3, 10), &diary);
    let rule = LinkRule {
        effect,
        ..from(hosts)
    };
    world.at(from_ms * MS, move |world| {
        let id = world.install(rule);
        world.at(to_ms * MS, move |world| world.lift(id));
    });
    world.run(2_000 * SECOND);
    assert_eq!(diary.lines(), expected);
}

/// The direction from the client, which writes, to the server.
fn forth([server, client]: [HostId; 2]) -> LinkRule<HostId> {
    LinkRule {
        from: vec![client],
        to: vec![server],
        both_ways: false,
        effect: LinkEffect::Cut,
    }
}

fn back([server, client]: [HostId; 2]) -> LinkRule<HostId> {
    forth([client, server])
}

fn both(hosts: [HostId; 2]) -> LinkRule<HostId> {
    LinkRule {
        both_ways: true,
        ..forth(hosts)
    }
}

/// Both directions, named from the server's end.
fn both_from_the_server([server, client]: [HostId; 2]) -> LinkRule<HostId> {
    both([client, server])
}

/// The first number is sent at 100 ms, and again 200, 400, 800 and 1600 ms later; the others wait
/// behind it.
#[test]
fn held_segment_arrives_with_the_first_retransmission_after_a_partition() {
    for rule in [forth, both, both_from_the_server] {
        let arrives = ["1703 0", "1703 1", "1703 2"];
        check_link(LinkEffect::Cut, rule, (50, 1_699), &arrives);
    }
    let at_once = ["303 0", "303 1", "303 2"];
    check_link(LinkEffect::Cut, both, (50, 299), &at_once);
    // Data in flight when the link is cut arrives.
    check_link(
        LinkEffect::Cut,
        both,
        (101, 200),
        &["103 0", "313 1", "313 2"],
    );
}

/// The data arrives, and the writer does not wait for acknowledgements.
#[test]
fn partition_of_the_reverse_direction_has_no_effect() {
    check_link(
        LinkEffect::Cut,
        back,
        (50, 1_699),
        &["103 0", "113 1", "123 2"],
    );
}

#[test]
fn a_slow_link_delays_and_keeps_the_order() {
    let slow = || LinkEffect::Slow { extra_ns: 50 * MS };
    check_link(slow(), forth, (50, 200), &["153 0", "163 1", "173 2"]);
    // The first number, sent while the link was slow, is not overtaken.
    check_link(slow(), forth, (50, 105), &["153 0", "153 1", "153 2"]);
}

/// `tcp_retries2` = 15: 0.2 s to the probe, then 0.2 + 0.4 + … + 102.4 s, then six times 120 s.
#[test]
fn data_is_repeated_for_15_minutes_and_24_seconds() {
    check_link(
        LinkEffect::Cut,
        both,
        (50, 2_000_000),
        &["924900 writer: ConnectionReset"],
    );
    let arrives = ["924903 0", "924903 1", "924903 2"];
    check_link(LinkEffect::Cut, both, (50, 924_850), &arrives);
}

/// `tcp_syn_linear_timeouts` = 4 and `tcp_syn_retries` = 6: 1 s five times, then 2 + … + 64 s.
#[test]
fn connecting_gives_up_after_131_seconds() {
    check_link(
        LinkEffect::Cut,
        both,
        (0, 2_000_000),
        &["131000 connect: ConnectionRefused"],
    );
}

#[test]
fn a_link_that_loses_everything_is_a_cut_link() {
    let lossy = LinkEffect::Lossy { probability: 1.0 };
    check_link(lossy, both, (50, 1_699), &["1703 0", "1703 1", "1703 2"]);
}

/// Two groups of two; within each, messages pass.
#[test]
fn a_partition_of_groups_parts_the_groups_alone() {
    let (mut world, hosts) = world::<4>();
    let diary = Diary::default();
    for host in hosts {
        diary.start(&mut world, host, move |host, diary| async move {
            let listener = host.listen(PORT).await.unwrap();
            let me = host.clone();
            host.spawn(async move {
                for peer in hosts.into_iter().filter(|peer| *peer > me.id()) {
                    let (me, diary) = (me.clone(), diary.clone());
                    me.clone().spawn(async move {
                        me.connect(peer, PORT).await.unwrap();
                        diary.note(&me, format_args!("{}-{}", me.id().index(), peer.index()));
                    });
                }
            });
            while listener.accept().await.is_ok() {}
        });
    }
    let rule = world.install(LinkRule {
        from: vec![hosts[0], hosts[1]],
        to: vec![hosts[2], hosts[3]],
        both_ways: true,
        effect: LinkEffect::Cut,
    });
    world.at(500 * MS, move |world| world.lift(rule));
    // SYNs between the groups are retransmitted after a second.
    diary.check(
        &mut world,
        &[
            "6 0-1", "6 2-3", "1006 0-2", "1006 1-2", "1006 0-3", "1006 1-3",
        ],
    );
}

#[test]
fn run_with_nothing_to_do_ends() {
    let (mut world, _) = world::<2>();
    assert_eq!(world.run(SECOND), Ending::Idle);
    assert_eq!(world.now_ns(), 0);
}

/// When the numbers arrive that two hosts send each other at 100 ms, while a fault of the links
/// from the first to the second is in force.
#[track_caller]
fn check_directions(effect: LinkEffect, both_ways: bool, expected: [u64; 2]) {
    let (mut world, [a, b]) = world();
    let diary = Diary::default();
    diary.start(&mut world, b, |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        exchange(host, stream, "there", diary).await;
    });
    diary.start(&mut world, a, move |host, diary| async move {
        let stream = host.connect(b, PORT).await.unwrap();
        exchange(host, stream, "back", diary).await;
    });
    let rule = LinkRule {
        from: vec![a],
        to: vec![b],
        both_ways,
        effect,
    };
    world.at(50 * MS, move |world| {
        let id = world.install(rule);
        world.at(250 * MS, move |world| world.lift(id));
    });
    world.run(3_600 * SECOND);
    let mut arrived = diary.lines();
    arrived.sort_by_key(|line| line.ends_with("back"));
    let [there, back] = expected;
    assert_eq!(arrived, [format!("{there} there"), format!("{back} back")]);
}

/// Sends a number at 100 ms, and records when the other host's number arrives, which has come
/// that way.
async fn exchange(host: Host, mut stream: TcpStream, way: &str, diary: Diary) {
    host.sleep(std::time::Duration::from_nanos(100 * MS - host.now_ns()))
        .await;
    stream.write_u32(1).await.unwrap();
    stream.read_u32().await.unwrap();
    diary.note(&host, way);
}

/// Data that was cut off or lost is retransmitted 200 ms later, when the fault is over; a slow link
/// adds its delay. Without a fault either direction takes 3 ms.
#[test]
fn a_fault_of_links_is_one_way_or_both_ways_as_its_rule_says() {
    let slow = || LinkEffect::Slow { extra_ns: 50 * MS };
    let lossy = || LinkEffect::Lossy { probability: 1.0 };
    check_directions(LinkEffect::Cut, false, [303, 103]);
    check_directions(LinkEffect::Cut, true, [303, 303]);
    check_directions(lossy(), false, [303, 103]);
    check_directions(lossy(), true, [303, 303]);
    check_directions(slow(), false, [153, 103]);
    check_directions(slow(), true, [153, 153]);
}

/// Two hosts that send a message back and forth without delay.
#[test]
fn run_without_time_progress_is_stopped() {
    let (mut world, [server, client]) = world_with(Config {
        latency: Dist::Constant(0.0),
        ..config()
    });
    let diary = Diary::default();
    diary.start(&mut world, server, |host, _| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        while let Ok(number) = stream.read_u8().await {
            stream.write_u8(number).await.unwrap();
        }
    });
    diary.start(&mut world, client, move |host, _| async move {
        host.sleep(ms(5)).await;
        let mut stream = host.connect(server, PORT).await.unwrap();
        loop {
            stream.write_u8(1).await.unwrap();
            stream.read_u8().await.unwrap();
        }
    });
    assert_eq!(world.run(SECOND), Ending::Stalled);
    assert_eq!(world.now_ns(), 5 * MS);
}

/// A task that is always ready, and yields only to itself.
#[test]
fn a_task_that_never_waits_is_ended() {
    let (mut world, [host]) = world();
    world.start(host, |_| {
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
    });
    assert_eq!(world.run(SECOND), Ending::Stalled);
}

/// Data that a host sends to itself takes no time, and needs no other event to arrive.
#[test]
fn loopback_has_no_latency() {
    let (mut world, [server]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, diary| async move {
        host.spawn(echo(host.clone()));
        host.sleep(ms(10)).await;
        let mut stream = host.connect(host.id(), PORT).await.unwrap();
        for number in 0..3 {
            stream.write_u32(number).await.unwrap();
            diary.note(&host, stream.read_u32().await.unwrap());
            host.sleep(ms(5)).await;
        }
    });
    // A much later event must not be the one that wakes a task.
    world.at(SECOND, |_| {});
    diary.check(&mut world, &["10 0", "15 1", "20 2"]);
}

async fn echo(host: Host) {
    let listener = host.listen(PORT).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    while let Ok(number) = stream.read_u32().await {
        stream.write_u32(number).await.unwrap();
    }
}
