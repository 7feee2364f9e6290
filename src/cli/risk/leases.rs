//! Violations a year against the lease: a table and a chart, with a curve for each lock.

use locklab_evidence::thousands;
use locklab_experiments::Exit;
use locklab_experiments::data;
use locklab_experiments::report::Report;
use locklab_experiments::section::{Form, Section};
use locklab_experiments::{Store, layout};
use locklab_report::Provenance;
use locklab_report::chart::{Curve, Curves, Estimate};
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_risk::{Effort, Number, PROPERTIES, RiskError, Setup, Time, by_cause};
use serde_json::{Value, json};

use super::words::{cell, data, overrides, work};

/// What is estimated, as a column and as an axis.
const WHAT: [&str; 2] = ["both hold it, a year", "corrupted, a year"];

/// A longer lease is worth little once it makes violations at most this many times fewer.
const KNEE: f64 = 2.0;

/// The estimates of some locks, each with some leases.
pub(super) struct Leases<'s> {
    setups: &'s [(String, Vec<Setup>)],
    every: Time,
    /// Runs for each cause.
    runs: u64,
    /// By lock, then by lease: violations a year of each property.
    years: Vec<Vec<[Number; 2]>>,
}

impl Leases<'_> {
    /// Estimates them one after the other.
    ///
    /// # Errors
    ///
    /// If a lock cannot be set up, or a run fails.
    pub(super) fn estimate<'s>(
        setups: &'s [(String, Vec<Setup>)],
        every: Time,
        effort: Effort<'_>,
    ) -> Result<Leases<'s>, RiskError> {
        let of_setup = |setup: &Setup| -> Result<[Number; 2], RiskError> {
            let answer = by_cause(setup, effort)?;
            Ok([0, 1].map(|property| answer.sum(property).times(every.per_year())))
        };
        let of_lock = |(_, setups): &(String, Vec<Setup>)| setups.iter().map(of_setup).collect();
        Ok(Leases {
            setups,
            every,
            runs: effort.runs,
            years: setups.iter().map(of_lock).collect::<Result<_, _>>()?,
        })
    }

    /// Every lock with every lease, and its numbers a year.
    fn all(&self) -> impl Iterator<Item = (&str, &Setup, &[Number; 2])> {
        let locks = self.setups.iter().zip(&self.years);
        locks.flat_map(|((lock, setups), years)| {
            let both = setups.iter().zip(years);
            both.map(move |(setup, years)| (&**lock, setup, years))
        })
    }

    /// What the numbers are of. Nothing is printed without it.
    fn about(&self) -> String {
        let Some((_, setup, _)) = self.all().next() else {
            return String::new();
        };
        format!(
            "In {} ({}){}: work of {}, asked for once in {}",
            setup.environment.name,
            setup.environment.title,
            overrides(setup),
            work(setup),
            self.every,
        )
    }

    pub(super) fn report(&self, folder: &Store) -> anyhow::Result<Report> {
        let document = self.json();
        let table = self.table();
        let mut forms = vec![
            Form::List(self.csv()),
            Form::Data(document.clone()),
            Form::Table(table.clone()),
        ];
        let chart = self.chart();
        // Where no run is violated there is nothing to draw.
        if chart.curves.iter().any(|curve| !curve.points.is_empty()) {
            let provenance = Provenance {
                subject: "violations a year against the lease".into(),
                overrides: vec![],
                seeds: format!("{} runs for each cause", thousands(self.runs)),
                environment: "simulated world".into(),
            };
            forms.push(Form::Chart(chart.draw(&folder.sheet)?, provenance));
        }
        let text = format!(
            "{}\n\n{}\n{}",
            layout::fold(&self.about()),
            layout::fold(&table.plain(layout::columns())),
            self.knees()
        );
        let section = Section {
            forms,
            ..Section::of(text, folder, "leases")
        };
        Ok(Report::of(section, document, Exit::AsPredicted))
    }

    fn table(&self) -> Table {
        let field = |year: &Number| Field::plain(cell(year), Look::Silent);
        let rows = self.all().map(|(lock, setup, years)| TableRow {
            label: format!("{lock}, {}", setup.lease),
            fields: years.iter().map(field).collect(),
        });
        Table {
            title: format!("Violations a year against the lease. {}", self.about()),
            rows_are: "lock",
            columns: WHAT.map(String::from).into(),
            rows: rows.collect(),
            legend: vec![],
            notes: vec![
                "≤ no violation in the runs; ~ few violations decide it. A holder that dies keeps the \
                 others waiting for the lease."
                    .into(),
            ],
        }
    }

    /// The chart of the resource, or of the lease if the resource is never corrupted.
    fn chart(&self) -> Curves {
        let property = usize::from(self.all().any(|(_, _, years)| years[1].mean > 0.0));
        let curves = self.setups.iter().zip(&self.years);
        let curves = curves.map(|((lock, setups), years)| {
            let point = |(setup, years): (&Setup, &[Number; 2])| {
                let number = years[property];
                let interval = number.interval()?;
                let estimate = Estimate {
                    value: number.mean,
                    low: interval.low,
                    high: interval.high,
                };
                Some((setup.lease.0 / 1000.0, estimate))
            };
            let mut points: Vec<_> = setups.iter().zip(years).filter_map(point).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Curve {
                name: lock.clone(),
                points,
            }
        });
        Curves {
            title: "Violations a year against the lease".into(),
            subtitle: format!(
                "{}. 95 % intervals. No point where no run is violated",
                self.about()
            ),
            x: "lease (s)".into(),
            y: WHAT[property].into(),
            curves: curves.collect(),
        }
    }

    /// For each lock, from which lease on a longer one changes little.
    fn knees(&self) -> String {
        let knee = |((lock, setups), years): (&(String, Vec<Setup>), &Vec<[Number; 2]>)| {
            let mut points: Vec<(Time, Number)> = { setups.iter().zip(years) }
                .map(|(setup, years)| (setup.lease, years[1]))
                .collect();
            points.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
            let means = points.iter().map(|(_, year)| year.mean);
            let least = means.fold(f64::INFINITY, f64::min);
            let found = points
                .iter()
                .position(|(_, year)| year.mean <= KNEE * least);
            let Some((place, (lease, year))) = found.map(|place| (place, &points[place])) else {
                return String::new();
            };
            let is_last = place + 1 == points.len();
            match is_last {
                _ if least == 0.0 => {
                    format!("{lock}: with a lease of {lease} no run is corrupted.")
                }
                true => format!(
                    "{lock}: with a lease of {lease} there are {} corruptions a year, and more than {KNEE} \
                     times as many with any shorter one.",
                    cell(year)
                ),
                false => format!(
                    "{lock}: with a lease of {lease} there are {} corruptions a year, and at least half as \
                     many with any longer one.",
                    cell(year)
                ),
            }
        };
        let knees = self.setups.iter().zip(&self.years).map(knee);
        layout::fold(&knees.collect::<Vec<_>>().join("\n"))
    }

    fn csv(&self) -> Csv {
        let mut csv = Csv::new([
            "environment",
            "lock",
            "lease_ms",
            "property",
            "per_year",
            "low",
            "high",
            "not_excluded",
        ]);
        for (lock, setup, years) in self.all() {
            for (property, number) in PROPERTIES.iter().zip(years) {
                let interval = number.interval();
                csv.push(vec![
                    setup.environment.name.clone(),
                    lock.to_owned(),
                    setup.lease.0.to_string(),
                    property.name().to_owned(),
                    number.mean.to_string(),
                    interval.map(|it| it.low.to_string()).unwrap_or_default(),
                    interval.map(|it| it.high.to_string()).unwrap_or_default(),
                    number.not_excluded.to_string(),
                ]);
            }
        }
        csv
    }

    fn json(&self) -> Value {
        let points = self.all().map(|(lock, setup, years)| {
            let numbers = PROPERTIES.iter().zip(years);
            let numbers = numbers.map(|(property, year)| (property.name().to_owned(), data(year)));
            json!({
                "environment": setup.environment.name,
                "lock": lock,
                "lease_ms": setup.lease.0,
                "per_year": Value::Object(numbers.collect()),
            })
        });
        data::document("risk", json!({ "leases": points.collect::<Vec<_>>() }))
    }
}
