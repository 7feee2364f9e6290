//! What an experiment comes to, before any output format.

use serde_json::Value;

use super::Exit;
use super::export;
use super::output::{self, status};
use super::section::Section;

/// What an experiment comes to.
pub struct Report {
    /// Its parts, in the order in which they are told.
    pub sections: Vec<Section>,
    /// What is told at the end; may be empty.
    pub closing: String,
    /// The results for programs.
    pub document: Value,
    /// What came of the predictions.
    pub exit: Exit,
}

impl Report {
    /// A report of one section.
    pub fn of(section: Section, document: Value, exit: Exit) -> Report {
        Report {
            sections: vec![section],
            closing: String::new(),
            document,
            exit,
        }
    }

    /// Tells the report and writes its files; prints it as JSON, too, if the user asked for that.
    ///
    /// # Errors
    ///
    /// If a file cannot be made or written.
    pub fn publish(&self, json: bool) -> anyhow::Result<()> {
        for (place, section) in self.sections.iter().enumerate() {
            if place > 0 {
                status!();
            }
            publish(section)?;
        }
        if !self.closing.is_empty() {
            status!("\n{}", self.closing);
        }
        match json {
            true => output::print_json(&self.document),
            false => Ok(()),
        }
    }
}

/// Tells the section, writes its files, and tells their paths.
fn publish(section: &Section) -> anyhow::Result<()> {
    status!("{}", section.text);
    let files = export::files(section)?;
    let ending = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    for (name, contents) in files {
        let path = section.folder.write(&name, &contents)?;
        status!("  {:<5}{}", ending(&name), path.display());
    }
    Ok(())
}
