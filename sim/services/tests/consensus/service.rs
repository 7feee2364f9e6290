//! The answers of the service while all its members are up.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::setup::{Cluster, MS, SECOND};

type Log = Rc<RefCell<Vec<String>>>;

#[test]
fn a_session_takes_a_place_and_gives_it_back() {
    let mut cluster = Cluster::new(1, 3, 2);
    let log = Log::default();
    let heard = log.clone();
    cluster.client(0, move |host, mut client| {
        let heard = heard.clone();
        async move {
            for request in [
                "SESSION 1000",
                "CREATE 2 1 /lock/c EPHEMERAL SEQUENTIAL",
                "CREATE 2 1 /lock/c EPHEMERAL SEQUENTIAL",
                "CREATE 2 2 /config EPHEMERAL",
                "CREATE 2 3 /config EPHEMERAL",
                "CHILDREN /lock",
                "PING 2",
                "DELETE 2 4 /lock/c0000000003",
                "DELETE 2 5 /lock/c0000000003",
                "DELETE 2 4 /lock/c0000000003",
                "WATCH 2 /lock/c0000000003",
                "CHILDREN /lock",
                "CLOSE 2",
                "CLOSE 2",
                "PING 2",
                "HELLO 3",
            ] {
                let answer = client.ask(request).await;
                heard.borrow_mut().push(answer);
            }
            host.stop_world();
        }
    });
    cluster.world.run(60 * SECOND);
    let expected = [
        "2",
        "/lock/c0000000003 3",
        "/lock/c0000000003 3",
        "/config 5",
        "EXISTS there is a node of that path",
        "/lock/c0000000003 3",
        "PONG",
        "1",
        "0",
        "STALE a later request of the session came before",
        "GONE",
        "",
        "1",
        "NOSESSION the session has ended",
        "NOSESSION the session has ended",
        "ERR this is no request: HELLO",
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn watch_fires_when_the_node_of_a_silent_client_is_gone() {
    let mut cluster = Cluster::new(2, 3, 2);
    let log = Log::default();
    cluster.client(0, |host, mut client| async move {
        client.ask("SESSION 1000").await;
        client.ask("CREATE 2 1 /lock/c EPHEMERAL").await;
        for _ in 0..4 {
            host.sleep(Duration::from_millis(500)).await;
            client.ask("PING 2").await;
        }
        // The last ping is sent at about 2.5 seconds.
    });
    let heard = log.clone();
    cluster.client(1, move |host, mut client| {
        let heard = heard.clone();
        async move {
            host.sleep(Duration::from_secs(1)).await;
            let session = client.ask("SESSION 60000").await;
            let request = format!("WATCH {session} /lock/c");
            let minute = Duration::from_secs(60);
            let answer = client.ask_within(&request, minute).await;
            let at_ms = host.now_ns() / MS;
            assert!((3_300..3_900).contains(&at_ms), "{at_ms}");
            heard.borrow_mut().push(answer);
            host.stop_world();
        }
    });
    cluster.world.run(60 * SECOND);
    assert_eq!(*log.borrow(), ["GONE"]);
}

#[test]
fn an_idle_service_costs_its_heartbeats() {
    let mut cluster = Cluster::new(3, 3, 0);
    cluster.world.run(10 * SECOND);
    let (_, before) = cluster.world.fingerprint();
    cluster.world.run(20 * SECOND);
    let (_, after) = cluster.world.fingerprint();
    // A hundred heartbeats for each of two followers: a call, an answer, and an acknowledgement of
    // each; and the timers of the three members.
    assert!(
        (400..1_200).contains(&(after - before)),
        "{}",
        after - before
    );
}
