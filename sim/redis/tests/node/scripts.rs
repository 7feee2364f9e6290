//! Scripts of several nodes on one thread: the shared interpreter does not leak state from
//! one node to another.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

struct Client {
    node: Node,
    conn: ConnId,
}

impl Client {
    fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        Client { node, conn }
    }

    /// Sends an inline command; returns the raw reply.
    fn send(&mut self, command: &str) -> String {
        let mut effects = Vec::new();
        let line = format!("{command}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), 1_000_000, &mut effects);
        match &effects[..] {
            [Effect::Send { bytes, .. }] => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{command}: {other:?}"),
        }
    }

    fn eval(&mut self, script: &str) -> String {
        self.send(&format!("EVAL \"{script}\" 0"))
    }
}

#[test]
fn a_node_knows_only_the_scripts_that_it_was_given() {
    let (mut one, mut other) = (Client::new(), Client::new());
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    assert_eq!(
        one.send("SCRIPT LOAD 'return 1'"),
        format!("$40\r\n{sha}\r\n")
    );
    assert_eq!(one.send(&format!("EVALSHA {sha} 0")), ":1\r\n");
    let unknown = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    assert_eq!(other.send(&format!("EVALSHA {sha} 0")), unknown);
    assert_eq!(other.eval("return 1"), ":1\r\n");
    assert_eq!(one.send("SCRIPT FLUSH"), "+OK\r\n");
    assert_eq!(one.send(&format!("EVALSHA {sha} 0")), unknown);
    assert_eq!(other.send(&format!("EVALSHA {sha} 0")), ":1\r\n");
}

#[test]
fn every_node_draws_its_own_random_numbers() {
    let draw = "return tostring(math.random())";
    let (mut one, mut other) = (Client::new(), Client::new());
    let first = one.eval(draw);
    assert_ne!(one.eval(draw), first);
    one.eval("math.randomseed(7)");
    assert_eq!(other.eval(draw), first);
}

#[test]
fn a_script_leaves_nothing_in_the_interpreter() {
    let attempts = [
        "leak = 1",
        "_G.leak = 1",
        "rawset(_G, 'leak', 1)",
        "string.leak = 1",
        "rawset(string, 'leak', 1)",
        "getmetatable('').__index.leak = 1",
        "getmetatable('').leak = 1",
        "setmetatable(string, {__index = {leak = 1}})",
        "getmetatable(_G).__index = {leak = 1}",
        "redis.call = nil",
        "table.sort = nil",
        "coroutine.wrap(function() leak = 1 end)()",
        "loadstring('leak = 1')()",
        "KEYS.leak = 1",
        "local _, t = pairs(string) t.leak = 1",
        "local _, t = pairs(_G) t.leak = 1",
        "table.insert(string, 'leak')",
        "table.insert(_G, 'leak')",
        "table.insert(string, 'leak') error('over')",
        "rawget(table, 'insert')(string, 'leak')",
        "for name, f in pairs(table) do if name == 'insert' then f(string, 'leak') end end",
        "coroutine.wrap(function() table.insert(string, 'leak') end)()",
        "for name, library in pairs(_G) do if type(library) == 'table' then library.leak = 1 end end",
    ];
    let look = "return {tostring(rawget(_G, 'leak')), tostring(string.leak), tostring(('').leak), \
        tostring(KEYS.leak), tostring(redis.leak), type(redis.call), type(table.sort), \
        tostring(string[1]), tostring(rawget(_G, 1))}";
    let clean = Client::new().eval(look);
    for attempt in attempts {
        Client::new().eval(attempt);
        assert_eq!(Client::new().eval(look), clean, "after {attempt}");
    }
}

#[test]
fn a_script_sees_no_addresses_and_no_memory() {
    let mut client = Client::new();
    let fresh = "return {tostring({}), tostring(print == nil or 1), tostring(function() end), \
        tostring(redis), tostring(coroutine.create(function() end)), collectgarbage('count'), gcinfo()}";
    let fresh = fresh.replace("tostring(print == nil or 1), ", "");
    let first = client.eval(&fresh);
    assert!(first.contains("table: 0x000000000000"), "{first}");
    client.eval("local t = {} for i = 1, 10000 do t[i] = {i} end");
    assert_eq!(client.eval(&fresh), first);
}

#[test]
fn endlessly_nested_script_gets_an_error() {
    let mut client = Client::new();
    let nested = client.eval("local t = {} t[1] = t return t");
    assert!(
        nested.ends_with("-ERR reached lua stack limit\r\n"),
        "{nested}"
    );
    let endless = client.eval("local function f() return 1 + f() end return f()");
    assert!(endless.contains("stack overflow"), "{endless}");
    assert_eq!(client.eval("return 1"), ":1\r\n");
}

#[test]
fn bytecode_is_refused() {
    let mut client = Client::new();
    let load = "return {loadstring(string.dump(function() return 1 end))}";
    assert_eq!(client.eval(load), "*0\r\n");
    assert_eq!(client.eval("return loadstring('return 5')()"), ":5\r\n");
    let pieces = "local n = 0 return load(function() n = n + 1 return ({'return ', '6'})[n] end)()";
    assert_eq!(client.eval(pieces), ":6\r\n");
}

#[test]
fn time_is_constant_within_a_script() {
    let mut client = Client::new();
    let twice = "return {redis.call('time')[1], redis.call('time')[2]}";
    assert_eq!(client.eval(twice), "*2\r\n$1\r\n1\r\n$1\r\n0\r\n");
}

/// The replies of 7.0.15 to a RESP3 client [run].
#[test]
fn values_of_scripts_become_replies_of_resp3() {
    let mut client = Client::new();
    client.send("HELLO 3");
    client.send("HSET h a 1 b 2");
    client.send("SADD s 1 2");
    client.send("ZADD z 1.5 m 2 n");
    for (script, expected) in [
        ("return true", ":1\r\n"),
        ("return false", "_\r\n"),
        ("redis.setresp(3) return true", "#t\r\n"),
        ("redis.setresp(3) return false", "#f\r\n"),
        ("redis.setresp(3) return nil", "_\r\n"),
        ("return {true, false, 1}", "*3\r\n:1\r\n_\r\n:1\r\n"),
        (
            "redis.setresp(3) return redis.call('hgetall', 'h')",
            "%2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
        ),
        (
            "return redis.call('hgetall', 'h')",
            "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
        ),
        (
            "redis.setresp(3) return redis.call('zrange', 'z', 0, -1, 'withscores')",
            "*2\r\n*2\r\n$1\r\nm\r\n,1.5\r\n*2\r\n$1\r\nn\r\n,2\r\n",
        ),
        (
            "redis.setresp(3) return redis.call('zscore', 'z', 'm')",
            ",1.5\r\n",
        ),
        (
            "redis.setresp(3) return redis.call('smembers', 's')",
            "~2\r\n$1\r\n1\r\n$1\r\n2\r\n",
        ),
        ("return {double=1.5}", ",1.5\r\n"),
        ("return {double=1/0}", ",inf\r\n"),
        ("return {map={a=1}}", "%1\r\n$1\r\na\r\n:1\r\n"),
        ("return {map={1, 2}}", "%2\r\n:1\r\n:1\r\n:2\r\n:2\r\n"),
        ("return {set={a=true}}", "~1\r\n$1\r\na\r\n"),
        ("return {big_number='123'}", "(123\r\n"),
        (
            "return {verbatim_string={format='txtx', string='hello'}}",
            "=9\r\ntxt:hello\r\n",
        ),
        (
            "return {verbatim_string={format='t', string='hello'}}",
            "=9\r\nt  :hello\r\n",
        ),
        (
            "return {verbatim_string={format=1, string='hello'}}",
            "*0\r\n",
        ),
    ] {
        assert_eq!(client.eval(script), expected, "{script}");
    }
}

#[test]
fn resp_version_of_a_script_ends_with_it() {
    let mut client = Client::new();
    assert_eq!(client.eval("redis.setresp(3) return false"), ":0\r\n");
    assert_eq!(client.eval("return false"), "$-1\r\n");
    assert_eq!(Client::new().eval("return false"), "$-1\r\n");
}
