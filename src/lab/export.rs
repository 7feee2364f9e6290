//! The output formats of results. A new one is an `Exporter`, and its entry in `EXPORTERS`.

use super::format::Format;
use super::section::{Form, Section};
use locklab_report::{Drawing, table};

/// An output format.
trait Exporter: Sync {
    /// The files for this form of the results; none if the format does not write it.
    fn export(&self, form: &Form, section: &Section) -> anyhow::Result<Vec<File>>;
}

/// A file: its name, and its contents.
pub type File = (String, Vec<u8>);

/// Files are written in the order of these endings, pictures last.
const ORDER: [&str; 5] = [".html", ".md", ".csv", ".json", ".xml"];

/// Every output format.
const EXPORTERS: [&dyn Exporter; 5] = [&Text, &Markdown, &Csv, &Json, &Picture];

/// The files of a section, in every format.
///
/// # Errors
///
/// If one cannot be made.
pub fn files(section: &Section) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    for exporter in EXPORTERS {
        for form in &section.forms {
            files.extend(exporter.export(form, section)?);
        }
    }
    let place = |name: &str| ORDER.iter().position(|ending| name.ends_with(ending));
    files.sort_by_key(|(name, _)| place(name).unwrap_or(ORDER.len()));
    Ok(files)
}

/// What has only one format.
struct Text;

impl Exporter for Text {
    fn export(&self, form: &Form, _: &Section) -> anyhow::Result<Vec<File>> {
        Ok(match form {
            Form::Text { name, text } => vec![(name.clone(), text.clone().into_bytes())],
            _ => vec![],
        })
    }
}

/// Tables for a pull request, or a paper's draft.
struct Markdown;

impl Exporter for Markdown {
    fn export(&self, form: &Form, section: &Section) -> anyhow::Result<Vec<File>> {
        let Form::Table(table) = form else {
            return Ok(vec![]);
        };
        let text = table.markdown();
        Ok(vec![(format!("{}.md", section.stem), text.into_bytes())])
    }
}

/// Lists with a row for each number, or for each run.
struct Csv;

impl Exporter for Csv {
    fn export(&self, form: &Form, section: &Section) -> anyhow::Result<Vec<File>> {
        let (stem, list) = match form {
            Form::List(list) => (section.stem.clone(), list),
            Form::Runs { stem, list } => (stem.clone(), list),
            _ => return Ok(vec![]),
        };
        Ok(vec![(format!("{stem}.csv"), list.text().into_bytes())])
    }
}

/// The results for programs.
struct Json;

impl Exporter for Json {
    fn export(&self, form: &Form, section: &Section) -> anyhow::Result<Vec<File>> {
        let Form::Data(data) = form else {
            return Ok(vec![]);
        };
        let text = serde_json::to_string_pretty(data)?;
        Ok(vec![(format!("{}.json", section.stem), text.into_bytes())])
    }
}

/// Tables and charts as pictures, in the formats that the user asked for.
struct Picture;

impl Exporter for Picture {
    fn export(&self, form: &Form, section: &Section) -> anyhow::Result<Vec<File>> {
        let (drawing, provenance) = match form {
            Form::Table(table) => match &section.provenance {
                Some(provenance) => (table::draw(table, &section.folder.sheet), provenance),
                None => return Ok(vec![]),
            },
            Form::Chart(drawing, provenance) => (drawing.clone(), provenance),
            _ => return Ok(vec![]),
        };
        pictures(
            &section.stem,
            &provenance.stamp(drawing),
            &section.folder.formats,
        )
    }
}

/// A drawing in each of these formats.
pub fn pictures(stem: &str, drawing: &Drawing, formats: &[Format]) -> anyhow::Result<Vec<File>> {
    let file = |format: &Format| Ok((format!("{stem}.{}", format.ending()), format.of(drawing)?));
    formats.iter().map(file).collect()
}
