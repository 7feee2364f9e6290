//! Latency, loss and faults of links.

use locklab_link::LinkEffect::{Cut, Lossy, Slow};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;

use super::bench::{Bench, MS, S, Seen, Ways, got};
use crate::model::connection::Side::{Connector, Server};

#[test]
fn data_arrives_after_the_latency_and_not_before() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.wrote(id.connector(), "x");
    bench.run_for(5 * MS - 1);
    assert_eq!(bench.take(), []);
    bench.run_for(1);
    assert_eq!(bench.take(), [got(Server, "x")]);
}

#[test]
fn data_arrives_in_the_order_in_which_it_left() {
    let mut bench = Bench::with(Dist::Uniform(1.0, 50.0), 0.2);
    let id = bench.established();
    let texts: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    for text in &texts {
        bench.wrote(id.server(), text);
        bench.run_for(MS);
    }
    bench.run_for(1_000 * S);
    let expected: Vec<Seen> = texts.iter().map(|text| got(Connector, text)).collect();
    assert_eq!(bench.take(), expected);
}

#[test]
fn a_cut_one_way_lets_the_other_direction_through() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    bench.install("n1", "c1", Ways::One, Cut);
    bench.wrote(id.connector(), "request");
    bench.wrote(id.server(), "reply");
    bench.run_for(10 * S);
    assert_eq!(bench.take(), [got(Server, "request")]);
}

#[test]
fn a_cut_both_ways_cuts_both_and_other_links_not() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    bench.install("c2", "n1", Ways::Both, Cut);
    let cut = bench.install("n1", "c1", Ways::Both, Cut);
    bench.wrote(id.connector(), "request");
    bench.wrote(id.server(), "reply");
    bench.run_for(10 * S);
    assert_eq!(bench.take(), []);
    bench.network.lift(cut);
    bench.run_for(10 * S);
    assert_eq!(
        bench.take(),
        [got(Server, "request"), got(Connector, "reply")]
    );
}

#[test]
fn link_fault_does_not_affect_segments_in_transit() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.wrote(id.connector(), "x");
    bench.install("c1", "n1", Ways::Both, Cut);
    bench.run_for(5 * MS);
    assert_eq!(bench.take(), [got(Server, "x")]);
}

#[test]
fn slow_links_add_up() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.install("c1", "n1", Ways::One, Slow { extra_ns: 30 * MS });
    bench.install("n1", "c1", Ways::Both, Slow { extra_ns: 10 * MS });
    let start_ns = bench.now_ns;
    bench.wrote(id.connector(), "x");
    bench.run_for(S);
    assert_eq!(bench.seen, [(start_ns + 45 * MS, got(Server, "x"))]);
}

#[test]
fn nothing_is_drawn_for_a_link_without_loss() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    bench.install("c2", "n1", Ways::Both, Lossy { probability: 0.5 });
    bench.wrote(id.connector(), "x");
    bench.run_for(S);
    assert_eq!(*bench.network.random(), Stream::new(1, "network"));
    bench.install("c1", "n1", Ways::Both, Lossy { probability: 0.5 });
    bench.wrote(id.connector(), "x");
    assert_ne!(*bench.network.random(), Stream::new(1, "network"));
}

/// The share of 2000 segments, each alone on its way, that needed a retransmission.
fn share_lost(loss: f64, probability: f64) -> f64 {
    let mut bench = Bench::with(Dist::Constant(1.0), loss);
    let id = bench.established();
    bench.install("c1", "n1", Ways::One, Lossy { probability });
    let mut lost = 0;
    for _ in 0..2000 {
        bench.wrote(id.connector(), "x");
        bench.run_for(MS);
        lost += u32::from(bench.take().is_empty());
        bench.run_for(900 * S);
        bench.take();
    }
    f64::from(lost) / 2000.0
}

/// One standard deviation is 0.011; the stream is fixed.
#[test]
fn losses_have_their_probability() {
    assert!((share_lost(0.0, 0.3) - 0.3).abs() < 0.04);
    assert!((share_lost(0.3, 0.0) - 0.3).abs() < 0.04);
    assert!((share_lost(0.2, 0.25) - 0.4).abs() < 0.04);
}

#[test]
fn host_reaches_itself_despite_link_faults() {
    let mut bench = Bench::with(Dist::Constant(5.0), 0.9);
    bench.install("n1", "n1", Ways::Both, Cut);
    let id = bench.network.open("n1".into(), "n1".into(), 0);
    bench.wrote(id.connector(), "x");
    assert_eq!(bench.take(), [Seen::Greeted, got(Server, "x")]);
    assert_eq!(bench.network.take_messages(), []);
}

#[test]
fn messages_have_their_times_and_hosts() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    let start_ns = bench.now_ns;
    bench.wrote(id.connector(), "a");
    bench.run_for(10 * MS);
    bench.install("c1", "n1", Ways::Both, Cut);
    bench.wrote(id.server(), "b");
    bench.run_for(10 * MS);
    let messages = bench.network.take_messages();
    let times: Vec<_> = messages.iter().map(|m| (m.sent_ns, m.arrived_ns)).collect();
    assert_eq!(
        times,
        [
            (start_ns, Some(start_ns + 5 * MS)),
            (start_ns + 10 * MS, None)
        ]
    );
    assert_eq!((&*messages[0].from, &*messages[0].to), ("c1", "n1"));
    assert_eq!((&*messages[1].from, &*messages[1].to), ("n1", "c1"));
    assert_eq!(messages[1].payload, "b");
    assert_eq!(bench.network.take_messages(), []);
}
