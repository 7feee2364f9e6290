//! Byte streams: the handshake, back-pressure, half-close, and what an abandoned
//! connection leaves behind.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::setup::{Diary, PORT, SECOND, ms, outcome, within, world};

#[test]
fn what_is_written_at_once_after_connecting_arrives() {
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

/// A request that fills the window exactly, and is answered only when it is complete.
#[test]
fn the_last_byte_of_a_full_window_does_not_wait_for_another_event() {
    for size in [65_534, 65_535, 65_536, 65_537, 131_072] {
        let (mut world, [server, client]) = world();
        let diary = Diary::default();
        diary.start(&mut world, server, move |host, _| async move {
            let listener = host.listen(PORT).await.unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; size];
            stream.read_exact(&mut request).await.unwrap();
            stream.write_all(b"!").await.unwrap();
            host.sleep(ms(60_000)).await;
        });
        diary.start(&mut world, client, move |host, diary| async move {
            let mut stream = host.connect(server, PORT).await.unwrap();
            host.sleep(ms(50)).await;
            stream.write_all(&vec![1; size]).await.unwrap();
            diary.note(&host, "written");
            let answer = within(&host, ms(10_000), stream.read_u8()).await;
            diary.note(&host, answer.map_or("nothing".into(), outcome));
        });
        world.run(100 * SECOND);
        println!("{size} {:?}", diary.lines());
    }
}

/// Writes `size` bytes each way between two hosts that each sleep before they read
/// in pieces of `piece` bytes.
fn exchange(size: usize, piece: usize) -> Vec<String> {
    let (mut world, [server, client]) = world();
    let diary = Diary::default();
    let read = move |host: locklab_sim::world::Host,
                     diary: Diary,
                     stream: locklab_sim::world::TcpStream| async move {
        let (mut reader, mut writer) = stream.into_split();
        let (writing, writer_diary) = (host.clone(), diary.clone());
        host.spawn(async move {
            writer.write_all(&vec![1; size]).await.unwrap();
            writer_diary.note(&writing, "written");
            writer.shutdown().await.unwrap();
        });
        host.sleep(ms(1_000)).await;
        let mut bytes = vec![0; piece];
        let mut total = 0;
        while let Ok(count @ 1..) = reader.read(&mut bytes).await {
            total += count;
        }
        diary.note(&host, total);
    };
    diary.start(&mut world, server, move |host, diary| async move {
        let listener = host.listen(PORT).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        read(host, diary, stream).await;
    });
    diary.start(&mut world, client, move |host, diary| async move {
        let stream = host.connect(server, PORT).await.unwrap();
        read(host, diary, stream).await;
    });
    world.run(3_600 * SECOND);
    diary.lines()
}

#[test]
fn back_pressure() {
    for piece in [1 << 20, 65_536, 40_000, 32_768, 4_096, 100] {
        println!("{piece} {:?}", exchange(1 << 20, piece));
    }
}
