//! Latency, loss and faults of links.

use locklab_link::LinkEffect::{Cut, Lossy, Slow};
use locklab_values::dist::Dist;
use locklab_values::random::Stream;

use super::fixture::{Fixture, MS, S, Seen, Ways, got};
use crate::model::end::Side::{Connector, Server};

#[test]
fn data_arrives_after_the_latency_and_not_before() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_write(id.connector(), "x");
    fixture.run_for(5 * MS - 1);
    assert_eq!(fixture.take(), []);
    fixture.run_for(1);
    assert_eq!(fixture.take(), [got(Server, "x")]);
}

#[test]
fn data_arrives_in_the_order_in_which_it_left() {
    let mut fixture = Fixture::with(Dist::Uniform(1.0, 50.0), 0.2);
    let id = fixture.established();
    let texts: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    for text in &texts {
        fixture.on_write(id.server(), text);
        fixture.run_for(MS);
    }
    fixture.run_for(1_000 * S);
    let expected: Vec<Seen> = texts.iter().map(|text| got(Connector, text)).collect();
    assert_eq!(fixture.take(), expected);
}

#[test]
fn a_cut_one_way_lets_the_other_direction_through() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    fixture.install("n1", "c1", Ways::One, Cut);
    fixture.on_write(id.connector(), "request");
    fixture.on_write(id.server(), "reply");
    fixture.run_for(10 * S);
    assert_eq!(fixture.take(), [got(Server, "request")]);
}

#[test]
fn a_cut_both_ways_cuts_both_and_other_links_not() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    fixture.install("c2", "n1", Ways::Both, Cut);
    let cut = fixture.install("n1", "c1", Ways::Both, Cut);
    fixture.on_write(id.connector(), "request");
    fixture.on_write(id.server(), "reply");
    fixture.run_for(10 * S);
    assert_eq!(fixture.take(), []);
    fixture.network.lift(cut);
    fixture.run_for(10 * S);
    assert_eq!(
        fixture.take(),
        [got(Server, "request"), got(Connector, "reply")]
    );
}

#[test]
fn link_fault_does_not_affect_segments_in_transit() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.on_write(id.connector(), "x");
    fixture.install("c1", "n1", Ways::Both, Cut);
    fixture.run_for(5 * MS);
    assert_eq!(fixture.take(), [got(Server, "x")]);
}

#[test]
fn slow_links_add_up() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    fixture.install("c1", "n1", Ways::One, Slow { extra_ns: 30 * MS });
    fixture.install("n1", "c1", Ways::Both, Slow { extra_ns: 10 * MS });
    let start_ns = fixture.now_ns;
    fixture.on_write(id.connector(), "x");
    fixture.run_for(S);
    assert_eq!(fixture.seen, [(start_ns + 45 * MS, got(Server, "x"))]);
}

#[test]
fn nothing_is_drawn_for_a_link_without_loss() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    fixture.install("c2", "n1", Ways::Both, Lossy { probability: 0.5 });
    fixture.on_write(id.connector(), "x");
    fixture.run_for(S);
    assert_eq!(*fixture.network.random(), Stream::new(1, "network"));
    fixture.install("c1", "n1", Ways::Both, Lossy { probability: 0.5 });
    fixture.on_write(id.connector(), "x");
    assert_ne!(*fixture.network.random(), Stream::new(1, "network"));
}

/// The share of 2000 segments, each alone on its way, that needed a retransmission.
fn share_lost(loss: f64, probability: f64) -> f64 {
    let mut fixture = Fixture::with(Dist::Constant(1.0), loss);
    let id = fixture.established();
    fixture.install("c1", "n1", Ways::One, Lossy { probability });
    let mut lost = 0;
    for _ in 0..2000 {
        fixture.on_write(id.connector(), "x");
        fixture.run_for(MS);
        lost += u32::from(fixture.take().is_empty());
        fixture.run_for(900 * S);
        fixture.take();
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
    let mut fixture = Fixture::with(Dist::Constant(5.0), 0.9);
    fixture.install("n1", "n1", Ways::Both, Cut);
    let id = fixture.network.open("n1".into(), "n1".into(), 0);
    fixture.on_write(id.connector(), "x");
    assert_eq!(fixture.take(), [Seen::Greeted, got(Server, "x")]);
    assert_eq!(fixture.network.take_messages(), []);
}

#[test]
fn messages_have_their_times_and_hosts() {
    let mut fixture = Fixture::new(5.0);
    let id = fixture.established();
    let start_ns = fixture.now_ns;
    fixture.on_write(id.connector(), "a");
    fixture.run_for(10 * MS);
    fixture.install("c1", "n1", Ways::Both, Cut);
    fixture.on_write(id.server(), "b");
    fixture.run_for(10 * MS);
    let messages = fixture.network.take_messages();
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
    assert_eq!(fixture.network.take_messages(), []);
}
