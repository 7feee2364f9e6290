//! Hosts, clocks, network and time.
