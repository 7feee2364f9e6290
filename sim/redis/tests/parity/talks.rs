//! Conversations on several connections, which hear of each other's requests. Both servers must behave the same.

mod random;

use crate::data;
use crate::talk::Talk;
use crate::versions;

files!("talks": blocking, clients, config, databases, eviction, monitor, notifications, own_events, pubsub, resp3, tracking);

fn check(file: &str) {
    if versions::skips_test() {
        return;
    }
    data::check(&mut Talk::start(), file);
}
