//! The consensus service on simulated hosts: what clients see of it while hosts crash, stand
//! still and are partitioned.

mod campaign;
mod client;
mod history;
mod locker;
mod outages;
mod service;
mod setup;
