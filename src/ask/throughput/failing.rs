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
use crate::risk::words::{SIGNS, Year};

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
    lease: Year,
    /// What it protects is corrupted.
    resource: Year,
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

/// What the chart has of a number: as in that of `study risk`, the interval is of the causes that violate it.
fn estimate(year: &Year) -> Option<Estimate> {
    let [low, high] = year.seen?;
    let value = year.mean;
    (value > 0.0).then_some(Estimate { value, low, high })
}

/// What has to be known of the numbers.
pub(super) fn note(file: &Path, all: &[Failing]) -> Option<String> {
    let Failing {
        environment,
        lease_ms,
        ..
    } = all.first()?;
    Some(format!(
        "How often a lock fails is simulated, in {environment} with a lease of {} (locklab study risk): the page beside {} \
         says for what work and how many grants. {SIGNS}",
        Time(*lease_ms),
        file.display()
    ))
}

/// The fields of [`COLUMNS`].
pub(super) fn fields(fails: &[Failing]) -> [Field; 2] {
    let of = |number: &dyn Fn(&PerYear) -> &Year| {
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
    let panel = |y: &str, number: fn(&PerYear) -> &Year| {
        let curve = |(it, median_ms): &(&Failing, f64)| {
            let point = estimate(number(&it.per_year)).map(|it| (*median_ms, it));
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
    use crate::problems::chosen_rows;
    use locklab_real::throughput::SETTINGS;

    const PUBLISHED: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../reports/risk/jvm-on-vms/leases.json"
    );

    fn published(lease: &str) -> anyhow::Result<Vec<Failing>> {
        read(
            Path::new(PUBLISHED),
            Time::parse(lease).expect("it is a time"),
        )
    }

    #[test]
    fn what_is_published_is_read() {
        assert!(!published("10s").expect("it has this lease").is_empty());
        let error = published("7s").expect_err("it has no such lease");
        let error = error.to_string();
        assert!(error.contains("names another: 1 s, 3 s, 10 s"), "{error}");
        let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let error = read(Path::new(other), Time(1.0)).expect_err("it is no such file");
        let error = error.to_string();
        assert!(
            error.contains("is no leases.json of `study risk --leases`"),
            "{error}"
        );
    }

    /// By the names that results have.
    #[test]
    fn each_lock_has_one_setting() {
        let mut locks = published("10s").expect("it has this lease");
        let cas = chosen_rows(&["database-cas".to_owned()]);
        locks.push(Failing {
            lock: cas[0].label.clone(),
            ..locks[0].clone()
        });
        for lock in locks {
            let settings = SETTINGS.iter().filter(|setting| lock.is_of(setting));
            // Redisson's is no lock that is measured.
            let expected = usize::from(lock.lock != "redisson");
            assert_eq!(settings.count(), expected, "{lock:?}");
        }
    }

    /// As `study risk` tells them, with what is left open.
    #[test]
    fn cells_say_which_lock_and_what_was_not_seen() {
        let texts = |fails: &[Failing]| fields(fails).map(|field| field.text);
        assert_eq!(texts(&[]), ["–", "–"]);
        let locks = published("10s").expect("it has this lease");
        let of = |lock: &str| -> Vec<Failing> {
            let locks = locks.iter().filter(|it| it.lock.starts_with(lock));
            locks.cloned().collect()
        };
        assert_eq!(
            texts(&of("set-nx-px+replica")),
            ["~0.45 (0.077–1.4, ≤ 42)", "~5.7 (1.3–47)"]
        );
        let both = &of("set-nx-px")[..2];
        assert_eq!(
            texts(both)[1],
            "set-nx-px: ~1.7 (0.76–3.2); set-nx-px (with token): none (≤ 0.34)"
        );
    }
}
