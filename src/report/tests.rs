//! Every kind of picture, in all three formats: nothing that is drawn is left out of one.

use locklab_check::random::histories;
use locklab_check::{Loss, Property, Violation};
use locklab_evidence::Tally;
use locklab_results::loss::LossRate;
use locklab_results::table::{Field, Look, Table, TableRow};
use locklab_results::{Axis, Cell, Sweep};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use roxmltree::{Document, Node};

use super::chart::ChartOptions;
use super::drawing::{Fill, Form};
use super::*;

/// Checks that the three formats have every shape of the drawing, and every letter.
#[track_caller]
fn check(kind: &str, drawing: &Drawing) {
    let provenance = Provenance {
        subject: format!("a {kind}, \"<&>'\u{1}"),
        overrides: vec!["lock.ttl_ms=500".into()],
        seeds: "seed 0".into(),
        environment: "simulated world".into(),
    };
    let drawing = provenance.stamp(drawing.clone());
    let (width, height) = (drawing.width.f32(), drawing.whole_height().f32());
    let (mut fills, mut lines) = (0, 0);
    for shape in drawing.shapes() {
        if let Form::Text(text) = &shape.form {
            let missing = font::missing(&text.text);
            assert!(missing.is_empty(), "{kind}: no glyph for {missing:?}");
        }
        let Some((path, place)) = outline::of(shape) else {
            match &shape.form {
                Form::Text(text) => assert_eq!(text.text.trim(), "", "{kind}"),
                form => assert!(matches!(form, Form::Rectangle { .. }), "{kind}: {form:?}"),
            }
            continue;
        };
        fills += usize::from(shape.look.fill != Fill::Nothing && outline::has_inside(&path));
        lines += usize::from(shape.look.stroke.is_some()) + usize::from(shape.rim().is_some());
        let bounds = path.transform(place).expect("it is finite").bounds();
        assert!(
            bounds.left() > -1.0 && bounds.right() < width + 1.0,
            "{kind}: {shape:?} is beside the page, at {bounds:?}"
        );
        assert!(
            bounds.top() > -1.0 && bounds.bottom() < height + 1.0,
            "{kind}: {shape:?} is above or below the page, at {bounds:?}"
        );
    }

    let text = svg(&drawing);
    assert_eq!(collisions::of(&text), [""; 0], "{kind}");
    let document = Document::parse(&text).expect("well-formed");
    let painted = document.root_element().children();
    let painted = painted.filter(|node| !["desc", "metadata", "defs", ""].contains(&name(node)));
    assert_eq!(painted.count(), drawing.shapes().count(), "{kind}: {text}");
    let patterns = document.descendants().filter(|n| name(n) == "pattern");
    assert_eq!(
        patterns.count(),
        drawing.hatches().count(),
        "{kind}: {text}"
    );
    let words = document.descendants().filter(|n| name(n) == "text");
    let words = words.map(|node| node.text().unwrap_or_default().trim());
    let drawn = drawing.shapes().filter_map(|shape| match &shape.form {
        Form::Text(text) => Some(text.text.trim()),
        _ => None,
    });
    assert!(words.eq(drawn), "{kind}: {text}");

    let page = pdf::tests::operators(&drawing);
    let painted = |operator| page.lines().filter(|&line| line == operator).count();
    // A text is filled; its rim is an outline.
    let texts = page.lines().filter(|line| line.ends_with(" Tj")).count();
    let filled = painted("f") + texts;
    assert_eq!((filled, painted("S")), (fills, lines), "{kind}");

    let pixels = drawing.sheet.unit.pixels() as f32;
    let png = png(&drawing).expect("it is painted");
    let size =
        [16, 20].map(|at| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]));
    assert_eq!(
        size,
        [(width * pixels) as u32, (height * pixels) as u32],
        "{kind}"
    );
}

fn name<'n>(node: &Node<'n, '_>) -> &'n str {
    node.tag_name().name()
}

/// A sweep of this many values of two parameters, with a violation in a quarter of the runs.
fn sweep(counts: [u32; 2], values: fn(u32) -> String) -> Sweep {
    let paths = ["fault.gc.duration_ms", "lock.name"];
    let tally = Tally {
        holds: 30,
        violated: 10,
        inconclusive: 2,
        ..Tally::default()
    };
    let cells = (0..counts[0]).flat_map(|a| (0..counts[1]).map(move |b| (a, b)));
    let cells = cells.map(|(a, b)| Cell {
        parameters: vec![
            (paths[0].to_owned(), a.to_string()),
            (paths[1].to_owned(), values(b)),
        ],
        tallies: [(Property::Lease, tally), (Property::Resource, tally)].into(),
        ..Cell::default()
    });
    Sweep {
        scenario: "kleppmann/example".into(),
        title: "Any sweep".into(),
        seeds: 42,
        cells: cells.collect(),
        axes: paths.map(Axis::of_key).into(),
        ..Sweep::default()
    }
}

/// A screen, and a column of a paper.
fn sheets() -> [Sheet; 2] {
    let column = Sheet::print(241.0, 8.0, Heading::Omitted);
    [Sheet::SCREEN, column.expect("it has room")]
}

#[test]
fn every_kind_of_chart_is_painted() {
    let number = |value: u32| value.to_string();
    let word = |value: u32| format!("\"lock-{value}\"");
    for (kind, sweep) in [
        ("line", sweep([9, 1], number)),
        ("chart of lines", sweep([9, 4], number)),
        ("chart of bars", sweep([1, 5], word)),
        ("chart of panels", sweep([3, 20], word)),
        ("heat map", sweep([6, 5], number)),
    ] {
        for sheet in sheets() {
            let drawn = chart::draw(&sweep, &ChartOptions::default(), &sheet);
            let drawn = drawn.expect("something to draw");
            // Otherwise its text would be scaled to another size.
            assert_eq!(drawn.width.units(), f64::from(sheet.width), "{kind}");
            check(kind, &drawn);
        }
    }
    let mut loss = sweep([5, 1], number);
    for cell in &mut loss.cells {
        let mut lost = LossRate::default();
        lost.add(Loss {
            acknowledged: 10,
            lost: 3,
        });
        cell.loss = Some(lost);
    }
    let drawn = chart::draw(&loss, &ChartOptions::default(), &Sheet::SCREEN);
    check("chart of losses", &drawn.expect("something to draw"));
}

#[test]
fn random_diagrams_are_painted() {
    let mut runner = TestRunner::deterministic();
    let mut drawn = 0;
    let tried = match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => 12,
        None => 6,
    };
    for number in 0..tried {
        let history = histories()
            .new_tree(&mut runner)
            .expect("a history")
            .current();
        let violation = Violation {
            at_ns: history.end_ns / 3,
            until_ns: history.end_ns / 2,
            clients: vec!["c1".into(), "c2".into()],
            what: "any".into(),
        };
        let violation = (number % 2 == 0).then_some(&violation);
        let sheet = sheets()[(number / 2 % 2) as usize];
        match spacetime::draw(&history, "Any run", violation, &[], &sheet) {
            Ok(drawing) => {
                assert_eq!(drawing.width.units(), f64::from(sheet.width));
                check("diagram", &drawing);
            }
            Err(error) => {
                assert!(matches!(error, Error::EmptyHistory), "{error}");
                continue;
            }
        }
        drawn += 1;
    }
    assert!(4 * drawn > 3 * tried, "{drawn} diagrams");
}

#[test]
fn a_table_of_every_look_is_painted() {
    let looks = [
        (Look::Holds, "holds"),
        (Look::Violated(0.5), "violated"),
        (Look::Differs, "differs"),
        (Look::Inconclusive, "too few runs"),
        (Look::Silent, "no result"),
        (Look::Bar(0.7), "more"),
    ];
    let fields = looks.map(|(look, text)| Field::plain(text, look));
    let table = Table {
        title: "Any table".into(),
        rows_are: "lock",
        columns: looks.map(|(_, text)| text.to_owned()).into(),
        rows: vec![TableRow {
            label: "a-lock".into(),
            fields: fields.into(),
        }],
        legend: looks.into(),
        notes: vec!["A note.".into()],
    };
    for sheet in sheets() {
        check("table", &table::draw(&table, &sheet));
    }
}

/// Only its name says which pattern a shape is filled with.
#[test]
fn unknown_pattern_is_an_error_in_png_and_pdf() {
    let mut drawing = Drawing::chart((20, 20));
    drawing.hatch(drawing::Hatch::slanted("p".into(), drawing::Colour::BLACK));
    drawing.rect((0.0, 0.0), (9.0, 9.0), drawing::Look::hatched("p"));
    assert!(png(&drawing).is_ok() && pdf(&drawing).is_ok());
    drawing.rect((1.0, 1.0), (9.0, 9.0), drawing::Look::hatched("q"));
    for painted in [png(&drawing), pdf(&drawing)] {
        let told = painted.expect_err("there is none").to_string();
        assert!(told.contains("there is no pattern q"), "{told}");
    }
}
