//! Where the numbers of an environment come from, as a table: each with its value, and its publication or that it is a
//! guess.

use crate::risk::model::{Environment, Origin, Parameter};
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};

use locklab_lab::Store;
use locklab_lab::section::{Form, Section};

/// The first part of the names of the files.
const STEM: &str = "sources";

/// The section, which is told in these words.
pub(super) fn section(text: String, environment: &Environment, folder: &Store) -> Section {
    let parameters = environment.parameters();
    Section {
        forms: vec![
            Form::List(list(environment, &parameters)),
            Form::Table(table(environment, &parameters)),
        ],
        ..Section::of(text, folder, STEM)
    }
}

/// How many numbers were published, in a few words.
pub(crate) fn summary(environment: &Environment) -> String {
    let [published, guessed] = environment.published_and_guessed();
    format!(
        "{published} of {} numbers published, {guessed} guessed",
        published + guessed
    )
}

fn table(environment: &Environment, parameters: &[Parameter]) -> Table {
    let row = |parameter: &Parameter| {
        let [what, source, why] = origin(parameter);
        let fields = [parameter.value.clone(), what, source, why];
        TableRow {
            label: parameter.path.clone(),
            fields: fields.map(|text| Field::plain(text, Look::Silent)).into(),
        }
    };
    Table {
        title: format!(
            "Where the numbers of {} ({}) come from: {}",
            environment.name,
            environment.title,
            summary(environment)
        ),
        rows_are: "number",
        columns: ["value", "origin", "published", "why this guess"]
            .map(String::from)
            .into(),
        rows: parameters.iter().map(row).collect(),
        legend: vec![],
        notes: vec![
            "A guess may have a publication beside it, of something near. Times with _ms are milliseconds.".into(),
        ],
    }
}

fn list(environment: &Environment, parameters: &[Parameter]) -> Csv {
    let mut list = Csv::new(["environment", "number", "value", "origin", "source", "why"]);
    for parameter in parameters {
        let mut row = vec![
            environment.name.clone(),
            parameter.path.clone(),
            parameter.value.clone(),
        ];
        row.extend(origin(parameter));
        list.push(row);
    }
    list
}

/// Whether it was published or is a guess, the publication, and the reason for the guess.
fn origin(parameter: &Parameter) -> [String; 3] {
    match &parameter.origin {
        Origin::Published { source } => ["published".into(), source.clone(), String::new()],
        Origin::Guess { why, source } => [
            "a guess".into(),
            source.clone().unwrap_or_default(),
            why.clone().unwrap_or_default(),
        ],
    }
}
