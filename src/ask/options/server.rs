//! The Redis server of real runs.

use std::path::PathBuf;

use clap::Args;
use locklab_real::{ConfirmError, Programs};

/// Which server it is.
#[derive(Args, Clone)]
pub(crate) struct Server {
    /// The program of the Redis server, by default the value of LOCKLAB_REDIS_SERVER, or redis-server
    #[arg(long = "server", value_name = "PATH")]
    program: Option<PathBuf>,
}

impl Server {
    /// Whether one is named.
    pub(crate) fn is_named(&self) -> bool {
        self.program.is_some()
    }

    /// The programs of real runs, with this server.
    pub(crate) fn programs(&self) -> Result<Programs, ConfirmError> {
        let found = Programs::find()?;
        Ok(match &self.program {
            Some(program) => Programs {
                redis_server: program.clone(),
                ..found
            },
            None => found,
        })
    }
}
