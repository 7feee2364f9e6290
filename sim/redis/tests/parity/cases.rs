//! Requests whose replies both servers must give alike, on connections that hear nothing of each other.

use crate::data;
use crate::pair::Pair;
use crate::versions;

files!("cases": client_info, counts, databases, diagnostics, encodings, expiry, hashes, keys, later, lists, passwords, scripting, server, sets, strings, transactions, zsets);

fn check(file: &str) {
    if versions::skips_test() {
        return;
    }
    data::check(&mut Pair::start(3), file);
}
