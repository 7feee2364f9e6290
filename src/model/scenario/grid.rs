//! Grids: the variants of a scenario that a sweep runs.
//!
//! An axis is `path=v1,v2,…`, the values as TOML, or `path=from..to/steps`: this many
//! intervals, both ends included. Several axes multiply; the last varies fastest.

use std::fmt;

/// The axes of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    axes: Vec<Axis>,
}

/// One varied parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Axis {
    path: String,
    values: Vec<String>,
}

/// The error of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridError {
    /// The axis as it was given.
    pub axis: String,
    /// The reason.
    pub what: String,
}

/// The maximum number of cells of a grid. More is likely a typing error, and already to read the
/// scenario of each cell would take minutes.
const MAX_CELLS: usize = 10_000;

impl Grid {
    /// Reads axes as the `--vary` option takes them.
    ///
    /// # Errors
    ///
    /// When one of them has neither form, when two vary the same parameter, or when there would
    /// be more than ten thousand cells.
    pub fn parse(axes: &[String]) -> Result<Grid, GridError> {
        let mut grid = Grid::default();
        let mut cells = 1_usize;
        for text in axes {
            let fail = |what| GridError {
                axis: text.clone(),
                what,
            };
            let axis = Axis::parse(text).map_err(fail)?;
            if grid.axes.iter().any(|other| other.path == axis.path) {
                return Err(fail(format!("\"{}\" is varied twice", axis.path)));
            }
            cells = cells.saturating_mul(axis.values.len());
            if cells > MAX_CELLS {
                return Err(fail(too_many(cells, "write fewer values on an axis")));
            }
            grid.axes.push(axis);
        }
        Ok(grid)
    }

    /// The paths of the axes, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.path.as_str())
    }

    /// The cells: path and value of every axis, in the order of the axes. A grid without axes
    /// has one cell, which has no overrides.
    pub fn cells(&self) -> Vec<Vec<(String, String)>> {
        self.axes.iter().fold(vec![vec![]], |cells, axis| {
            let extend = |cell: Vec<(String, String)>| {
                axis.values.iter().map(move |value| {
                    let mut longer = cell.clone();
                    longer.push((axis.path.clone(), value.clone()));
                    longer
                })
            };
            cells.into_iter().flat_map(extend).collect()
        })
    }
}

/// A cell as overrides for [`super::load()`].
pub fn overrides(cell: &[(String, String)]) -> Vec<String> {
    cell.iter()
        .map(|(path, value)| format!("{path}={value}"))
        .collect()
}

impl Axis {
    fn parse(text: &str) -> Result<Axis, String> {
        let (path, values) = text
            .split_once('=')
            .ok_or("an axis is written path=v1,v2 or path=from..to/steps")?;
        let values = match values.split_once("..") {
            Some((from, rest)) if !from.contains(['"', '\'', '[', '{', ',']) => range(from, rest)?,
            _ => list(values)?,
        };
        Ok(Axis {
            path: path.trim().into(),
            values,
        })
    }
}

/// Expands `from..to/steps`. Whole numbers stay whole where every point of the range is one.
fn range(from: &str, rest: &str) -> Result<Vec<String>, String> {
    let (to, steps) = rest
        .split_once('/')
        .ok_or("a range is written from..to/steps, such as 0..2000/20")?;
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number.ok_or_else(|| format!("\"{}\" is not a number", text.trim()))
    };
    let (from, to) = (number(from)?, number(to)?);
    let steps = steps.trim();
    let steps: u32 = match steps.parse() {
        Ok(steps) if steps > 0 => steps,
        _ => {
            let most = MAX_CELLS - 1;
            return Err(format!(
                "invalid number of steps \"{steps}\"; after the / comes a whole number from 1 to {most}"
            ));
        }
    };
    let cells = (steps as usize).saturating_add(1);
    if cells > MAX_CELLS {
        return Err(too_many(cells, &format!("write {from}..{to}/20")));
    }
    if from >= to {
        let remedy = match from == to {
            true => format!("write {from} alone"),
            false => format!("write {to}..{from}/{steps}"),
        };
        return Err(format!(
            "a range goes up, and this one from {from} to {to}; {remedy}"
        ));
    }
    let point = |i| (from * f64::from(steps - i) + to * f64::from(i)) / f64::from(steps);
    let points: Vec<f64> = (0..=steps).map(|i| twelve_digits(point(i))).collect();
    let whole = points.iter().all(|point| point.fract() == 0.0);
    let spell = |point: &f64| match whole {
        true => format!("{point:.0}"),
        false => format!("{point:?}"),
    };
    Ok(points.iter().map(spell).collect())
}

/// The error of a grid with so many cells.
fn too_many(cells: usize, remedy: &str) -> String {
    format!("a grid of {cells} cells; at most {MAX_CELLS}: {remedy}")
}

/// Rounded to twelve significant digits: 0.3, not 0.30000000000000004.
fn twelve_digits(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// Splits at commas, except for commas within brackets, braces and quotes.
fn list(text: &str) -> Result<Vec<String>, String> {
    let mut values = vec![String::new()];
    let mut depth = 0_i32;
    let mut quote = None;
    for c in text.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            (',', None) if depth == 0 => {
                values.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(value) = values.last_mut() {
            value.push(c);
        }
    }
    if depth != 0 || quote.is_some() {
        return Err("a bracket or a quote is not closed".into());
    }
    let values: Vec<String> = values.iter().map(|value| value.trim().into()).collect();
    if values.iter().any(String::is_empty) {
        return Err("a value is missing".into());
    }
    let mut places = values.iter().enumerate();
    match places.find(|(place, value)| values[..*place].contains(value)) {
        Some((_, twice)) => Err(format!("the value {twice} is listed twice")),
        None => Ok(values),
    }
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--vary {}: {}", self.axis, self.what)
    }
}

impl std::error::Error for GridError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of an axis, or the error.
    fn check(axis: &str, expected: Result<&[&str], &str>) {
        let values = match Axis::parse(axis) {
            Ok(axis) => Ok(axis.values),
            Err(what) => Err(what),
        };
        let expected = match expected {
            Ok(values) => Ok(values.iter().map(|value| (*value).into()).collect()),
            Err(what) => Err(what.into()),
        };
        assert_eq!(values, expected, "{axis}");
    }

    #[test]
    fn lists() {
        check("a.b=1,2,3", Ok(&["1", "2", "3"]));
        check("a=none, writes", Ok(&["none", "writes"]));
        check("a=5", Ok(&["5"]));
        check("on=[\"c1\", \"c2\"],c1", Ok(&["[\"c1\", \"c2\"]", "c1"]));
        check(
            "ms={ uniform = [1, 5] },{ exponential = 3 }",
            Ok(&["{ uniform = [1, 5] }", "{ exponential = 3 }"]),
        );
        check("about=\"a, b..c\",d", Ok(&["\"a, b..c\"", "d"]));
        check("a=1,,2", Err("a value is missing"));
        check("a=1,2,1", Err("the value 1 is listed twice"));
        check("a=", Err("a value is missing"));
        check("a=[1,2", Err("a bracket or a quote is not closed"));
        check(
            "a",
            Err("an axis is written path=v1,v2 or path=from..to/steps"),
        );
    }

    #[test]
    fn ranges() {
        check("a=0..2000/4", Ok(&["0", "500", "1000", "1500", "2000"]));
        check("a=0..1/4", Ok(&["0.0", "0.25", "0.5", "0.75", "1.0"]));
        check("a=-5..5/2", Ok(&["-5", "0", "5"]));
        check("a=0..0.3/3", Ok(&["0.0", "0.1", "0.2", "0.3"]));
        for steps in ["0", "2.5", "-1", "", "many"] {
            let told = format!(
                "invalid number of steps \"{steps}\"; after the / comes a whole number from 1 to 9999"
            );
            check(&format!("a=0..10/{steps}"), Err(&told));
        }
        let many = "a grid of 1000001 cells; at most 10000: write 0..10/20";
        check("a=0..10/1000000", Err(many));
        let backwards = "a range goes up, and this one from 1 to 0.5; write 0.5..1/4";
        check("a=1..0.5/4", Err(backwards));
        let still = "a range goes up, and this one from 5 to 5; write 5 alone";
        check("a=5..5/4", Err(still));
        check("a=0..ten/2", Err("\"ten\" is not a number"));
        check("a=0..inf/2", Err("\"inf\" is not a number"));
        check(
            "a=0..10",
            Err("a range is written from..to/steps, such as 0..2000/20"),
        );
    }

    fn grid(axes: &[&str]) -> Result<Grid, GridError> {
        let axes: Vec<String> = axes.iter().map(|axis| (*axis).into()).collect();
        Grid::parse(&axes)
    }

    #[test]
    fn axes_multiply_and_the_last_runs_fastest() {
        let cells = grid(&["a=1,2", "b=x,y"]).map(|grid| grid.cells());
        let overrides: Vec<Vec<String>> =
            cells.iter().flatten().map(|cell| overrides(cell)).collect();
        assert_eq!(
            overrides,
            [
                ["a=1", "b=x"],
                ["a=1", "b=y"],
                ["a=2", "b=x"],
                ["a=2", "b=y"]
            ]
        );
        assert_eq!(grid(&[]).map(|grid| grid.cells().len()), Ok(1));
    }

    #[test]
    fn grids_that_are_slips_are_refused() {
        let told = |axes: &[&str]| grid(axes).map_err(|error| error.to_string()).err();
        assert_eq!(
            told(&["a=1", "a=2"]).as_deref(),
            Some("--vary a=2: \"a\" is varied twice")
        );
        assert_eq!(
            told(&["a=0..100/100", "b=0..100/100"]).as_deref(),
            Some(
                "--vary b=0..100/100: a grid of 10201 cells; at most 10000: write fewer values on an \
                 axis"
            )
        );
    }
}
