//! Whether the runs of a lock put a property to the test: what they met, and what they lack.

use crate::problems::Row;
use locklab_check::Property;
use locklab_evidence::thousands;
use locklab_model::scenario::Scenario;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_situations::{Situation, can_meet};
use locklab_vecmap::VecMap;
use serde::Serialize;

use super::searched::Searched;

/// The runs of one lock, and how many of them have to meet a situation.
#[derive(Clone, Copy)]
pub(super) struct Coverage<'a> {
    pub(super) row: &'a Row,
    pub(super) scenario: &'a Scenario,
    pub(super) searched: &'a Searched,
    pub(super) runs: u64,
    pub(super) quota: u64,
}

/// How often the runs of a lock met a situation.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    lock: &'static str,
    row: String,
    situation: Situation,
    runs: u64,
    met: u64,
    /// Whether the lock can meet it, and a run shows it.
    possible: bool,
    /// The properties that need it.
    needed_by: Vec<Property>,
}

impl Coverage<'_> {
    /// The situations that a property needs, and that the lock can meet, but met in fewer runs than the
    /// quota.
    pub(super) fn lacking(&self, property: Property) -> Vec<Situation> {
        let needed = property.needs().iter().copied();
        needed.filter(|it| self.lacks(*it)).collect()
    }

    fn lacks(&self, situation: Situation) -> bool {
        self.can_meet(situation) && self.searched.met(situation) < self.quota
    }

    fn can_meet(&self, situation: Situation) -> bool {
        can_meet(situation, &self.scenario.lock, &self.scenario.topology)
    }

    /// What the runs lack of these situations, in words.
    pub(super) fn lack(&self, situations: &[Situation]) -> String {
        let met = |it: &Situation| self.searched.met(*it);
        let (never, seldom): (Vec<_>, Vec<_>) = situations.iter().partition(|it| met(it) == 0);
        let meanings: Vec<&str> = never
            .into_iter()
            .map(|it: &Situation| it.meaning())
            .collect();
        let never = (!meanings.is_empty()).then(|| format!("never met: {}", meanings.join("; ")));
        let seldom = seldom.into_iter().map(|it: &Situation| {
            format!(
                "met in {} of {} runs, quota {}: {}",
                thousands(met(it)),
                thousands(self.runs),
                thousands(self.quota),
                it.meaning()
            )
        });
        let words: Vec<String> = never.into_iter().chain(seldom).collect();
        words.join("; ")
    }

    /// Why these runs do not show that a property holds that none of them violates; `None` if they do, or
    /// if there are only too few of them.
    fn gap(&self, property: Property) -> Option<String> {
        let tally = self.searched.cell.tallies.get(&property)?;
        if tally.violated > 0 {
            return None;
        }
        if tally.holds == 0 {
            let why = self.searched.why(property)?;
            return Some(format!("no run could have violated it: {why}"));
        }
        let lacking = self.lacking(property);
        (!lacking.is_empty()).then(|| self.lack(&lacking))
    }

    fn counts(&self) -> impl Iterator<Item = Count> {
        Situation::ALL.into_iter().map(|situation| Count {
            lock: self.row.entry.name,
            row: self.row.label.clone(),
            situation,
            runs: self.runs,
            met: self.searched.met(situation),
            possible: self.can_meet(situation),
            needed_by: needed_by(situation),
        })
    }

    fn field(&self, situation: Situation) -> Field {
        let met = self.searched.met(situation);
        let detail = format!("{} of {} runs", thousands(met), thousands(self.runs));
        match (met, self.lacks(situation)) {
            (0, false) => Field {
                text: "–".into(),
                detail: "–".into(),
                look: Look::Silent,
            },
            (0, true) => Field {
                text: "never".into(),
                detail,
                look: Look::Inconclusive,
            },
            (met, lacks) => Field {
                text: thousands(met),
                detail,
                look: match lacks {
                    true => Look::Inconclusive,
                    false => Look::Holds,
                },
            },
        }
    }
}

/// The properties that need a situation.
fn needed_by(situation: Situation) -> Vec<Property> {
    let mut all = Property::ALL.to_vec();
    all.retain(|property| property.needs().contains(&situation));
    all
}

/// How often each lock met each situation.
pub(super) fn counts(all: &[Coverage]) -> Vec<Count> {
    all.iter().flat_map(Coverage::counts).collect()
}

/// The same to read.
pub(super) fn table(title: String, quota: u64, all: &[Coverage]) -> Table {
    let of_row = |it: &Coverage| TableRow {
        label: it.row.label.clone(),
        fields: Situation::ALL.map(|situation| it.field(situation)).into(),
    };
    let column = |situation: Situation| {
        let needed_by = needed_by(situation).into_iter();
        let names: Vec<&str> = needed_by.map(Property::name).collect();
        format!("{} ({})", situation.meaning(), names.join(", "))
    };
    Table {
        title,
        rows_are: "lock",
        columns: Situation::ALL.map(column).into(),
        rows: all.iter().map(of_row).collect(),
        legend: vec![
            (Look::Holds, "met"),
            (Look::Inconclusive, "met in fewer runs than the quota"),
        ],
        notes: vec![
            format!(
                "Each number counts the runs that met the situation. A property that needs it (in \
                 parentheses) and that no run violates is inconclusive if fewer runs met it than the quota ({}).",
                thousands(quota)
            ),
            "A dash: the lock cannot meet it on these hosts, or a run does not show it.".into(),
        ],
    }
}

/// One row per lock and situation, for programs that read tables.
pub(super) fn as_list(counts: &[Count]) -> Csv {
    let columns = [
        "lock",
        "row",
        "situation",
        "runs",
        "met",
        "possible",
        "needed_by",
    ];
    let mut list = Csv::new(columns);
    for count in counts {
        let needed_by: Vec<&str> = count.needed_by.iter().map(|it| it.name()).collect();
        list.push(vec![
            count.lock.into(),
            count.row.clone(),
            count.situation.to_string(),
            count.runs.to_string(),
            count.met.to_string(),
            count.possible.to_string(),
            needed_by.join(";"),
        ]);
    }
    list
}

/// The properties that no run of a lock violates, and that the runs do not show to hold: each with the
/// reason, and the locks below it. Nothing if there are none.
pub(super) fn tell_gaps(properties: &[Property], all: &[Coverage]) -> String {
    let mut gaps: VecMap<(Property, String), Vec<&str>> = VecMap::new();
    for &property in properties {
        for it in all {
            if let Some(gap) = it.gap(property) {
                let locks = gaps.entry((property, gap)).or_default();
                locks.push(&it.row.label);
            }
        }
    }
    let mut text = String::new();
    if !gaps.is_empty() {
        text += "Inconclusive: no run violates these, but too few runs put them to the test:\n";
    }
    for ((property, gap), locks) in &gaps {
        text += &format!("  {property}: {gap}\n    {}\n", locks.join(", "));
    }
    text
}
