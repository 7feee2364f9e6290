//! How connections end.

use std::io::Write;
use std::net::Shutdown;

use locklab_link::LinkEffect::Cut;
use locklab_testing::until;

use super::fixture::{
    Fixture, Ways, end_with_reset, expect, expect_end, expect_nothing, expect_reset,
};

#[test]
fn end_of_a_stream_passes_and_the_other_stream_continues() {
    let fixture = Fixture::new(1.0);
    let (mut client, mut server) = fixture.connected();
    client.write_all(b"request").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    expect(&mut server, b"request");
    expect_end(&mut server);
    server.write_all(b"reply").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    expect(&mut client, b"reply");
    expect_end(&mut client);
}

#[test]
fn the_end_of_a_stream_does_not_pass_a_cut() {
    let fixture = Fixture::new(0.0);
    let (mut client, server) = fixture.connected();
    let cut = fixture.install("n1", "c2", Ways::One, Cut);
    drop(server);
    expect_nothing(&mut client);
    fixture.proxy.lift(cut);
    expect_end(&mut client);
}

#[test]
fn reset_reaches_a_stopped_peer() {
    let fixture = Fixture::new(1.0);
    let (mut client, server) = fixture.connected();
    end_with_reset(server, &mut client);
    expect_reset(&mut client);
}

#[test]
fn a_reset_that_meets_a_cut_is_lost() {
    let fixture = Fixture::new(0.0);
    let (mut client, server) = fixture.connected();
    let cut = fixture.install("n1", "c2", Ways::One, Cut);
    end_with_reset(server, &mut client);
    expect_nothing(&mut client);
    fixture.proxy.lift(cut);
    expect_nothing(&mut client);
    client.write_all(b"x").unwrap();
    expect_reset(&mut client);
}

#[test]
fn data_to_a_process_that_has_closed_is_answered_with_a_reset() {
    let fixture = Fixture::new(0.0);
    let (client, mut server) = fixture.connected();
    drop(client);
    expect_end(&mut server);
    server.write_all(b"too late").unwrap();
    until(|| match server.take_error() {
        Ok(Some(_)) => Ok(()),
        _ => Err("no reset yet"),
    });
}
