//! What commands share: what each is, the options that several have, and how a command line is read.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};

pub(crate) mod arguments;
pub(crate) mod interrupt;
pub(crate) mod many;
pub(crate) mod number;
pub(crate) mod paper;
pub(crate) mod seeds;
pub(crate) mod server;
pub(crate) mod setting;
pub(crate) mod timer;

use self::many::Many;
use self::paper::Paper;
use locklab_check::Property;
use locklab_history::FaultKind;
use locklab_lab::{Exit, Format, Program, Store};
use locklab_model::scenario::SHIPPED;
use locklab_results::Detail;

/// The options of a command: they know how to answer its question.
pub(crate) trait Ask: Args {
    /// The options of a command that makes many runs, which has shards.
    fn many(&mut self) -> Option<&mut Many> {
        None
    }

    /// Does what the command is for.
    ///
    /// # Errors
    ///
    /// If it cannot, with what to do about it.
    fn answer(&self, context: &Context) -> anyhow::Result<Exit>;
}

/// What a command knows beside its options.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// How this program is started.
    pub(crate) program: Program,
    /// The command line without the program.
    pub(crate) words: Vec<String>,
    /// The ledgers of all shards, to be joined; if there are any, nothing is run.
    pub(crate) joined: Vec<PathBuf>,
}

/// Where results go, and how pictures are written.
#[derive(Args, Clone)]
pub(crate) struct Out {
    /// Folder for all output files
    #[arg(long, value_name = "DIR", default_value = "target/locklab")]
    out: PathBuf,
    /// Formats of pictures, of svg, png and pdf
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', hide_possible_values = true,
          value_parser = format_parser(), default_values = Format::DEFAULT.map(Format::ending))]
    format: Vec<Format>,
    #[command(flatten)]
    paper: Paper,
}

pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let formats = Format::ALL;
    PossibleValuesParser::new(formats.map(Format::ending)).map(move |ending| {
        let found = formats.into_iter().find(|format| format.ending() == ending);
        found.unwrap_or(Format::Svg)
    })
}

impl Out {
    /// The folder, which is created if it does not exist.
    pub(crate) fn store(&self) -> anyhow::Result<Store> {
        let sheet = self.paper.sheet()?;
        Ok(Store::at(&self.out, &self.format)?.on(sheet))
    }
}

/// What is kept of each run.
#[derive(Args, Clone)]
pub(crate) struct PerRun {
    /// Also write a table with a row for each run: verdicts, times of violations and of faults
    #[arg(long)]
    per_run: bool,
}

impl PerRun {
    pub(crate) fn detail(&self) -> Detail {
        match self.per_run {
            true => Detail::Runs,
            false => Detail::Counts,
        }
    }
}

/// The names of the shipped scenarios, and files, for a shell to complete.
pub(crate) fn scenario_completer() -> ArgValueCompleter {
    completer_with(&[])
}

/// The same with further scenarios, by their names.
pub(crate) fn completer_with(own: &'static [(&str, &str)]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let begun = current.to_string_lossy();
        let names = own.iter().chain(SHIPPED).map(|(name, _)| *name);
        let mut candidates: Vec<_> = names
            .filter(|name| name.starts_with(&*begun))
            .map(CompletionCandidate::new)
            .collect();
        candidates.extend(PathCompleter::any().complete(current));
        candidates
    })
}

/// A property, by its name.
pub(crate) fn property_parser() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(Property::ALL.map(|property| property.name()))
        .try_map(|name| name.parse::<Property>())
}

/// The kinds of fault by their names.
pub(crate) fn fault_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(FaultKind::ALL.iter().map(FaultKind::name))
}
