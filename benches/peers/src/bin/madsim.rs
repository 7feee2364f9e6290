//! The workload in madsim, which jumps from event to event as Locklab's world does.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locklab_peers::{
    CLIENTS, MAX_LATENCY, MIN_LATENCY, Outcome, PORT, SERVERS, report, serve, visit,
};
use madsim::net::{TcpListener, TcpStream};
use madsim::runtime::Runtime;
use madsim::time::Instant;

fn main() {
    report("madsim", run);
}

fn run(seed: u64) -> Outcome {
    let mut config = madsim::Config::default();
    config.net.send_latency = MIN_LATENCY..MAX_LATENCY;
    let runtime = Runtime::with_seed_and_config(seed, config);
    let received = Arc::new(AtomicU64::new(0));

    for server in 0..SERVERS {
        let node = runtime.create_node().ip(server_ip(server)).build();
        node.spawn(listen(received.clone()));
    }
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let ip = Ipv4Addr::new(10, 0, 1, client as u8 + 1).into();
        let node = runtime.create_node().ip(ip).build();
        let received = received.clone();
        clients.push(node.spawn(async move {
            let mut servers = Vec::new();
            for server in 0..SERVERS {
                let address = SocketAddr::new(server_ip(server), PORT);
                servers.push(TcpStream::connect(address).await?);
            }
            visit(servers, madsim::time::sleep, &received).await
        }));
    }

    let virtual_time = runtime.block_on(async {
        let start = Instant::now();
        for client in clients {
            let visited: io::Result<()> = client.await.expect("no client panics");
            visited.expect("every client finishes");
        }
        start.elapsed()
    });
    Outcome {
        messages: received.load(Ordering::Relaxed),
        virtual_ms: virtual_time.as_millis() as u64,
    }
}

fn server_ip(server: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, server as u8 + 1).into()
}

async fn listen(received: Arc<AtomicU64>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let received = received.clone();
        madsim::task::spawn(async move { serve(stream, &received).await });
    }
}
