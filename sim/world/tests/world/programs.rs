//! Random programs under random faults: in every case a prefix of the bytes that were sent
//! arrives, all of them if nothing ended the stream, and a run can be repeated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locklab_link::{LinkEffect, LinkRule};
use locklab_values::dist::Dist;
use locklab_world::{Config, Ending, Host, HostConfig, HostId, TaskOrder, World};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{MS, PORT, SECOND, ms};

const HOSTS: usize = 3;

/// One connection: its client, when it opens, and what each side writes.
#[derive(Debug, Clone)]
struct Talk {
    from: usize,
    to: usize,
    at_ms: u64,
    forth: Vec<Piece>,
    back: Vec<Piece>,
    /// The size of each read on either side, in bytes, and the pause after it.
    read: Piece,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    bytes: usize,
    rest_ms: u64,
}

#[derive(Debug, Clone)]
struct Fault {
    kind: Kind,
    host: usize,
    from_ms: u64,
    for_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Pause,
    Suspend,
    Cut,
    CutOneWay,
    Lossy,
    Slow,
    Drift,
    Kill,
    Crash,
}

impl Kind {
    /// Whether the fault ends connections.
    fn is_fatal(self) -> bool {
        matches!(self, Kind::Kill | Kind::Crash)
    }
}

fn piece(largest: usize) -> impl Strategy<Value = Piece> {
    (1..=largest, 0..20_u64).prop_map(|(bytes, rest_ms)| Piece { bytes, rest_ms })
}

fn talk() -> impl Strategy<Value = Talk> {
    // Sometimes more than the buffers of both ends hold.
    let pieces =
        || prop::collection::vec(prop_oneof![4 => piece(3_000), 1 => piece(200_000)], 0..4);
    let read = prop_oneof![1 => piece(100), 4 => piece(60_000)];
    (0..HOSTS, 1..HOSTS, 0..200_u64, pieces(), pieces(), read).prop_map(
        |(from, step, at_ms, forth, back, read)| Talk {
            from,
            to: (from + step) % HOSTS,
            at_ms,
            forth,
            back,
            read: Piece {
                rest_ms: read.rest_ms / 10,
                ..read
            },
        },
    )
}

fn fault() -> impl Strategy<Value = Fault> {
    use Kind::*;
    let kind = prop::sample::select(vec![
        Pause, Suspend, Cut, CutOneWay, Lossy, Slow, Drift, Kill, Crash,
    ]);
    (kind, 0..HOSTS, 0..300_u64, 0..3_000_u64).prop_map(|(kind, host, from_ms, for_ms)| Fault {
        kind,
        host,
        from_ms,
        for_ms,
    })
}

/// For each (talk, direction), how many bytes arrived, and whether the end of the stream did.
type Received = BTreeMap<(usize, bool), (usize, bool)>;

struct Outcome {
    ending: Ending,
    received: Received,
    fingerprint: (u64, u64),
}

fn run(seed: u64, order: TaskOrder, talks: &[Talk], faults: &[Fault]) -> Outcome {
    let config = Config {
        seed,
        order,
        latency: Dist::Uniform(1.0, 5.0),
        loss: 0.01,
        ..Config::default()
    };
    let mut world = World::new(config, &[HostConfig::default(); HOSTS]);
    let received = Rc::new(RefCell::new(Received::new()));
    let talks: Rc<[Talk]> = talks.into();
    let hosts: Rc<[HostId]> = world.hosts().into();
    for host in world.hosts() {
        let (hosts, talks, received) = (hosts.clone(), talks.clone(), received.clone());
        world.start(host, move |host| {
            main(host, hosts.clone(), talks.clone(), received.clone())
        });
    }
    for fault in faults {
        install(&mut world, fault.clone());
    }
    let ending = world.run(3_600 * SECOND);
    Outcome {
        ending,
        received: received.take(),
        fingerprint: world.fingerprint(),
    }
}

async fn main(host: Host, hosts: Rc<[HostId]>, talks: Rc<[Talk]>, received: Rc<RefCell<Received>>) {
    let listener = host.listen(PORT).await.expect("the port is free");
    for (index, talk) in talks.iter().enumerate() {
        if talk.from == host.id().index() {
            let (host, talk, received) = (host.clone(), talk.clone(), received.clone());
            let to = hosts[talk.to];
            host.clone().spawn(open(host, to, index, talk, received));
        }
    }
    while let Ok((mut stream, _)) = listener.accept().await {
        let (host, talks, received) = (host.clone(), talks.clone(), received.clone());
        host.clone().spawn(async move {
            // The first byte says which talk it is.
            let Ok(index) = stream.read_u8().await else {
                return;
            };
            let index = usize::from(index);
            let talk = &talks[index];
            converse(host, stream, (index, true), &talk.back, talk.read, received).await;
        });
    }
}

async fn open(host: Host, to: HostId, index: usize, talk: Talk, received: Rc<RefCell<Received>>) {
    host.sleep(ms(talk.at_ms)).await;
    let Ok(mut stream) = host.connect(to, PORT).await else {
        return;
    };
    if stream.write_u8(index as u8).await.is_ok() {
        converse(
            host,
            stream,
            (index, false),
            &talk.forth,
            talk.read,
            received,
        )
        .await;
    }
}

/// Writes `pieces`, and reads until the stream ends; checks every byte.
async fn converse(
    host: Host,
    stream: locklab_world::TcpStream,
    key: (usize, bool),
    pieces: &[Piece],
    read: Piece,
    received: Rc<RefCell<Received>>,
) {
    let (mut reader, mut writer) = stream.into_split();
    let (writing, pieces) = (host.clone(), pieces.to_vec());
    host.spawn(async move {
        let mut sent = 0;
        for piece in pieces {
            let bytes: Vec<u8> = (sent..sent + piece.bytes).map(|i| byte(key.0, i)).collect();
            sent += piece.bytes;
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
            writing.sleep(ms(piece.rest_ms)).await;
        }
    });
    received.borrow_mut().insert(key, (0, false));
    let mut bytes = vec![0; read.bytes];
    let mut total = 0;
    while let Ok(count) = reader.read(&mut bytes).await {
        for (offset, found) in bytes[..count].iter().enumerate() {
            assert_eq!(*found, byte(key.0, total + offset), "at {}", total + offset);
        }
        total += count;
        received.borrow_mut().insert(key, (total, count == 0));
        if count == 0 {
            return;
        }
        host.sleep(ms(read.rest_ms)).await;
    }
}

/// The byte at `index` of talk number `talk`, in either direction.
fn byte(talk: usize, index: usize) -> u8 {
    ((index + talk) % 251) as u8
}

fn install(world: &mut World, fault: Fault) {
    let host = world.hosts()[fault.host];
    let others: Vec<HostId> = world.hosts().into_iter().filter(|h| *h != host).collect();
    let until_ns = (fault.from_ms + fault.for_ms) * MS;
    let link = move |effect, both_ways| LinkRule {
        from: vec![host],
        to: others,
        both_ways,
        effect,
    };
    world.at(fault.from_ms * MS, move |world| {
        let rule = match fault.kind {
            Kind::Cut => Some(link(LinkEffect::Cut, true)),
            Kind::CutOneWay => Some(link(LinkEffect::Cut, false)),
            Kind::Lossy => Some(link(LinkEffect::Lossy { probability: 0.5 }, true)),
            Kind::Slow => Some(link(LinkEffect::Slow { extra_ns: 50 * MS }, true)),
            _ => None,
        };
        match fault.kind {
            Kind::Pause => world.pause(host),
            Kind::Suspend => world.suspend(host),
            Kind::Kill => world.kill(host),
            Kind::Crash => world.crash(host),
            Kind::Drift => drop(world.set_drift_ppm(host, 300_000)),
            _ => {}
        }
        let rule = rule.map(|rule| world.install(rule));
        world.at(until_ns, move |world| {
            match fault.kind {
                Kind::Pause => world.resume(host),
                Kind::Suspend => world.wake(host),
                Kind::Kill | Kind::Crash => world.restart(host),
                Kind::Drift => drop(world.set_drift_ppm(host, 0)),
                _ => {}
            }
            if let Some(rule) = rule {
                world.lift(rule);
            }
        });
    });
}

fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes).sum()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/regressions/world.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn streams_arrive_and_runs_repeat(
        seed in any::<u64>(),
        shuffled in any::<bool>(),
        talks in prop::collection::vec(talk(), 1..6),
        faults in prop::collection::vec(fault(), 0..6),
    ) {
        let order = if shuffled { TaskOrder::Shuffled } else { TaskOrder::FirstInFirstOut };
        let outcome = run(seed, order, &talks, &faults);
        // Every program ends once all faults are over.
        prop_assert_eq!(outcome.ending, Ending::Idle);
        if !faults.iter().any(|fault| fault.kind.is_fatal()) {
            for (index, talk) in talks.iter().enumerate() {
                let forth = outcome.received.get(&(index, true));
                prop_assert_eq!(forth, Some(&(total(&talk.forth), true)), "talk {} forth", index);
                let back = outcome.received.get(&(index, false));
                prop_assert_eq!(back, Some(&(total(&talk.back), true)), "talk {} back", index);
            }
        }
        let again = run(seed, order, &talks, &faults);
        prop_assert_eq!(outcome.fingerprint, again.fingerprint);
        prop_assert_eq!(outcome.received, again.received);
    }
}

/// A seed that was found by the random programs. The last of more data than a receiver's buffer holds arrives with the
/// end of the stream; then the receiver reads, and makes room for a sender that is gone.
#[test]
fn what_has_arrived_is_read_after_both_ends_have_closed() {
    let piece = |(bytes, rest_ms)| Piece { bytes, rest_ms };
    let talk = Talk {
        from: 0,
        to: 1,
        at_ms: 0,
        forth: [(1460, 8), (102_036, 0)].map(piece).into(),
        back: [(73_524, 1), (1682, 0), (2997, 0)].map(piece).into(),
        read: piece((49_151, 1)),
    };
    let other = Talk {
        from: 1,
        to: 2,
        at_ms: 90,
        forth: vec![],
        back: vec![],
        read: piece((1, 0)),
    };
    let pause = Fault {
        kind: Kind::Pause,
        host: 2,
        from_ms: 0,
        for_ms: 214,
    };
    let outcome = run(
        9_355_418_822_626_117_696,
        TaskOrder::FirstInFirstOut,
        &[talk, other],
        &[pause],
    );
    assert_eq!(outcome.received[&(0, true)], (103_496, true));
    assert_eq!(outcome.received[&(0, false)], (78_203, true));
}
