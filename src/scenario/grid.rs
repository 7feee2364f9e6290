//! Grids: the variants of a scenario that a sweep runs.
//!
//! An axis is `path=v1,v2,…`, the values as TOML, or `path=from..to/steps`: that many
//! intervals, both ends included. Several axes multiply; the last runs fastest.

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

/// What is wrong with an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridError {
    /// The axis as it was given.
    pub axis: String,
    /// What is wrong with it.
    pub what: String,
}

/// A grid has at most this many cells; more is a slip, and would fill the memory.
const MOST_CELLS: usize = 1_000_000;

impl Grid {
    /// Reads axes as the `--vary` option takes them.
    ///
    /// # Errors
    ///
    /// When one of them is not of either form, varies a parameter that another does,
    /// or when there would be more than a million cells.
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
            if cells > MOST_CELLS {
                return Err(fail(format!("a grid has at most {MOST_CELLS} cells")));
            }
            grid.axes.push(axis);
        }
        Ok(grid)
    }

    /// The cells: path and value of every axis, in the order of the axes. A grid
    /// without axes has one cell, which changes nothing.
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

/// A cell as overrides for [`super::load`].
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
            Some((from, rest)) => range(from, rest)?,
            None => list(values)?,
        };
        Ok(Axis {
            path: path.trim().into(),
            values,
        })
    }
}

/// `from..to/steps`. Whole numbers stay whole where every point of the range is one.
fn range(from: &str, rest: &str) -> Result<Vec<String>, String> {
    let (to, steps) = rest
        .split_once('/')
        .ok_or("a range is written from..to/steps, such as 0..2000/20")?;
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number.ok_or_else(|| format!("\"{}\" is not a number", text.trim()))
    };
    let (from, to) = (number(from)?, number(to)?);
    let steps: u32 = steps.trim().parse().unwrap_or(0);
    if steps == 0 || steps as usize >= MOST_CELLS {
        return Err(format!("a range has 1 to {} steps", MOST_CELLS - 1));
    }
    // The product first: it is exact for whole numbers, so that 0..1/10 has 0.3, and
    // 0..2000/20 whole numbers.
    let points: Vec<f64> = (0..=steps)
        .map(|i| (from * f64::from(steps - i) + to * f64::from(i)) / f64::from(steps))
        .collect();
    let whole = points.iter().all(|point| point.fract() == 0.0);
    Ok(points
        .iter()
        .map(|point| {
            if whole {
                format!("{point:.0}")
            } else {
                format!("{point:?}")
            }
        })
        .collect())
}

/// Values between commas, except for commas within brackets, braces and quotes.
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
    match values.iter().any(String::is_empty) {
        true => Err("a value is missing".into()),
        false => Ok(values),
    }
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--vary {}: {}", self.axis, self.what)
    }
}

impl std::error::Error for GridError {}
