//! The ACL categories of commands (`src/acl.c`), for COMMAND LIST.

use super::command::{Command, Flag};

/// The categories that do not follow from a command's flags, and the commands in them.
const NAMED: &[(&str, &str)] = &[
    ("admin", "role"),
    (
        "connection",
        "auth client|caching client|getname client|getredir client|id client|info client|kill \
         client|list client|no-evict client|pause client|reply client|setname client|tracking \
         client|trackinginfo client|unblock client|unpause command command|count command|docs \
         command|info command|list echo hello ping quit reset select wait",
    ),
    ("dangerous", "flushall flushdb info keys role swapdb"),
    (
        "hash",
        "hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hscan hset hsetnx \
         hstrlen hvals",
    ),
    (
        "keyspace",
        "copy dbsize del exists expire expireat expiretime flushall flushdb keys move object|encoding \
         object|freq object|idletime object|refcount persist pexpire pexpireat pexpiretime pttl \
         randomkey rename renamenx scan swapdb touch ttl type unlink",
    ),
    (
        "list",
        "blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush \
         lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx",
    ),
    (
        "scripting",
        "eval eval_ro evalsha evalsha_ro fcall fcall_ro function|delete function|dump \
         function|flush function|kill function|list function|load function|restore \
         function|stats script|exists script|flush script|kill script|load",
    ),
    (
        "set",
        "sadd scard sismember smembers smismember smove spop srandmember srem sscan",
    ),
    (
        "sortedset",
        "bzmpop bzpopmax bzpopmin zadd zcard zcount zincrby zlexcount zmpop zmscore zpopmax \
         zpopmin zrange zrangebylex zrangebyscore zrank zrem zremrangebylex zremrangebyrank \
         zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore",
    ),
    (
        "string",
        "append decr decrby get getdel getex getrange getset incr incrby incrbyfloat mget mset \
         msetnx psetex set setex setnx setrange strlen substr",
    ),
    ("transaction", "discard exec multi unwatch watch"),
];

/// Whether a command is in a category, whose name is in lower case.
pub(super) fn contains(category: &str, command: &Command) -> bool {
    let follows = match category {
        "write" => command.has(Flag::Write),
        "read" => command.has(Flag::ReadOnly) && !is_named("scripting", command),
        "admin" | "dangerous" => command.has(Flag::Admin),
        "pubsub" => command.has(Flag::PubSub),
        "blocking" => command.has(Flag::Blocking),
        "fast" => command.has(Flag::Fast),
        "slow" => !command.has(Flag::Fast),
        _ => false,
    };
    follows || is_named(category, command)
}

fn is_named(category: &str, command: &Command) -> bool {
    let mut named = NAMED.iter().filter(|(name, _)| *name == category);
    named.any(|(_, commands)| commands.split(' ').any(|name| name == command.name))
}
