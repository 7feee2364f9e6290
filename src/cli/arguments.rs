//! The command line, as it was typed.

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};

use super::Cli;

/// Reads it; its first word is the program.
pub(super) fn read(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = with_negative_numbers(Cli::command());
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// After an option, `-5` is its value and no other option: so the option can say what is wrong
/// with it.
fn with_negative_numbers(command: Command) -> Command {
    let command =
        command.mut_args(
            |arg| match arg.get_action().takes_values() && !arg.is_positional() {
                true => arg.allow_negative_numbers(true),
                false => arg,
            },
        );
    command.mut_subcommands(with_negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_is_a_value() {
        for arguments in [
            "run k1 --jobs -5",
            "serve --port -1",
            "confirm --scale -0.5",
            "run k1 --seed -1",
        ] {
            let arguments = ["locklab"].into_iter().chain(arguments.split(' '));
            let refused = with_negative_numbers(Cli::command()).try_get_matches_from(arguments);
            let refused = refused.map(drop).expect_err("it is negative");
            assert_eq!(
                refused.kind(),
                clap::error::ErrorKind::ValueValidation,
                "{refused}"
            );
        }
    }
}
