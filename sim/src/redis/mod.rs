//! A Redis server as a state machine: bytes and a time go in, bytes come out.
