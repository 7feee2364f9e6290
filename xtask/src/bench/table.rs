//! The format of the speed comparison, in the terminal and in the README.

use anyhow::{Result, bail};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// A simulator and its median time.
pub struct Row {
    /// The name in the table.
    pub title: &'static str,
    /// The duration of one run.
    pub seconds: f64,
}

/// The table: ratios only, because they are the same on another machine.
pub fn ratios(rows: &[Row]) -> String {
    let mut table = "| simulator | time for the same run |\n|:--|--:|\n".to_owned();
    for row in rows {
        let ratio = two_digits(row.seconds / rows[0].seconds);
        table += &format!("| {} | {ratio} × |\n", row.title);
    }
    table
}

/// Replaces the lines between the two comments in a README.
pub fn with_block(text: &str, block: &str) -> Result<String> {
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        bail!("there is no `{BEGIN}` with an `{END}` after it");
    };
    Ok(format!("{before}{BEGIN}\n{block}{END}{after}"))
}

/// A time in human-readable form.
pub fn milliseconds(seconds: f64) -> String {
    format!("{} ms", two_digits(seconds * 1e3))
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

    #[test]
    fn the_readme_sees_ratios() {
        let rows = [("Ours", 0.00225), ("Fast", 0.00052), ("Slow", 0.208_834)];
        let rows = rows.map(|(title, seconds)| Row { title, seconds });
        let expected = "\
| simulator | time for the same run |
|:--|--:|
| Ours | 1.0 × |
| Fast | 0.23 × |
| Slow | 93 × |
";
        assert_eq!(ratios(&rows), expected);
        assert_eq!(milliseconds(rows[2].seconds), "210 ms");
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
