//! The client of ZooKeeper, over a member that breaks connections, is silent or ends sessions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::zookeeper::{Error, Node, Session};
use locklab_history::{ClockKind, Name};
use locklab_runner::simulated_env::{PORT, SimulatedEnv};
use locklab_world::{HostId, World};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::stage::in_the_world;

const SESSION: Duration = Duration::from_millis(900);

/// What a member does to the next request of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    /// Answers.
    Serves,
    /// Executes it, and breaks the connection without an answer.
    Breaks,
    /// Says nothing from then on, on any connection that is open.
    Silent,
}

/// The state that all members share.
struct Service {
    nodes: RefCell<Vec<String>>,
    created: Cell<u32>,
    /// The kind of request and what befalls it, once.
    trouble: Cell<Option<(i32, Mood)>>,
    has_ended: Cell<bool>,
    pings: Cell<u32>,
    connections: Cell<u32>,
    /// Whether a node below which others are created exists.
    has_parent: Cell<bool>,
}

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const CHILDREN: i32 = 8;
const SYNC: i32 = 9;
const PING: i32 = 11;

/// Runs `test` with two members over one service.
fn check<F, Fut>(trouble: Option<(i32, Mood)>, test: F)
where
    F: Fn(SimulatedEnv, Vec<Name>, Rc<Service>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let service = Rc::new(Service {
        nodes: RefCell::default(),
        created: Cell::new(0),
        trouble: Cell::new(trouble),
        has_ended: Cell::new(false),
        pings: Cell::new(0),
        connections: Cell::new(0),
        has_parent: Cell::new(false),
    });
    let members = service.clone();
    let start = move |world: &mut World, hosts: &[HostId], _: &[Name]| {
        for host in hosts {
            let service = members.clone();
            world.start(*host, move |host| {
                let service = service.clone();
                async move {
                    let listener = host.listen(PORT).await.expect("its port is free");
                    while let Ok((stream, _)) = listener.accept().await {
                        let service = service.clone();
                        host.spawn(async move { drop(serve(stream, &service).await) });
                    }
                }
            });
        }
    };
    let service = Rc::new(service);
    in_the_world(2, start, move |env, names| {
        test(env, names, (*service).clone())
    });
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let length = stream.read_i32().await?;
    let mut record = vec![0; usize::try_from(length).expect("a length")];
    stream.read_exact(&mut record).await?;
    Ok(record)
}

fn text(record: &[u8]) -> String {
    let length = i32::from_be_bytes(record[..4].try_into().expect("four bytes"));
    String::from_utf8(record[4..4 + length as usize].into()).expect("a text")
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as i32).to_be_bytes()[..], text.as_bytes()].concat()
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    service: &Service,
) -> std::io::Result<()> {
    let opening = read_frame(&mut stream).await?;
    assert_eq!(opening.len(), 45, "the request for a session");
    service.connections.set(service.connections.get() + 1);
    let timeout_ms = if service.has_ended.get() { 0 } else { 900_i32 };
    let [version, timeout_ms] = [0, timeout_ms].map(i32::to_be_bytes);
    let password = string("0123456789abcdef");
    let session = 7_i64.to_be_bytes();
    send(
        &mut stream,
        &[&version, &timeout_ms, &session, &password, &[0]],
    )
    .await?;
    loop {
        let request = read_frame(&mut stream).await?;
        let number: [u8; 4] = request[..4].try_into().expect("four bytes");
        let kind = i32::from_be_bytes(request[4..8].try_into().expect("four bytes"));
        let (code, record, deleted) = execute(service, kind, &request[8..]);
        match service.trouble.get() {
            Some((troubled, mood)) if troubled == kind => {
                service.trouble.set(None);
                match mood {
                    Mood::Serves => {}
                    Mood::Breaks => return Ok(()),
                    Mood::Silent => std::future::pending().await,
                }
            }
            _ => {}
        }
        let zxid = 9_i64.to_be_bytes();
        send(&mut stream, &[&number, &zxid, &code.to_be_bytes(), &record]).await?;
        if let Some(path) = deleted {
            let event = [-1, 2, 3].map(i32::to_be_bytes);
            let path = string(&path);
            let nothing = [0; 12];
            send(
                &mut stream,
                &[&event[0], &nothing, &event[1], &event[2], &path],
            )
            .await?;
        }
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), parts: &[&[u8]]) -> std::io::Result<()> {
    let record = parts.concat();
    stream.write_i32(record.len() as i32).await?;
    stream.write_all(&record).await
}

/// The code and the record of the answer, and the node of which a watch is told afterwards.
fn execute(service: &Service, kind: i32, request: &[u8]) -> (i32, Vec<u8>, Option<String>) {
    const OK: i32 = 0;
    const NO_NODE: i32 = -101;
    let mut nodes = service.nodes.borrow_mut();
    match kind {
        CREATE => match text(request).as_str() {
            "/lock" => {
                service.has_parent.set(true);
                (OK, string("/lock"), None)
            }
            _ if !service.has_parent.get() => (NO_NODE, vec![], None),
            prefix => {
                let path = format!("{prefix}{:010}", service.created.get());
                service.created.set(service.created.get() + 1);
                nodes.push(path.clone());
                (OK, string(&path), None)
            }
        },
        DELETE => {
            let before = nodes.len();
            nodes.retain(|node| *node != text(request));
            (
                if nodes.len() < before { OK } else { NO_NODE },
                vec![],
                None,
            )
        }
        // It is deleted at once, which ends the wait.
        EXISTS => (OK, vec![0; 68], Some(text(request))),
        CHILDREN => {
            let names = nodes.iter().map(|path| string(&path["/lock/".len()..]));
            let names: Vec<Vec<u8>> = names.collect();
            let count = (names.len() as i32).to_be_bytes();
            (OK, [&count[..], &names.concat()].concat(), None)
        }
        SYNC => (OK, string("/lock"), None),
        PING => {
            service.pings.set(service.pings.get() + 1);
            (OK, vec![], None)
        }
        other => panic!("no request of the client: {other}"),
    }
}

async fn open(env: &SimulatedEnv, names: &[Name]) -> Session<SimulatedEnv> {
    let opened = Session::open(env.clone(), names, SESSION).await;
    opened.expect("a member opens a session")
}

#[test]
fn nodes_are_created_below_a_new_parent_listed_and_deleted() {
    check(None, async |env, names, service| {
        let session = open(&env, &names).await;
        assert_eq!(session.children("/lock").await, Ok(vec![]));
        let node = session.create("/lock/c").await.expect("an answer");
        let expected = Node {
            path: "/lock/c-7-1-0000000000".into(),
            number: 0,
        };
        assert_eq!(node, expected);
        let second = session.create("/lock/c").await.expect("an answer");
        assert_eq!(second.number, 1);
        assert_eq!(
            session.children("/lock").await,
            Ok(vec![node.clone(), second])
        );
        assert_eq!(session.delete(&node.path).await, Ok(true));
        assert_eq!(session.delete(&node.path).await, Ok(false));
        assert_eq!(service.connections.get(), 1);
    });
}

/// The node of the first request is there, and is found.
#[test]
fn creation_without_an_answer_is_not_executed_twice() {
    check(Some((CREATE, Mood::Breaks)), async |env, names, service| {
        service.has_parent.set(true);
        let session = open(&env, &names).await;
        let node = session.create("/lock/c").await.expect("an answer");
        assert_eq!(*service.nodes.borrow(), [node.path]);
        assert_eq!(service.connections.get(), 2);
    });
}

#[test]
fn deletion_without_an_answer_counts() {
    check(Some((DELETE, Mood::Breaks)), async |env, names, _| {
        let session = open(&env, &names).await;
        let node = session.create("/lock/c").await.expect("an answer");
        assert_eq!(session.delete(&node.path).await, Ok(true));
    });
}

#[test]
fn silent_member_is_left_after_two_thirds_of_the_timeout() {
    check(
        Some((CHILDREN, Mood::Silent)),
        async |env, names, service| {
            let session = open(&env, &names).await;
            let start_ns = env.now_ns(ClockKind::Monotonic);
            assert_eq!(session.children("/lock").await, Ok(vec![]));
            let took = Duration::from_nanos(env.now_ns(ClockKind::Monotonic) - start_ns);
            let bounds = SESSION * 2 / 3..SESSION * 2 / 3 + Duration::from_millis(60);
            assert!(bounds.contains(&took), "{took:?}");
            assert_eq!(service.connections.get(), 2);
        },
    );
}

#[test]
fn client_pings_at_a_third_of_the_timeout() {
    check(None, async |env, names, service| {
        let session = open(&env, &names).await;
        env.sleep(SESSION * 10).await;
        assert!(session.is_open());
        assert!(
            (29..=30).contains(&service.pings.get()),
            "{}",
            service.pings.get()
        );
        drop(session);
        // The last one may be under way.
        env.sleep(Duration::from_millis(50)).await;
        let pings = service.pings.get();
        env.sleep(SESSION).await;
        assert_eq!(service.pings.get(), pings);
    });
}

#[test]
fn client_learns_that_its_session_has_ended() {
    check(
        Some((CHILDREN, Mood::Breaks)),
        async |env, names, service| {
            let session = open(&env, &names).await;
            service.has_ended.set(true);
            assert_eq!(session.children("/lock").await, Err(Error::Ended));
            assert!(!session.is_open());
            assert_eq!(session.delete("/lock/c").await, Err(Error::Ended));
        },
    );
}

#[test]
fn watch_ends_when_its_node_is_gone_or_the_connection() {
    for mood in [Mood::Serves, Mood::Breaks] {
        check(Some((EXISTS, mood)), async |env, names, _| {
            let session = open(&env, &names).await;
            let start_ns = env.now_ns(ClockKind::Monotonic);
            session.watch("/lock/c", None).await;
            let waited = Duration::from_nanos(env.now_ns(ClockKind::Monotonic) - start_ns);
            assert!(waited < Duration::from_millis(60), "{waited:?}");
        });
    }
}

#[test]
fn nobody_there_is_no_answer() {
    check(Some((SYNC, Mood::Serves)), async |env, _, _| {
        let nowhere: Vec<Name> = vec!["n8".into(), "n9".into()];
        let opened = Session::open(env, &nowhere, SESSION).await;
        assert_eq!(opened.err(), Some(Error::Unanswered));
    });
}
