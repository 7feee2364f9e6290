//! When segments that did not get through are sent again, and when their sender gives up.

use locklab_link::LinkEffect::Cut;

use super::bench::{Bench, MS, S, Seen, Ways, got};
use crate::model::connection::Side::{Connector, Server};

/// The times of the model's events until `until_ns`, in milliseconds after now.
fn events_ms(bench: &mut Bench, until_ns: u64) -> Vec<u64> {
    let start_ns = bench.now_ns;
    let mut times = Vec::new();
    while let Some(next_ns) = bench.network.next_ns()
        && next_ns <= until_ns
    {
        times.push((next_ns - start_ns) / MS);
        bench.run_until(next_ns);
    }
    times
}

#[test]
fn data_is_sent_again_at_longer_and_longer_intervals_until_patience_ends() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "x");
    let expected = [
        200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 204_800, 324_800,
        444_800, 564_800, 684_800, 804_800, 924_800,
    ];
    assert_eq!(events_ms(&mut bench, 2_000 * S), expected);
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
}

#[test]
fn a_handshake_is_tried_for_131_seconds() {
    let mut bench = Bench::new(1.0);
    bench.install("c1", "n1", Ways::One, Cut);
    bench.open();
    let expected = [1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131].map(|s| s * 1_000);
    assert_eq!(events_ms(&mut bench, 2_000 * S), expected);
    assert!(bench.take().contains(&Seen::Reset(Connector)));
    assert_eq!(bench.network.next_ns(), None);
}

#[test]
fn a_server_whose_answer_is_cut_ends_the_handshake_too() {
    let mut bench = Bench::new(1.0);
    bench.install("n1", "c1", Ways::One, Cut);
    bench.open();
    bench.run_until(131 * S);
    assert_eq!(bench.take(), []);
    bench.run_until(132 * S);
    assert_eq!(bench.take(), [Seen::Reset(Server), Seen::Reset(Connector)]);
}

#[test]
fn a_handshake_goes_on_at_the_next_retransmission() {
    let mut bench = Bench::new(5.0);
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    bench.open();
    bench.run_until(1_500 * MS);
    bench.network.lift(cut);
    bench.run_until(10 * S);
    assert_eq!(bench.seen, [(2_010 * MS, Seen::Greeted)]);
}

#[test]
fn later_data_waits_behind_held_segments_and_arrives_in_order() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "a");
    bench.network.lift(cut);
    bench.run_for(50 * MS);
    bench.wrote(id.connector(), "b");
    bench.ended(id.connector());
    bench.run_for(149 * MS);
    assert_eq!(bench.take(), []);
    bench.run_for(3 * MS);
    assert_eq!(
        bench.take(),
        [got(Server, "a"), got(Server, "b"), Seen::Ended(Server)]
    );
}

#[test]
fn the_patience_for_a_segment_begins_when_it_is_first_transmitted() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "a");
    bench.wrote(id.connector(), "b");
    bench.network.lift(cut);
    bench.run_for(200 * MS);
    bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "c");
    bench.run_for(10 * MS);
    assert_eq!(bench.take(), [got(Server, "a"), got(Server, "b")]);
    bench.run_for(924 * S);
    assert_eq!(bench.take(), []);
    bench.run_for(S);
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
}

#[test]
fn the_peer_of_a_sender_that_gave_up_is_reset_when_it_sends() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "x");
    bench.run_for(1_000 * S);
    bench.network.lift(cut);
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
    bench.wrote(id.server(), "y");
    bench.run_for(S);
    assert_eq!(bench.take(), [Seen::Reset(Server)]);
    assert_eq!(bench.network.next_ns(), None);
}

#[test]
fn reset_drops_held_segments_and_is_not_retransmitted() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    bench.wrote(id.connector(), "x");
    bench.broke(id.connector());
    bench.network.lift(cut);
    bench.run_for(2_000 * S);
    assert_eq!(bench.take(), []);
}

#[test]
fn a_reset_does_not_overtake_data_that_has_left() {
    let mut bench = Bench::new(1.0);
    let id = bench.established();
    let slow = locklab_link::LinkEffect::Slow { extra_ns: 10 * MS };
    let slow = bench.install("c1", "n1", Ways::One, slow);
    bench.wrote(id.connector(), "x");
    bench.network.lift(slow);
    bench.broke(id.connector());
    bench.run_for(S);
    assert_eq!(bench.take(), [got(Server, "x"), Seen::Reset(Server)]);
}
