//! A real `redis-server` as the replica of a served node, and as its master.

use locklab_testing::RedisServer;

use crate::{Served, redis_cli, until};

/// A real server, and its port as an argument for programs.
struct Real {
    _server: RedisServer,
    port: String,
}

impl Real {
    fn new(options: &[&str]) -> Self {
        let server = RedisServer::start(options);
        let port = server.port().to_string();
        Real {
            _server: server,
            port,
        }
    }
}

/// Fills a server with every type, small and large: every value that has its own form in a
/// snapshot of 7.0.
const FILL: &str = r"
    local function set(key, ...) redis.call('set', key, ...) end
    set('text', 'value') set('empty', '') set('ttl', 'soon', 'px', 3600000)
    set('repetitive', string.rep('abcd', 5000)) set('noise', redis.sha1hex('x') .. '\0\255')
    for i, n in ipairs({'0', '-1', '127', '-129', '32768', '-2147483648', '2147483648',
                        '9223372036854775807'}) do
        set('int' .. i, n)
        redis.call('rpush', 'ints', n)
        redis.call('sadd', 'intset' .. i, n, '1')
        redis.call('hset', 'hash', 'f' .. i, n)
        redis.call('zadd', 'zset', n, 'm' .. i)
    end
    redis.call('rpush', 'list', 'a', '', string.rep('x', 100), string.rep('y', 5000))
    redis.call('rpush', 'plain', string.rep('z', 20000), 'after')
    redis.call('hset', 'hash', 'long', string.rep('v', 60), '7', 'number')
    redis.call('zadd', 'zset', '1.5', 'half', '-inf', 'least', 'inf', 'most', '1e30', 'exp')
    redis.call('sadd', 'set', 'a', 'b', '3')
    redis.call('pexpire', 'set', 7200000)
    for i = 1, 700 do
        redis.call('rpush', 'longlist', 'element ' .. i)
        redis.call('sadd', 'manyints', i * 7)
        redis.call('sadd', 'manymembers', 'm' .. i)
        redis.call('hset', 'bighash', 'f' .. i, i)
        redis.call('zadd', 'bigzset', i / 8, 'm' .. i)
    end
    return redis.call('dbsize')";

/// All values that the script has created, as text.
const SHOW: &str = r"
    local all = {}
    local keys = redis.call('keys', '*') table.sort(keys)
    for _, key in ipairs(keys) do
        local kind = redis.call('type', key).ok
        local value
        if kind == 'string' then value = {redis.call('get', key)}
        elseif kind == 'list' then value = redis.call('lrange', key, 0, -1)
        elseif kind == 'zset' then value = redis.call('zrange', key, 0, -1, 'withscores')
        elseif kind == 'set' then value = redis.call('smembers', key) table.sort(value)
        else
            value = redis.call('hkeys', key) table.sort(value)
            for i, field in ipairs(value) do
                value[i] = field .. '=' .. redis.call('hget', key, field)
            end
        end
        table.insert(all, key .. ' ' .. kind .. ' ' .. redis.call('pexpiretime', key) .. ' '
                          .. #value .. ' ' .. redis.sha1hex(table.concat(value, ',')))
    end
    return all";

/// Waits until a replica is up, and compares the data of both.
fn compare(master: &str, replica: &str) {
    until(replica, &["INFO", "replication"], |said| {
        said.contains("master_link_status:up")
    });
    let expected = redis_cli(master, &["EVAL", SHOW, "0"]);
    assert!(expected.lines().count() > 30, "{expected}");
    // A real master starts the stream up to a second after its snapshot.
    until(replica, &["EVAL_RO", SHOW, "0"], |said| said == expected);
}

/// Changes that arrive by the stream, after the snapshot.
fn change(master: &str) {
    for words in [
        &["SET", "text", "other", "PX", "3600000"][..],
        &["DEL", "list"],
        &["SREM", "set", "b"],
        &["EVAL", "return redis.call('incr', KEYS[1])", "1", "int2"],
        &["LMOVE", "ints", "other", "LEFT", "RIGHT"],
    ] {
        let said = redis_cli(master, words);
        assert!(!said.starts_with("ERR"), "{words:?}: {said}");
    }
}

#[test]
fn a_real_server_follows_a_node() {
    let served = Served::new(1, &[]);
    let master = served.port(0);
    redis_cli(&master, &["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
    assert_eq!(redis_cli(&master, &["EVAL", FILL, "0"]), "32\n");
    let real = Real::new(&["--replicaof", "127.0.0.1", &master]);
    compare(&master, &real.port);
    change(&master);
    compare(&master, &real.port);
    assert_eq!(
        redis_cli(&real.port, &["DBSIZE"]),
        redis_cli(&master, &["DBSIZE"])
    );
}

/// Of a master by its name: needs a machine that knows `localhost`, without a name server.
#[test]
fn a_node_follows_a_real_server() {
    let served = Served::new(1, &[]);
    let replica = served.port(0);
    let real = Real::new(&["--repl-diskless-sync-delay", "0"]);
    assert_eq!(redis_cli(&real.port, &["EVAL", FILL, "0"]), "32\n");
    assert_eq!(
        redis_cli(&replica, &["REPLICAOF", "localhost", &real.port]),
        "OK\n"
    );
    compare(&real.port, &replica);
    change(&real.port);
    compare(&real.port, &replica);
    assert_eq!(
        redis_cli(&replica, &["SET", "k", "v"]),
        "READONLY You can't write against a read only replica.\n\n"
    );
    assert_eq!(redis_cli(&replica, &["REPLICAOF", "NO", "ONE"]), "OK\n");
    assert_eq!(redis_cli(&replica, &["SET", "k", "v"]), "OK\n");
}

/// Makes a master hand its role to its replica, and waits until both report it.
fn hand_over(master: &str, replica: &str) {
    let order = ["FAILOVER", "TO", "127.0.0.1", replica];
    assert_eq!(redis_cli(master, &order), "OK\n");
    until(replica, &["INFO", "replication"], |said| {
        said.contains("role:master")
    });
    until(master, &["INFO", "replication"], |said| {
        said.contains("role:slave") && said.contains("master_failover_state:no-failover")
    });
}

#[test]
fn a_node_hands_its_role_to_a_real_server_and_gets_it_back() {
    let served = Served::new(1, &[]);
    let node = served.port(0);
    redis_cli(&node, &["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
    let real = Real::new(&["--replicaof", "127.0.0.1", &node]);
    assert_eq!(redis_cli(&node, &["EVAL", FILL, "0"]), "32\n");
    compare(&node, &real.port);
    hand_over(&node, &real.port);
    compare(&real.port, &node);
    change(&real.port);
    hand_over(&real.port, &node);
    compare(&node, &real.port);
    change(&node);
    compare(&node, &real.port);
    // Only the first synchronisation used a snapshot.
    let stats = redis_cli(&real.port, &["INFO", "stats"]);
    assert!(stats.contains("sync_full:0"), "{stats}");
    assert!(stats.contains("sync_partial_ok:1"), "{stats}");
}

/// More than a client may send or leave unread.
#[test]
fn a_large_data_set_reaches_a_replica() {
    let served = Served::with_roles(&["--replicas", "1"], &["master", "replica of 0"]);
    let fill = "local v = string.rep(ARGV[1], 1000000) \
                for i = 1, 10 do redis.call('set', ARGV[1] .. i, v) end return 'OK'";
    for letter in "abcdefghij".chars() {
        let said = served.redis_cli(0, &["EVAL", fill, "0", &letter.to_string()]);
        assert_eq!(said, "OK\n");
    }
    assert_eq!(served.redis_cli(1, &["REPLICAOF", "NO", "ONE"]), "OK\n");
    assert_eq!(served.redis_cli(1, &["FLUSHALL"]), "OK\n");
    let port = served.port(0);
    assert_eq!(
        served.redis_cli(1, &["REPLICAOF", "127.0.0.1", &port]),
        "OK\n"
    );
    until(&served.port(1), &["DBSIZE"], |said| said == "100\n");
}
