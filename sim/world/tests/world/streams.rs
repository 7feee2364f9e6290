//! Byte streams: the handshake, back-pressure, half-close, and what remains of an abandoned
//! connection.

use locklab_link::{LinkEffect, LinkRule};
use locklab_world::{Host, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{Diary, PORT, SECOND, ms, outcome, within, world};

#[test]
fn data_written_immediately_after_connecting_arrives() {
    cov_mark::check!(the_end_of_a_handshake_goes_alone);
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = [0; 5];
        stream.read_exact(&mut text).await.unwrap();
        diary.note(&host, String::from_utf8_lossy(&text));
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let mut stream = host.connect(server, PORT).await.unwrap();
        diary.note(&host, "connected");
        stream.write_all(b"hello").await.unwrap();
    });
    // A round trip for the handshake, one way for the data.
    diary.check(&mut world, &["6 connected", "9 hello"]);
}

/// A request of `size` bytes, written in one call 50 ms into the run and answered only when it is
/// complete.
#[track_caller]
fn check_request(size: usize, expected: &[&str]) {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, move |host, _| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; size];
        stream.read_exact(&mut request).await.unwrap();
        stream.write_all(b"!").await.unwrap();
        stream.read_u8().await.unwrap_err();
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let mut stream = host.connect(server, PORT).await.unwrap();
        host.sleep(ms(44)).await;
        stream.write_all(&vec![1; size]).await.unwrap();
        diary.note(&host, "written");
        stream.read_u8().await.unwrap();
        diary.note(&host, "answered");
    });
    diary.check(&mut world, expected);
}

#[test]
fn a_request_takes_one_way_for_each_window_that_it_fills() {
    check_request(1, &["50 written", "56 answered"]);
    check_request(65_535, &["50 written", "56 answered"]);
    // The buffer has room for one byte more than the window, and that byte is sent when the first
    // acknowledgement announces room, 3 ms later.
    check_request(65_536, &["50 written", "59 answered"]);
    check_request(65_537, &["53 written", "59 answered"]);
    check_request(131_070, &["53 written", "59 answered"]);
}

/// Only what is under way counts, and not all that was ever sent.
#[test]
fn many_small_messages_fill_no_window() {
    const ROUNDS: usize = 100;
    cov_mark::check_count!(an_acknowledgement_makes_room, 0);
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, _| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut message = [0; 1_000];
        for _ in 0..ROUNDS {
            stream.read_exact(&mut message).await.unwrap();
            stream.write_all(&message).await.unwrap();
        }
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let mut stream = host.connect(server, PORT).await.unwrap();
        let mut message = [1; 1_000];
        for _ in 0..ROUNDS {
            stream.write_all(&message).await.unwrap();
            stream.read_exact(&mut message).await.unwrap();
        }
        diary.note(&host, "done");
    });
    // A round trip takes 6 ms.
    diary.check(&mut world, &["606 done"]);
}

/// Two hosts write `SIZE` bytes to each other in one call, and read only after a second, in pieces
/// of `piece` bytes.
#[track_caller]
fn check_exchange(piece: usize, expected: &[&str]) {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, move |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        exchange(stream, piece, "server", host, diary).await;
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let stream = host.connect(server, PORT).await.unwrap();
        exchange(stream, piece, "client", host, diary).await;
    });
    diary.check(&mut world, expected);
}

/// One mebibyte: ten times what the buffers of both ends hold.
const SIZE: usize = 1 << 20;

async fn exchange(stream: TcpStream, piece: usize, name: &'static str, host: Host, diary: Diary) {
    let (mut reader, mut writer) = stream.into_split();
    let (writing, its_diary) = (host.clone(), diary.clone());
    host.spawn(async move {
        let text: Vec<u8> = (0..SIZE).map(byte_at).collect();
        writer.write_all(&text).await.unwrap();
        its_diary.note(&writing, format_args!("{name} has written"));
    });
    host.sleep(ms(1_000)).await;
    let mut bytes = vec![0; piece];
    let mut total = 0;
    while let count @ 1.. = reader.read(&mut bytes).await.unwrap() {
        for (index, byte) in bytes[..count].iter().enumerate() {
            assert_eq!(*byte, byte_at(total + index));
        }
        total += count;
    }
    diary.note(&host, format_args!("{name} has read {total}"));
}

/// A text in which a missing or repeated segment would be noticed.
fn byte_at(index: usize) -> u8 {
    (index % 251) as u8
}

/// No host reads for a second, so none has written everything before that. Then every 3 ms a
/// window is sent each way, 16 windows after those that fill the buffers.
#[test]
fn writer_waits_for_a_reader_with_any_read_size() {
    cov_mark::check!(an_acknowledgement_makes_room);
    for piece in [1 << 20, 65_536, 32_768, 4_096, 100] {
        check_exchange(
            piece,
            &[
                "1048 client has written",
                "1048 server has written",
                "1051 client has read 1048576",
                "1051 server has read 1048576",
            ],
        );
    }
}

#[test]
fn an_end_that_has_written_all_can_still_read() {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        diary.note(&host, format_args!("server has read {text}"));
        host.sleep(ms(10)).await;
        stream.write_all(b"goodbye").await.unwrap();
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let mut stream = host.connect(server, PORT).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        diary.note(&host, format_args!("client has read {text}"));
    });
    diary.check(
        &mut world,
        &["9 server has read hello", "22 client has read goodbye"],
    );
}

#[test]
fn a_connection_to_a_port_without_listener_is_refused() {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, client, move |host, diary| async move {
        let result = host.connect(server, PORT).await.map(|_| "connected");
        diary.note(&host, outcome(result));
    });
    diary.check(&mut world, &["6 ConnectionRefused"]);
}

#[test]
fn many_connections_do_not_mix() {
    const CONNECTIONS: u32 = 500;
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, _| async move {
        let listener = host.listen(PORT).await.unwrap();
        while let Ok((mut stream, _)) = listener.accept().await {
            host.spawn(async move {
                let number = stream.read_u32().await.unwrap();
                stream.write_u32(number * 2).await.unwrap();
            });
        }
    });
    diary.start(&mut world, client, move |host, diary| async move {
        for number in 0..CONNECTIONS {
            let (client, diary) = (host.clone(), diary.clone());
            host.spawn(async move {
                let mut stream = client.connect(server, PORT).await.unwrap();
                stream.write_u32(number).await.unwrap();
                diary.note(&client, stream.read_u32().await.unwrap());
            });
        }
    });
    let answers: Vec<String> = (0..CONNECTIONS).map(|n| format!("12 {}", n * 2)).collect();
    diary.check(
        &mut world,
        &answers.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

/// A client gives up connecting over and over: before the answer arrives, and while the link is
/// cut. Nothing of it may remain: the server must be able to start again on its port, and accept.
#[test]
fn connections_that_were_given_up_leave_nothing_behind() {
    cov_mark::check!(a_reset_completes_the_handshake);
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    diary.start(&mut world, server, |host, diary| async move {
        let Ok(listener) = host.listen(PORT).await else {
            return diary.note(&host, "cannot listen");
        };
        while let Ok((mut stream, _)) = listener.accept().await {
            let ending = outcome(stream.read_u8().await);
            diary.note(&host, format_args!("served, {ending}"));
        }
    });
    diary.start(&mut world, client, move |host, diary| async move {
        for patience_ms in [1, 4, 5] {
            let stream = within(&host, ms(patience_ms), host.connect(server, PORT)).await;
            assert!(stream.is_none(), "a handshake takes 6 ms");
            host.sleep(ms(20)).await;
        }
        let cut = LinkRule {
            from: vec![host.id()],
            to: vec![server],
            both_ways: true,
            effect: LinkEffect::Cut,
        };
        let healing = host.clone();
        host.interrupt(move |world| {
            let cut = world.install(cut);
            world.at(healing.now_ns() + 5 * SECOND, move |world| world.lift(cut));
        })
        .await;
        assert!(
            within(&host, ms(2_000), host.connect(server, PORT))
                .await
                .is_none()
        );
        host.sleep(ms(18_000)).await;
        host.interrupt(move |world| {
            world.kill(server);
            world.restart(server);
        })
        .await;
        let mut stream = host.connect(server, PORT).await.unwrap();
        diary.note(&host, "connected");
        stream.write_u8(1).await.unwrap();
    });
    // The three that were given up while the SYN was in flight are accepted and found reset; the
    // one that was given up while the link was cut never reached the server.
    diary.check(
        &mut world,
        &[
            "9 served, ConnectionReset",
            "30 served, ConnectionReset",
            "54 served, ConnectionReset",
            "20076 connected",
            "20079 served, 1",
        ],
    );
}
