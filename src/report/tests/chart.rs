//! The rate chart, from hand-made sweeps.

use roxmltree::Document;

use locklab_check::Property;
use locklab_evidence::Tally;
use locklab_report::{
    Drawing, Error, Sheet,
    chart::{self, ChartOptions, RateAxis},
    pdf, png, svg as written,
};
use locklab_results::{Axis, Cell, Sweep};

fn tally(violated: u64, judged: u64, inconclusive: u64) -> Tally {
    Tally {
        holds: judged - violated,
        violated,
        inconclusive,
        ..Tally::default()
    }
}

fn cell(parameters: &[(&str, &str)], tallies: &[(Property, Tally)]) -> Cell {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    Cell {
        parameters: parameters.iter().map(owned).collect(),
        tallies: tallies.iter().copied().collect(),
        ..Cell::default()
    }
}

fn sweep(title: &str, cells: Vec<Cell>) -> Sweep {
    let parameters = cells.first().map(|cell| &cell.parameters[..]);
    let axes = parameters.unwrap_or_default().iter();
    Sweep {
        axes: axes.map(|(path, _)| Axis::of_key(path)).collect(),
        scenario: "kleppmann/example".to_owned(),
        title: title.to_owned(),
        seeds: 200,
        cells,
        ..Sweep::default()
    }
}

/// The pause of the holder against the violation of Bd and R, with a knee at the lease.
fn pauses() -> Sweep {
    let rates = [0, 0, 1, 3, 11, 98, 187, 197, 200, 200, 200];
    let cells = (0..).zip(rates).map(|(step, violated)| {
        let pause = (step * 200).to_string();
        cell(
            &[("faults.gc.duration_ms", &pause)],
            &[
                (Property::Belief, tally(200, 200, 0)),
                (Property::Lease, tally(0, 200, 0)),
                (
                    Property::Resource,
                    tally(violated.min(200 - step), 200 - step, step),
                ),
            ],
        )
    });
    sweep(
        "Violations against the length of the holder's pause, lease 1000 ms",
        cells.collect(),
    )
}

/// Clock rate errors over five decades, for three drift factors.
fn drifts() -> Sweep {
    let mut cells = Vec::new();
    for (ppm, rates) in [
        ("0", [0, 0, 0]),
        ("100", [2, 0, 0]),
        ("1_000", [31, 0, 0]),
        ("10_000", [88, 4, 0]),
        ("100_000", [197, 160, 22]),
    ] {
        for (factor, violated) in ["0.0", "0.01", "0.1"].into_iter().zip(rates) {
            cells.push(cell(
                &[
                    ("faults.drift.drift_ppm", ppm),
                    ("lock.drift_factor", factor),
                ],
                &[(Property::Lease, tally(violated, 200, 0))],
            ));
        }
    }
    sweep(
        "A clock that runs fast, against Redlock's drift factor",
        cells,
    )
}

fn locks() -> Sweep {
    let cells = [
        ("\"set-nx-px\"", 62, 199),
        ("\"redlock\"", 12, 188),
        ("\"redlock-unchecked\"", 171, 200),
        ("\"consensus\"", 0, 181),
    ]
    .map(|(name, lease, resource)| {
        cell(
            &[("lock.name", name)],
            &[
                (Property::Lease, tally(lease, 200, 0)),
                (Property::Resource, tally(resource, 200, 0)),
            ],
        )
    });
    sweep("Every lock under the same random faults", cells.to_vec())
}

fn drawing(sweep: &Sweep, options: &ChartOptions) -> Drawing {
    chart::draw(sweep, options, &Sheet::SCREEN).expect("the sweep has judged runs")
}

fn svg(sweep: &Sweep, options: &ChartOptions) -> String {
    written(&drawing(sweep, options))
}

#[test]
fn numbers_make_lines_with_intervals() {
    insta::assert_snapshot!(svg(&pauses(), &ChartOptions::default()));
}

#[test]
fn a_second_parameter_makes_series_and_decades_stand_evenly() {
    insta::assert_snapshot!(svg(&drifts(), &ChartOptions::default()));
}

#[test]
fn words_make_bars() {
    insta::assert_snapshot!(svg(&locks(), &ChartOptions::default()));
}

#[test]
fn rare_violations_can_fill_the_axis() {
    let sweep = sweep(
        "Rare",
        vec![
            cell(&[("n", "1")], &[(Property::Lease, tally(1, 10_000, 0))]),
            cell(&[("n", "2")], &[(Property::Lease, tally(9, 10_000, 0))]),
        ],
    );
    let options = ChartOptions {
        rate_axis: RateAxis::Fitted,
        ..ChartOptions::default()
    };
    let (full, fitted) = (svg(&sweep, &ChartOptions::default()), svg(&sweep, &options));
    assert!(full.contains("\n100\n") && !fitted.contains("\n100\n"));
    assert!(fitted.contains("\n0.20\n"), "{fitted}");
}

/// More lines than colours: each has a panel of its own, three to a row.
#[test]
fn forty_series_have_forty_panels() {
    let cells = (0..40).flat_map(|series| {
        ["1", "2", "3"].map(|n| {
            let name = format!("\"lock-with-a-long-name-{series}\"");
            let parameters = [("n", n), ("lock.name", name.as_str())];
            cell(&parameters, &[(Property::Lease, tally(series, 200, 0))])
        })
    });
    let crowded = svg(&sweep("Many", cells.collect()), &ChartOptions::default());
    for series in 0..40 {
        let heading = format!("lock-with-a-long-name-{series}\n");
        assert_eq!(crowded.matches(&heading).count(), 1, "{heading}");
    }
}

/// A clock step against the lease: a number too many for lines.
#[test]
fn two_long_parameters_make_a_heat_map() {
    let cells = (0..5_u64).flat_map(|lease| {
        (0..6_u64).map(move |step| {
            let (lease_ms, step_ms) = ((lease * 250).to_string(), (step * 100).to_string());
            let parameters = [
                ("fault.jump.step_ms", step_ms.as_str()),
                ("lock.ttl_ms", lease_ms.as_str()),
            ];
            let violated = (step * 40).saturating_sub(lease * 20);
            let tally = match (lease, step) {
                (4, 0) => tally(0, 0, 200),
                _ => tally(violated, 200, 0),
            };
            cell(&parameters, &[(Property::Lease, tally)])
        })
    });
    let sweep = sweep("A clock that jumps, for several leases", cells.collect());
    insta::assert_snapshot!(svg(&sweep, &ChartOptions::default()));
}

/// The markers of coinciding lines are side by side.
#[test]
fn markers_at_one_place_are_moved_apart() {
    let with = |lease, resource| {
        let cells = ["1", "2", "3"].map(|n| {
            let tallies = [
                (Property::Lease, tally(lease, 200, 0)),
                (Property::Resource, tally(resource, 200, 0)),
            ];
            cell(&[("n", n)], &tallies)
        });
        let drawn = svg(&sweep("Two", cells.into()), &ChartOptions::default());
        let circles = drawn.split("<circle cx=\"").skip(2);
        let columns = circles.map(|rest| rest.split('"').next().expect("a number").to_owned());
        columns.collect::<Vec<String>>()
    };
    let (apart, together) = (with(0, 200), with(200, 200));
    assert_eq!(apart.len(), 3);
    for (apart, together) in apart.iter().zip(&together) {
        assert_ne!(apart, together);
    }
}

#[test]
fn the_title_names_the_overrides() {
    let sweep = Sweep {
        overrides: vec!["lock.ttl_ms=500".into(), "workload.rounds=2".into()],
        ..pauses()
    };
    let drawn = svg(&sweep, &ChartOptions::default());
    assert!(
        drawn.contains("\nwith lock.ttl_ms=500, workload.rounds=2\n"),
        "{drawn}"
    );
}

#[test]
fn a_sweep_over_nothing_still_has_its_chart() {
    let single = sweep(
        "One <cell> & \"no\" \u{1}parameter",
        vec![cell(&[], &[(Property::Deadlock, tally(3, 9, 1))])],
    );
    let drawn = svg(&single, &ChartOptions::default());
    Document::parse(&drawn).expect("it is well-formed");
    assert!(drawn.contains("violate deadlock (%)"), "{drawn}");
    assert!(
        drawn.contains("grey dashes: inconclusive runs, up to 10.0 %"),
        "{drawn}"
    );
}

#[test]
fn a_sweep_without_judged_runs_is_an_error() {
    let nothing = sweep(
        "Nothing",
        vec![cell(&[("n", "1")], &[(Property::Lease, tally(0, 0, 7))])],
    );
    let error = chart::draw(&nothing, &ChartOptions::default(), &Sheet::SCREEN);
    assert!(
        matches!(error, Err(Error::NothingJudged { .. })),
        "{error:?}"
    );
}

#[test]
fn png_is_twice_as_dense_as_the_drawing() {
    let png = png(&drawing(&pauses(), &ChartOptions::default())).expect("it has a size");
    assert_eq!(&png[1..4], b"PNG");
    let width = u32::from_be_bytes([png[16], png[17], png[18], png[19]]);
    assert_eq!(width, 2400);
}

#[test]
fn every_chart_is_painted() {
    for sweep in [pauses(), drifts(), locks()] {
        let drawing = drawing(&sweep, &ChartOptions::default());
        let (png, pdf) = (png(&drawing).expect("a PNG"), pdf(&drawing).expect("a PDF"));
        assert!(png.len() > 20_000, "{} bytes", png.len());
        assert!(pdf.len() > 10_000, "{} bytes", pdf.len());
    }
}
