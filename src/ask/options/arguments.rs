//! The command line, as it was typed.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};

use crate::Cli;
use locklab_lab::layout;
use locklab_model::scenario::nearest;

/// Help is no wider than this, since nobody reads longer lines.
const WIDEST_HELP: usize = 100;

/// Reads it; its first word is the program.
pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let width = layout::columns().min(WIDEST_HELP);
    let mut command = with_negative_numbers(Cli::command()).term_width(width);
    let matches = command
        .try_get_matches_from_mut(without_help_of_help(words))
        .map_err(|error| with_nearest_command(error, &command))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// `help --help` is `help`.
fn without_help_of_help(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    match words.get(1).is_some_and(|word| word == "help") {
        true => { words.into_iter() }
            .filter(|word| word != "--help" && word != "-h")
            .collect(),
        false => words,
    }
}

/// Two letters that changed places are one mistake, which clap's measure of likeness does not know: `rnu` is `run`. And
/// a command below another is found by its own name: `sweep` is `study sweep`.
fn with_nearest_command(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    let below = |it: &Command| {
        let below = it.get_subcommands();
        let below = below.map(|below| (below.get_name().to_owned(), format!("{it} {below}")));
        below.collect::<Vec<_>>()
    };
    let shown: Vec<&Command> = shown.collect();
    let mut commands: BTreeMap<String, String> = shown.iter().copied().flat_map(below).collect();
    commands.extend({ shown.iter() }.map(|it| (it.get_name().to_owned(), it.to_string())));
    let names: Vec<String> = commands.keys().cloned().collect();
    if let Some(suggested) = nearest(wrong, &names).and_then(|nearest| commands.get(nearest)) {
        let suggested = ContextValue::Strings(vec![suggested.clone()]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    }
    error
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

    fn told(arguments: &str) -> String {
        let words = ["locklab"].into_iter().chain(arguments.split(' '));
        let told = read(words.map(OsString::from)).err();
        told.map_or(String::new(), |told| told.to_string())
    }

    #[test]
    fn a_command_below_another_is_found_by_its_own_name() {
        assert!(told("matrix --seeds 3").contains("'study matrix'"));
        assert!(told("constants").contains("'measure constants'"));
    }

    #[test]
    fn letters_that_changed_places_are_one_mistake() {
        assert!(told("rnu").contains("similar subcommand exists: 'run'"));
        assert!(told("sweeep").contains("'study sweep'"));
        assert!(told("study sweeep").contains("'study sweep'"));
        assert!(!told("xyzzyxyzzy").contains("similar"));
    }

    #[test]
    fn help_of_help_is_help() {
        assert_eq!(told("help --help"), told("help"));
        assert_eq!(told("help run -h"), told("help run"));
        assert!(told("help run").contains("Usage: locklab run"));
    }

    /// What is wider is folded, and an example in two halves cannot be copied.
    #[test]
    fn examples_are_no_wider_than_a_terminal() {
        let mut open = vec![Cli::command()];
        let mut lines = 0;
        while let Some(command) = open.pop() {
            open.extend(command.get_subcommands().cloned());
            let text = command.get_after_help().map(ToString::to_string);
            for line in text.unwrap_or_default().lines() {
                assert!(line.chars().count() <= 80, "{command}: {line}");
                lines += 1;
            }
        }
        assert!(lines > 200, "{lines}");
    }

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
