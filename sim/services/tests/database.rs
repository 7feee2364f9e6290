//! The database on a simulated host: its answers, and its data after a crash.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_redis::resp::command;
use locklab_services::disk::Disk;
use locklab_services::serve::database::database;
use locklab_world::clock::EPOCH_NS;
use locklab_world::{Config, Host, HostConfig, HostId, TcpStream, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PORT: u16 = 5432;
const MS: u64 = 1_000_000;

/// Sends a request on a new connection and returns the bytes of the answer; nothing if the
/// database is down.
async fn ask(host: &Host, database: HostId, request: &str) -> Option<String> {
    let mut stream: TcpStream = host.connect(database, PORT).await.ok()?;
    // The acknowledgement that ends the handshake is sent alone: turmoil-net loses data that
    // arrives with it.
    host.sleep(Duration::from_nanos(1)).await;
    let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    stream.write_all(&command(&words)).await.ok()?;
    let mut answer = [0; 1024];
    let count = stream.read(&mut answer).await.ok().filter(|n| *n > 0)?;
    Some(String::from_utf8_lossy(&answer[..count]).into_owned())
}

/// The answers to these requests, which are sent one a second from the first second on.
fn answers(requests: &'static [&'static str], fault: impl FnOnce(&mut World, HostId)) -> String {
    answers_of(None, requests, fault)
}

/// The same of a database that writes changes so much later than it answers.
fn answers_of(
    delay: Option<Duration>,
    requests: &'static [&'static str],
    fault: impl FnOnce(&mut World, HostId),
) -> String {
    let mut world = World::new(Config::default(), &[HostConfig::default(); 2]);
    let [server, client] = world.hosts()[..] else {
        panic!("two hosts");
    };
    let disk = Rc::<RefCell<Disk>>::default();
    world.start(server, move |host| {
        database(host, disk.clone(), delay, PORT)
    });
    fault(&mut world, server);
    let log = Rc::<RefCell<Vec<String>>>::default();
    let heard = log.clone();
    world.start(client, move |host| {
        let heard = heard.clone();
        async move {
            for request in requests {
                let at_ns = (host.now_ns() / (1_000 * MS) + 1) * 1_000 * MS;
                host.sleep(Duration::from_nanos(at_ns - host.now_ns()))
                    .await;
                let answer = ask(&host, server, request).await;
                let answer = answer.unwrap_or("nobody".to_owned());
                heard
                    .borrow_mut()
                    .push(answer.trim_end().replace("\r\n", " "));
            }
            host.stop_world();
        }
    });
    world.run(60_000 * MS);
    log.borrow().join("; ")
}

#[test]
fn a_row_is_inserted_once_and_deleted_by_its_owner() {
    let requests = &[
        "INSERT l c1",
        "INSERT l c2",
        "DELETE l c2",
        "DELETE l c1",
        "DELETE l c1",
        "INSERT l c2",
        "DROP l",
    ];
    let expected = ":1; -DUPLICATE the unique index has this name; :0; :1; :0; :1; \
                    -ERR this is no statement";
    assert_eq!(answers(requests, |_, _| {}), expected);
}

#[test]
fn a_version_can_be_replaced_once() {
    let requests = &[
        "SELECT l",
        "INSERT l c1 7",
        "UPDATE l c2 1 8",
        "UPDATE l c3 1 9",
        "UPDATE l c3 2 9",
        "SELECT l",
    ];
    // The last number is the time.
    let answers = answers(requests, |_, _| {});
    let expected = "$-1; :1; :1; :0; :1; *4 $2 c3 :3 :9 :1454889606";
    assert!(answers.starts_with(expected), "{answers}");
}

#[test]
fn the_time_is_that_of_the_databases_wall_clock() {
    let step = |world: &mut World, server| world.step_wall(server, 5_000 * MS as i64);
    let now: u64 = answers(&["NOW"], step)[1..].parse().expect("a number");
    let begin = EPOCH_NS / MS;
    // The request is sent after one second; a connection and a request take up to 15 ms.
    assert!((begin + 6_000..begin + 6_020).contains(&now), "{now}");
}

#[test]
fn acknowledged_statements_survive_crash_and_kill() {
    let requests = &[
        "INSERT l c1",
        "INSERT l c2",
        "SELECT l",
        "DELETE l c1",
        "INSERT l c2",
    ];
    let outages = |world: &mut World, server| {
        // It crashes between the first request and the second, and during the third.
        world.at(1_500 * MS, move |world| world.crash(server));
        world.at(1_600 * MS, move |world| world.restart(server));
        world.at(2_900 * MS, move |world| world.kill(server));
        world.at(3_900 * MS, move |world| world.restart(server));
    };
    let expected = ":1; -DUPLICATE the unique index has this name; nobody; :1; :1";
    assert_eq!(answers(requests, outages), expected);
}

#[test]
fn what_is_written_behind_is_lost_until_then() {
    let requests = &["INSERT l c1", "INSERT l c2", "INSERT l c3"];
    let delay = Some(Duration::from_millis(200));
    // It ends right after the first request, and long after the second.
    for end in [World::crash, World::kill] {
        let outages = |world: &mut World, server| {
            for (at_ms, back_ms) in [(1_030, 1_100), (2_500, 2_600)] {
                world.at(at_ms * MS, move |world| end(world, server));
                world.at(back_ms * MS, move |world| world.restart(server));
            }
        };
        let expected = ":1; :1; -DUPLICATE the unique index has this name";
        assert_eq!(answers_of(delay, requests, outages), expected);
    }
}
