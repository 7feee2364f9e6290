//! The application against a server that starts and ends with each test.

use locklab_redis::{Fsync, Persistence, Server};
use outside::Visits;

#[test]
fn visits_are_counted() {
    let redis = Server::start().expect("a server");
    let mut visits = Visits::connect(&redis.url()).expect("a connection");
    assert_eq!(visits.count().expect("a number"), 1);
    assert_eq!(visits.count().expect("a number"), 2);
}

#[test]
fn tests_share_nothing() {
    let redis = Server::start().expect("a server");
    let mut visits = Visits::connect(&redis.url()).expect("a connection");
    assert_eq!(visits.count().expect("a number"), 1);
}

#[test]
fn a_restart_ends_connections_and_keeps_the_count() {
    let append_only = Persistence::AppendOnly(Fsync::Always);
    let builder = Server::builder().persistence(append_only);
    let mut redis = builder.start().expect("a server");
    let mut visits = Visits::connect(&redis.url()).expect("a connection");
    assert_eq!(visits.count().expect("a number"), 1);
    redis.restart().expect("the same port");
    assert!(visits.count().is_err());
    let mut visits = Visits::connect(&redis.url()).expect("a connection");
    assert_eq!(visits.count().expect("a number"), 2);
}

#[test]
fn a_replica_does_not_count() {
    let redis = Server::start().expect("a server");
    let replica = redis.replica().expect("a server");
    let mut visits = Visits::connect(&replica.url()).expect("a connection");
    assert!(visits.count().is_err());
}
