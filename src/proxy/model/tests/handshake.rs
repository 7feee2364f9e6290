//! Connecting, ending and breaking connections.

use locklab_link::LinkEffect::Cut;

use super::bench::{Bench, MS, Process, S, Seen, Ways, got};
use crate::model::connection::Side::{Connector, Server};

#[test]
fn a_connection_is_established_after_both_latencies() {
    let mut bench = Bench::new(5.0);
    bench.open();
    bench.run_until(S);
    assert_eq!(bench.seen, [(10 * MS, Seen::Greeted)]);
}

#[test]
fn data_of_the_connector_waits_for_the_establishment() {
    let mut bench = Bench::new(5.0);
    let id = bench.open();
    bench.wrote(id.connector(), "x");
    bench.run_until(S);
    let expected = [(10 * MS, Seen::Greeted), (15 * MS, got(Server, "x"))];
    assert_eq!(bench.seen, expected);
}

#[test]
fn the_server_s_first_data_comes_after_the_greeting() {
    let mut bench = Bench::new(5.0);
    let id = bench.open();
    bench.run_until(5 * MS);
    bench.wrote(id.server(), "hello");
    bench.run_until(S);
    assert_eq!(bench.take(), [Seen::Greeted, got(Connector, "hello")]);
}

#[test]
fn a_refusal_resets_the_connector_after_both_latencies() {
    let mut bench = Bench::new(5.0);
    bench.process = Process::Refuses;
    bench.open();
    bench.run_until(S);
    assert_eq!(bench.seen, [(10 * MS, Seen::Reset(Connector))]);
    assert_eq!(bench.network.next_ns(), None);
}

#[test]
fn a_refusal_that_is_lost_is_repeated_when_the_syn_is() {
    let mut bench = Bench::new(5.0);
    bench.process = Process::Refuses;
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    bench.open();
    bench.run_until(2 * S);
    bench.network.lift(cut);
    bench.run_until(10 * S);
    // The second SYN is refused at 1010 ms, and the refusal is lost; the third a second later.
    assert_eq!(bench.seen, [(2_020 * MS, Seen::Reset(Connector))]);
}

#[test]
fn a_connector_whose_refusals_are_all_lost_gives_up() {
    let mut bench = Bench::new(5.0);
    bench.process = Process::Refuses;
    bench.install("n1", "c1", Ways::One, Cut);
    bench.open();
    bench.run_until(130 * S);
    assert_eq!(bench.take(), []);
    bench.run_until(134 * S);
    assert!(bench.take().contains(&Seen::Reset(Connector)));
    assert_eq!(bench.network.next_ns(), None);
}

#[test]
fn connector_that_gives_up_sends_nothing_more() {
    let mut bench = Bench::new(5.0);
    let cut = bench.install("c1", "n1", Ways::One, Cut);
    let id = bench.open();
    bench.wrote(id.connector(), "x");
    bench.ended(id.connector());
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
    bench.network.lift(cut);
    bench.run_until(200 * S);
    assert_eq!(bench.take(), []);
}

#[test]
fn a_server_that_accepted_a_connector_that_gave_up_is_reset() {
    let mut bench = Bench::new(5.0);
    let id = bench.open();
    bench.run_until(5 * MS);
    bench.broke(id.connector());
    assert_eq!(bench.take(), [Seen::Reset(Connector)]);
    bench.run_until(S);
    assert_eq!(bench.take(), [Seen::Reset(Server)]);
}

#[test]
fn a_process_that_accepts_too_late_is_reset() {
    let mut bench = Bench::new(5.0);
    bench.process = Process::Hesitates;
    let id = bench.open();
    bench.run_until(5 * MS);
    bench.ended(id.connector());
    bench.act(|network, now_ns| network.connected(id, now_ns));
    assert_eq!(bench.take(), [Seen::Reset(Connector), Seen::Reset(Server)]);
}

#[test]
fn a_server_that_breaks_before_its_answer_gets_through_is_asked_again() {
    let mut bench = Bench::new(5.0);
    let cut = bench.install("n1", "c1", Ways::One, Cut);
    let id = bench.open();
    bench.run_until(100 * MS);
    bench.broke(id.server());
    bench.network.lift(cut);
    bench.run_until(10 * S);
    assert_eq!(bench.take(), [Seen::Greeted]);
}

#[test]
fn a_stream_ends_alone() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.wrote(id.connector(), "request");
    bench.ended(id.connector());
    bench.run_for(S);
    assert_eq!(bench.take(), [got(Server, "request"), Seen::Ended(Server)]);
    bench.wrote(id.server(), "reply");
    bench.ended(id.server());
    bench.run_for(S);
    assert_eq!(
        bench.take(),
        [got(Connector, "reply"), Seen::Ended(Connector)]
    );
}

#[test]
fn the_end_of_a_stream_is_cut_and_sent_again_like_data() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    let cut = bench.install("c1", "n1", Ways::Both, Cut);
    bench.ended(id.connector());
    bench.network.lift(cut);
    bench.run_for(204 * MS);
    assert_eq!(bench.take(), []);
    bench.run_for(MS);
    assert_eq!(bench.take(), [Seen::Ended(Server)]);
}

#[test]
fn a_reset_travels() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    let start_ns = bench.now_ns;
    bench.broke(id.server());
    bench.run_for(S);
    assert_eq!(bench.seen, [(start_ns + 5 * MS, Seen::Reset(Connector))]);
}

#[test]
fn reports_about_forgotten_connections_do_nothing() {
    let mut bench = Bench::new(5.0);
    let id = bench.established();
    bench.broke(id.server());
    bench.run_for(S);
    bench.take();
    bench.wrote(id.connector(), "x");
    bench.ended(id.connector());
    bench.broke(id.connector());
    bench.act(|network, now_ns| network.refused(id, now_ns));
    bench.run_for(2_000 * S);
    assert_eq!(bench.take(), []);
}
