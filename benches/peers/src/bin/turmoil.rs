//! The workload in turmoil's `Sim`.
//!
//! Two things are turmoil's own: time goes in ticks, here of 1 ms, its default; and
//! latency is whole milliseconds from an exponential distribution cut to the range,
//! not uniform, so the curve is set to give the same mean.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use locklab_peers::{
    CLIENTS, MAX_LATENCY, MIN_LATENCY, Outcome, PORT, SERVERS, report, serve, visit,
};
use turmoil::net::{TcpListener, TcpStream};

/// Makes the mean latency 3 ms, as of a uniform one from 1 to 5 ms: after the 1 ms that
/// every packet takes come k more with probability at least exp(-1.2 k / 4), k = 1 to 4.
const LATENCY_CURVE: f64 = 1.2;

fn main() {
    report("turmoil", run);
}

fn run(seed: u64) -> Outcome {
    let mut sim = turmoil::Builder::new()
        .tick_duration(Duration::from_millis(1))
        .min_message_latency(MIN_LATENCY)
        .max_message_latency(MAX_LATENCY)
        .simulation_duration(Duration::from_secs(60))
        .rng_seed(seed)
        .build();
    sim.set_message_latency_curve(LATENCY_CURVE);
    let received = Arc::new(AtomicU64::new(0));

    for server in 0..SERVERS {
        let received = received.clone();
        sim.host(format!("server-{server}"), move || listen(received.clone()));
    }
    for client in 0..CLIENTS {
        let received = received.clone();
        sim.client(format!("client-{client}"), async move {
            let mut servers = Vec::new();
            for server in 0..SERVERS {
                servers.push(TcpStream::connect((format!("server-{server}"), PORT)).await?);
            }
            Ok(visit(servers, tokio::time::sleep, &received).await?)
        });
    }

    sim.run().expect("every client finishes");
    Outcome {
        messages: received.load(Ordering::Relaxed),
        virtual_ms: sim.elapsed().as_millis() as u64,
    }
}

async fn listen(received: Arc<AtomicU64>) -> turmoil::Result {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let received = received.clone();
        tokio::spawn(async move { serve(stream, &received).await });
    }
}
