//! The smallest scenario of each exhibit, as a table.

use console::style;
use locklab_evidence::{Tally, thousands};
use locklab_report::Provenance;
use locklab_results::csv::Csv;
use locklab_results::table::{Field, Look, Table, TableRow};

use super::Minimum;
use crate::museum::tables::Row;
use crate::shrink::change;
use locklab_lab::section::{Form, Section};
use locklab_lab::{Store, layout};

/// The smallest scenario of each exhibit.
pub(in crate::museum) fn minima(rows: &[Row], folder: &Store) -> Section {
    let shrunk = |row| Some((row, minimum_of(row)?));
    let shrunk: Vec<(&Row, &Minimum)> = rows.iter().filter_map(shrunk).collect();
    let list = list(&shrunk);
    let columns = [
        "faults",
        "clients",
        "servers",
        "rounds",
        "violate it",
        "mended: violate it",
        "runs to get there",
    ];
    let of = |tally: &Option<Tally>, look: fn(&Tally) -> Look| match tally {
        None => Field::plain("–", Look::Inconclusive),
        Some(tally) => Field::plain(counts(tally), look(tally)),
    };
    let row = |(row, minimum): &(&Row, &Minimum)| {
        let both = minimum.before.counts().into_iter();
        let both = both.zip(minimum.after.counts());
        let mut fields: Vec<Field> = both
            .map(|((_, before), (_, after))| change(before, after))
            .collect();
        fields.push(of(&minimum.violated, |tally| Look::Violated(share(tally))));
        fields.push(of(&minimum.mended, |tally| match tally {
            _ if tally.violated > 0 => Look::Violated(share(tally)),
            _ if tally.holds > 0 => Look::Holds,
            _ => Look::Inconclusive,
        }));
        fields.push(Field::plain(thousands(minimum.runs), Look::Silent));
        TableRow {
            label: row.exhibit.clone(),
            fields,
        }
    };
    let note = |(row, minimum): &(&Row, &Minimum)| {
        let unfinished = match minimum.is_minimal {
            true => "",
            false => " There was no time to make it smaller.",
        };
        let end = minimum.story.last().map_or("", String::as_str);
        format!("{}: from {}. {end}{unfinished}", row.exhibit, minimum.from)
    };
    let table = Table {
        title: "The smallest scenario of each mechanism".into(),
        rows_are: "mechanism",
        columns: columns.map(String::from).into(),
        rows: shrunk.iter().map(row).collect(),
        legend: vec![
            (Look::Holds, "fewer, or holds"),
            (Look::Violated(1.0), "violated"),
        ],
        notes: shrunk.iter().map(note).collect(),
    };
    let provenance = Provenance {
        subject: "smallest scenarios of reported bugs".into(),
        overrides: vec![],
        seeds: "those in the files".into(),
        environment: "simulated world".into(),
    };
    let told = layout::fold(&table.plain(layout::columns()));
    Section {
        forms: vec![Form::Table(table), Form::List(list)],
        provenance: Some(provenance),
        ..Section::of(
            format!(
                "{}\n\n{told}",
                style("The smallest scenario of each mechanism").bold()
            ),
            folder,
            "minima",
        )
    }
}

fn share(tally: &Tally) -> f64 {
    tally.rate().share().unwrap_or_default()
}

/// How many seeds violate it, and how many could not have.
fn counts(tally: &Tally) -> String {
    let inconclusive = match tally.inconclusive {
        0 => String::new(),
        number => format!(", {number} inconclusive"),
    };
    format!("{} of {}{inconclusive}", tally.violated, tally.runs())
}

fn minimum_of(row: &Row) -> Option<&Minimum> {
    row.shown.as_ref()?.minimum.as_ref()
}

/// A row for each of them, for programs that read tables.
fn list(shrunk: &[(&Row, &Minimum)]) -> Csv {
    let mut list = Csv::new([
        "exhibit",
        "faults_before",
        "faults_after",
        "clients_before",
        "clients_after",
        "servers_before",
        "servers_after",
        "rounds_before",
        "rounds_after",
        "seeds",
        "violated",
        "mended_seeds",
        "mended_violated",
        "mended_inconclusive",
        "runs",
        "file",
    ]);
    for (row, minimum) in shrunk {
        let mut fields = vec![row.exhibit.clone()];
        let both = minimum.before.counts().into_iter();
        let both = both.zip(minimum.after.counts());
        fields.extend(both.flat_map(|((_, before), (_, after))| [before, after].map(text)));
        let known = |tally: &Option<Tally>, number: fn(&Tally) -> u64| {
            tally.as_ref().map(number).map_or(String::new(), text)
        };
        for tally in [&minimum.violated, &minimum.mended] {
            fields.extend([known(tally, Tally::runs), known(tally, |it| it.violated)]);
        }
        fields.push(known(&minimum.mended, |it| it.inconclusive));
        fields.extend([text(minimum.runs), minimum.file.clone()]);
        list.push(fields);
    }
    list
}

fn text(number: u64) -> String {
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_could_not_violate_it_are_counted() {
        let of = |inconclusive| {
            counts(&Tally {
                holds: 3,
                inconclusive,
                ..Tally::default()
            })
        };
        assert_eq!(of(0), "0 of 3");
        assert_eq!(of(2), "0 of 5, 2 inconclusive");
    }
}
