//! Servers on real ports, as a test uses them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use locklab_redis::sentinel::Monitor;
use locklab_redis::server::{Builder, Machine, StartError, Stop};
use locklab_redis::{Fsync, Persistence, SentinelServer, Server, SnapshotRule};

/// Far longer than any test here takes: a server that hangs fails the test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Far longer than a server that does not wait for anything takes for a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server's reply to an inline command, up to the expected number of bytes; `None` if it
/// closes the connection before.
fn ask(address: SocketAddr, command: &str, expected_bytes: usize) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    writeln!(stream, "{command}").ok()?;
    let mut reply = vec![0; expected_bytes];
    stream.read_exact(&mut reply).ok()?;
    String::from_utf8(reply).ok()
}

fn answers(address: SocketAddr, command: &str, expected: &str) -> bool {
    ask(address, command, expected.len()).as_deref() == Some(expected)
}

#[track_caller]
fn check(address: SocketAddr, command: &str, expected: &str) {
    let reply = ask(address, command, expected.len());
    assert_eq!(reply.as_deref(), Some(expected));
}

/// Reads from the server what is expected.
#[track_caller]
fn hears(mut client: &TcpStream, expected: &str) {
    let mut reply = vec![0; expected.len()];
    (client
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| client.read_exact(&mut reply)))
    .expect("it answers");
    assert_eq!(str::from_utf8(&reply), Ok(expected));
}

/// Repeats until the condition holds.
#[track_caller]
fn poll(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TIMEOUT, "it never is");
        std::thread::yield_now();
    }
}

#[test]
fn two_servers_know_nothing_of_each_other() {
    let [one, two] = [(); 2].map(|()| Server::start().expect("it starts"));
    check(one.address(), "SET k v", "+OK\r\n");
    check(two.address(), "GET k", "$-1\r\n");
    check(one.address(), "GET k", "$1\r\nv\r\n");
}

#[test]
fn a_replica_has_what_its_master_has() {
    let master = Server::start().expect("it starts");
    check(master.address(), "SET k 1", "+OK\r\n");
    let replica = master.replica().expect("it starts");
    poll(|| answers(replica.address(), "EXISTS k", ":1\r\n"));
    check(replica.address(), "GET k", "$1\r\n1\r\n");
}

#[test]
fn endless_script_does_not_block_other_clients_for_long() {
    for body in [
        "redis.call('ping')",
        "redis.pcall('set', 'k', 'v')",
        "local x = 1",
    ] {
        let server = Server::start().expect("it starts");
        let address = server.address();
        check(address, "CONFIG SET busy-reply-threshold 100", "+OK\r\n");
        let mut stream = TcpStream::connect(address).expect("it accepts");
        let line = format!("EVAL \"while 1 do {body} end\" 0\r\n");
        stream.write_all(line.as_bytes()).expect("it reads");
        poll(|| answers(address, "GET x", "-BUSY Redis is busy running a script."));
        check(address, "GET x", "-BUSY Redis is busy running a script.");
    }
}

#[test]
fn script_that_outlives_the_threshold_ends_with_its_answer() {
    let server = Server::start().expect("it starts");
    let address = server.address();
    check(address, "CONFIG SET busy-reply-threshold 100", "+OK\r\n");
    let mut runner = TcpStream::connect(address).expect("it accepts");
    // A client that is connected already, and one that comes later.
    let mut other = TcpStream::connect(address).expect("it accepts");
    let line = "EVAL \"local function now() local t = redis.call('time') return t[1] + t[2] / 1e6 end \
                redis.call('set', 'k', 'v') local start = now() while now() < start + 1.5 do end \
                return 'over'\" 0\r\n";
    runner.write_all(line.as_bytes()).expect("it reads");
    poll(|| answers(address, "GET k", "-BUSY Redis is busy running a script."));
    other.write_all(b"GET k\r\n").expect("it reads");
    let mut reply = [0; 5];
    other.read_exact(&mut reply).expect("it answers");
    assert_eq!(&reply, b"-BUSY");
    assert!(answers(address, "SCRIPT KILL", "-UNKILLABLE"));
    let mut reply = [0; 10];
    runner.read_exact(&mut reply).expect("it answers");
    assert_eq!(&reply, b"$4\r\nover\r\n");
    check(address, "GET k", "$1\r\nv\r\n");
}

/// A client that reads slowly gets the whole message, and one that disconnects makes room, while the script goes on.
#[test]
fn script_delays_neither_large_messages_nor_disconnections() {
    let server = Server::start().expect("it starts");
    let address = server.address();
    check(address, "CONFIG SET busy-reply-threshold 1", "+OK\r\n");
    let [runner, hearer, leaver] =
        [(); 3].map(|()| TcpStream::connect(address).expect("it accepts"));
    send(&hearer, "SUBSCRIBE c");
    hears(&hearer, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    poll(|| answers(address, "CONFIG SET maxclients 4", "+OK\r\n"));
    send(
        &runner,
        "EVAL \"redis.call('publish', 'c', string.rep('x', 32000000)) while true do end\" 0",
    );
    poll(|| answers(address, "GET k", "-BUSY"));
    let message = "x".repeat(32_000_000);
    hears(
        &hearer,
        &format!("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$32000000\r\n{message}\r\n"),
    );
    drop(leaver);
    let _one = TcpStream::connect(address).expect("it accepts");
    poll(|| answers(address, "SCRIPT KILL", "+OK\r\n"));
}

#[test]
fn endless_script_is_killed_by_a_new_client() {
    let server = Server::start().expect("it starts");
    let address = server.address();
    check(address, "CONFIG SET busy-reply-threshold 100", "+OK\r\n");
    let mut runner = TcpStream::connect(address).expect("it accepts");
    runner
        .write_all(b"EVAL \"while true do end\" 0\r\n")
        .expect("it reads");
    poll(|| answers(address, "SCRIPT KILL", "+OK"));
    let mut reply = [0; 27];
    runner.read_exact(&mut reply).expect("it answers");
    assert_eq!(&reply, b"-ERR Script killed by user ");
    check(address, "PING", "+PONG\r\n");
}

#[test]
fn server_with_an_endless_script_stops_and_keeps_nothing_of_it() {
    let append_only = Persistence::AppendOnly(Fsync::Always);
    let builder = Server::builder().persistence(append_only);
    let mut server = builder.start().expect("it starts");
    let address = server.address();
    check(
        address,
        "CONFIG SET busy-reply-threshold 3600000",
        "+OK\r\n",
    );
    let mut runner = TcpStream::connect(address).expect("it accepts");
    let line = b"EVAL \"redis.call('set', 'k', 'v') while true do end\" 0\r\n";
    runner.write_all(line).expect("it reads");
    // It runs before anything that is sent later.
    std::thread::sleep(Duration::from_millis(100));
    // That it ends at all shows that it does not wait for the threshold.
    server.restart().expect("it starts again");
    check(address, "GET k", "$-1\r\n");
}

#[test]
fn time_passes_while_a_script_runs() {
    let server = Server::start().expect("it starts");
    let start = Instant::now();
    check(
        server.address(),
        "EVAL \"local function us(t) return t[1] * 1000000 + t[2] end \
         redis.call('set', 'k', 'v', 'px', 40) local start = us(redis.call('time')) \
         while us(redis.call('time')) < start + 50000 do end \
         return {redis.call('exists', 'k'), redis.call('pttl', 'k')}\" 0",
        "*2\r\n:1\r\n:0\r\n",
    );
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn restart_without_persistence_loses_data() {
    for (persistence, kept) in [
        (Persistence::Nothing, "$-1\r\n"),
        (Persistence::AppendOnly(Fsync::EverySecond), "$1\r\nv\r\n"),
        // A kill leaves no time for a snapshot.
        (Persistence::Snapshots(SnapshotRule::of_redis()), "$-1\r\n"),
    ] {
        let builder = Server::builder().persistence(persistence);
        let mut server = builder.start().expect("it starts");
        let address = server.address();
        check(address, "SET k v", "+OK\r\n");
        server.restart().expect("it starts again");
        assert_eq!(server.address(), address);
        check(address, "GET k", kept);
    }
}

/// A server on a machine of its own, until `stop`.
fn on_machine(builder: Builder, machine: &Machine) -> (SocketAddr, Stop, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (theirs, stop) = (machine.clone(), Stop::default());
    let stopped = stop.clone();
    let serve = move || {
        let served = builder.serve_on(listener, &theirs, &stopped);
        served.expect("it serves");
    };
    (address, stop, std::thread::spawn(serve))
}

#[test]
fn a_step_of_a_machines_clock_ends_its_leases_alone() {
    let machines = [(); 2].map(|()| Machine::default());
    let servers = machines
        .each_ref()
        .map(|machine| on_machine(Server::builder(), machine).0);
    for server in servers {
        check(server, "SET lock c1 PX 10000", "+OK\r\n");
    }
    machines[1].step_clock(11_000_000);
    check(servers[0], "GET lock", "$2\r\nc1\r\n");
    check(servers[1], "GET lock", "$-1\r\n");
}

#[test]
fn a_fast_clock_ends_leases_early() {
    let machine = Machine::default();
    let (server, ..) = on_machine(Server::builder(), &machine);
    check(server, "SET lock c1 PX 60000", "+OK\r\n");
    machine.set_clock_rate(1_000.0);
    // It finds the expired key without being asked.
    let is_empty = "$12\r\n# Keyspace\r\n\r\n";
    poll(|| answers(server, "INFO keyspace", is_empty));
}

#[test]
fn a_power_loss_takes_what_was_not_synced() {
    for (fsync, kept) in [
        (Fsync::Always, "$2\r\nc1\r\n"),
        (Fsync::EverySecond, "$-1\r\n"),
    ] {
        let machine = Machine::default();
        // So no second begins in which the file would be synced.
        machine.set_clock_rate(0.0);
        let builder = Server::builder().persistence(Persistence::AppendOnly(fsync));
        let (server, stop, thread) = on_machine(builder.clone(), &machine);
        check(server, "SET lock c1", "+OK\r\n");
        stop.signal();
        thread.join().expect("it does not panic");
        machine.lose_power();
        let (server, ..) = on_machine(builder, &machine);
        check(server, "GET lock", kept);
    }
}

#[test]
fn a_paused_server_answers_when_the_pause_is_over() {
    let machine = Machine::default();
    let (server, ..) = on_machine(Server::builder(), &machine);
    check(server, "SET lock c1 PX 100", "+OK\r\n");
    let pause = Duration::from_millis(150);
    let start = Instant::now();
    machine.pause(pause);
    // Its clock goes on meanwhile.
    check(server, "GET lock", "$-1\r\n");
    assert!(start.elapsed() >= pause);
}

/// The bytes in the queues of the socket from one address to the other on Linux, as the kernel shows them: those of
/// which the other end has not said that it has them, and those that the process has not read.
fn queued(from: io::Result<SocketAddr>, to: io::Result<SocketAddr>) -> Option<[String; 2]> {
    let [from, to] = [from, to].map(|it| format!(":{:04X}", it.expect("an address").port()));
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let mut sockets = sockets
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let socket = sockets.find(|it| it[1].ends_with(&from) && it[2].ends_with(&to))?;
    let (sent, received) = socket[4].split_once(':')?;
    Some([sent, received].map(str::to_owned))
}

/// Sends a line. When this returns, the kernel of a server on Linux has it, so what is sent next comes later.
fn send(mut client: &TcpStream, line: &str) {
    writeln!(client, "{line}").expect("it reads");
    poll(|| {
        let queued = queued(client.local_addr(), client.peer_addr());
        queued.is_none_or(|[sent, _]| sent == "00000000")
    });
}

/// For a lock that is who gets it.
#[test]
fn what_comes_while_a_server_stands_still_is_served_in_the_order_of_arrival() {
    let script = "EVAL \"local t = redis.call('time')[1] + 3600 while redis.call('time')[1] + 0 < t do end\" 0";
    let busy = "the same script, of which the other clients have heard";
    // If they come later than the sleep lasts, the order is the same.
    let sleep = "DEBUG SLEEP 0.5";
    for stop in ["", sleep, script, busy] {
        let machine = Machine::default();
        let (server, ..) = on_machine(Server::builder(), &machine);
        // They come in another order than they connect.
        let mut clients = [(); 8].map(|()| TcpStream::connect(server).expect("it accepts"));
        for client in &mut clients {
            client.set_read_timeout(Some(TIMEOUT)).expect("not zero");
            // Those that are not accepted yet will be in the order in which they connected.
            send(client, "PING");
            client.read_exact(&mut [0; 7]).expect("it answers");
        }
        let threshold_ms = if stop == busy { 5_000 } else { 86_400_000 };
        check(
            server,
            &format!("CONFIG SET busy-reply-threshold {threshold_ms}"),
            "+OK\r\n",
        );
        let [first, killer, leaver, clients @ ..] = &mut clients;
        let hour = Duration::from_secs(3600);
        match stop {
            "" => machine.pause(hour),
            _ if stop == busy => {
                send(first, script);
                poll(|| {
                    machine.step_clock(1_000_000);
                    answers(server, "GET k", "-BUSY")
                });
                leaver.shutdown(Shutdown::Write).expect("it is connected");
                for mut client in clients.iter() {
                    send(client, "GET k");
                    let mut reply = [0; 75];
                    client.read_exact(&mut reply).expect("it answers");
                    assert!(reply.starts_with(b"-BUSY"));
                }
                // It waits for the end of its script.
                send(first, "PING");
                machine.pause(hour);
            }
            _ => send(first, stop),
        }
        // Held back physically, it is answered before its end is seen.
        if ["", script].contains(&stop) {
            send(first, "PING");
            first.shutdown(Shutdown::Write).expect("it is connected");
        }
        clients.swap(0, 4);
        clients.swap(1, 2);
        if stop == busy {
            // Who is heard while it runs ends it; the others are served after it.
            send(killer, "SCRIPT KILL");
        }
        for (index, client) in clients.iter().enumerate() {
            send(client, &format!("RPUSH q {index}"));
        }
        machine.pause(Duration::ZERO);
        if stop != busy {
            machine.step_clock(2 * hour.as_micros() as i64);
        }
        poll(|| answers(server, "LLEN q", ":5\r\n"));
        let queue: String = (0..5).map(|index| format!("$1\r\n{index}\r\n")).collect();
        check(server, "LRANGE q 0 -1", &format!("*5\r\n{queue}"));
        if stop == busy {
            assert_eq!(leaver.read(&mut [0]).expect("it sees the end"), 0);
        }
        if stop != sleep {
            let mut reply = Vec::new();
            while !reply.ends_with(b"+PONG\r\n") {
                let mut byte = [0];
                first.read_exact(&mut byte).expect("it answers");
                reply.extend(byte);
            }
            // Fails if the server has ended it by now.
            let _ = first.shutdown(Shutdown::Write);
            assert_eq!(first.read(&mut [0]).expect("it sees the end"), 0);
        }
    }
}

/// The timer starts the script, since a pause delayed it. Nothing else makes the server look at its sockets again.
#[test]
fn request_that_arrives_with_the_kill_of_a_delayed_script_is_answered() {
    let machine = Machine::default();
    let (server, ..) = on_machine(Server::builder(), &machine);
    let clients = [(); 4].map(|()| TcpStream::connect(server).expect("it accepts"));
    let [runner, hearer, killer, other] = clients;
    check(server, "CONFIG SET busy-reply-threshold 1", "+OK\r\n");
    send(&hearer, "SUBSCRIBE begun");
    poll(|| answers(server, "PUBSUB NUMSUB begun", "*2\r\n$5\r\nbegun\r\n:1\r\n"));
    let script = "EVAL \"redis.call('PUBLISH','begun','') while true do end\" 0";
    send(&runner, &format!("CLIENT PAUSE 3600000 ALL\r\n{script}"));
    hears(&runner, "+OK\r\n");
    machine.step_clock(Duration::from_secs(3600).as_micros() as i64);
    hears(&hearer, "*3\r\n$9\r\nsubscribe\r\n$5\r\nbegun\r\n:1\r\n");
    hears(&hearer, "*3\r\n$7\r\nmessage\r\n$5\r\nbegun\r\n$0\r\n\r\n");
    machine.pause(Duration::from_secs(3600));
    send(&killer, "SCRIPT KILL");
    send(&other, "ECHO v");
    machine.pause(Duration::ZERO);
    hears(&other, "$1\r\nv\r\n");
}

#[test]
fn requests_of_a_client_that_disconnects_during_a_sleep_are_executed() {
    let machine = Machine::default();
    let (server, ..) = on_machine(Server::builder(), &machine);
    let [sleeper, leaver] = [(); 2].map(|()| TcpStream::connect(server).expect("it accepts"));
    send(&sleeper, "DEBUG SLEEP 0.5");
    send(&leaver, "SET k v");
    // Nobody is accepted during the sleep.
    let hasty = TcpStream::connect(server).expect("the kernel accepts");
    send(&hasty, "SET l v");
    // The server has not read it, so it takes no memory of the process.
    let queued = queued(leaver.peer_addr(), leaver.local_addr());
    sleeper.set_nonblocking(true).expect("it is connected");
    let is_asleep = sleeper.peek(&mut [0]).is_err();
    sleeper.set_nonblocking(false).expect("it is connected");
    if let Some([_, received]) = queued.filter(|_| is_asleep) {
        assert_ne!(received, "00000000");
    }
    drop((leaver, hasty));
    hears(&sleeper, "+OK\r\n");
    check(server, "MGET k l", "*2\r\n$1\r\nv\r\n$1\r\nv\r\n");
}

#[test]
fn a_server_that_is_killed_in_a_pause_executes_nothing_more() {
    let machine = Machine::default();
    let builder = Server::builder().persistence(Persistence::AppendOnly(Fsync::Always));
    let (server, stop, thread) = on_machine(builder.clone(), &machine);
    check(server, "PING", "+PONG\r\n");
    machine.pause(Duration::from_secs(3600));
    let mut client = TcpStream::connect(server).expect("its kernel accepts");
    client
        .write_all(b"SET lock c1\r\n")
        .expect("its kernel reads");
    stop.signal();
    thread
        .join()
        .expect("it does not wait for the end of the pause");
    machine.pause(Duration::ZERO);
    let (server, ..) = on_machine(builder, &machine);
    check(server, "GET lock", "$-1\r\n");
}

#[test]
fn a_server_that_was_shut_down_starts_again() {
    let mut server = Server::start().expect("it starts");
    let mut stream = TcpStream::connect(server.address()).expect("it listens");
    stream.write_all(b"SHUTDOWN NOW\r\n").expect("it reads");
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    server.restart().expect("it starts again");
    check(server.address(), "PING", "+PONG\r\n");
}

#[test]
fn server_accepts_as_many_clients_as_configured() {
    let one = NonZeroU32::new(1).expect("not zero");
    let server = Server::builder().max_clients(one).start();
    let server = server.expect("it starts");
    let first = TcpStream::connect(server.address()).expect("it listens");
    let mut second = TcpStream::connect(server.address()).expect("it listens");
    let mut reply = String::new();
    second.read_to_string(&mut reply).expect("it answers");
    assert_eq!(reply, "-ERR max number of clients reached\r\n");
    drop(first);
}

#[test]
fn a_port_that_is_taken_is_named_with_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port();
    let error = Server::builder().port(port).start().unwrap_err();
    assert!(matches!(error, StartError::Listen { .. }));
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot listen on 127.0.0.1:{port}: ")));
    assert!(text.ends_with("; leave the port out, or give 0, to have a free one"));
}

#[test]
fn sentinels_promote_a_replica_when_its_master_is_gone() {
    let master = Server::start().expect("it starts");
    let replica = master.replica().expect("it starts");
    poll(|| answers(master.address(), "WAIT 1 1000", ":1\r\n"));
    let monitor = Monitor {
        down_after: Duration::from_millis(500),
        ..Monitor::new("mymaster", master.address().into(), 2)
    };
    let sentinels = [(); 3].map(|()| {
        let builder = SentinelServer::builder().monitor(monitor.clone());
        builder.start().expect("it starts")
    });
    // Each has to know the other two, and the replica, before the master goes.
    let knows = |sentinel: &SentinelServer, what: &str, head: &str| {
        answers(
            sentinel.address(),
            &format!("SENTINEL {what} mymaster"),
            head,
        )
    };
    poll(|| {
        let mut all = sentinels.iter();
        all.all(|sentinel| {
            knows(sentinel, "SENTINELS", "*2\r\n") && knows(sentinel, "REPLICAS", "*1\r\n")
        })
    });
    drop(master);
    poll(|| answers(replica.address(), "SET k v", "+OK\r\n"));
}

/// The number of threads of this process whose names contain this, if the system lists them.
fn threads(name: &str) -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim() == name).count()
}

#[test]
fn nothing_is_left_of_a_server_that_was_dropped() {
    let server = Server::start().expect("it starts");
    let monitor = Monitor::new("mymaster", server.address().into(), 1);
    let sentinel = SentinelServer::builder().monitor(monitor).start();
    let sentinel = sentinel.expect("it starts");
    let addresses = [server.address(), sentinel.address()];
    let names = [
        format!("redis {}", addresses[0].port()),
        format!("sentinel {}", addresses[1].port()),
    ];
    let mut clients = addresses.map(|address| TcpStream::connect(address).expect("it listens"));
    check(addresses[0], "PING", "+PONG\r\n");
    if cfg!(target_os = "linux") {
        // A thread takes its name when it begins to run.
        poll(|| names.iter().all(|name| threads(name) == 1));
    }
    drop((server, sentinel));
    for client in &mut clients {
        client.set_read_timeout(Some(TIMEOUT)).expect("not zero");
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }
    for address in addresses {
        assert!(TcpStream::connect(address).is_err());
    }
    // A thread that was joined may still be listed for a moment.
    poll(|| names.iter().all(|name| threads(name) == 0));
}
