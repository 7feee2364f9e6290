//! The command table (`src/commands.c`). A row has everything that is known of a command: name, arity,
//! flags, keys, who needs it, function.
//!
//! The rule: a command is here if somebody needs it who works with a lock. Its row names one of these:
//!
//! - `locks`: a lock of the catalogue, or a port of a library's (`src/locks/`);
//! - a library: its lock or its semaphore sends it, or a script of it;
//! - `clients`: a client library sends it as it connects, or to speak the protocol;
//! - `replicas and sentinels`: servers send it to each other;
//! - `tests of faults`: it makes the server fail, as the documentation of `locklab serve` says;
//! - `by hand`: to look at the state that a lock leaves behind, or to prepare it.
//!
//! What nobody needs is unknown, as an unknown command is to Redis.

use super::cmd::{
    auth, blocking, client, comparison, config, connection, databases, debug, del, expire,
    failover, get, incr, info, keys, monitor, multi, pubsub, replication, script, server, set,
    tracking, wait,
};
use super::cmd::{hashes, lists, object, scan, sets, strings};
use super::cmd::{memory, zset_range, zsets};
use super::command::{Call, Command, Flag, Table};
use crate::Imitated;
use crate::wire::reply::{Answer, Error};

use Flag::{
    Admin, AllowBusy, Blocking, DenyOom, EndsTransaction, Fast, Loading, MayReplicate, MovableKeys,
    NoAsyncLoading, NoAuth, NoMulti, NoScript, Password, PasswordOption, PubSub, ReadOnly,
    RunsQueue, Stale, TakesScript, TakesSha, ToReplicas, Unqueued, WhileSubscribed, Write,
};

/// No keys.
const NONE: (i32, i32, i32) = (0, 0, 0);
/// The first argument.
const ONE: (i32, i32, i32) = (1, 1, 1);
/// The first two arguments.
const TWO: (i32, i32, i32) = (1, 2, 1);
/// The word after the subcommand.
const SECOND: (i32, i32, i32) = (2, 2, 1);
/// Every second argument.
const PAIRS: (i32, i32, i32) = (1, -1, 2);
/// Every argument.
const ALL: (i32, i32, i32) = (1, -1, 1);

/// The commands of this server.
pub(super) fn of(imitated: Imitated) -> Table {
    Table {
        common: COMMANDS,
        added: added_by(imitated),
    }
}

/// The commands that this server has beside those of Redis 7.0, by name.
pub(super) fn added_by(imitated: Imitated) -> &'static [Command] {
    match imitated {
        Imitated::Redis7_0 => &[],
        Imitated::Redis8_4 => REDIS_8_4,
        Imitated::Valkey9_0 => VALKEY_9_0,
    }
}

#[rustfmt::skip]
static REDIS_8_4: &[Command] = &[
    SETINFO,
    command("delex", -2, &[Write, Fast], ONE, "locks", del::delex),
    command("digest", 2, &[ReadOnly, Fast], ONE, "locks", comparison::digest),
];

#[rustfmt::skip]
static VALKEY_9_0: &[Command] = &[
    SETINFO,
    command("delifeq", 3, &[Write, Fast], ONE, "locks", del::delifeq),
];

/// Of Redis since 7.2, and of every Valkey.
const SETINFO: Command = command(
    "client|setinfo",
    4,
    &[NoScript, Loading, Stale],
    NONE,
    "clients",
    client::setinfo,
);

/// Every command of Redis 7.0, by name.
#[rustfmt::skip]
pub(super) static COMMANDS: &[Command] = &[
    container("acl", -2, ACL),
    command("asking", 1, &[Fast], NONE, "clients", server::cluster),
    command("auth", -2, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Password], NONE, "clients", auth::auth),
    command("blmove", 6, &[Write, DenyOom, NoScript, Blocking], (1, 2, 1), "sidekiq-unique-jobs", blocking::blmove),
    command("blpop", -3, &[Write, NoScript, Blocking], (1, -2, 1), "python-redis-lock", blocking::blpop),
    command("brpop", -3, &[Write, NoScript, Blocking], (1, -2, 1), "by hand", blocking::brpop),
    command("brpoplpush", 4, &[Write, DenyOom, NoScript, Blocking], (1, 2, 1), "dramatiq", blocking::brpoplpush),
    container("client", -2, CLIENT),
    container("cluster", -2, CLUSTER),
    Command { subcommands: COMMAND, ..command("command", -1, &[Loading, Stale], NONE, "clients", server::command) },
    container("config", -2, CONFIG),
    command("dbsize", 1, &[ReadOnly, Fast], NONE, "by hand", keys::dbsize),
    command("debug", -2, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", debug::debug),
    command("decr", 2, &[Write, DenyOom, Fast], ONE, "Redisson", incr::decr),
    command("decrby", 3, &[Write, DenyOom, Fast], ONE, "Redisson", incr::decrby),
    command("del", -2, &[Write], ALL, "locks", del::del),
    command("discard", 1, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued, EndsTransaction], NONE, "clients", multi::discard),
    command("echo", 2, &[Loading, Stale, Fast], NONE, "clients", connection::echo),
    command("eval", -3, &[NoScript, Stale, MovableKeys, MayReplicate, TakesScript], NONE, "locks", script::eval),
    command("eval_ro", -3, &[ReadOnly, NoScript, Stale, MovableKeys, TakesScript], NONE, "clients", script::eval_ro),
    command("evalsha", -3, &[NoScript, Stale, MovableKeys, MayReplicate, TakesSha], NONE, "locks", script::evalsha),
    command("evalsha_ro", -3, &[ReadOnly, NoScript, Stale, MovableKeys, TakesSha], NONE, "clients", script::evalsha_ro),
    command("exec", 1, &[NoScript, Loading, Stale, Unqueued, EndsTransaction, RunsQueue], NONE, "locks", multi::exec),
    command("exists", -2, &[ReadOnly, Fast], ALL, "locks", keys::exists),
    command("expire", -3, &[Write, Fast], ONE, "locks", expire::expire),
    command("expireat", -3, &[Write, Fast], ONE, "by hand", expire::expireat),
    command("expiretime", 2, &[ReadOnly, Fast], ONE, "by hand", expire::expiretime),
    command("failover", -1, &[Admin, NoScript, Stale], NONE, "tests of faults", failover::failover),
    command("flushall", -1, &[Write], NONE, "by hand", keys::flushall),
    command("flushdb", -1, &[Write], NONE, "by hand", keys::flushdb),
    command("get", 2, &[ReadOnly, Fast], ONE, "locks", get::get),
    command("getdel", 2, &[Write, Fast], ONE, "by hand", get::getdel),
    command("getset", 3, &[Write, DenyOom, Fast], ONE, "locks", get::getset),
    command("hdel", -3, &[Write, Fast], ONE, "locks", hashes::hdel),
    command("hello", -1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, PasswordOption], NONE, "clients", connection::hello),
    command("hexists", 3, &[ReadOnly, Fast], ONE, "locks", hashes::hexists),
    command("hget", 3, &[ReadOnly, Fast], ONE, "locks", hashes::hget),
    command("hgetall", 2, &[ReadOnly], ONE, "sidekiq-unique-jobs", hashes::hgetall),
    command("hincrby", 4, &[Write, DenyOom, Fast], ONE, "locks", hashes::hincrby),
    command("hkeys", 2, &[ReadOnly], ONE, "locks", hashes::hkeys),
    command("hlen", 2, &[ReadOnly, Fast], ONE, "locks", hashes::hlen),
    command("hmget", -3, &[ReadOnly, Fast], ONE, "by hand", hashes::hmget),
    command("hmset", -4, &[Write, DenyOom, Fast], ONE, "Laravel's limiters", hashes::hmset),
    command("hscan", -3, &[ReadOnly], ONE, "by hand", scan::hscan),
    command("hset", -4, &[Write, DenyOom, Fast], ONE, "locks", hashes::hset),
    command("hsetnx", 4, &[Write, DenyOom, Fast], ONE, "huey", hashes::hsetnx),
    command("hvals", 2, &[ReadOnly], ONE, "by hand", hashes::hvals),
    command("incr", 2, &[Write, DenyOom, Fast], ONE, "locks", incr::incr),
    command("incrby", 3, &[Write, DenyOom, Fast], ONE, "Redisson", incr::incrby),
    command("info", -1, &[Loading, Stale], NONE, "clients", info::info),
    command("keys", 2, &[ReadOnly], NONE, "by hand", scan::keys),
    command("lindex", 3, &[ReadOnly], ONE, "locks", lists::lindex),
    command("llen", 2, &[ReadOnly, Fast], ONE, "sidekiq-unique-jobs", lists::llen),
    command("lmove", 5, &[Write, DenyOom], TWO, "sidekiq-unique-jobs", lists::lmove),
    command("lpop", -2, &[Write, Fast], ONE, "locks", lists::lpop),
    command("lpush", -3, &[Write, DenyOom, Fast], ONE, "python-redis-lock", lists::lpush),
    command("lrange", 4, &[ReadOnly], ONE, "locks", lists::lrange),
    command("lrem", 4, &[Write], ONE, "locks", lists::lrem),
    container("memory", -2, MEMORY),
    command("mget", -2, &[ReadOnly, Fast], ALL, "bsm/redislock", strings::mget),
    command("monitor", 1, &[Admin, NoScript, Loading, Stale], NONE, "by hand", monitor::monitor),
    command("mset", -3, &[Write, DenyOom], PAIRS, "by hand", strings::mset),
    command("msetnx", -3, &[Write, DenyOom], PAIRS, "bsm/redislock", strings::msetnx),
    command("multi", 1, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued], NONE, "locks", multi::multi),
    container("object", -2, OBJECT),
    command("persist", 2, &[Write, Fast], ONE, "redis-semaphore for Ruby", expire::persist),
    command("pexpire", -3, &[Write, Fast], ONE, "locks", expire::pexpire),
    command("pexpireat", -3, &[Write, Fast], ONE, "Symfony Lock", expire::pexpireat),
    command("pexpiretime", 2, &[ReadOnly, Fast], ONE, "by hand", expire::pexpiretime),
    command("ping", -1, &[Fast, WhileSubscribed], NONE, "clients", connection::ping),
    command("psetex", 4, &[Write, DenyOom], ONE, "tooz", set::psetex),
    command("psubscribe", -2, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], NONE, "Spring Integration", pubsub::psubscribe),
    command("psync", -3, &[Admin, NoScript, NoMulti, NoAsyncLoading], NONE, "replicas and sentinels", replication::psync),
    command("pttl", 2, &[ReadOnly, Fast], ONE, "locks", expire::pttl),
    command("publish", 3, &[PubSub, Loading, Stale, Fast, MayReplicate, ToReplicas], NONE, "locks", pubsub::publish),
    container("pubsub", -2, PUBSUB),
    command("punsubscribe", -1, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], NONE, "Spring Integration", pubsub::punsubscribe),
    command("quit", -1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Unqueued, EndsTransaction, WhileSubscribed], NONE, "clients", connection::quit),
    command("readonly", 1, &[Loading, Stale, Fast], NONE, "clients", server::read_mode),
    command("readwrite", 1, &[Loading, Stale, Fast], NONE, "clients", server::read_mode),
    command("replconf", -1, &[Admin, NoScript, Loading, Stale, AllowBusy], NONE, "replicas and sentinels", replication::replconf),
    command("replicaof", 3, &[Admin, NoScript, Stale, NoAsyncLoading], NONE, "replicas and sentinels", replication::replicaof),
    command("reset", 1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Unqueued, EndsTransaction, WhileSubscribed], NONE, "clients", connection::reset),
    command("role", 1, &[NoScript, Loading, Stale, Fast], NONE, "clients", replication::role),
    command("rpop", -2, &[Write, Fast], ONE, "sidekiq-unique-jobs", lists::rpop),
    command("rpoplpush", 3, &[Write, DenyOom], TWO, "dramatiq", lists::rpoplpush),
    command("rpush", -3, &[Write, DenyOom, Fast], ONE, "locks", lists::rpush),
    command("sadd", -3, &[Write, DenyOom, Fast], ONE, "tooz", sets::sadd),
    command("scan", -2, &[ReadOnly], NONE, "by hand", scan::scan),
    command("scard", 2, &[ReadOnly, Fast], ONE, "tooz", sets::scard),
    container("script", -2, SCRIPT),
    command("select", 2, &[Loading, Stale, Fast], NONE, "clients", databases::select),
    command("set", -3, &[Write, DenyOom], ONE, "locks", set::set),
    command("setex", 4, &[Write, DenyOom], ONE, "by hand", set::setex),
    command("setnx", 3, &[Write, DenyOom, Fast], ONE, "locks", set::setnx),
    command("shutdown", -1, &[Admin, NoScript, Loading, Stale, NoMulti, AllowBusy], NONE, "tests of faults", debug::shutdown),
    command("sismember", 3, &[ReadOnly, Fast], ONE, "tooz", sets::sismember),
    command("slaveof", 3, &[Admin, NoScript, Stale, NoAsyncLoading], NONE, "replicas and sentinels", replication::replicaof),
    command("smembers", 2, &[ReadOnly], ONE, "tooz", sets::smembers),
    command("srem", -3, &[Write, Fast], ONE, "tooz", sets::srem),
    command("sscan", -3, &[ReadOnly], ONE, "sidekiq-unique-jobs", scan::sscan),
    command("strlen", 2, &[ReadOnly, Fast], ONE, "by hand", strings::strlen),
    command("subscribe", -2, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], NONE, "locks", pubsub::subscribe),
    command("time", 1, &[Loading, Stale, Fast], NONE, "Symfony Lock", server::time),
    command("ttl", 2, &[ReadOnly, Fast], ONE, "locks", expire::ttl),
    command("type", 2, &[ReadOnly, Fast], ONE, "Symfony Lock", object::type_of),
    command("unlink", -2, &[Write, Fast], ALL, "sidekiq-unique-jobs", del::del),
    command("unsubscribe", -1, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], NONE, "locks", pubsub::unsubscribe),
    command("unwatch", 1, &[NoScript, Loading, Stale, Fast, AllowBusy], NONE, "locks", multi::unwatch),
    command("wait", 3, &[NoScript], NONE, "locks", wait::wait),
    command("waitaof", 4, &[NoScript], NONE, "locks", wait::waitaof),
    command("watch", -2, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued], ALL, "locks", multi::watch),
    command("zadd", -4, &[Write, DenyOom, Fast], ONE, "locks", zsets::zadd),
    command("zcard", 2, &[ReadOnly, Fast], ONE, "sidekiq-unique-jobs", zsets::zcard),
    command("zcount", 4, &[ReadOnly, Fast], ONE, "Redisson", zset_range::zcount),
    command("zincrby", 4, &[Write, DenyOom, Fast], ONE, "locks", zsets::zincrby),
    command("zrange", -4, &[ReadOnly], ONE, "locks", zset_range::zrange),
    command("zrangebyscore", -4, &[ReadOnly], ONE, "Redisson", zset_range::zrangebyscore),
    command("zrank", 3, &[ReadOnly, Fast], ONE, "sidekiq-unique-jobs", zsets::zrank),
    command("zrem", -3, &[Write, Fast], ONE, "locks", zsets::zrem),
    command("zremrangebyrank", 4, &[Write], ONE, "semaphores in scripts", zset_range::zremrangebyrank),
    command("zremrangebyscore", 4, &[Write], ONE, "redis-semaphore for Node.js", zset_range::zremrangebyscore),
    command("zrevrange", -4, &[ReadOnly], ONE, "Symfony Lock", zset_range::zrevrange),
    command("zscan", -3, &[ReadOnly], ONE, "sidekiq-unique-jobs", scan::zscan),
    command("zscore", 3, &[ReadOnly, Fast], ONE, "locks", zsets::zscore),
];

#[rustfmt::skip]
static ACL: &[Command] = &[
    command("acl|whoami", 2, &[NoScript, Loading, Stale], NONE, "clients", auth::whoami),
];

#[rustfmt::skip]
static CLIENT: &[Command] = &[
    command("client|caching", 3, &[NoScript, Loading, Stale], NONE, "rueidislock", tracking::caching),
    command("client|getname", 2, &[NoScript, Loading, Stale], NONE, "clients", client::getname),
    command("client|id", 2, &[NoScript, Loading, Stale], NONE, "clients", client::id),
    command("client|info", 2, &[NoScript, Loading, Stale], NONE, "clients", client::info),
    command("client|kill", -3, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", client::kill),
    command("client|list", -2, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", client::list),
    command("client|pause", -3, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", client::pause),
    command("client|setname", 3, &[NoScript, Loading, Stale], NONE, "clients", client::setname),
    command("client|tracking", -3, &[NoScript, Loading, Stale], NONE, "rueidislock", tracking::tracking),
    command("client|unblock", -3, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", client::unblock),
    command("client|unpause", 2, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", client::unpause),
];

/// No node belongs to a cluster.
#[rustfmt::skip]
static CLUSTER: &[Command] = &[
    cluster("cluster|addslots", -3, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|addslotsrange", -4, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|bumpepoch", 2, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|count-failure-reports", 3, &[Admin, Stale]),
    cluster("cluster|countkeysinslot", 3, &[Stale]),
    cluster("cluster|delslots", -3, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|delslotsrange", -4, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|failover", -2, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|flushslots", 2, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|forget", 3, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|getkeysinslot", 4, &[Stale]),
    cluster("cluster|help", 2, &[Loading, Stale]),
    cluster("cluster|info", 2, &[Stale]),
    cluster("cluster|keyslot", 3, &[Stale]),
    cluster("cluster|links", 2, &[Stale]),
    cluster("cluster|meet", -4, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|myid", 2, &[Stale]),
    cluster("cluster|nodes", 2, &[Stale]),
    cluster("cluster|replicas", 3, &[Admin, Stale]),
    cluster("cluster|replicate", 3, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|reset", -2, &[Admin, NoScript, Stale]),
    cluster("cluster|saveconfig", 2, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|set-config-epoch", 3, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|setslot", -4, &[Admin, Stale, NoAsyncLoading]),
    cluster("cluster|shards", 2, &[Stale]),
    cluster("cluster|slaves", 3, &[Admin, Stale]),
    cluster("cluster|slots", 2, &[Stale]),
];

#[rustfmt::skip]
static COMMAND: &[Command] = &[
    command("command|count", 2, &[Loading, Stale], NONE, "clients", server::command_count),
    command("command|docs", -2, &[Loading, Stale], NONE, "clients", server::command_docs),
    command("command|info", -2, &[Loading, Stale], NONE, "clients", server::command_info),
];

#[rustfmt::skip]
static CONFIG: &[Command] = &[
    command("config|get", -3, &[Admin, NoScript, Loading, Stale], NONE, "clients", config::get),
    command("config|resetstat", 2, &[Admin, NoScript, Loading, Stale], NONE, "by hand", config::resetstat),
    command("config|rewrite", 2, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", config::rewrite),
    command("config|set", -4, &[Admin, NoScript, Loading, Stale], NONE, "tests of faults", config::set),
];

#[rustfmt::skip]
static PUBSUB: &[Command] = &[
    command("pubsub|channels", -2, &[PubSub, Loading, Stale], NONE, "replicas and sentinels", pubsub::channels),
    command("pubsub|numpat", 2, &[PubSub, Loading, Stale], NONE, "by hand", pubsub::numpat),
    command("pubsub|numsub", -2, &[PubSub, Loading, Stale], NONE, "locks", pubsub::numsub),
];

#[rustfmt::skip]
static MEMORY: &[Command] = &[
    command("memory|usage", -3, &[ReadOnly], SECOND, "by hand", memory::usage),
];

#[rustfmt::skip]
static OBJECT: &[Command] = &[
    command("object|encoding", 3, &[ReadOnly], SECOND, "by hand", object::encoding),
    command("object|freq", 3, &[ReadOnly], SECOND, "by hand", object::freq),
    command("object|idletime", 3, &[ReadOnly], SECOND, "by hand", object::idletime),
];

#[rustfmt::skip]
static SCRIPT: &[Command] = &[
    command("script|exists", -3, &[NoScript], NONE, "clients", script::exists),
    command("script|flush", -2, &[NoScript], NONE, "tests of faults", script::flush),
    command("script|kill", 2, &[NoScript, AllowBusy], NONE, "tests of faults", script::kill),
    command("script|load", 3, &[NoScript, Stale], NONE, "locks", script::load),
];

const fn command(
    name: &'static str,
    arity: i32,
    flags: &'static [Flag],
    keys: (i32, i32, i32),
    needed_by: &'static str,
    run: fn(&mut Call<'_>) -> Answer,
) -> Command {
    assert!(!needed_by.is_empty(), "a command that nobody needs");
    Command {
        name,
        arity,
        flags,
        keys,
        #[cfg(test)]
        needed_by,
        run,
        subcommands: &[],
    }
}

const fn cluster(name: &'static str, arity: i32, flags: &'static [Flag]) -> Command {
    command(name, arity, flags, NONE, "clients", server::cluster)
}

/// A command that requires a subcommand. Its arity and [`Table::find`] ensure that its function is never
/// called.
const fn container(name: &'static str, arity: i32, subcommands: &'static [Command]) -> Command {
    Command {
        subcommands,
        ..command(name, arity, &[], NONE, "its subcommands", |_| {
            Err(Error::of("ERR unknown subcommand"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tables_are_sorted_for_binary_search() {
        for table in [
            COMMANDS, ACL, CLIENT, CLUSTER, COMMAND, CONFIG, MEMORY, OBJECT, PUBSUB, SCRIPT,
            REDIS_8_4, VALKEY_9_0,
        ] {
            assert!(table.is_sorted_by(|a, b| a.name < b.name));
            for command in table {
                let words: Vec<&[u8]> = command.name.split('|').map(str::as_bytes).collect();
                let mut tables = Imitated::ALL.into_iter().map(of);
                let found = tables.find_map(|table| table.find(&words));
                assert_eq!(found.map(|found| found.name), Some(command.name));
            }
        }
    }
}
