//! Increments a counter under rslock's lock, for `locklab attack` (docs/attack.md).
//!
//! To attack a lock of yours, put it in the place of `manager`: where it is made, locked and unlocked.

use std::env;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, Client, RedisResult};
use rslock::LockManager;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> RedisResult<()> {
    let variable = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let lease_ms = env::var("LOCKLAB_LEASE_MS").map_or(1000, |ms| ms.parse().expect("a number"));
    let mut manager = LockManager::new(variable("REDIS_URLS").split(',').collect());
    manager.set_retry(1, Duration::from_millis(1));
    // By default a reply that comes after half a second, such as that to a process that was stopped, is an error.
    let patient = AsyncConnectionConfig::new().set_response_timeout(None);
    let resource = Client::open(variable("LOCKLAB_RESOURCE"))?;
    let mut resource = resource
        .get_multiplexed_async_connection_with_config(&patient)
        .await?;
    loop {
        tell("acquiring", "");
        match manager
            .lock("counter-lock", Duration::from_millis(lease_ms))
            .await
        {
            Err(_) => tell("refused", ""),
            Ok(lock) => {
                tell("acquired", &format!(r#","ttl_ms":{}"#, lock.validity_time));
                let _ = increment(&mut resource).await;
                tell("releasing", "");
                manager.unlock(&lock).await;
                tell("released", "");
            }
        }
        sleep(Duration::from_millis(30)).await;
    }
}

async fn increment(resource: &mut MultiplexedConnection) -> RedisResult<()> {
    let value: Option<i64> = resource.get("counter").await?;
    sleep(Duration::from_millis(100)).await;
    resource.set("counter", value.unwrap_or(0) + 1).await
}

/// Tells `locklab attack` when this process holds its lock.
fn tell(word: &str, more: &str) {
    let now = clock_gettime(ClockId::Monotonic);
    let ns = now.tv_sec * 1_000_000_000 + now.tv_nsec;
    println!(r#"{{"locklab":"{word}","ns":{ns}{more}}}"#);
}
