//! Writes the table of client libraries as a page and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use anyhow::{Context, Result};

use super::columns::Table;
use super::{Deadline, Row, Seen};

const FOLDER: &str = "reports/clients";

/// The scenarios that repeat violations.
pub const AGAIN: &str = "reports/clients/again";

/// The rows of the table that is published; none if there is none.
pub fn read(table: Table) -> Result<Vec<Row>> {
    let file = format!("{FOLDER}/{}.json", table.name());
    match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("in {file}")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("read {file}")),
    }
}

/// Writes a table as a page and as JSON.
pub fn write(rows: &[Row], table: Table, left_out: &BTreeMap<String, String>) -> Result<()> {
    let name = table.name();
    std::fs::write(format!("{FOLDER}/{name}.md"), page(rows, table, left_out))?;
    let mut json = serde_json::to_string_pretty(rows)?;
    json.push('\n');
    std::fs::write(format!("{FOLDER}/{name}.json"), json)?;
    Ok(())
}

fn page(rows: &[Row], table: Table, left_out: &BTreeMap<String, String>) -> String {
    let (mut page, columns) = (table.head().to_owned(), table.columns());
    page.push_str("| library | version | language | lock | nodes | deadline | on |");
    for column in columns {
        let _ = write!(page, " `{}` |", column.name);
    }
    page.push_str("\n|---|---|---|---|--:|---|---|");
    page.push_str(&"---|".repeat(columns.len()));
    page.push('\n');
    for row in rows {
        let Row {
            library,
            version,
            language,
            title,
            nodes,
            ..
        } = row;
        let deadline = match row.deadline {
            Deadline::Told => "told",
            Deadline::Derived => "derived",
            Deadline::None => "none",
        };
        let seen = row.scenarios.iter();
        let mut servers: Vec<&str> = seen.filter_map(|it| it.server.as_deref()).collect();
        servers.sort_unstable();
        servers.dedup();
        let on = servers.join(", ");
        let _ = write!(
            page,
            "| {library} | {version} | {language} | {title} | {nodes} | {deadline} | {on} |"
        );
        for column in columns {
            let seen = row.scenarios.iter().find(|it| it.scenario == column.name);
            let _ = write!(page, " {} |", seen.map_or("not run".to_owned(), cell));
        }
        page.push('\n');
    }
    page.push_str("\n## What breaks each\n\n");
    page.push_str("`cargo xtask clients` installs the libraries in `target/clients/`, where these commands find them.\n");
    for row in rows {
        let _ = write!(page, "\n**{}, {}**\n\n", row.library, row.title);
        for seen in &row.scenarios {
            page.push_str(&repetition(seen));
        }
    }
    if !left_out.is_empty() {
        page.push_str("\n## Left out\n\n");
        for (name, reason) in left_out {
            let _ = writeln!(page, "- {name}: {reason}");
        }
    }
    page
}

/// What was violated, as counts of runs.
fn cell(seen: &Seen) -> String {
    let of = seen.runs;
    if seen.violated.is_empty() {
        let nothing = format!("nothing in {of} runs");
        return match seen.tried {
            Some(tried) => format!("{nothing}; {tried} could have shown `lease`"),
            None => nothing,
        };
    }
    let counts = seen.violated.iter();
    let counts = counts.map(|it| format!("`{}` {} of {}", it.property, it.runs, it.of));
    counts.collect::<Vec<_>>().join("<br>")
}

/// The command that repeats a violation, and how often it did.
fn repetition(seen: &Seen) -> String {
    match &seen.again {
        None => format!(
            "- `{}`: nothing was violated in {} runs.\n",
            seen.scenario, seen.runs
        ),
        Some(again) => format!(
            "- `{}`: `{}` repeated {} of {}: `{}`\n",
            seen.scenario, again.property, again.times, again.of, again.command
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Again, Violated};
    use super::*;

    fn seen(violated: Vec<Violated>, again: Option<Again>) -> Seen {
        let scenario = "attack/pause".to_owned();
        Seen {
            scenario,
            seeds: None,
            server: None,
            runs: 5,
            tried: None,
            violated,
            again,
        }
    }

    #[test]
    fn counts_are_of_the_runs_that_say_it() {
        let violated = Violated {
            property: "lease".to_owned(),
            runs: 2,
            of: 4,
            seed: 3,
        };
        assert_eq!(cell(&seen(vec![violated], None)), "`lease` 2 of 4");
        let nothing = seen(vec![], None);
        assert_eq!(cell(&nothing), "nothing in 5 runs");
        let refused = Seen {
            tried: Some(0),
            ..nothing
        };
        assert_eq!(
            cell(&refused),
            "nothing in 5 runs; 0 could have shown `lease`"
        );
    }

    #[test]
    fn a_repetition_says_how_often_it_came_back() {
        let (property, command) = ("lease".to_owned(), "locklab attack".to_owned());
        let again = Again {
            property,
            command,
            times: 7,
            of: 10,
        };
        let told = repetition(&seen(vec![], Some(again)));
        assert_eq!(
            told,
            "- `attack/pause`: `lease` repeated 7 of 10: `locklab attack`\n"
        );
    }
}
