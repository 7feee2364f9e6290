//! Does with rslock's lock what it is told, for `cargo xtask clients --ports`; see README.md.

use std::env;
use std::io::stdin;
use std::time::Duration;

use rslock::{Lock, LockManager};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let variable = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let lease_ms = variable("LOCKLAB_LEASE_MS").parse().expect("a number");
    let lease = Duration::from_millis(lease_ms);
    let urls = variable("REDIS_URLS");
    // The last has the library's own number of attempts, and all have its delay between them.
    let [mut waiting, mut once, usual] =
        [(); 3].map(|()| LockManager::new(urls.split(',').collect()));
    waiting.set_retry(1000, Duration::from_millis(200));
    once.set_retry(0, Duration::from_millis(200));
    let mut held: Option<Lock> = None;
    println!("ready");
    for order in stdin().lines().map_while(Result::ok) {
        let answer = match &*order {
            "lock" | "try" => {
                let manager = if order == "lock" { &waiting } else { &once };
                match manager.lock("lock", lease).await {
                    Ok(lock) => {
                        held = Some(lock);
                        "ok"
                    }
                    Err(_) => "no",
                }
            }
            "extend" => match usual
                .extend(held.as_ref().expect("it is held"), lease)
                .await
            {
                Ok(lock) => {
                    held = Some(lock);
                    "ok"
                }
                Err(_) => "error",
            },
            _ => {
                usual.unlock(held.as_ref().expect("it is held")).await;
                "ok"
            }
        };
        println!("{answer}");
    }
}
