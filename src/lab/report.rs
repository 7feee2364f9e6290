//! What an experiment comes to, before any output format.

use serde_json::Value;

use super::output::{self, Stdout};
use super::section::Section;
use super::{Exit, export};

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

    /// Tells the report and writes its files; prints it as JSON if standard output has that.
    ///
    /// # Errors
    ///
    /// If a file cannot be made or written, or standard output cannot be.
    pub fn publish(&self, stdout: Stdout) -> anyhow::Result<()> {
        for (place, section) in self.sections.iter().enumerate() {
            if place > 0 {
                stdout.tell("")?;
            }
            publish(section, stdout)?;
        }
        if !self.closing.is_empty() {
            stdout.tell(&format!("\n{}", self.closing))?;
        }
        match stdout {
            Stdout::Json => output::print_json(&self.document),
            Stdout::Text | Stdout::Nothing => Ok(()),
        }
    }
}

/// Tells the section, writes its files, and tells their paths.
fn publish(section: &Section, stdout: Stdout) -> anyhow::Result<()> {
    stdout.tell(&section.text)?;
    let files = export::files(section)?;
    let ending = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    for (name, contents) in files {
        let path = section.folder.write(&name, &contents)?;
        stdout.tell(&format!("  {:<5}{}", ending(&name), path.display()))?;
    }
    Ok(())
}
