//! Converts a sweep's counts to the contents of a chart: panels with lines, bars or a heat map.

use super::{
    super::{Error, palette},
    ChartOptions, RateAxis,
    axis_scale::Scale,
    measure::{Measure, Rate},
};
use locklab_results::{Axis, Cell, Seeding, Sweep};

/// The contents of a chart; rates are in percent.
pub(super) struct Plot {
    pub(super) title: String,
    /// The overrides of the scenario; empty if there are none.
    pub(super) overrides: String,
    pub(super) subtitle: String,
    /// The title of the axis of rates.
    pub(super) rates: String,
    /// Percent at its end.
    pub(super) top: f64,
    pub(super) y: Scale,
    pub(super) x: Scale,
    /// The names of the lines that all panels may have; a line is known by its place here.
    pub(super) legend: Vec<String>,
    pub(super) panels: Vec<Panel>,
}

/// One pair of axes.
pub(super) struct Panel {
    /// Empty if there is only one.
    pub(super) heading: String,
    pub(super) body: Body,
    /// Its vertical axis and the title of that, if they are not those of the plot.
    pub(super) upright: Option<(Scale, String)>,
    /// The points that have a ring, by positions on both axes.
    pub(super) rings: Vec<(f64, f64)>,
}

impl Panel {
    /// A panel with the axes of the plot.
    pub(super) fn new(heading: String, body: Body) -> Panel {
        Panel {
            heading,
            body,
            upright: None,
            rings: Vec::new(),
        }
    }
}

pub(super) enum Body {
    Lines(Vec<Line>),
    Heat(Heat),
}

/// One line, or one colour of bars.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    /// Its place in the legend.
    pub(super) number: usize,
    /// Its points in ascending order of positions on the x axis.
    pub(super) points: Vec<(f64, Rate)>,
}

/// A field for each pair of values.
pub(super) struct Heat {
    pub(super) y: Scale,
    /// Positions on both axes, and the rate there.
    pub(super) fields: Vec<(f64, f64, Rate)>,
}

/// A parameter with more values than this is an axis of a heat map, not a family of lines.
const MAX_LINES_OF_NUMBERS: usize = 4;

/// Converts the sweep to a chart.
pub(super) fn plot(sweep: &Sweep, options: &ChartOptions) -> Result<Plot, Error> {
    let measures = Measure::wanted(sweep, options);
    let dimensions = Dimension::all(sweep);
    let (x, y, others) = Dimension::arrange(&dimensions);
    let (x_scale, legend, panels) = match (x, y) {
        (Some(x), Some(y)) => heat_maps(sweep, &measures, x, y, &others),
        _ => lines(sweep, &measures, x, &others),
    };
    if panels.is_empty() {
        let asked: Vec<&str> = measures.iter().map(|measure| measure.name()).collect();
        return Err(Error::NothingJudged {
            scenario: sweep.scenario.clone(),
            asked: match asked.is_empty() {
                true => "any property".to_owned(),
                false => asked.join(" or "),
            },
        });
    }
    let top = top(&panels, options.rate_axis);
    Ok(Plot {
        title: sweep.title.clone(),
        overrides: sweep.overrides.join(", "),
        subtitle: subtitle(sweep, &measures, &panels),
        rates: Measure::axis_title(&measures),
        top,
        y: Scale::of_rates(top),
        x: x_scale,
        legend,
        panels,
    })
}

/// A varied parameter with its values.
struct Dimension<'a> {
    /// Its place among the parameters of a cell.
    place: usize,
    axis: Option<&'a Axis>,
    /// The values in the order of the sweep, or if they are numbers, in theirs.
    words: Vec<String>,
    /// The same, in units of the axis; empty if they are not numbers.
    numbers: Vec<f64>,
}

impl<'a> Dimension<'a> {
    fn all(sweep: &'a Sweep) -> Vec<Self> {
        let count = sweep.cells.first().map_or(0, |cell| cell.parameters.len());
        (0..count).map(|place| Self::of(sweep, place)).collect()
    }

    fn of(sweep: &'a Sweep, place: usize) -> Self {
        let axis = sweep.axes.get(place);
        let per = axis.map_or(1.0, |axis| axis.per);
        let mut words: Vec<String> = Vec::new();
        for cell in &sweep.cells {
            let word = unquoted(&cell.parameters[place].1);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let numbers: Option<Vec<f64>> = words.iter().map(|word| parse_number(word)).collect();
        let mut both: Vec<(f64, String)> = match numbers {
            Some(numbers) => numbers.into_iter().zip(words.iter().cloned()).collect(),
            None => Vec::new(),
        };
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !both.is_empty() {
            words = both.iter().map(|(_, word)| word.clone()).collect();
        }
        Dimension {
            place,
            axis,
            words,
            numbers: both.iter().map(|(number, _)| number / per).collect(),
        }
    }

    /// The x axis, the y axis if there is to be a heat map, and the others that vary.
    fn arrange<'d>(
        all: &'d [Dimension<'a>],
    ) -> (Option<&'d Self>, Option<&'d Self>, Vec<&'d Self>) {
        let varies = |dimension: &&Self| dimension.words.len() > 1;
        // The first of those with the most values.
        fn longest<'d, D>(
            all: impl DoubleEndedIterator<Item = &'d D>,
            length: fn(&D) -> usize,
        ) -> Option<&'d D> {
            all.rev().max_by_key(|d| length(d))
        }
        let numbers = |least: usize| all.iter().filter(move |d| d.numbers.len() >= least);
        let mut long = numbers(MAX_LINES_OF_NUMBERS + 1);
        let (x, y) = match (long.next(), long.next()) {
            (Some(x), Some(y)) => (Some(x), Some(y)),
            // Two points are no curve: words may be the better axis.
            _ => (longest(numbers(3), |d| d.numbers.len()), None),
        };
        let x = x.or_else(|| longest(all.iter().filter(varies), |d| d.words.len()));
        let x = x.or(all.first());
        let is = |one: Option<&Self>, place| one.is_some_and(|one| one.place == place);
        let others = all.iter().filter(varies);
        let others = others.filter(|d| !is(x, d.place) && !is(y, d.place));
        (x, y, others.collect())
    }

    /// The place of a cell's value among the values.
    fn rank(&self, cell: &Cell) -> Option<usize> {
        let value = unquoted(&cell.parameters.get(self.place)?.1);
        self.words.iter().position(|word| *word == value)
    }

    fn position(&self, scale: &Scale, cell: &Cell) -> Option<f64> {
        let rank = self.rank(cell)?;
        let number = self.numbers.get(rank).copied().unwrap_or_default();
        Some(scale.position(number, rank))
    }

    /// A cell's value in words: `lease = 500 ms`.
    fn words_of(&self, cell: &Cell) -> Option<String> {
        let rank = self.rank(cell)?;
        let value = match self.numbers.get(rank) {
            Some(number) if self.axis.is_some_and(|axis| axis.per != 1.0) => number.to_string(),
            _ => self.words[rank].clone(),
        };
        Some(match self.axis {
            Some(axis) => format!("{} = {}", axis.name, axis.measure(&value)),
            None => value,
        })
    }
}

/// The cells in groups with equal values of these parameters, in the order of the grid.
fn groups<'c>(sweep: &'c Sweep, others: &[&Dimension]) -> Vec<(String, Vec<&'c Cell>)> {
    let mut groups: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in &sweep.cells {
        let words: Vec<String> = others.iter().filter_map(|d| d.words_of(cell)).collect();
        let words = words.join(", ");
        match groups.iter_mut().find(|(same, _)| *same == words) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((words, vec![cell])),
        }
    }
    groups
}

/// A heat map for each property, and for each combination of the other parameters.
fn heat_maps(
    sweep: &Sweep,
    measures: &[Measure],
    x: &Dimension,
    y: &Dimension,
    others: &[&Dimension],
) -> (Scale, Vec<String>, Vec<Panel>) {
    let steps = |d: &Dimension| {
        let axis = d.axis.cloned();
        Scale::steps(&axis.unwrap_or_else(|| Axis::of_key("")), &d.numbers)
    };
    let (x_scale, y_scale) = (steps(x), steps(y));
    let mut panels = Vec::new();
    for (words, cells) in groups(sweep, others) {
        for measure in measures {
            let field = |cell: &&Cell| {
                let (x, y) = (x.position(&x_scale, cell)?, y.position(&y_scale, cell)?);
                Some((x, y, measure.of(cell)?))
            };
            let fields: Vec<_> = cells.iter().filter_map(field).collect();
            if fields.iter().any(|(.., rate)| rate.inconclusive < 100.0) {
                let parts = [measure.name(), &words].map(str::to_owned);
                let y = y_scale.clone();
                panels.push(Panel::new(
                    joined(parts.into()),
                    Body::Heat(Heat { y, fields }),
                ));
            }
        }
    }
    (x_scale, Vec::new(), panels)
}

/// A line for each property and each combination of the other parameters: all in one panel; a
/// panel for each property, if there are several lines of each; or a panel for each line, if
/// there are more than there are colours.
fn lines(
    sweep: &Sweep,
    measures: &[Measure],
    x: Option<&Dimension>,
    others: &[&Dimension],
) -> (Scale, Vec<String>, Vec<Panel>) {
    let scale = match x {
        Some(Dimension {
            axis: Some(axis),
            numbers,
            ..
        }) if !numbers.is_empty() => Scale::numeric(axis, numbers),
        Some(x) => Scale::words(x.axis, &x.words),
        None => Scale::words(None, &[String::new()]),
    };
    let groups = groups(sweep, others);
    let mut found = Vec::new();
    for &measure in measures {
        for (words, cells) in &groups {
            let point = |cell: &&Cell| {
                let x = x.map_or(Some(0.0), |x| x.position(&scale, cell))?;
                Some((x, measure.of(cell)?))
            };
            let mut points: Vec<(f64, Rate)> = cells.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            if points.iter().any(|(_, rate)| rate.inconclusive < 100.0) {
                found.push((measure, words.clone(), points));
            }
        }
    }
    let by_property = measures.len() > 1 && groups.len() > 1;
    let each = match by_property {
        true => groups.len(),
        false => found.len(),
    };
    let (mut legend, mut panels): (Vec<String>, Vec<Panel>) = Default::default();
    for (measure, words, points) in found {
        let name = measure.name().to_owned();
        let (heading, label) = if each > palette::COLOURS {
            let name = if measures.len() > 1 {
                name
            } else {
                String::new()
            };
            (joined(vec![name, words]), String::new())
        } else if by_property {
            (name, words)
        } else if words.is_empty() {
            (String::new(), name)
        } else {
            (String::new(), words)
        };
        let number = legend.iter().position(|known| *known == label);
        let number = number.unwrap_or_else(|| {
            legend.push(label);
            legend.len() - 1
        });
        let line = Line { number, points };
        match panels.last_mut() {
            Some(Panel {
                heading: same,
                body: Body::Lines(lines),
                ..
            }) if *same == heading => {
                lines.push(line);
            }
            _ => panels.push(Panel::new(heading, Body::Lines(vec![line]))),
        }
    }
    legend.retain(|label| !label.is_empty());
    (scale, legend, panels)
}

fn joined(parts: Vec<String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

impl Panel {
    /// All its rates.
    fn rates(&self) -> Vec<Rate> {
        match &self.body {
            Body::Lines(lines) => {
                let points = lines.iter().flat_map(|line| &line.points);
                points.map(|(_, rate)| *rate).collect()
            }
            Body::Heat(heat) => heat.fields.iter().map(|(.., rate)| *rate).collect(),
        }
    }
}

impl Plot {
    /// Whether some cell has no run that could be judged.
    pub(super) fn is_unknown_somewhere(&self) -> bool {
        let mut rates = self.panels.iter().flat_map(Panel::rates);
        rates.any(|rate| rate.inconclusive >= 100.0)
    }
}

fn subtitle(sweep: &Sweep, measures: &[Measure], panels: &[Panel]) -> String {
    let seeding = match (sweep.seeding, sweep.cells.len()) {
        (_, 0..=1) => "",
        (Seeding::Common, _) => ", the same seeds for each (common random numbers)",
        (Seeding::Independent, _) => ", different seeds for each",
    };
    let is_heat = matches!(panels[0].body, Body::Heat(_));
    let (of, rates) = match is_heat {
        true => ("field", panels.iter().flat_map(Panel::rates).collect()),
        false => ("point", Vec::new()),
    };
    let widest = rates.iter().map(|rate: &Rate| (rate.high - rate.low) / 2.0);
    let intervals = match (measures, is_heat) {
        (_, true) => format!(
            "95 % intervals of ± {:.1} points at most",
            widest.fold(0.0, f64::max)
        ),
        ([Measure::Loss], _) => "95 % intervals over runs".into(),
        _ => "95 % Wilson intervals".into(),
    };
    let runs = match sweep.seeds {
        1 => "1 run".into(),
        runs => format!("{runs} runs"),
    };
    let rates = panels.iter().flat_map(Panel::rates);
    let doubtful = rates.map(|rate| rate.inconclusive).fold(0.0, f64::max);
    let doubts = match (doubtful, is_heat) {
        (0.0, _) => String::new(),
        (most, true) => format!("; up to {most:.1} % of the runs are inconclusive"),
        (most, false) => format!("; grey dashes: inconclusive runs, up to {most:.1} %"),
    };
    format!("{runs} for each {of}{seeding}; {intervals}{doubts}")
}

fn top(panels: &[Panel], axis: RateAxis) -> f64 {
    let rates = panels.iter().flat_map(Panel::rates);
    let highest = rates.map(|rate| rate.high).fold(0.0, f64::max);
    match axis {
        RateAxis::Full => 100.0,
        RateAxis::Fitted => [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
            .into_iter()
            .find(|&top| highest <= top)
            .unwrap_or(100.0),
    }
}

/// Parses a number in TOML's notation; `None` if it is not a finite number.
fn parse_number(value: &str) -> Option<f64> {
    let number: f64 = value.replace('_', "").parse().ok()?;
    number.is_finite().then_some(number)
}

fn unquoted(value: &str) -> String {
    value.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests;
