//! When segments that did not get through are sent again, and when their sender gives up.

use locklab_link::LinkEffect::Cut;

use super::fixture::{Fixture, MS, S, Seen, Ways, got};
use crate::model::end::Side::{Connector, Server};

/// The times of the model's events until `until_ns`, in milliseconds after now.
fn events_ms(fixture: &mut Fixture, until_ns: u64) -> Vec<u64> {
    let start_ns = fixture.now_ns;
    let mut times = Vec::new();
    while let Some(next_ns) = fixture.network.next_ns()
        && next_ns <= until_ns
    {
        times.push((next_ns - start_ns) / MS);
        fixture.run_until(next_ns);
    }
    times
}

#[test]
fn data_is_sent_again_at_longer_and_longer_intervals_until_patience_ends() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "x");
    let expected = [
        200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 204_800, 324_800,
        444_800, 564_800, 684_800, 804_800, 924_800,
    ];
    assert_eq!(events_ms(&mut fixture, 2_000 * S), expected);
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
}

#[test]
fn a_handshake_is_tried_for_131_seconds() {
    let mut fixture = Fixture::new(1.0);
    fixture.install("c1", "n1", Ways::One, Cut);
    fixture.open();
    let expected = [1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131].map(|s| s * 1_000);
    assert_eq!(events_ms(&mut fixture, 2_000 * S), expected);
    assert!(fixture.take().contains(&Seen::Reset(Connector)));
    assert_eq!(fixture.network.next_ns(), None);
}

#[test]
fn a_server_whose_answer_is_cut_ends_the_handshake_too() {
    let mut fixture = Fixture::new(1.0);
    fixture.install("n1", "c1", Ways::One, Cut);
    fixture.open();
    fixture.run_until(131 * S);
    assert_eq!(fixture.take(), []);
    fixture.run_until(132 * S);
    assert_eq!(
        fixture.take(),
        [Seen::Reset(Server), Seen::Reset(Connector)]
    );
}

#[test]
fn handshake_continues_at_the_next_retransmission() {
    let mut fixture = Fixture::new(5.0);
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    fixture.open();
    fixture.run_until(1_500 * MS);
    fixture.network.lift(cut);
    fixture.run_until(10 * S);
    assert_eq!(fixture.seen, [(2_010 * MS, Seen::Greeted)]);
}

#[test]
fn later_data_waits_behind_held_segments_and_arrives_in_order() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "a");
    fixture.network.lift(cut);
    fixture.run_for(50 * MS);
    fixture.on_write(id.connector(), "b");
    fixture.ended(id.connector());
    fixture.run_for(149 * MS);
    assert_eq!(fixture.take(), []);
    fixture.run_for(3 * MS);
    assert_eq!(
        fixture.take(),
        [got(Server, "a"), got(Server, "b"), Seen::Ended(Server)]
    );
}

#[test]
fn timeout_of_a_segment_begins_with_its_first_transmission() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "a");
    fixture.on_write(id.connector(), "b");
    fixture.network.lift(cut);
    fixture.run_for(200 * MS);
    fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "c");
    fixture.run_for(10 * MS);
    assert_eq!(fixture.take(), [got(Server, "a"), got(Server, "b")]);
    fixture.run_for(924 * S);
    assert_eq!(fixture.take(), []);
    fixture.run_for(S);
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
}

#[test]
fn the_peer_of_a_sender_that_gave_up_is_reset_when_it_sends() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "x");
    fixture.run_for(1_000 * S);
    fixture.network.lift(cut);
    assert_eq!(fixture.take(), [Seen::Reset(Connector)]);
    fixture.on_write(id.server(), "y");
    fixture.run_for(S);
    assert_eq!(fixture.take(), [Seen::Reset(Server)]);
    assert_eq!(fixture.network.next_ns(), None);
}

#[test]
fn reset_drops_held_segments_and_is_not_retransmitted() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    let cut = fixture.install("c1", "n1", Ways::One, Cut);
    fixture.on_write(id.connector(), "x");
    fixture.on_broken(id.connector());
    fixture.network.lift(cut);
    fixture.run_for(2_000 * S);
    assert_eq!(fixture.take(), []);
}

#[test]
fn a_reset_does_not_overtake_data_that_has_left() {
    let mut fixture = Fixture::new(1.0);
    let id = fixture.established();
    let slow = locklab_link::LinkEffect::Slow { extra_ns: 10 * MS };
    let slow = fixture.install("c1", "n1", Ways::One, slow);
    fixture.on_write(id.connector(), "x");
    fixture.network.lift(slow);
    fixture.on_broken(id.connector());
    fixture.run_for(S);
    assert_eq!(fixture.take(), [got(Server, "x"), Seen::Reset(Server)]);
}
