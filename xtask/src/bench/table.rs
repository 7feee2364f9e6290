//! The format of the speed comparison, in the terminal and in the README.

use anyhow::{Result, bail};

/// The simulator that the ratios are relative to.
const REFERENCE: &str = "locklab";
const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// A simulator and its median time.
pub struct Row {
    /// The name in the table.
    pub title: &'static str,
    /// The name of its program.
    pub peer: &'static str,
    /// The duration of one run.
    pub seconds: f64,
}

/// The table for the terminal.
pub fn times(rows: &[Row]) -> String {
    let mut table = format!("{:<20}{:>14}{:>14}\n", "", "time per run", "ratio");
    for row in rows {
        let ratio = reference(rows).map_or("-".to_owned(), |r| times_as_long(row.seconds / r));
        let time = milliseconds(row.seconds);
        table += &format!("{:<20}{time:>14}{ratio:>14}\n", row.title);
    }
    table
}

/// The table for the README: ratios only, because they are the same on another machine.
///
/// # Errors
///
/// If the reference simulator is not among the rows.
pub fn ratios(rows: &[Row]) -> Result<String> {
    let Some(reference) = reference(rows) else {
        bail!("no ratios without Locklab's own time");
    };
    let mut table = "| simulator | time for the same run |\n|:--|--:|\n".to_owned();
    for row in rows {
        let ratio = times_as_long(row.seconds / reference);
        table += &format!("| {} | {ratio} |\n", row.title);
    }
    Ok(table)
}

/// Replaces the lines between the two comments in a README.
///
/// # Errors
///
/// If it lacks the two comments.
pub fn with_block(text: &str, block: &str) -> Result<String> {
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        bail!("there is no `{BEGIN}` with an `{END}` after it");
    };
    Ok(format!("{before}{BEGIN}\n{block}{END}{after}"))
}

fn reference(rows: &[Row]) -> Option<f64> {
    let row = rows.iter().find(|row| row.peer == REFERENCE)?;
    Some(row.seconds)
}

/// A time in human-readable form.
pub fn milliseconds(seconds: f64) -> String {
    format!("{} ms", two_digits(seconds * 1e3))
}

fn times_as_long(ratio: f64) -> String {
    format!("{} ×", two_digits(ratio))
}

/// Rounds to two significant digits: a benchmark is not more repeatable than that.
fn two_digits(value: f64) -> String {
    let magnitude = value.log10().floor() as i32;
    let unit = 10_f64.powi(magnitude - 1);
    let decimals = usize::try_from(1 - magnitude).unwrap_or(0);
    format!("{:.decimals$}", (value / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [Row; 3] = [
        Row {
            title: "Ours",
            peer: REFERENCE,
            seconds: 0.00225,
        },
        Row {
            title: "Fast",
            peer: "fast",
            seconds: 0.00052,
        },
        Row {
            title: "Slow",
            peer: "slow",
            seconds: 0.208_834,
        },
    ];

    #[test]
    fn the_terminal_sees_times_and_ratios() {
        let expected = "                      time per run         ratio
Ours                        2.3 ms         1.0 ×
Fast                       0.52 ms        0.23 ×
Slow                        210 ms          93 ×
";
        assert_eq!(times(&ROWS), expected);
        assert!(times(&ROWS[1..]).lines().all(|line| !line.ends_with('×')));
    }

    #[test]
    fn the_readme_sees_ratios() {
        let expected = "\
| simulator | time for the same run |
|:--|--:|
| Ours | 1.0 × |
| Fast | 0.23 × |
| Slow | 93 × |
";
        assert_eq!(ratios(&ROWS).unwrap(), expected);
        assert!(ratios(&ROWS[1..]).is_err());
    }

    #[test]
    fn only_the_block_of_the_readme_changes() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let expected = format!("a\n{BEGIN}\nnew\n{END}\nb\n");
        assert_eq!(with_block(&text, "new\n").unwrap(), expected);
        assert_eq!(with_block(&expected, "new\n").unwrap(), expected);
        assert!(with_block("a\n", "new\n").is_err());
        assert!(with_block(&format!("{END}{BEGIN}"), "new\n").is_err());
    }
}
