//! A world of clients that ask servers, which echo.
//!
//! 5 servers, 3 clients, each client connected to all five, 30 rounds one virtual
//! second apart, in each round five sequential request/replies of 23 bytes, link
//! latency uniform in 1 to 5 ms: 900 messages over 30 virtual seconds.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use locklab_world::{Config, Host, HostConfig, HostId, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SERVERS: usize = 5;
const CLIENTS: usize = 3;
const ROUNDS: usize = 30;
const MESSAGE: &[u8; 23] = b"twenty-three bytes long";
const PORT: u16 = 7;

/// What one run did.
pub struct Outcome {
    /// Messages that arrived.
    pub messages: u64,
    /// When the run ended, in milliseconds of virtual time.
    pub virtual_ms: u64,
}

/// Runs the workload in a world of this seed.
pub fn run(seed: u64) -> Outcome {
    let config = Config {
        seed,
        ..Config::default()
    };
    let mut world = World::new(config, &[HostConfig::default(); SERVERS + CLIENTS]);
    let hosts = world.hosts();
    let (servers, clients) = hosts.split_at(SERVERS);
    for server in servers {
        world.start(*server, echo);
    }
    let messages = Rc::new(Cell::new(0));
    let running = Rc::new(Cell::new(CLIENTS));
    for client in clients {
        let (servers, messages, running) = (servers.to_vec(), messages.clone(), running.clone());
        world.start(*client, move |host| {
            let (servers, messages, running) = (servers.clone(), messages.clone(), running.clone());
            async move {
                ask(&host, &servers, &messages).await;
                running.set(running.get() - 1);
                if running.get() == 0 {
                    host.stop_world();
                }
            }
        });
    }
    world.run(u64::MAX);
    Outcome {
        messages: messages.get(),
        virtual_ms: world.now_ns() / 1_000_000,
    }
}

async fn echo(host: Host) {
    let listener = host.listen(PORT).await.expect("the port is free");
    while let Ok((mut stream, _)) = listener.accept().await {
        host.spawn(async move {
            let mut message = [0; MESSAGE.len()];
            while stream.read_exact(&mut message).await.is_ok() {
                if stream.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn ask(host: &Host, servers: &[HostId], messages: &Cell<u64>) {
    let mut streams = Vec::new();
    for server in servers {
        streams.push(
            host.connect(*server, PORT)
                .await
                .expect("the server listens"),
        );
    }
    for _ in 0..ROUNDS {
        for stream in &mut streams {
            let mut reply = [0; MESSAGE.len()];
            stream
                .write_all(MESSAGE)
                .await
                .expect("the server is there");
            stream
                .read_exact(&mut reply)
                .await
                .expect("the server answers");
            assert_eq!(&reply, MESSAGE);
            messages.set(messages.get() + 2);
        }
        host.sleep(Duration::from_secs(1)).await;
    }
}
