//! Writes the scorecard: `scorecard.json`, and made of it a page, a text, a list, a picture and a badge a row.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::row::{Cell, Row};
use crate::clients::LOCKLAB;

const FOLDER: &str = "reports/scorecard";

/// What experiments such as these cannot show: it stands above all results.
const LIMITS: &str = "Each cell is one experiment on a real redis-server, played three times. It shows what this version \
does in this situation, and nothing else: a row with every ✓ can lose a lock where nobody has looked. There is no total \
and no rank. What a library documents is no bug.";

/// What is published.
#[derive(Default, Deserialize)]
pub struct Published {
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Published {
    /// Reads it below this folder; nothing, if there is none.
    /// Fails if it is invalid.
    pub fn read(root: &Path) -> Result<Published> {
        let file = root.join(FOLDER).join("scorecard.json");
        match std::fs::read(&file) {
            Err(_) => Ok(Published::default()),
            Ok(text) => {
                serde_json::from_slice(&text).with_context(|| format!("in {}", file.display()))
            }
        }
    }

    /// The row of the same lock in the same version.
    pub fn row(&self, of: &Row) -> Option<&Row> {
        let is_same = |row: &&Row| row.name == of.name && row.version == of.version;
        self.rows.iter().find(is_same)
    }
}

/// Writes everything.
pub fn write(rows: &[Row], experiments: &Value, left_out: &BTreeMap<String, String>) -> Result<()> {
    let folder = Path::new(FOLDER);
    let badges = folder.join("badges");
    if badges.is_dir() {
        std::fs::remove_dir_all(&badges)?;
    }
    std::fs::create_dir_all(&badges)?;
    let document = json!({
        "schema": 1,
        "limits": LIMITS,
        "experiments": experiments,
        "rows": rows,
        "not_run": left_out,
    });
    let json = serde_json::to_string(&document)?;
    std::fs::write(folder.join("scorecard.json"), format!("{json}\n"))?;
    // Nothing in it ends the element that has it.
    let page = include_str!("page.html").replace("{{DATA}}", &json.replace("</", "<\\/"));
    std::fs::write(folder.join("index.html"), page)?;
    std::fs::write(
        folder.join("scorecard.md"),
        text(rows, experiments, left_out),
    )?;
    std::fs::write(folder.join("scorecard.csv"), list(rows))?;
    // A port is no library that somebody would choose.
    let libraries: Vec<&Row> = rows.iter().filter(|row| row.port_of.is_none()).collect();
    std::fs::write(folder.join("musts.svg"), picture(&libraries, experiments))?;
    for row in libraries {
        let (kept, of) = row.musts();
        let badge = json!({
            "schemaVersion": 1,
            "label": "redis lock",
            "message": format!("{kept} of {of} musts"),
            "color": if kept == of { "brightgreen" } else { "lightgrey" },
        });
        std::fs::write(
            badges.join(format!("{}.json", row.name)),
            format!("{badge}\n"),
        )?;
    }
    Ok(())
}

/// The experiments, as `locklab score --list --json` prints them.
pub fn experiments() -> Result<Value> {
    let mut command = Command::new(LOCKLAB);
    let output = command.args(["score", "--list", "--json"]).output()?;
    let listed: Value = serde_json::from_slice(&output.stdout).context("no list")?;
    Ok(listed["experiments"].clone())
}

/// The names and titles of the musts, or of the facts.
fn columns(experiments: &Value, must: bool) -> Vec<(&str, &str)> {
    let all = experiments.as_array().into_iter().flatten();
    let meant = all.filter(|it| it["must"].as_bool() == Some(must));
    meant
        .filter_map(|it| Some((it["id"].as_str()?, it["title"].as_str()?)))
        .collect()
}

fn text(rows: &[Row], experiments: &Value, left_out: &BTreeMap<String, String>) -> String {
    let mut text = format!(
        "# The scorecard of Redis lock libraries\n\nWritten by `cargo xtask scorecard`. {LIMITS} \
         [docs/score.md](../../docs/score.md) says how it is done, [index.html](index.html) has what was seen in each \
         cell, [scorecard.csv](scorecard.csv) and [scorecard.json](scorecard.json) are for programs.\n"
    );
    for (title, must) in [("Musts", true), ("Facts", false)] {
        let columns = columns(experiments, must);
        let _ = writeln!(text, "\n## {title}\n");
        for (id, title) in &columns {
            let _ = writeln!(text, "- **{id}** {title}");
        }
        let heads: Vec<&str> = columns.iter().map(|(id, _)| *id).collect();
        let _ = writeln!(
            text,
            "\n| | {} |\n|---|{}",
            heads.join(" | "),
            "---|".repeat(columns.len())
        );
        for row in rows {
            let says = |cell: &Cell| format!("{} {}", cell.sign, cell.says).trim().to_owned();
            let cells = heads.iter().map(|id| row.cell(id));
            let cells: Vec<String> = cells.map(|it| it.map_or("not run".into(), says)).collect();
            let _ = writeln!(text, "| {} | {} |", row.heading(), cells.join(" | "));
        }
    }
    let _ = writeln!(
        text,
        "\n## Rows\n\n| row | language | client below | played again by | note |\n|---|---|---|---|---|"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | `{}` | {} |",
            row.heading(),
            row.language,
            row.client.as_deref().unwrap_or("its own"),
            row.command,
            row.note.as_deref().unwrap_or_default()
        );
    }
    if !left_out.is_empty() {
        text.push_str("\n## Not run\n\n");
        for (name, reason) in left_out {
            let _ = writeln!(text, "- {name}: {reason}");
        }
    }
    text
}

fn list(rows: &[Row]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut list = String::from(
        "library,version,language,lock,experiment,must,verdict,good,value,unit,least,greatest,port_of\n",
    );
    for row in rows {
        for cell in &row.cells {
            let is = match (cell.varies.is_empty(), cell.kind()) {
                (false, _) => "varies",
                (true, "is") => cell.verdict["is"].as_str().unwrap_or_default(),
                (true, kind) => kind,
            };
            let number = |value: Option<&Value>| match value.and_then(Value::as_f64) {
                Some(value) => format!("{value:.1}"),
                None => String::new(),
            };
            let range = cell.range.as_ref();
            let fields = [
                quoted(&row.library),
                row.version.clone(),
                row.language.clone(),
                quoted(&row.title),
                cell.id.clone(),
                cell.must.to_string(),
                quoted(is),
                cell.verdict["good"]
                    .as_bool()
                    .map_or(String::new(), |good| good.to_string()),
                number(cell.verdict.get("value")),
                quoted(cell.verdict["unit"].as_str().unwrap_or_default()),
                number(range.map(|range| &range["least"])),
                number(range.map(|range| &range["greatest"])),
                row.port_of.clone().unwrap_or_default(),
            ];
            let _ = writeln!(list, "{}", fields.join(","));
        }
    }
    list
}

/// A heading that fits its place in the grid.
fn shortened(heading: &str) -> String {
    const LONGEST: usize = 47;
    match heading.char_indices().nth(LONGEST) {
        None => heading.to_owned(),
        Some((cut, _)) => format!("{}…", heading[..cut].trim_end_matches([' ', ','])),
    }
}

/// The musts as a grid that fits a slide.
fn picture(rows: &[&Row], experiments: &Value) -> String {
    const CELL: usize = 46;
    const LABEL: usize = 330;
    const HEAD: usize = 64;
    const ROW: usize = 22;
    let columns = columns(experiments, true);
    let (width, height) = (
        LABEL + CELL * columns.len() + 20,
        HEAD + ROW * rows.len() + 34,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\"><title>What Redis lock libraries do: the musts</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
         <text x=\"10\" y=\"24\" font-size=\"15\" font-weight=\"bold\">What Redis lock libraries do: the musts</text>"
    );
    for (column, (id, _)) in columns.iter().enumerate() {
        let x = LABEL + CELL * column + CELL / 2;
        let _ = write!(
            svg,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEAD - 8,
            id
        );
    }
    for (line, row) in rows.iter().enumerate() {
        let y = HEAD + ROW * line;
        let heading = shortened(&row.heading());
        let heading = heading.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(svg, "<text x=\"10\" y=\"{}\">{heading}</text>", y + 15);
        for (column, (id, _)) in columns.iter().enumerate() {
            let x = LABEL + CELL * column;
            let cell = row.cell(id);
            let (fill, sign) = match cell.map(|cell| (&*cell.sign, cell.is_missing())) {
                Some(("✓", _)) => ("#d5ecd8", "✓"),
                Some(("✗", _)) => ("#f4c7c3", "✗"),
                Some((_, true)) => ("#f4f4f4", "n/a"),
                _ => ("#fdf0c4", "?"),
            };
            let _ = write!(
                svg,
                "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/><text x=\"{}\" y=\"{}\" \
                 text-anchor=\"middle\">{sign}</text>",
                x + 1,
                CELL - 2,
                ROW - 2,
                x + CELL / 2,
                y + 15
            );
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"10\" y=\"{}\" font-size=\"11\" fill=\"#555555\">✓ does what a user wants · ✗ does not · ? varies or not \
         decided · n/a no such call. No total, no rank.</text></svg>",
        height - 10
    );
    svg
}
