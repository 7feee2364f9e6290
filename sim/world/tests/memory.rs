//! A process creates millions of worlds: none may leak, however it ended. These tests are alone in
//! their process, because they measure its memory.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use std::time::Duration;

use locklab_world::{Config, Ending, Host, HostConfig, HostId, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PORT: u16 = 7;
const MS: u64 = 1_000_000;

/// Everything that a world is given holds one of these; while one exists, so does its holder.
type Token = Rc<()>;

/// A server and two clients in the middle of connecting, writing, reading, sleeping and
/// giving up; acts on the event queue; a pause and a crash in effect. Stops after `stop_ms`.
fn run_and_drop(stop_ms: u64) -> Weak<()> {
    let token: Token = Rc::new(());
    let weak = Rc::downgrade(&token);
    let mut world = World::new(Config::default(), &[HostConfig::default(); 3]);
    let [server, one, other] = world.hosts()[..] else {
        unreachable!("three hosts were asked for")
    };
    let held = token.clone();
    world.start(server, move |host| {
        let held = held.clone();
        async move {
            let listener = host.listen(PORT).await.unwrap();
            while let Ok((mut stream, _)) = listener.accept().await {
                let held = held.clone();
                host.spawn(async move {
                    while let Ok(byte) = stream.read_u8().await {
                        stream.write_u8(byte).await.unwrap_or_default();
                    }
                    drop(held);
                });
            }
        }
    });
    for client in [one, other] {
        let held = token.clone();
        // A host that holds itself, as an observer does.
        let observer = RefCell::new(Some(world.host(client)));
        world.start(client, move |host| {
            let (held, observer) = (held.clone(), observer.clone());
            async move {
                loop {
                    tokio::select! {
                        biased;
                        _ = converse(&host, server) => {}
                        () = host.sleep(Duration::from_millis(9)) => {}
                    }
                    host.sleep(Duration::from_millis(20)).await;
                    drop((held.clone(), observer.borrow().clone()));
                }
            }
        });
    }
    for second in 0..100 {
        let held = token.clone();
        world.at(second * 1_000 * MS, move |_| drop(held));
    }
    world.at(300 * MS, move |world| world.pause(one));
    world.at(600 * MS, move |world| world.crash(server));
    world.at(1_600 * MS, move |world| world.restart(server));
    world.at(2_000 * MS, move |world| world.kill(other));
    drop(token);
    assert_eq!(world.run(stop_ms * MS), Ending::Horizon);
    drop(world);
    weak
}

/// Takes between 4 and 20 ms.
async fn converse(host: &Host, server: HostId) -> std::io::Result<()> {
    let mut stream = host.connect(server, PORT).await?;
    stream.write_all(&[7; 30]).await?;
    stream.read_exact(&mut [0; 30]).await?;
    Ok(())
}

#[test]
fn nothing_that_a_world_was_given_outlives_it() {
    for stop_ms in [0, 1, 3, 50, 250, 450, 700, 1_500, 1_700, 2_500] {
        assert_eq!(
            run_and_drop(stop_ms).strong_count(),
            0,
            "stopped at {stop_ms} ms"
        );
    }
}

/// Measures the resident pages of this process: a leak of 1 kB a world would show as 2 MB over
/// 2 000 worlds; the memory that the allocator retains grows less.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_worlds() {
    for _ in 0..200 {
        run_and_drop(200);
    }
    let before = resident_kb();
    for _ in 0..2_000 {
        run_and_drop(200);
    }
    let grown_kb = resident_kb().saturating_sub(before);
    assert!(grown_kb < 1_500, "grew by {grown_kb} kB");
}

#[cfg(target_os = "linux")]
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|n| n.parse().ok()).expect("VmRSS: … kB")
}
