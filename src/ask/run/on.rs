//! Where scenarios are run.

use locklab_model::scenario::Scenario;
use locklab_real::Programs;
use locklab_runner::backend::{Backend, World};
use serde::Serialize;

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// The simulated world, any number of runs in virtual time.
    World,
    /// redis-servers of its own on this machine, in real time.
    Redis,
}

impl On {
    /// How many seeds a scenario is run with unless the user says otherwise.
    pub fn usual_seeds(self, scenario: &Scenario) -> u64 {
        match self {
            On::World => World.usual_seeds(scenario),
            // A run takes seconds.
            On::Redis => 1,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            On::World => "world",
            On::Redis => "redis",
        }
    }
}

/// The options that name the server of these programs, unless it is the usual one.
fn server(real: Option<&Programs>) -> Vec<String> {
    let server = real.map(|programs| &programs.redis_server);
    match server.filter(|it| it.as_os_str() != Programs::REDIS_SERVER) {
        Some(server) => vec!["--server".into(), server.to_string_lossy().into_owned()],
        None => vec![],
    }
}

/// A command on real servers with the server of these programs.
pub(super) fn with_server(mut words: Vec<String>, real: Option<&Programs>) -> Vec<String> {
    words.splice(1..1, server(real));
    words
}

/// The options of a command that runs with these programs, or in the simulator.
pub(crate) fn words(real: Option<&Programs>) -> Vec<String> {
    let on = ["--on", "redis"].into_iter().filter(|_| real.is_some());
    on.map(String::from).chain(server(real)).collect()
}
