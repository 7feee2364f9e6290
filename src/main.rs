//! The command line, thin.

use std::process::ExitCode;

use locklab::confirm;
use locklab::fault::expand;
use locklab::scenario::Scenario;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["process"] => confirm::process::main(),
        ["run", file, "--on", "redis"] => match run(file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::FAILURE,
    }
}

fn run(file: &str) -> anyhow::Result<()> {
    let scenario: Scenario = toml::from_str(&std::fs::read_to_string(file)?)?;
    let schedule = expand(&scenario.fault, 0);
    let run = confirm::run(&scenario, 0, &schedule)?;
    for note in &run.notes {
        eprintln!("note: {note}");
    }
    for record in &run.history.records {
        println!("{}", serde_json::to_string(record)?);
    }
    eprintln!("Redis {}, {} ns", run.redis_version, run.history.end_ns);
    Ok(())
}
