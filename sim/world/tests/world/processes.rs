//! Faults of a host: its process is paused or killed, its machine is suspended or crashes.

use locklab_world::clock::EPOCH_NS;
use locklab_world::{Host, HostId, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{Diary, MS, PORT, SECOND, ms, outcome, world};

/// A server that records every byte that it reads, and sends it back.
async fn echo(host: Host, diary: Diary) {
    let Ok(listener) = host.listen(PORT).await else {
        return diary.note(&host, "cannot listen");
    };
    while let Ok((mut stream, _)) = listener.accept().await {
        diary.note(&host, "accepted");
        let (host, diary) = (host.clone(), diary.clone());
        host.clone().spawn(async move {
            while let Ok(byte) = stream.read_u8().await {
                diary.note(&host, format_args!("got {byte}"));
                stream.write_u8(byte).await.unwrap();
            }
        });
    }
}

/// A client that connects to an [`echo`] immediately, sends its bytes after `wait_ms`, then reads
/// until the stream ends.
fn start_client(world: &mut World, server: HostId, client: HostId, wait_ms: u64, diary: &Diary) {
    diary.start(world, client, move |host, diary| async move {
        let mut stream = match host.connect(server, PORT).await {
            Ok(stream) => stream,
            Err(error) => return diary.note(&host, error.kind()),
        };
        diary.note(&host, "connected");
        host.sleep(ms(wait_ms)).await;
        for byte in [1, 2, 3] {
            if let Err(error) = stream.write_u8(byte).await {
                return diary.note(&host, format_args!("cannot write: {:?}", error.kind()));
            }
            host.sleep(ms(1)).await;
        }
        loop {
            match stream.read_u8().await {
                Ok(byte) => diary.note(&host, format_args!("read {byte}")),
                Err(error) => return diary.note(&host, format_args!("{:?}", error.kind())),
            }
        }
    });
}

/// Runs an echo server and a client that sends at 10 ms, with `fault` on the server.
#[track_caller]
fn check_server(fault: impl FnOnce(&mut World, HostId), expected: &[&str]) {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, echo);
    start_client(&mut world, server, client, 4, &diary);
    fault(&mut world, server);
    world.run(60 * SECOND);
    let lines = diary.lines();
    assert_eq!(lines, expected, "{lines:#?}");
}

#[test]
fn without_a_fault() {
    check_server(
        |_, _| {},
        &[
            "6 connected",
            "6 accepted",
            "13 got 1",
            "14 got 2",
            "15 got 3",
            "16 read 1",
            "17 read 2",
            "18 read 3",
        ],
    );
}

/// Each of three bytes arrives 3 ms after it was written, and is back 3 ms later.
#[test]
fn a_paused_process_handles_nothing_until_it_resumes() {
    check_server(
        |world, server| {
            world.at(8 * MS, move |world| world.pause(server));
            world.at(100 * MS, move |world| world.resume(server));
        },
        &[
            "6 connected",
            "6 accepted",
            "100 got 1",
            "100 got 2",
            "100 got 3",
            "103 read 1",
            "103 read 2",
            "103 read 3",
        ],
    );
}

#[test]
fn the_kernel_of_a_paused_process_accepts() {
    check_server(
        |world, server| {
            // Not before the process listens.
            world.at(MS, move |world| world.pause(server));
            world.at(100 * MS, move |world| world.resume(server));
        },
        &[
            "6 connected",
            "100 accepted",
            "100 got 1",
            "100 got 2",
            "100 got 3",
            "103 read 1",
            "103 read 2",
            "103 read 3",
        ],
    );
}

#[test]
fn overlapping_pauses_are_one_long_pause() {
    check_server(
        |world, server| {
            for (from, to) in [(8, 100), (50, 200), (60, 70)] {
                world.at(from * MS, move |world| world.pause(server));
                world.at(to * MS, move |world| world.resume(server));
            }
        },
        &[
            "6 connected",
            "6 accepted",
            "200 got 1",
            "200 got 2",
            "200 got 3",
            "203 read 1",
            "203 read 2",
            "203 read 3",
        ],
    );
}

/// The end of the stream arrives at 11 ms, while the client is still writing.
#[test]
fn a_killed_process_closes_its_connections() {
    check_server(
        |world, server| world.at(8 * MS, move |world| world.kill(server)),
        &["6 connected", "6 accepted", "13 UnexpectedEof"],
    );
}

#[test]
fn a_killed_process_with_unread_bytes_resets_its_connections() {
    check_server(
        |world, server| {
            world.at(8 * MS, move |world| world.pause(server));
            world.at(20 * MS, move |world| world.kill(server));
        },
        &["6 connected", "6 accepted", "23 ConnectionReset"],
    );
}

/// The data that the client writes at 10 ms is retransmitted 200, 400, 800 and 1600 ms later: the
/// first attempt after the restart leaves at 1610 ms, and the reset is back 6 ms later.
#[test]
fn a_crash_is_silent_and_its_peer_is_reset_after_the_restart() {
    check_server(
        |world, server| {
            world.at(8 * MS, move |world| world.crash(server));
            world.at(1_000 * MS, move |world| world.restart(server));
        },
        &["6 connected", "6 accepted", "1616 ConnectionReset"],
    );
}

/// Notes of each connection how it ends.
async fn sink(host: Host, diary: Diary) {
    let listener = host.listen(PORT).await.unwrap();
    while let Ok((mut stream, _)) = listener.accept().await {
        let error = loop {
            match stream.read_u8().await {
                Ok(byte) => diary.note(&host, format_args!("got {byte}")),
                Err(error) => break error,
            }
        };
        diary.note(&host, format_args!("lost it: {:?}", error.kind()));
    }
}

/// The third byte is on its way, and lost. The server still listens.
#[test]
fn a_reset_ends_connections_at_both_ends_and_lets_new_ones_in() {
    for strikes_server in [true, false] {
        let (mut world, [server, client]) = world();
        let diary = Diary::default();
        diary.start(&mut world, server, sink);
        start_client(&mut world, server, client, 4, &diary);
        let host = if strikes_server { server } else { client };
        world.at(14 * MS + MS / 2, move |world| world.reset_connections(host));
        world.run(20 * MS);
        let mut lines = diary.lines();
        // Which of the two processes runs first is drawn.
        lines[3..].sort();
        let ends = ["14.5 ConnectionReset", "14.5 lost it: ConnectionReset"];
        assert_eq!(lines[..3], ["6 connected", "13 got 1", "14 got 2"]);
        assert_eq!(lines[3..], ends);
        start_client(&mut world, server, client, 4, &diary);
        world.run(60 * SECOND);
        let after = ["24 connected", "31 got 1", "32 got 2", "33 got 3"];
        assert_eq!(diary.lines()[5..], after);
    }
}

/// Power fails for good at the instant at which the server has written.
#[test]
fn data_written_before_a_crash_arrives() {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, move |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_u8(1).await.unwrap();
        host.interrupt(move |world| world.crash(server)).await;
        diary.note(&host, "still here");
    });
    start_client(&mut world, server, client, 4, &diary);
    world.run(60 * SECOND);
    assert_eq!(diary.lines(), ["6 connected", "16 read 1"]);
}

/// A SYN is retransmitted after 1 s and again after 2 s.
#[test]
fn connecting_to_a_crashed_host_succeeds_after_its_restart() {
    check_server(
        |world, server| {
            world.crash(server);
            world.at(2_500 * MS, move |world| world.restart(server));
        },
        &[
            "3006 connected",
            "3006 accepted",
            "3013 got 1",
            "3014 got 2",
            "3015 got 3",
            "3016 read 1",
            "3017 read 2",
            "3018 read 3",
        ],
    );
}

#[test]
fn connecting_to_a_killed_process_is_refused() {
    check_server(
        |world, server| world.kill(server),
        &["6 connection refused"],
    );
}

/// The server's clients still hold their ends of the old connections.
#[test]
fn a_killed_process_listens_again_after_its_restart() {
    for downtime_ms in [0, 1, 100] {
        let (mut world, [server, early, late]) = world();
        let diary = Diary::default();
        diary.start(&mut world, server, echo);
        diary.start(&mut world, early, move |host, diary| async move {
            let mut stream = host.connect(server, PORT).await.unwrap();
            host.sleep(ms(1_000)).await;
            diary.note(&host, outcome(stream.read_u8().await));
        });
        world.at(8 * MS, move |world| world.kill(server));
        world.at((8 + downtime_ms) * MS, move |world| world.restart(server));
        diary.start(&mut world, late, move |host, diary| async move {
            host.sleep(ms(200)).await;
            let mut stream = host.connect(server, PORT).await.unwrap();
            stream.write_u8(9).await.unwrap();
            diary.note(&host, outcome(stream.read_u8().await));
        });
        diary.check(
            &mut world,
            &[
                "6 accepted",
                "206 accepted",
                "209 got 9",
                "212 9",
                "1006 UnexpectedEof",
            ],
        );
    }
}

#[test]
fn overlapping_outages_are_one_long_outage() {
    let (mut world, [host]) = world();
    let diary = Diary::default();
    diary.start(&mut world, host, |host, diary| async move {
        diary.note(&host, "started");
    });
    for (from, to) in [(1, 10), (5, 20), (6, 7)] {
        world.at(from * SECOND, move |world| world.kill(host));
        world.at(to * SECOND, move |world| world.restart(host));
    }
    // Restarting a running process changes nothing.
    world.at(30 * SECOND, move |world| world.restart(host));
    diary.check(&mut world, &["0 started", "20000 started"]);
}

/// A client connects and sleeps for a second; its machine is suspended from 100 to 600 ms, and the
/// server sends it a byte at 200 ms.
#[test]
fn a_suspended_machine_loses_the_time_by_its_monotonic_clock_alone() {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, _| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        host.sleep(ms(194)).await;
        stream.write_u8(1).await.unwrap();
        stream.read_u8().await.unwrap_err();
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let mut stream = host.connect(server, PORT).await.unwrap();
        let (sleeper, its_diary) = (host.clone(), diary.clone());
        host.spawn(async move {
            sleeper.sleep(ms(1_000)).await;
            let wall_ms = (sleeper.wall_ns() - EPOCH_NS) / MS;
            let mono_ms = sleeper.mono_ns() / MS;
            its_diary.note(
                &sleeper,
                format_args!("slept: wall {wall_ms}, monotonic {mono_ms}"),
            );
        });
        diary.note(&host, stream.read_u8().await.unwrap());
    });
    world.at(100 * MS, move |world| world.suspend(client));
    world.at(600 * MS, move |world| world.wake(client));
    diary.check(
        &mut world,
        &["600 1", "1506 slept: wall 1506, monotonic 1006"],
    );
}

#[test]
fn a_sleep_that_fell_due_in_a_pause_ends_with_the_pause() {
    let (mut world, [host]) = world();
    let diary = Diary::default();
    diary.start(&mut world, host, |host, diary| async move {
        for _ in 0..3 {
            host.sleep(ms(100)).await;
            diary.note(&host, "awake");
        }
    });
    world.at(50 * MS, move |world| world.pause(host));
    world.at(170 * MS, move |world| world.resume(host));
    diary.check(&mut world, &["170 awake", "270 awake", "370 awake"]);
}

#[test]
fn a_process_that_starts_on_a_paused_host_waits_for_the_end_of_the_pause() {
    let (mut world, [host]) = world();
    let diary = Diary::default();
    diary.start(&mut world, host, |host, diary| async move {
        diary.note(&host, "started");
    });
    world.at(10 * MS, move |world| world.pause(host));
    world.at(20 * MS, move |world| world.crash(host));
    world.at(30 * MS, move |world| world.restart(host));
    world.at(40 * MS, move |world| world.resume(host));
    diary.check(&mut world, &["0 started", "40 started"]);
}
