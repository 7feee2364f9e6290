//! The consensus service on simulated hosts, seen by its clients while hosts crash, are suspended
//! and are partitioned.

mod campaign;
mod client;
mod history;
mod locker;
mod outages;
mod service;
mod setup;
