//! The command table (`src/commands.c`). A row has everything that is known of a command: name, arity,
//! flags, categories, keys, function.

use super::categories::Category;
use super::cmd::{
    auth, blocking, client, comparison, config, connection, databases, debug, del, expire,
    failover, get, incr, info, keys, monitor, multi, pubsub, replication, script, server, set,
    tracking, wait,
};
use super::cmd::{diagnostics, zset_range, zsets};
use super::cmd::{getex, hashes, list_search, lists, object, rename, scan, sets, strings};
use super::command::{Call, Command, Flag, Table};
use crate::Imitated;
use crate::wire::reply::{Answer, Error};

use Category::{
    Administration, Connection, Dangerous, Hash, Keyspace, List, Scripting, Set, SortedSet, Text,
    Transaction,
};
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
    command("delex", -2, &[Write, Fast], &[Text], ONE, del::delex),
    command("digest", 2, &[ReadOnly, Fast], &[Text], ONE, comparison::digest),
];

#[rustfmt::skip]
static VALKEY_9_0: &[Command] = &[
    command("delifeq", 3, &[Write, Fast], &[Text], ONE, del::delifeq),
];

/// Every command of Redis 7.0, by name.
#[rustfmt::skip]
pub(super) static COMMANDS: &[Command] = &[
    container("acl", -2, ACL),
    command("append", 3, &[Write, DenyOom, Fast], &[Text], ONE, strings::append),
    command("auth", -2, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Password], &[Connection], NONE, auth::auth),
    command("blmove", 6, &[Write, DenyOom, NoScript, Blocking], &[List], (1, 2, 1), blocking::blmove),
    command("blmpop", -5, &[Write, Blocking, MovableKeys], &[List], NONE, blocking::blmpop),
    command("blpop", -3, &[Write, NoScript, Blocking], &[List], (1, -2, 1), blocking::blpop),
    command("brpop", -3, &[Write, NoScript, Blocking], &[List], (1, -2, 1), blocking::brpop),
    command("brpoplpush", 4, &[Write, DenyOom, NoScript, Blocking], &[List], (1, 2, 1), blocking::brpoplpush),
    command("bzmpop", -5, &[Write, Blocking, MovableKeys], &[SortedSet], NONE, blocking::bzmpop),
    command("bzpopmax", -3, &[Write, NoScript, Fast, Blocking], &[SortedSet], (1, -2, 1), blocking::bzpopmax),
    command("bzpopmin", -3, &[Write, NoScript, Fast, Blocking], &[SortedSet], (1, -2, 1), blocking::bzpopmin),
    container("client", -2, CLIENT),
    Command { subcommands: COMMAND, ..command("command", -1, &[Loading, Stale], &[Connection], NONE, server::command) },
    container("config", -2, CONFIG),
    command("copy", -3, &[Write, DenyOom], &[Keyspace], TWO, rename::copy),
    command("dbsize", 1, &[ReadOnly, Fast], &[Keyspace], NONE, keys::dbsize),
    command("debug", -2, &[Admin, NoScript, Loading, Stale], &[], NONE, debug::debug),
    command("decr", 2, &[Write, DenyOom, Fast], &[Text], ONE, incr::decr),
    command("decrby", 3, &[Write, DenyOom, Fast], &[Text], ONE, incr::decrby),
    command("del", -2, &[Write], &[Keyspace], ALL, del::del),
    command("discard", 1, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued, EndsTransaction], &[Transaction], NONE, multi::discard),
    command("echo", 2, &[Loading, Stale, Fast], &[Connection], NONE, connection::echo),
    command("eval", -3, &[NoScript, Stale, MovableKeys, MayReplicate, TakesScript], &[Scripting], NONE, script::eval),
    command("eval_ro", -3, &[ReadOnly, NoScript, Stale, MovableKeys, TakesScript], &[Scripting], NONE, script::eval_ro),
    command("evalsha", -3, &[NoScript, Stale, MovableKeys, MayReplicate, TakesSha], &[Scripting], NONE, script::evalsha),
    command("evalsha_ro", -3, &[ReadOnly, NoScript, Stale, MovableKeys, TakesSha], &[Scripting], NONE, script::evalsha_ro),
    command("exec", 1, &[NoScript, Loading, Stale, Unqueued, EndsTransaction, RunsQueue], &[Transaction], NONE, multi::exec),
    command("exists", -2, &[ReadOnly, Fast], &[Keyspace], ALL, keys::exists),
    command("expire", -3, &[Write, Fast], &[Keyspace], ONE, expire::expire),
    command("expireat", -3, &[Write, Fast], &[Keyspace], ONE, expire::expireat),
    command("expiretime", 2, &[ReadOnly, Fast], &[Keyspace], ONE, expire::expiretime),
    command("failover", -1, &[Admin, NoScript, Stale], &[], NONE, failover::failover),
    command("flushall", -1, &[Write], &[Dangerous, Keyspace], NONE, keys::flushall),
    command("flushdb", -1, &[Write], &[Dangerous, Keyspace], NONE, keys::flushdb),
    command("get", 2, &[ReadOnly, Fast], &[Text], ONE, get::get),
    command("getdel", 2, &[Write, Fast], &[Text], ONE, get::getdel),
    command("getex", -2, &[Write, Fast], &[Text], ONE, getex::getex),
    command("getrange", 4, &[ReadOnly], &[Text], ONE, strings::getrange),
    command("getset", 3, &[Write, DenyOom, Fast], &[Text], ONE, get::getset),
    command("hdel", -3, &[Write, Fast], &[Hash], ONE, hashes::hdel),
    command("hello", -1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, PasswordOption], &[Connection], NONE, connection::hello),
    command("hexists", 3, &[ReadOnly, Fast], &[Hash], ONE, hashes::hexists),
    command("hget", 3, &[ReadOnly, Fast], &[Hash], ONE, hashes::hget),
    command("hgetall", 2, &[ReadOnly], &[Hash], ONE, hashes::hgetall),
    command("hincrby", 4, &[Write, DenyOom, Fast], &[Hash], ONE, hashes::hincrby),
    command("hincrbyfloat", 4, &[Write, DenyOom, Fast], &[Hash], ONE, hashes::hincrbyfloat),
    command("hkeys", 2, &[ReadOnly], &[Hash], ONE, hashes::hkeys),
    command("hlen", 2, &[ReadOnly, Fast], &[Hash], ONE, hashes::hlen),
    command("hmget", -3, &[ReadOnly, Fast], &[Hash], ONE, hashes::hmget),
    command("hmset", -4, &[Write, DenyOom, Fast], &[Hash], ONE, hashes::hmset),
    command("hscan", -3, &[ReadOnly], &[Hash], ONE, scan::hscan),
    command("hset", -4, &[Write, DenyOom, Fast], &[Hash], ONE, hashes::hset),
    command("hsetnx", 4, &[Write, DenyOom, Fast], &[Hash], ONE, hashes::hsetnx),
    command("hstrlen", 3, &[ReadOnly, Fast], &[Hash], ONE, hashes::hstrlen),
    command("hvals", 2, &[ReadOnly], &[Hash], ONE, hashes::hvals),
    command("incr", 2, &[Write, DenyOom, Fast], &[Text], ONE, incr::incr),
    command("incrby", 3, &[Write, DenyOom, Fast], &[Text], ONE, incr::incrby),
    command("incrbyfloat", 3, &[Write, DenyOom, Fast], &[Text], ONE, strings::incrbyfloat),
    command("info", -1, &[Loading, Stale], &[Dangerous], NONE, info::info),
    command("keys", 2, &[ReadOnly], &[Dangerous, Keyspace], NONE, scan::keys),
    container("latency", -2, LATENCY),
    command("lindex", 3, &[ReadOnly], &[List], ONE, lists::lindex),
    command("linsert", 5, &[Write, DenyOom], &[List], ONE, list_search::linsert),
    command("llen", 2, &[ReadOnly, Fast], &[List], ONE, lists::llen),
    command("lmove", 5, &[Write, DenyOom], &[List], TWO, lists::lmove),
    command("lmpop", -4, &[Write, MovableKeys], &[List], NONE, blocking::lmpop),
    command("lpop", -2, &[Write, Fast], &[List], ONE, lists::lpop),
    command("lpos", -3, &[ReadOnly], &[List], ONE, list_search::lpos),
    command("lpush", -3, &[Write, DenyOom, Fast], &[List], ONE, lists::lpush),
    command("lpushx", -3, &[Write, DenyOom, Fast], &[List], ONE, lists::lpushx),
    command("lrange", 4, &[ReadOnly], &[List], ONE, lists::lrange),
    command("lrem", 4, &[Write], &[List], ONE, list_search::lrem),
    command("lset", 4, &[Write, DenyOom], &[List], ONE, lists::lset),
    command("ltrim", 4, &[Write], &[List], ONE, lists::ltrim),
    container("memory", -2, MEMORY),
    command("mget", -2, &[ReadOnly, Fast], &[Text], ALL, strings::mget),
    command("monitor", 1, &[Admin, NoScript, Loading, Stale], &[], NONE, monitor::monitor),
    command("move", 3, &[Write, Fast], &[Keyspace], ONE, databases::move_key),
    command("mset", -3, &[Write, DenyOom], &[Text], PAIRS, strings::mset),
    command("msetnx", -3, &[Write, DenyOom], &[Text], PAIRS, strings::msetnx),
    command("multi", 1, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued], &[Transaction], NONE, multi::multi),
    container("object", -2, OBJECT),
    command("persist", 2, &[Write, Fast], &[Keyspace], ONE, expire::persist),
    command("pexpire", -3, &[Write, Fast], &[Keyspace], ONE, expire::pexpire),
    command("pexpireat", -3, &[Write, Fast], &[Keyspace], ONE, expire::pexpireat),
    command("pexpiretime", 2, &[ReadOnly, Fast], &[Keyspace], ONE, expire::pexpiretime),
    command("ping", -1, &[Fast, WhileSubscribed], &[Connection], NONE, connection::ping),
    command("psetex", 4, &[Write, DenyOom], &[Text], ONE, set::psetex),
    command("psubscribe", -2, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], NONE, pubsub::psubscribe),
    command("psync", -3, &[Admin, NoScript, NoMulti, NoAsyncLoading], &[], NONE, replication::psync),
    command("pttl", 2, &[ReadOnly, Fast], &[Keyspace], ONE, expire::pttl),
    command("publish", 3, &[PubSub, Loading, Stale, Fast, MayReplicate, ToReplicas], &[], NONE, pubsub::publish),
    container("pubsub", -2, PUBSUB),
    command("punsubscribe", -1, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], NONE, pubsub::punsubscribe),
    command("quit", -1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Unqueued, EndsTransaction, WhileSubscribed], &[Connection], NONE, connection::quit),
    command("randomkey", 1, &[ReadOnly], &[Keyspace], NONE, scan::randomkey),
    command("rename", 3, &[Write], &[Keyspace], TWO, rename::rename),
    command("renamenx", 3, &[Write, Fast], &[Keyspace], TWO, rename::renamenx),
    command("replconf", -1, &[Admin, NoScript, Loading, Stale, AllowBusy], &[], NONE, replication::replconf),
    command("replicaof", 3, &[Admin, NoScript, Stale, NoAsyncLoading], &[], NONE, replication::replicaof),
    command("reset", 1, &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy, Unqueued, EndsTransaction, WhileSubscribed], &[Connection], NONE, connection::reset),
    command("role", 1, &[NoScript, Loading, Stale, Fast], &[Administration, Dangerous], NONE, replication::role),
    command("rpop", -2, &[Write, Fast], &[List], ONE, lists::rpop),
    command("rpoplpush", 3, &[Write, DenyOom], &[List], TWO, lists::rpoplpush),
    command("rpush", -3, &[Write, DenyOom, Fast], &[List], ONE, lists::rpush),
    command("rpushx", -3, &[Write, DenyOom, Fast], &[List], ONE, lists::rpushx),
    command("sadd", -3, &[Write, DenyOom, Fast], &[Set], ONE, sets::sadd),
    command("scan", -2, &[ReadOnly], &[Keyspace], NONE, scan::scan),
    command("scard", 2, &[ReadOnly, Fast], &[Set], ONE, sets::scard),
    container("script", -2, SCRIPT),
    command("select", 2, &[Loading, Stale, Fast], &[Connection], NONE, databases::select),
    command("set", -3, &[Write, DenyOom], &[Text], ONE, set::set),
    command("setex", 4, &[Write, DenyOom], &[Text], ONE, set::setex),
    command("setnx", 3, &[Write, DenyOom, Fast], &[Text], ONE, set::setnx),
    command("setrange", 4, &[Write, DenyOom], &[Text], ONE, strings::setrange),
    command("shutdown", -1, &[Admin, NoScript, Loading, Stale, NoMulti, AllowBusy], &[], NONE, debug::shutdown),
    command("sismember", 3, &[ReadOnly, Fast], &[Set], ONE, sets::sismember),
    command("slaveof", 3, &[Admin, NoScript, Stale, NoAsyncLoading], &[], NONE, replication::replicaof),
    container("slowlog", -2, SLOWLOG),
    command("smembers", 2, &[ReadOnly], &[Set], ONE, sets::smembers),
    command("smismember", -3, &[ReadOnly, Fast], &[Set], ONE, sets::smismember),
    command("smove", 4, &[Write, Fast], &[Set], TWO, sets::smove),
    command("spop", -2, &[Write, Fast], &[Set], ONE, sets::spop),
    command("spublish", 3, &[PubSub, Loading, Stale, Fast, MayReplicate, ToReplicas], &[], ONE, pubsub::spublish),
    command("srandmember", -2, &[ReadOnly], &[Set], ONE, sets::srandmember),
    command("srem", -3, &[Write, Fast], &[Set], ONE, sets::srem),
    command("sscan", -3, &[ReadOnly], &[Set], ONE, scan::sscan),
    command("ssubscribe", -2, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], ALL, pubsub::ssubscribe),
    command("strlen", 2, &[ReadOnly, Fast], &[Text], ONE, strings::strlen),
    command("subscribe", -2, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], NONE, pubsub::subscribe),
    command("substr", 4, &[ReadOnly], &[Text], ONE, strings::getrange),
    command("sunsubscribe", -1, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], ALL, pubsub::sunsubscribe),
    command("swapdb", 3, &[Write, Fast], &[Dangerous, Keyspace], NONE, databases::swapdb),
    command("time", 1, &[Loading, Stale, Fast], &[], NONE, server::time),
    command("touch", -2, &[ReadOnly, Fast], &[Keyspace], ALL, keys::touch),
    command("ttl", 2, &[ReadOnly, Fast], &[Keyspace], ONE, expire::ttl),
    command("type", 2, &[ReadOnly, Fast], &[Keyspace], ONE, object::type_of),
    command("unlink", -2, &[Write, Fast], &[Keyspace], ALL, del::del),
    command("unsubscribe", -1, &[PubSub, NoScript, Loading, Stale, WhileSubscribed], &[], NONE, pubsub::unsubscribe),
    command("unwatch", 1, &[NoScript, Loading, Stale, Fast, AllowBusy], &[Transaction], NONE, multi::unwatch),
    command("wait", 3, &[NoScript], &[Connection], NONE, wait::wait),
    command("waitaof", 4, &[NoScript], &[], NONE, wait::waitaof),
    command("watch", -2, &[NoScript, Loading, Stale, Fast, AllowBusy, Unqueued], &[Transaction], ALL, multi::watch),
    command("zadd", -4, &[Write, DenyOom, Fast], &[SortedSet], ONE, zsets::zadd),
    command("zcard", 2, &[ReadOnly, Fast], &[SortedSet], ONE, zsets::zcard),
    command("zcount", 4, &[ReadOnly, Fast], &[SortedSet], ONE, zset_range::zcount),
    command("zincrby", 4, &[Write, DenyOom, Fast], &[SortedSet], ONE, zsets::zincrby),
    command("zlexcount", 4, &[ReadOnly, Fast], &[SortedSet], ONE, zset_range::zlexcount),
    command("zmpop", -4, &[Write, MovableKeys], &[SortedSet], NONE, blocking::zmpop),
    command("zmscore", -3, &[ReadOnly, Fast], &[SortedSet], ONE, zsets::zmscore),
    command("zpopmax", -2, &[Write, Fast], &[SortedSet], ONE, zsets::zpopmax),
    command("zpopmin", -2, &[Write, Fast], &[SortedSet], ONE, zsets::zpopmin),
    command("zrange", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrange),
    command("zrangebylex", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrangebylex),
    command("zrangebyscore", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrangebyscore),
    command("zrank", 3, &[ReadOnly, Fast], &[SortedSet], ONE, zsets::zrank),
    command("zrem", -3, &[Write, Fast], &[SortedSet], ONE, zsets::zrem),
    command("zremrangebylex", 4, &[Write], &[SortedSet], ONE, zset_range::zremrangebylex),
    command("zremrangebyrank", 4, &[Write], &[SortedSet], ONE, zset_range::zremrangebyrank),
    command("zremrangebyscore", 4, &[Write], &[SortedSet], ONE, zset_range::zremrangebyscore),
    command("zrevrange", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrevrange),
    command("zrevrangebylex", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrevrangebylex),
    command("zrevrangebyscore", -4, &[ReadOnly], &[SortedSet], ONE, zset_range::zrevrangebyscore),
    command("zrevrank", 3, &[ReadOnly, Fast], &[SortedSet], ONE, zsets::zrevrank),
    command("zscan", -3, &[ReadOnly], &[SortedSet], ONE, scan::zscan),
    command("zscore", 3, &[ReadOnly, Fast], &[SortedSet], ONE, zsets::zscore),
];

#[rustfmt::skip]
static ACL: &[Command] = &[
    command("acl|getuser", 3, &[Admin, NoScript, Loading, Stale], &[], NONE, auth::getuser),
    command("acl|list", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, auth::list),
    command("acl|users", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, auth::users),
    command("acl|whoami", 2, &[NoScript, Loading, Stale], &[], NONE, auth::whoami),
];

#[rustfmt::skip]
static CLIENT: &[Command] = &[
    command("client|caching", 3, &[NoScript, Loading, Stale], &[Connection], NONE, tracking::caching),
    command("client|getname", 2, &[NoScript, Loading, Stale], &[Connection], NONE, client::getname),
    command("client|getredir", 2, &[NoScript, Loading, Stale], &[Connection], NONE, tracking::getredir),
    command("client|id", 2, &[NoScript, Loading, Stale], &[Connection], NONE, client::id),
    command("client|info", 2, &[NoScript, Loading, Stale], &[Connection], NONE, client::info),
    command("client|kill", -3, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::kill),
    command("client|list", -2, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::list),
    command("client|no-evict", 3, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::no_evict),
    command("client|pause", -3, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::pause),
    command("client|reply", 3, &[NoScript, Loading, Stale], &[Connection], NONE, client::reply),
    command("client|setname", 3, &[NoScript, Loading, Stale], &[Connection], NONE, client::setname),
    command("client|tracking", -3, &[NoScript, Loading, Stale], &[Connection], NONE, tracking::tracking),
    command("client|trackinginfo", 2, &[NoScript, Loading, Stale], &[Connection], NONE, tracking::trackinginfo),
    command("client|unblock", -3, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::unblock),
    command("client|unpause", 2, &[Admin, NoScript, Loading, Stale], &[Connection], NONE, client::unpause),
];

#[rustfmt::skip]
static COMMAND: &[Command] = &[
    command("command|count", 2, &[Loading, Stale], &[Connection], NONE, server::command_count),
    command("command|docs", -2, &[Loading, Stale], &[Connection], NONE, server::command_docs),
    command("command|getkeys", -4, &[Loading, Stale], &[Connection], NONE, server::command_getkeys),
    command("command|info", -2, &[Loading, Stale], &[Connection], NONE, server::command_info),
    command("command|list", -2, &[Loading, Stale], &[Connection], NONE, server::command_list),
];

#[rustfmt::skip]
static CONFIG: &[Command] = &[
    command("config|get", -3, &[Admin, NoScript, Loading, Stale], &[], NONE, config::get),
    command("config|resetstat", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, config::resetstat),
    command("config|rewrite", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, config::rewrite),
    command("config|set", -4, &[Admin, NoScript, Loading, Stale], &[], NONE, config::set),
];

#[rustfmt::skip]
static PUBSUB: &[Command] = &[
    command("pubsub|channels", -2, &[PubSub, Loading, Stale], &[], NONE, pubsub::channels),
    command("pubsub|numpat", 2, &[PubSub, Loading, Stale], &[], NONE, pubsub::numpat),
    command("pubsub|numsub", -2, &[PubSub, Loading, Stale], &[], NONE, pubsub::numsub),
    command("pubsub|shardchannels", -2, &[PubSub, Loading, Stale], &[], NONE, pubsub::shard_channels),
    command("pubsub|shardnumsub", -2, &[PubSub, Loading, Stale], &[], NONE, pubsub::shard_numsub),
];

#[rustfmt::skip]
static LATENCY: &[Command] = &[
    command("latency|doctor", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, diagnostics::latency_doctor),
    command("latency|graph", 3, &[Admin, NoScript, Loading, Stale], &[], NONE, diagnostics::latency_graph),
    command("latency|history", 3, &[Admin, NoScript, Loading, Stale], &[], NONE, diagnostics::nothing),
    command("latency|latest", 2, &[Admin, NoScript, Loading, Stale], &[], NONE, diagnostics::nothing),
    command("latency|reset", -2, &[Admin, NoScript, Loading, Stale], &[], NONE, diagnostics::none),
];

#[rustfmt::skip]
static MEMORY: &[Command] = &[
    command("memory|doctor", 2, &[], &[], NONE, diagnostics::memory_doctor),
    command("memory|purge", 2, &[], &[], NONE, diagnostics::done),
    command("memory|usage", -3, &[ReadOnly], &[], SECOND, diagnostics::memory_usage),
];

#[rustfmt::skip]
static SLOWLOG: &[Command] = &[
    command("slowlog|get", -2, &[Admin, Loading, Stale], &[], NONE, diagnostics::slowlog_get),
    command("slowlog|len", 2, &[Admin, Loading, Stale], &[], NONE, diagnostics::none),
    command("slowlog|reset", 2, &[Admin, Loading, Stale], &[], NONE, diagnostics::done),
];

#[rustfmt::skip]
static OBJECT: &[Command] = &[
    command("object|encoding", 3, &[ReadOnly], &[Keyspace], SECOND, object::encoding),
    command("object|freq", 3, &[ReadOnly], &[Keyspace], SECOND, object::freq),
    command("object|idletime", 3, &[ReadOnly], &[Keyspace], SECOND, object::idletime),
    command("object|refcount", 3, &[ReadOnly], &[Keyspace], SECOND, object::refcount),
];

#[rustfmt::skip]
static SCRIPT: &[Command] = &[
    command("script|exists", -3, &[NoScript], &[Scripting], NONE, script::exists),
    command("script|flush", -2, &[NoScript], &[Scripting], NONE, script::flush),
    command("script|kill", 2, &[NoScript, AllowBusy], &[Scripting], NONE, script::kill),
    command("script|load", 3, &[NoScript, Stale], &[Scripting], NONE, script::load),
];

const fn command(
    name: &'static str,
    arity: i32,
    flags: &'static [Flag],
    categories: &'static [Category],
    keys: (i32, i32, i32),
    run: fn(&mut Call<'_>) -> Answer,
) -> Command {
    Command {
        name,
        arity,
        flags,
        categories,
        keys,
        run,
        subcommands: &[],
    }
}

/// A command that requires a subcommand. Its arity and [`Table::find`] ensure that its function is never
/// called.
const fn container(name: &'static str, arity: i32, subcommands: &'static [Command]) -> Command {
    Command {
        subcommands,
        ..command(name, arity, &[], &[], NONE, |_| {
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
            COMMANDS, ACL, CLIENT, COMMAND, CONFIG, LATENCY, MEMORY, SLOWLOG, OBJECT, PUBSUB,
            SCRIPT, REDIS_8_4, VALKEY_9_0,
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
