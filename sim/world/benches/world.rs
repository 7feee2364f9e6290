//! The echo workload: how much faster than time a world runs.
//!
//! `echo` has the workload; `benches/peers` runs the same in turmoil's `Sim` and in madsim.
//!
//! `cargo bench -p locklab-world --bench world` prints the median; `-- --json` prints
//! one line for a program to read; `-- --runs N` sets the number of runs.

#[path = "../../../benches/instructions/echo.rs"]
mod echo;

use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runs = arguments
        .iter()
        .position(|a| a == "--runs")
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(101);
    let mut seconds: Vec<f64> = (0..=runs)
        .map(|seed| {
            let start = Instant::now();
            let outcome = echo::run(seed);
            assert_eq!(outcome.messages, 900, "the workload changed");
            assert!(outcome.virtual_ms >= 30_000, "the workload changed");
            start.elapsed().as_secs_f64()
        })
        // The first run warms up.
        .skip(1)
        .collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    if arguments.iter().any(|a| a == "--json") {
        println!(r#"{{"peer":"locklab","runs":{runs},"seconds_per_run":{median},"messages":900}}"#);
    } else {
        println!("echo workload, 900 messages over 30 virtual seconds");
        println!("median of {runs} runs: {:.3} ms a run", median * 1e3);
    }
}
