//! One workload for several simulators: what it does, and how a run is timed.
//!
//! Three clients hold a connection to each of five servers. Thirty times, a client
//! sends 23 bytes to one server after the other, waits for each echo, and then
//! pauses for a second. Links take 1 to 5 ms each way. That is 450 requests and
//! 450 replies in a little over 30 virtual seconds: mostly waiting, as lock clients
//! do, which is what tells a simulator that jumps from one that ticks.
//!
//! The two halves of the conversation, [`serve`] and [`visit`], are generic over the
//! stream, so that every simulator runs the same code; `src/bin` holds what differs.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Hosts that echo.
pub const SERVERS: usize = 5;
/// Hosts that ask; each talks to every server.
pub const CLIENTS: usize = 3;
/// How often a client asks every server once.
pub const ROUNDS: usize = 30;
/// The pause of a client after each round, in virtual time.
pub const PAUSE: Duration = Duration::from_secs(1);
/// The shortest time that a packet is under way.
pub const MIN_LATENCY: Duration = Duration::from_millis(1);
/// The longest time that a packet is under way.
pub const MAX_LATENCY: Duration = Duration::from_millis(5);
/// The port that servers listen on.
pub const PORT: u16 = 6379;

/// A request, and so a reply too: 23 bytes, the length of a small Redis command.
const MESSAGE: [u8; 23] = *b"*2\r\n$3\r\nGET\r\n$4\r\nlock\r\n";
/// Requests and replies of a whole run.
const MESSAGES: u64 = 2 * (CLIENTS * ROUNDS * SERVERS) as u64;
/// Runs that are timed at least, for a median worth its name.
const MIN_RUNS: usize = 5;
/// How long a fast simulator repeats the run.
const MIN_TIMED: Duration = Duration::from_secs(1);

/// What a run did, by its own count.
pub struct Outcome {
    /// Requests that servers received, and replies that clients received.
    pub messages: u64,
    /// How far the simulator's clock went, in milliseconds.
    pub virtual_ms: u64,
}

/// Echoes until the client hangs up, and counts the requests.
///
/// # Errors
///
/// Whatever the stream fails with, except its end.
pub async fn serve<S>(mut stream: S, received: &AtomicU64) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut message = [0; MESSAGE.len()];
    loop {
        match stream.read_exact(&mut message).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        };
        received.fetch_add(1, Ordering::Relaxed);
        stream.write_all(&message).await?;
        stream.flush().await?;
    }
}

/// Asks every server in turn, [`ROUNDS`] times, and counts the replies.
///
/// # Errors
///
/// Whatever a stream fails with, and a reply that is not the request.
pub async fn visit<S, P>(
    mut servers: Vec<S>,
    pause: impl Fn(Duration) -> P,
    received: &AtomicU64,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
    P: Future<Output = ()>,
{
    for _ in 0..ROUNDS {
        for server in &mut servers {
            server.write_all(&MESSAGE).await?;
            server.flush().await?;
            let mut reply = [0; MESSAGE.len()];
            server.read_exact(&mut reply).await?;
            if reply != MESSAGE {
                return Err(io::Error::other("the echo differs from what was sent"));
            }
            received.fetch_add(1, Ordering::Relaxed);
        }
        pause(PAUSE).await;
    }
    Ok(())
}

/// Times `run` with a new seed each time, after one warm-up, and prints one JSON line.
///
/// # Panics
///
/// If a run exchanged another number of messages or ended too early: a time would
/// mean nothing then.
pub fn report(peer: &str, run: fn(seed: u64) -> Outcome) {
    let timed = |seed| {
        let start = Instant::now();
        let outcome = run(seed);
        let elapsed = start.elapsed();
        assert_eq!(outcome.messages, MESSAGES, "{peer}, seed {seed}: messages");
        let virtual_time = Duration::from_millis(outcome.virtual_ms);
        assert!(
            virtual_time >= PAUSE * ROUNDS as u32,
            "{peer}, seed {seed}: over after {virtual_time:?}"
        );
        elapsed
    };
    timed(0);
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < MIN_RUNS || start.elapsed() < MIN_TIMED {
        times.push(timed(times.len() as u64 + 1));
    }
    times.sort();
    println!(
        r#"{{"peer":"{peer}","runs":{},"seconds_per_run":{:.9},"messages":{MESSAGES}}}"#,
        times.len(),
        times[times.len() / 2].as_secs_f64(),
    );
}
