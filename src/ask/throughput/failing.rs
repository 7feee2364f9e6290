//! How often the locks fail whose cost is measured: from the results of `study risk --leases`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, ensure};
use locklab_model::scenario::{Commit, Persistence};
use locklab_real::throughput::{Replica, Setting};
use locklab_report::chart::{Curve, Curves, Estimate, Quantity};
use locklab_results::table::{Field, Look};
use serde::{Deserialize, Serialize};

use super::Entry;
use crate::risk::model::Time;
use crate::risk::words::figures;

/// What is told of each setting.
pub(super) const COLUMNS: [&str; 2] = ["both hold it, a year", "corrupted, a year"];

/// How often a lock fails in an environment.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(super) struct Failing {
    lock: String,
    lease_ms: f64,
    environment: String,
    per_year: PerYear,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
struct PerYear {
    /// Two clients can rely on it at once.
    lease: Number,
    /// What it protects is corrupted.
    resource: Number,
}

/// A number a year.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
struct Number {
    mean: f64,
    /// Of the causes that brought it about; `None` if none did.
    seen: Option<[f64; 2]>,
    /// What the runs cannot exclude.
    not_excluded: f64,
}

/// The file of the results, as far as it is needed.
#[derive(Deserialize)]
struct Results {
    leases: Vec<Failing>,
}

/// Reads the locks of a file that have this lease.
pub(super) fn read(file: &Path, lease: Time) -> anyhow::Result<Vec<Failing>> {
    let name = file.display();
    let opened = File::open(file).with_context(|| format!("open {name}"))?;
    let results: Result<Results, _> = serde_json::from_reader(BufReader::new(opened));
    let results =
        results.with_context(|| format!("{name} is no leases.json of `study risk --leases`"))?;
    let mut all = results.leases;
    let mut there: Vec<f64> = all.iter().map(|it| it.lease_ms).collect();
    there.sort_by(f64::total_cmp);
    there.dedup();
    all.retain(|it| it.lease_ms == lease.0);
    ensure!(
        !all.is_empty(),
        "{name} has no lease of {lease}; --lease names another: {}",
        there
            .iter()
            .map(|ms| Time(*ms).to_string())
            .collect::<Vec<_>>()
            .join(", ")
    );
    Ok(all)
}

impl Failing {
    /// Whether such a lock is what is measured with this setting.
    pub(super) fn is_of(&self, setting: &Setting) -> bool {
        let locks: &[&str] = match setting {
            Setting::Redis {
                nodes: 1,
                persistence: Persistence::None,
                replica: Replica::None,
            } => &["set-nx-px", "set-nx-px (with token)"],
            Setting::Redis {
                replica: Replica::Behind,
                ..
            } => &["set-nx-px+replica"],
            Setting::Redis {
                nodes: 5,
                persistence: Persistence::None,
                ..
            } => &["redlock"],
            Setting::Redis { .. } => &[],
            Setting::Database {
                commit: Commit::Synchronous,
            } => &["database-cas"],
            Setting::Database { .. } => &[],
            Setting::Consensus => &["consensus"],
        };
        locks.contains(&&*self.lock)
    }
}

impl Number {
    fn estimate(&self) -> Option<Estimate> {
        let [low, high] = self.seen?;
        let estimate = Estimate {
            value: self.mean,
            low,
            high,
        };
        (self.mean > 0.0).then_some(estimate)
    }

    fn cell(&self) -> String {
        match self.estimate() {
            Some(Estimate { value, low, high }) => {
                let [value, low, high] = [value, low, high].map(figures);
                format!("{value} ({low}–{high})")
            }
            None => format!("none (≤ {})", figures(self.not_excluded)),
        }
    }
}

/// The fields of [`COLUMNS`].
pub(super) fn fields(fails: &[Failing]) -> [Field; 2] {
    let of = |number: &dyn Fn(&PerYear) -> &Number| {
        let cells = fails.iter().map(|it| {
            let cell = number(&it.per_year).cell();
            match fails.len() {
                1 => cell,
                _ => format!("{}: {cell}", it.lock),
            }
        });
        let cells: Vec<String> = cells.collect();
        let text = match cells.is_empty() {
            true => "–".to_owned(),
            false => cells.join("; "),
        };
        Field::plain(text, Look::Silent)
    };
    [of(&|it| &it.lease), of(&|it| &it.resource)]
}

/// How often each lock fails, against how long it takes to take it; `None` if none fails.
pub(super) fn chart(entries: &[Entry], lease: Time) -> Option<Curves> {
    let all = entries.iter().flat_map(|entry| {
        let of_entry = entry.fails.iter();
        of_entry.filter_map(|it| Some((it, rounded(entry.median_ms?))))
    });
    let all: Vec<(&Failing, f64)> = all.collect();
    let (first, _) = all.first()?;
    let panel = |y: &str, number: fn(&PerYear) -> &Number| {
        let curve = |(it, median_ms): &(&Failing, f64)| {
            let point = number(&it.per_year).estimate().map(|it| (*median_ms, it));
            Curve {
                points: point.into_iter().collect(),
                ring: None,
            }
        };
        Quantity {
            y: y.into(),
            curves: all.iter().map(curve).collect(),
        }
    };
    let panels = vec![
        panel(COLUMNS[1], |it| &it.resource),
        panel(COLUMNS[0], |it| &it.lease),
    ];
    panels.iter().any(Quantity::has_points).then(|| Curves {
        title: "How often a lock fails, against how long it takes to take it".into(),
        subtitle: format!(
            "In {}, with a lease of {lease}. 95 % intervals of the causes that violate it. No point where no run is violated",
            first.environment
        ),
        x: "median until it is taken (ms)".into(),
        names: all.iter().map(|(it, _)| it.lock.clone()).collect(),
        panels,
    })
}

/// To two significant figures, which the axis then names.
fn rounded(ms: f64) -> f64 {
    format!("{ms:.1e}").parse().unwrap_or(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_real::throughput::SETTINGS;

    fn number(mean: f64, seen: Option<[f64; 2]>) -> Number {
        Number {
            mean,
            seen,
            not_excluded: 0.34,
        }
    }

    fn failing(lock: &str, corrupted: Number) -> Failing {
        Failing {
            lock: lock.into(),
            lease_ms: 10_000.0,
            environment: "e".into(),
            per_year: PerYear {
                lease: number(0.0, None),
                resource: corrupted,
            },
        }
    }

    #[test]
    fn what_is_published_is_read_and_has_four_leases() {
        const FILE: &str = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../reports/risk/jvm-on-vms/leases.json"
        );
        let of = |lease| read(Path::new(FILE), Time::parse(lease).expect("it is a time"));
        let locks = of("10s").expect("it has this lease");
        assert!(locks.iter().any(|it| it.lock == "consensus"), "{locks:?}");
        let error = of("7s").expect_err("it has no such lease").to_string();
        assert!(error.contains("names another: 1 s, 3 s, 10 s"), "{error}");
        let other = read(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
            Time(1.0),
        );
        let error = other.expect_err("it is no such file").to_string();
        assert!(
            error.contains("is no leases.json of `study risk --leases`"),
            "{error}"
        );
    }

    #[test]
    fn each_lock_has_one_setting() {
        for lock in [
            "set-nx-px",
            "set-nx-px (with token)",
            "set-nx-px+replica",
            "redlock",
            "database-cas",
            "consensus",
        ] {
            let lock = failing(lock, number(0.0, None));
            let settings = SETTINGS.iter().filter(|setting| lock.is_of(setting));
            assert_eq!(settings.count(), 1, "{lock:?}");
        }
        let other = failing("redisson", number(0.0, None));
        assert!(!SETTINGS.iter().any(|setting| other.is_of(setting)));
    }

    #[test]
    fn cells_say_which_lock_and_what_was_not_seen() {
        let texts = |fails: &[Failing]| fields(fails).map(|field| field.text);
        assert_eq!(texts(&[]), ["–", "–"]);
        let plain = failing("set-nx-px", number(1.7, Some([0.76, 3.2])));
        assert_eq!(
            texts(std::slice::from_ref(&plain)),
            ["none (≤ 0.34)", "1.7 (0.76–3.2)"]
        );
        let token = failing("set-nx-px (with token)", number(0.0, None));
        assert_eq!(
            texts(&[plain, token])[1],
            "set-nx-px: 1.7 (0.76–3.2); set-nx-px (with token): none (≤ 0.34)"
        );
    }
}
