//! Runs that were never made: two clients of one server, message by message.

use bytes::Bytes;
use locklab_history::leases::{End, Lease, leases};
use locklab_history::{Contents, History, KeySnapshot, Name, Topology};
use locklab_locks::KEY;
use locklab_model::scenario::load;
use locklab_proxy::Segment;
use locklab_redis::resp::command;
use locklab_shim::Readings;
use locklab_values::units::{NS_PER_MS, NS_PER_US};
use locklab_vecmap::VecMap;

use super::{Keys, Unknown, Wire, repeat};
use crate::monitor::Executed;

/// A request of a client, and the reply of the server.
struct Exchange {
    client: &'static str,
    /// When it arrives, and is answered, in milliseconds since the run began.
    at_ms: [u64; 2],
    words: &'static [&'static str],
    reply: &'static str,
    /// The server's clock when it executed it, in milliseconds.
    executed_ms: u64,
    /// The number of its process.
    process: usize,
}

const OK: &str = "+OK\r\n";
const NIL: &str = "$-1\r\n";
const TAKE: [&[&str]; 2] = [
    &["SET", KEY, "one", "NX", "PX", "100"],
    &["SET", KEY, "two", "NX", "PX", "100"],
];

/// c1 takes the lock at 10 ms, for 100 ms.
const TAKEN: Exchange = Exchange {
    client: "c1",
    at_ms: [10, 11],
    words: TAKE[0],
    reply: OK,
    executed_ms: 10,
    process: 0,
};

/// The value of the lock at each change, if every reply is the same. The server executes the exchanges
/// in this order.
fn values(exchanges: &[Exchange]) -> Result<Vec<(u64, Option<String>)>, Unknown> {
    let value = |look: &KeySnapshot| {
        let change = look.changed.first()?;
        let value = change.now.as_ref().map(|state| state.value.clone());
        Some((look.at_ns / NS_PER_MS, value))
    };
    Ok(looks(exchanges)?.iter().filter_map(value).collect())
}

/// When and why the server no longer held each value of the lock, in milliseconds since the run began.
fn ends(exchanges: &[Exchange]) -> Result<Vec<(u64, End)>, Unknown> {
    let contents = Contents {
        snapshots: looks(exchanges)?,
        ..Contents::default()
    };
    let history = history();
    let topology = Topology {
        nodes: 1,
        ..Topology::default()
    };
    let leases = leases(&history, &contents, &topology);
    let end = |lease: &Lease| (lease.until_ns / NS_PER_MS, lease.end);
    Ok(leases.iter().map(end).collect())
}

fn history() -> History {
    History {
        end_ns: 1000 * NS_PER_MS,
        ..History::default()
    }
}

fn looks(exchanges: &[Exchange]) -> Result<Vec<KeySnapshot>, Unknown> {
    let mut segments = Vec::new();
    let mut executed = Vec::new();
    for exchange in exchanges {
        let connection = u64::from(exchange.client.as_bytes()[1]);
        let [arrived_ns, replied_ns] = exchange.at_ms.map(|ms| ms * NS_PER_MS);
        let (client, server) = (Name::from(exchange.client), Name::from("n1"));
        let words: Vec<&[u8]> = exchange.words.iter().map(|word| word.as_bytes()).collect();
        segments.push(Segment {
            sent_ns: arrived_ns - 1,
            arrived_ns: Some(arrived_ns),
            from: client.clone(),
            to: server.clone(),
            connection,
            payload: command(&words),
        });
        segments.push(Segment {
            sent_ns: replied_ns,
            arrived_ns: Some(replied_ns + 1),
            from: server,
            to: client,
            connection,
            payload: Bytes::from_static(exchange.reply.as_bytes()),
        });
        executed.push(Executed {
            words: words.iter().map(|word| word.to_vec()).collect(),
            wall_us: exchange.executed_ms * NS_PER_MS / NS_PER_US,
            port: connection as u16,
            process: exchange.process,
            read_ns: u64::MAX,
        });
    }
    segments.sort_by_key(|segment| segment.sent_ns);
    let history = history();
    let numbers = segments.iter().map(|it| it.connection);
    let wire = Wire {
        history: &history,
        segments: &segments,
        executed: VecMap::from([("n1".into(), executed)]),
        dialled: numbers.map(|number| (number, number as u16)).collect(),
        origin_ns: 0,
        clocks: &|_, at_ns| Readings {
            wall_ns: at_ns,
            mono_ns: at_ns,
        },
    };
    let scenario = load("kleppmann/k1", &[]).expect("it ships");
    repeat(&wire, &scenario, &Keys::OfLock).map(|repeated| repeated.snapshots)
}

#[test]
fn a_lease_ends_by_the_clock_of_the_server() {
    let held = |second_ms| {
        values(&[
            TAKEN,
            Exchange {
                client: "c2",
                at_ms: [50, 51],
                words: TAKE[1],
                reply: OK,
                executed_ms: second_ms,
                process: 0,
            },
        ])
    };
    // Its clock was stepped by a second.
    let expected = [(11, Some("one".to_owned())), (51, Some("two".to_owned()))];
    assert_eq!(held(1050), Ok(expected.to_vec()));
    // It was not, so the server cannot have replied OK.
    let differs = Unknown::Differs {
        node: "n1".into(),
        at_ns: 51 * NS_PER_MS,
        real: "+OK".into(),
        repeated: "$-1".into(),
    };
    assert_eq!(held(50), Err(differs));
}

#[test]
fn a_late_reply_does_not_make_a_deletion_an_expiry() {
    let ends = |executed_ms, reply| {
        ends(&[
            TAKEN,
            Exchange {
                client: "c1",
                at_ms: [100, 150],
                words: &["DEL", KEY],
                reply,
                executed_ms,
                process: 0,
            },
        ])
    };
    // The lease is over at 110 ms. The server was asked before, and its reply left after.
    assert_eq!(ends(105, ":1\r\n"), Ok(vec![(150, End::Deleted)]));
    let expired = ends(140, ":0\r\n").map(|ends| ends.into_iter().map(|(_, end)| end).collect());
    assert_eq!(expired, Ok(vec![End::Expired]));
}

#[test]
fn requests_are_in_the_order_of_the_server() {
    // c2's reply leaves first, though c1's request was executed first.
    let exchanges = [
        Exchange {
            client: "c1",
            at_ms: [10, 14],
            words: TAKE[0],
            reply: OK,
            executed_ms: 12,
            process: 0,
        },
        Exchange {
            client: "c2",
            at_ms: [11, 13],
            words: TAKE[1],
            reply: NIL,
            executed_ms: 12,
            process: 0,
        },
    ];
    assert_eq!(values(&exchanges), Ok(vec![(13, Some("one".to_owned()))]));
    let [first, second] = exchanges;
    assert!(matches!(
        values(&[second, first]),
        Err(Unknown::Differs { .. })
    ));
}

#[test]
fn a_server_that_starts_again_has_forgotten_the_lock() {
    let held = |process| {
        values(&[
            TAKEN,
            Exchange {
                client: "c2",
                at_ms: [50, 51],
                words: TAKE[1],
                reply: OK,
                executed_ms: 50,
                process,
            },
        ])
    };
    let expected = [(11, Some("one".to_owned())), (51, Some("two".to_owned()))];
    assert_eq!(held(1), Ok(expected.to_vec()));
    assert!(matches!(held(0), Err(Unknown::Differs { .. })));
}

#[test]
fn a_reply_that_the_repetition_does_not_give_is_noticed() {
    let held = |reply| {
        values(&[Exchange {
            client: "c1",
            at_ms: [10, 11],
            words: TAKE[0],
            reply,
            executed_ms: 10,
            process: 0,
        }])
    };
    assert_eq!(held(OK), Ok(vec![(11, Some("one".to_owned()))]));
    let differs = Unknown::Differs {
        node: "n1".into(),
        at_ns: 1000 * NS_PER_MS,
        real: ":1".into(),
        repeated: "nothing".into(),
    };
    assert_eq!(held("+OK\r\n:1\r\n"), Err(differs));
}

#[test]
fn a_command_that_the_simulated_node_lacks_is_named() {
    let held = values(&[Exchange {
        client: "c1",
        at_ms: [10, 11],
        words: &["setbit", "lock", "0", "1"],
        reply: ":0\r\n",
        executed_ms: 10,
        process: 0,
    }]);
    let told = held.map_err(|unknown| unknown.to_string());
    let expected = "n1 executed SETBIT at 11.0 ms, which the simulated node does not have";
    assert_eq!(told, Err(expected.to_owned()));
}
