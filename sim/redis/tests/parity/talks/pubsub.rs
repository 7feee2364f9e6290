//! Subscriptions and messages.

use super::check;

#[test]
fn messages_go_to_subscribers() {
    check(&[
        "SUBSCRIBE a b
         2: PUBLISH a x
         2: PUBLISH b y
         2: PUBLISH c z
         SUBSCRIBE a
         2: PUBLISH a x
         UNSUBSCRIBE a
         2: PUBLISH a x
         2: PUBLISH b x
         UNSUBSCRIBE nope
         UNSUBSCRIBE
         UNSUBSCRIBE
         2: PUBLISH b x",
        "SUBSCRIBE a
         PSUBSCRIBE a*
         3: PSUBSCRIBE ?
         2: PUBLISH a x
         2: PUBLISH ab x
         PUNSUBSCRIBE
         2: PUBLISH ab x
         UNSUBSCRIBE
         GET k
         PUNSUBSCRIBE
         3: PUNSUBSCRIBE nope ?
         3: PUNSUBSCRIBE",
        "SSUBSCRIBE a b
         2: SPUBLISH a x
         2: PUBLISH a x
         2: PUBSUB SHARDCHANNELS c*
         2: PUBSUB SHARDNUMSUB a b c
         SUBSCRIBE a
         2: PUBSUB SHARDNUMSUB
         2: PUBSUB NUMSUB
         SUNSUBSCRIBE a
         2: SPUBLISH a x
         SUNSUBSCRIBE
         SUNSUBSCRIBE
         2: SPUBLISH b x",
        "SUBSCRIBE a
         PSUBSCRIBE b* c*
         2: PUBSUB CHANNELS
         2: PUBSUB CHANNELS a*
         2: PUBSUB CHANNELS b*
         2: PUBSUB CHANNELS a b
         2: PUBSUB NUMSUB a b a
         2: PUBSUB NUMPAT
         2: PUBSUB NUMPAT x
         2: PUBSUB
         2: PUBSUB NOPE",
    ]);
}

#[test]
fn resp2_subscriber_may_send_few_commands() {
    check(&[
        "SUBSCRIBE a
         GET k
         PING
         PING x
         PING x y
         PUBLISH a x
         MULTI
         HELLO 3
         CLIENT ID
         NOPE
         GET
         PSUBSCRIBE x
         RESET
         GET k
         PUBLISH a x",
        "SSUBSCRIBE a
         GET k
         SUNSUBSCRIBE
         GET k",
        "SUBSCRIBE a
         QUIT
         2: PUBLISH a x",
    ]);
}

#[test]
fn own_messages_arrive_where_they_were_published() {
    check(&[
        "~HELLO 3
         SUBSCRIBE a
         PUBLISH a x
         PSUBSCRIBE *
         PUBLISH a x
         MULTI
         PING
         PUBLISH a x
         PING y
         EXEC
         EVAL \"redis.call('publish', 'a', 'x') redis.call('publish', 'b', 'y') return 1\" 0
         UNSUBSCRIBE
         PUNSUBSCRIBE",
        "~HELLO 3
         MULTI
         SUBSCRIBE a b
         PUBLISH a x
         UNSUBSCRIBE b
         UNSUBSCRIBE
         UNSUBSCRIBE
         EXEC",
        "MULTI
         SUBSCRIBE a
         PING
         UNSUBSCRIBE
         EXEC
         PING",
        "EVAL \"return redis.call('subscribe', 'a')\" 0
         EVAL \"return redis.pcall('publish', 'a', 'x')\" 0
         2: SUBSCRIBE a
         MULTI
         PUBLISH a x
         PUBLISH a y
         EXEC
         EVAL \"return redis.pcall('publish', 'a', 'x')\" 0
         EVAL \"redis.call('publish', 'a', 'x') error('after')\" 0",
        "~HELLO 3
         SUBSCRIBE a
         CLIENT REPLY OFF
         PUBLISH a x
         2: PUBLISH a y
         CLIENT REPLY ON",
        "SUBSCRIBE a
         2: CLIENT REPLY OFF
         2: PUBLISH a y
         2: CLIENT REPLY ON",
    ]);
}

#[test]
fn disconnected_client_is_no_longer_subscribed() {
    check(&[
        "SUBSCRIBE a
         2: CLIENT KILL ID $1
         2: PUBLISH a x",
        "SUBSCRIBE a
         PSUBSCRIBE b
         2: CLIENT KILL TYPE pubsub
         2: PUBSUB CHANNELS
         2: PUBSUB NUMPAT",
        "~HELLO 3
         SUBSCRIBE a
         PSUBSCRIBE b
         SSUBSCRIBE c
         RESET
         2: PUBLISH a x
         2: PUBLISH b x
         2: SPUBLISH c x
         PING",
        "SUBSCRIBE
         PSUBSCRIBE
         PUBLISH a
         PUBLISH a b c
         SPUBLISH a
         SSUBSCRIBE",
    ]);
}
