//! The parts of a sweep's chart: axes, lines, panels and heat maps.

use super::*;
use locklab_check::{Loss, Property};
use locklab_evidence::Tally;
use locklab_results::loss::LossRate;

/// A cell with one violation in four runs.
fn cell(parameters: &[(&str, String)]) -> Cell {
    let tally = Tally {
        holds: 3,
        violated: 1,
        ..Tally::default()
    };
    let owned = |(path, value): &(&str, String)| ((*path).to_owned(), value.clone());
    Cell {
        parameters: parameters.iter().map(owned).collect(),
        tallies: [(Property::Lease, tally), (Property::Resource, tally)].into(),
        ..Cell::default()
    }
}

/// A grid of whole numbers, `counts` of each parameter.
fn grid(counts: [u32; 2], property: &[Property]) -> Plot {
    let paths = ["fault.gc.duration_ms", "lock.ttl_ms"];
    let cells = (0..counts[0]).flat_map(|a| {
        (0..counts[1]).map(move |b| cell(&[(paths[0], a.to_string()), (paths[1], b.to_string())]))
    });
    let sweep = Sweep {
        seeds: 4,
        cells: cells.collect(),
        axes: paths.map(Axis::of_key).into(),
        ..Sweep::default()
    };
    let options = ChartOptions {
        properties: property.to_vec(),
        ..ChartOptions::default()
    };
    plot(&sweep, &options).expect("something to draw")
}

/// The number of lines in each panel; 0 for a heat map.
fn shape(plot: &Plot) -> Vec<usize> {
    let lines = |panel: &Panel| match &panel.body {
        Body::Lines(lines) => lines.len(),
        Body::Heat(_) => 0,
    };
    plot.panels.iter().map(lines).collect()
}

#[test]
fn the_shape_follows_the_numbers_of_values() {
    let one = [Property::Lease];
    // Five values of a second number are a heat map, four are lines.
    assert_eq!(shape(&grid([9, 5], &one)), [0]);
    assert_eq!(shape(&grid([9, 4], &one)), [4]);
    // The axis is the parameter with the most values.
    let across = grid([4, 9], &one);
    assert_eq!((shape(&across), across.x.ticks.len()), (vec![4], 9));
    assert_eq!(across.x.label, "ttl (ms)");
    // A panel for each property.
    assert_eq!(shape(&grid([9, 5], &[])), [0, 0]);
    let both = grid([9, 4], &[]);
    assert_eq!((shape(&both), both.legend.len()), (vec![4, 4], 4));
    assert_eq!(both.panels[1].heading, "resource corrupted");
    // And lines of one parameter together.
    assert_eq!(shape(&grid([9, 1], &[])), [2]);
}

#[test]
fn an_axis_may_be_in_leases() {
    let axis = Axis {
        unit: "leases".into(),
        per: 1000.0,
        ..Axis::of_key("node.restart_delay_ms")
    };
    let cells = ["0", "850", "1000"];
    let sweep = Sweep {
        seeds: 4,
        cells: cells.map(|value| cell(&[("d", value.into())])).into(),
        axes: vec![axis],
        ..Sweep::default()
    };
    let plot = plot(&sweep, &ChartOptions::default()).expect("something to draw");
    assert_eq!(plot.x.label, "restart delay (leases)");
    let Body::Lines(lines) = &plot.panels[0].body else {
        panic!("lines")
    };
    let at: Vec<f64> = lines[0].points.iter().map(|(x, _)| *x).collect();
    assert_eq!(at, [0.0, 0.85, 1.0]);
}

#[test]
fn a_measured_loss_is_drawn_unless_a_property_is_asked_for() {
    let with_loss = |value: &str, lost: [u64; 2]| {
        let mut loss = LossRate::default();
        for lost in lost {
            loss.add(Loss {
                acknowledged: 100,
                lost,
            });
        }
        let mut cell = cell(&[("fault.split.duration_ms", value.into())]);
        cell.loss = Some(loss);
        cell
    };
    let sweep = Sweep {
        seeds: 4,
        cells: vec![with_loss("1000", [20, 20]), with_loss("2000", [40, 60])],
        axes: vec![Axis::of_key("fault.split.duration_ms")],
        ..Sweep::default()
    };
    let rates = |options: &ChartOptions| {
        let plot = plot(&sweep, options).expect("something to draw");
        let rates = plot.panels[0].rates();
        (
            plot.rates,
            rates.iter().map(|rate| rate.rate).collect::<Vec<f64>>(),
        )
    };
    let (label, measured) = rates(&ChartOptions::default());
    assert_eq!(label, "share of acknowledged adds lost (%)");
    assert_eq!(measured, [20.0, 50.0]);
    let asked = ChartOptions {
        properties: vec![Property::Lease],
        ..ChartOptions::default()
    };
    assert_eq!(rates(&asked).1, [25.0, 25.0]);
}
