//! Processor time per request of `locklab serve`, without and with `--control`, and of
//! `redis-server`, measured by `redis-benchmark` in alternating turns on one machine; and their
//! requests per second, which on a busy machine depend more on the other load than on the servers.

use std::any::Any;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use locklab_testing::{Process, RedisServer};

use super::median;
use crate::tool::{cargo, perform};

/// The number of turns of each server with each workload.
const TURNS: usize = 3;
const REQUESTS: &str = "200000";
const CLIENTS: &str = "50";

/// Commands that `redis-benchmark -t` supports.
const COMMANDS: &[&str] = &["set", "get", "incr", "lpush", "lpop", "hset"];

/// The script with which a client releases its lock.
const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end";

/// Builds, measures, and prints the table.
pub fn run() -> Result<()> {
    perform(cargo("build --release"))?;
    let servers = [locklab(&[])?, locklab(&["--control", "0"])?, redis_server()];
    println!(
        "of each: redis-server's processor time over its own, its own, and its requests a second"
    );
    println!(
        "{:<24}{:>22}{:>22}{:>22}",
        "", "locklab serve", "with --control", "redis-server"
    );
    for pipeline in ["1", "16"] {
        for command in COMMANDS.iter().chain(&["eval"]) {
            let mut turns = [const { Vec::new() }; 3];
            for _ in 0..TURNS {
                for (server, turns) in servers.iter().zip(&mut turns) {
                    turns.push(server.turn(command, pipeline)?);
                }
            }
            print!("{:<24}", format!("{command}, pipeline of {pipeline}"));
            let real_us = middle(&turns[2], |turn| turn.cpu_us);
            for turns in &turns {
                let cpu_us = middle(turns, |turn| turn.cpu_us);
                let rate = middle(turns, |turn| turn.rate);
                // Inverted so that, as with rates, more is better.
                let ratio = real_us / cpu_us;
                print!("{ratio:>6.2}{cpu_us:>6.2} µs{rate:>7.0}/s");
            }
            println!();
        }
    }
    Ok(())
}

/// The result of one measurement.
struct Turn {
    /// Requests per second.
    rate: f64,
    /// Processor time per request, in microseconds.
    cpu_us: f64,
}

fn middle(turns: &[Turn], of: impl Fn(&Turn) -> f64) -> f64 {
    median(turns.iter().map(of).collect())
}

/// A server that is stopped after the measurement.
struct Server {
    _ends: Box<dyn Any>,
    id: u32,
    port: u16,
}

impl Server {
    fn turn(&self, command: &str, pipeline: &str) -> Result<Turn> {
        let before_ns = self.cpu_ns()?;
        let rate = rate(self.port, command, pipeline)?;
        let cpu_ns = self.cpu_ns()?.saturating_sub(before_ns);
        let requests: f64 = REQUESTS.parse()?;
        Ok(Turn {
            rate,
            cpu_us: cpu_ns as f64 / 1000.0 / requests,
        })
    }

    /// The processor time of all its threads so far, as reported by Linux.
    fn cpu_ns(&self) -> Result<u64> {
        let threads = format!("/proc/{}/task", self.id);
        let mut sum_ns = 0;
        for thread in std::fs::read_dir(&threads).with_context(|| format!("read {threads}"))? {
            let times = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let ran_ns = times.split(' ').next().unwrap_or_default();
            sum_ns += ran_ns.parse::<u64>().context("schedstat")?;
        }
        Ok(sum_ns)
    }
}

fn locklab(options: &[&str]) -> Result<Server> {
    let mut command = Command::new("target/release/locklab");
    command.args(["serve", "--port", "0"]).args(options);
    command.stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().context("start it")?;
    let mut address = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut address)?;
    }
    let process = Process::from(child);
    // The address is the first word; a description follows it.
    let address = address.split_whitespace().next().unwrap_or_default();
    let port = address.rsplit(':').next().unwrap_or_default();
    Ok(Server {
        id: process.id(),
        port: port.parse().context("it printed no address")?,
        _ends: Box::new(process),
    })
}

fn redis_server() -> Server {
    let server = RedisServer::start::<&str>(&[]);
    Server {
        id: server.id(),
        port: server.port(),
        _ends: Box::new(server),
    }
}

/// Measures requests per second.
fn rate(port: u16, command: &str, pipeline: &str) -> Result<f64> {
    let mut benchmark = Command::new("redis-benchmark");
    benchmark.args(["-p", &port.to_string(), "-n", REQUESTS, "-c", CLIENTS]);
    benchmark.args(["-P", pipeline, "--csv"]);
    match command {
        "eval" => benchmark.args(["eval", COMPARE_AND_DELETE, "1", "lock", "token"]),
        command => benchmark.args(["-t", command]),
    };
    let output = benchmark.output().context("start redis-benchmark")?;
    let csv = String::from_utf8(output.stdout)?;
    parse(&csv).with_context(|| format!("redis-benchmark said: {csv}"))
}

/// The second column of the last line. The first column is the request itself and may contain
/// anything.
fn parse(csv: &str) -> Option<f64> {
    let mut columns = csv.lines().last()?.rsplit("\",\"");
    // Six more columns follow: latencies.
    columns.nth(6)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_rate_is_found_whatever_the_request() {
        let head = r#""test","rps","avg","min","p50","p95","p99","max""#;
        for request in ["SET", r#"eval return {\"a\",\"b\"} 0"#] {
            let line = format!(r#""{request}","52356.02","0.5","0.1","0.4","0.9","1.1","3.2""#);
            assert_eq!(parse(&format!("{head}\n{line}\n")), Some(52356.02));
        }
        assert_eq!(parse(""), None);
    }
}
