//! A part of a report, in forms that know no output format.

use console::style;
use serde_json::Value;

use super::{Store, layout};
use locklab_report::{Drawing, Provenance};
use locklab_results::csv::Csv;
use locklab_results::table::Table;

/// A part of a report: what is told of it, and the forms in which it is written.
pub struct Section {
    /// What is told, in lines.
    pub text: String,
    /// The folder of its files.
    pub folder: Store,
    /// The first part of their names.
    pub stem: String,
    /// What is written.
    pub forms: Vec<Form>,
    /// Where the picture of its table comes from; without it none is drawn.
    pub provenance: Option<Provenance>,
}

/// A form of results, which is written in one or more formats.
pub enum Form {
    /// A table to read.
    Table(Table),
    /// A row for each number.
    List(Csv),
    /// A row for each run.
    Runs {
        /// The first part of the file's name.
        stem: String,
        /// The rows.
        list: Csv,
    },
    /// Everything, for programs.
    Data(Value),
    /// A chart, and where it comes from.
    Chart(Drawing, Provenance),
    /// A text of its own, and the name of its file: a page to read, or what another program reads.
    Text {
        /// The name, with its ending.
        name: String,
        /// What is in it.
        text: String,
    },
}

impl Section {
    /// A section that is told, and of which no file is written yet.
    pub fn of(text: String, folder: &Store, stem: &str) -> Section {
        Section {
            text,
            folder: folder.clone(),
            stem: stem.into(),
            forms: vec![],
            provenance: None,
        }
    }

    /// A section whose table is told, and written in every format, with a row for each of its
    /// numbers and the same for programs.
    pub fn of_table(
        table: Table,
        list: Csv,
        data: Value,
        provenance: Provenance,
        folder: &Store,
        stem: &str,
    ) -> Section {
        let title = style(&table.title).bold();
        Section {
            text: format!(
                "{title}\n\n{}",
                layout::fold(&table.plain(layout::columns()))
            ),
            forms: vec![Form::List(list), Form::Data(data), Form::Table(table)],
            provenance: Some(provenance),
            ..Section::of(String::new(), folder, stem)
        }
    }
}
