//! The command line, thin: see [`locklab::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    locklab::cli::main()
}
