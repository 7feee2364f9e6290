//! Lua scripts that both servers must answer alike.

use crate::data;
use crate::pair::Pair;

files!("scripts": errors, flags, functions, locks, resp3, sandbox, values);

fn check(file: &str) {
    data::check(&mut Pair::start(1), file);
}
