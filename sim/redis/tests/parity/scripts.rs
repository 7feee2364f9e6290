//! Lua scripts that both servers must answer alike.

use crate::pair::Pair;
use crate::wire::Likeness;

/// Runs each script with two keys and two arguments, the first key set to `10`
/// and the second absent.
pub fn check(scripts: &[&str]) {
    let mut pair = Pair::start(1);
    let mut failures = Vec::new();
    for script in scripts {
        pair.clear();
        pair.compare(0, &[b"SET", b"k1", b"10"], Likeness::Bytes)
            .expect("a key can be set");
        let eval: [&[u8]; 7] = [b"EVAL", script.as_bytes(), b"2", b"k1", b"k2", b"a1", b"2"];
        let results = [
            pair.compare(0, &eval, Likeness::Bytes),
            // The changes by the script, and that the first run left no data behind.
            pair.compare(0, &[b"GET", b"k1"], Likeness::Bytes),
            pair.compare(0, &[b"GET", b"k2"], Likeness::Bytes),
            pair.compare(0, &eval, Likeness::Bytes),
        ];
        failures.extend(results.into_iter().filter_map(Result::err));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn values_become_replies() {
    check(&[
        "",
        "return",
        "return nil",
        "return 1",
        "return 3.99",
        "return -3.99",
        "return 1e15",
        "return 1e300",
        "return 0/0",
        "return math.huge",
        "return -math.huge",
        "return 'text'",
        "return ''",
        "return 'a\\0b\\r\\n'",
        "return true",
        "return false",
        "return {}",
        "return {1, 2, nil, 4}",
        "return {1, {2, {3, 'x'}}, true, false}",
        "return {1, {err='Zed Q'}, {ok='k'}}",
        "return {err='a'}",
        "return {err='a b'}",
        "return {err='a\\r\\nb\\n'}",
        "return {ok='a\\r\\nb'}",
        "return {err=1}",
        "return {ok=1}",
        "return {ok='a', err='b'}",
        "return function() end",
        "return redis.status_reply('x')",
        "return redis.status_reply()",
        "return redis.status_reply(1)",
        "return redis.error_reply('x')",
        "return redis.error_reply('A b')",
        "return redis.error_reply('-A b')",
        "return redis.error_reply('-A')",
        "return redis.error_reply('')",
        "return redis.error_reply()",
        "return redis.error_reply('a', 'b')",
        "return 1, 2",
        "return KEYS",
        "return ARGV",
        "return {#KEYS, #ARGV}",
        "return KEYS[3]",
    ]);
}

#[test]
fn replies_become_values() {
    check(&[
        "return redis.call('GET', KEYS[1])",
        "return redis.call('get', 'none')",
        "return {redis.call('get', 'none') == false, type(redis.call('get', KEYS[1]))}",
        "return redis.call('set', KEYS[2], ARGV[1])",
        "return redis.call('set', KEYS[2], ARGV[1]).ok",
        "return redis.call('set', KEYS[2], 'x', 'NX', 'XX')",
        "return redis.call('incr', KEYS[1])",
        "return redis.call('incr', KEYS[1]) + 0.5",
        "return type(redis.call('incr', KEYS[1]))",
        "return redis.call('ping')",
        "return type(redis.call('time')[1])",
        "return #redis.call('time')",
        "return redis.call('set', KEYS[2], 2.5) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 0.1) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 1e15) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 1e16) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 1e17) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 1e18) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 1e20) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 2^53 + 2) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], -7) and redis.call('get', KEYS[2])",
        "return redis.call('set', KEYS[2], 'x', 'px', 100000) and redis.call('ttl', KEYS[2])",
        "return redis.call('select', 0)",
        "return redis.call('select', 1)",
        "return redis.call('select', 16)",
        "if redis.call('get', KEYS[1]) == '10' then return redis.call('del', KEYS[1]) else return 0 end",
        "return redis.call('flushall')",
        "return redis.call('dbsize')",
        "return math.max(5, '30')",
        "return redis.sha1hex('a')",
        "return redis.sha1hex(12)",
        "return redis.sha1hex('')",
    ]);
}

#[test]
fn errors_name_the_script_and_the_line() {
    check(&[
        "return redis.call()",
        "return redis.call({})",
        "return redis.call('get', true)",
        "return redis.call('get', nil)",
        "return redis.call('NOPE')",
        "return redis.call('GET')",
        "return redis.call('get', 'a', 'b')",
        "return redis.call('client')",
        "return redis.call('client', 'nope')",
        "return redis.call('client', 'id')",
        "return redis.call('eval', 'x', 0)",
        "return redis.call('evalsha', 'x', 0)",
        "return redis.call('script', 'load', 'x')",
        "return redis.call('multi')",
        "return redis.call('exec')",
        "return redis.call('watch', 'x')",
        "return redis.call('quit')",
        "return redis.call('reset')",
        "return redis.call('hello')",
        "return redis.call('set', 'a', 'b', 'zz')",
        "return redis.call('incrby', 'a', 'x')",
        "\n\nredis.call('incrby', 'a', 'x')\nreturn 1",
        "redis.call('set', KEYS[2], 'kept') redis.call('nope')",
        "local function f() redis.call('GET') end\n\nf()",
        "local function f()\n error('in f') end\n\nf()",
        "return redis.pcall('NOPE')",
        "return redis.pcall('incrby', 'a', 'x')",
        "return redis.pcall()",
        "return redis.pcall('GET').err",
        "local e = redis.pcall('GET') error(e)",
        "local e = redis.pcall('GET')\nerror(e)",
        "local ok, e = pcall(redis.call, 'GET') return {tostring(ok), e.err}",
        "local ok, e = pcall(redis.call, 'GET') return e",
        "local ok, e = pcall(error, 'x') return e",
        "local ok, e = pcall(error, {err='x'}) return e",
        "local ok, e = pcall(error, {x=7}) return e.x",
        "local c = coroutine.create(function() redis.call('nope') end) return {coroutine.resume(c)}",
        "local ok, e = xpcall(function() redis.call('nope') end, function(e) return e end) return e",
        "local ok, e = xpcall(function() redis.call('nope') end, function(e) return type(e) end) return e",
        "local ok, e = pcall(function() error('x') end) return e",
        "local ok, e = pcall(function() return nil + 1 end) return e",
        "error('boom')",
        "\nerror('boom')",
        "error('boom', 0)",
        "error('boom', 2)",
        "error(5)",
        "error(nil)",
        "error({err='boom'})",
        "error({err='CODE boom'})",
        "error({err='boom', x=1})",
        "error({err=3})",
        "return 1 + nil",
        "return nil .. 'x'",
        "return ('x').y.z",
        "return #nil",
        "local t = nil; t.x = 1",
        "nofunc()",
        "return foo",
        "\nreturn foo",
        "return _G.foo",
        "return _G['foo']",
        "foo = 1",
        "_G.foo = 1",
        "function foo() end",
        "KEYS = 1",
        "redis.x = 1",
        "string.x = 1",
        "math.floor = nil",
        "redis = nil",
        "rawset(_G, 'x', 1)",
        "rawset(string, 'x', 1)",
        "setmetatable(_G, {})",
        "setmetatable(redis, nil)",
        "assert(false)",
        "assert(false, 'why')",
        "assert(nil, {err='tab'})",
        "x x",
        "if",
        "return 'unclosed",
        "for i = 1, 2 do\n\nx x end",
        "return redis.log(1)",
        "return redis.log('a', 'b')",
        "return redis.log(9, 'b')",
        "return redis.log(redis.LOG_WARNING, 'b')",
        "return redis.sha1hex()",
        "return redis.sha1hex('a', 'b')",
        "return redis.set_repl()",
        "return redis.set_repl(9)",
        "return redis.set_repl(redis.REPL_ALL)",
        "return redis.setresp(2)",
        "return redis.setresp(4)",
        "return redis.setresp()",
        "coroutine.wrap(function() error('inside') end)()",
        "return coroutine.wrap(function() return redis.call('get', KEYS[1]) end)()",
        "return {pcall(coroutine.wrap(function() redis.call('nope') end))}",
        "xpcall(function() error('z') end, function(e) redis.call('set', KEYS[2], e) end)",
        "return {xpcall(function() error('z') end, function(e) return e end)}",
    ]);
}

#[test]
fn the_sandbox_is_that_of_redis() {
    check(&[
        "return {type(os), 1}",
        "return print",
        "return dofile",
        "return require",
        "return loadfile",
        "return setfenv",
        "return getfenv",
        "return newproxy",
        "return module",
        "return package",
        "return debug",
        "return io",
        "return redis.nope",
        "return string.nope",
        "return rawget(_G, 'foo')",
        "return type(rawget(_G, 'redis'))",
        "return type(getmetatable(''))",
        "return getmetatable('').__index == string",
        "return ('x'):rep(3)",
        "return _G._G == _G",
        "return type(next(_G))",
        "local n = 0 for k, v in pairs(redis) do n = n + 1 end return n > 10",
        "local t = {} for k in pairs(string) do t[#t + 1] = k end table.sort(t) return t",
        "local t = {} for k in pairs(table) do t[#t + 1] = k end table.sort(t) return t",
        "local t = {} for k in pairs(coroutine) do t[#t + 1] = k end table.sort(t) return t",
        "local t = {} for k in pairs(math) do t[#t + 1] = k end table.sort(t) return t",
        "local t = {} for i, v in ipairs({5, 6}) do t[i] = v * 2 end return t",
        "return loadstring('return 7')()",
        "return loadstring('return foo')()",
        "return loadstring('foo = 1')()",
        "return loadstring('return os')()",
        "return {loadstring('x x')}",
        "KEYS[5] = 'x' return KEYS[5]",
        "rawset(KEYS, 'x', 1) return KEYS.x",
        "ARGV[1] = 'changed' return ARGV[1]",
        "return tostring(_VERSION)",
        "return redis.REDIS_VERSION",
        "return redis.REDIS_VERSION_NUM",
        "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
        "return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL}",
        "return redis.replicate_commands()",
        "return tostring(1)",
        "return tostring(1.5)",
        "return tostring(nil)",
        "return tostring('table: 0x1')",
        "return tonumber('0x10')",
        "return tonumber('x')",
        "return {unpack({1, 2, 3})}",
        "return select('#', 1, 2)",
        "return string.format('%.3f %d %s %q', 1/3, 5, 'x', 'y')",
        "return {string.find('hello', 'l+')}",
        "return {string.gsub('hello', 'l', 'L')}",
        "return table.concat({'a', 'b'}, ',')",
        "local t = {3, 1, 2} table.sort(t) return t",
        "return collectgarbage('count') == nil",
    ]);
}

#[test]
fn only_globals_have_a_metatable_and_it_is_read_only() {
    let mut scripts = vec![
        "return type(getmetatable(_G))".to_owned(),
        "return getmetatable(_G) == getmetatable(_G)".to_owned(),
        "local t = {} for k, v in pairs(getmetatable(_G)) do t[#t + 1] = k .. type(v) end return t"
            .to_owned(),
        "return type(rawget(getmetatable(_G), '__index'))".to_owned(),
        "return type(getmetatable(getmetatable(_G)))".to_owned(),
    ];
    for attempt in [
        "getmetatable(_G).x = 1",
        "getmetatable(_G).__index = 1",
        "getmetatable(_G).__newindex = nil",
        "rawset(getmetatable(_G), 'x', 1)",
        "setmetatable(getmetatable(_G), {})",
        "setmetatable(_G, {})",
        "setmetatable(redis, {})",
        "getmetatable('').x = 1",
    ] {
        scripts.push(attempt.to_owned());
        scripts.push(format!("return {{pcall(function() {attempt} end)}}"));
    }
    let indexed = [
        "",
        "1",
        "_G, 'foo'",
        "_G, 'redis'",
        "_G, 1",
        "_G, {}",
        "_G, nil",
        "1, 2, 3",
    ];
    scripts
        .extend(indexed.map(|arguments| format!("return getmetatable(_G).__index({arguments})")));
    scripts.extend(["{}", "1", "nil", "true", "'foo'"].map(|key| format!("return _G[{key}]")));
    let others = [
        "redis",
        "string",
        "table",
        "math",
        "coroutine",
        "KEYS",
        "redis.call",
        "1",
        "nil",
        "''",
        "{}",
        "setmetatable({}, {__metatable = 7})",
    ];
    scripts.extend(others.map(|of| format!("return type(getmetatable({of}))")));
    scripts.push("local m = getmetatable()".to_owned());
    check(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn scripts_may_speak_resp3() {
    let prelude = "redis.call('hset', 'h', 'a', 1, 'b', 2) redis.call('sadd', 's', 1, 2)
        redis.call('zadd', 'z', 1.5, 'm', 2, 'n') redis.setresp(3) ";
    let scripts: Vec<String> = [
        "return redis.call('hgetall', 'h')",
        "local r = redis.call('hgetall', 'h') return {type(r), type(r.map), r.map.a}",
        "return redis.call('smembers', 's')",
        "local r = redis.call('smembers', 's') return {type(r.set), tostring(r.set['1'])}",
        "return redis.call('zscore', 'z', 'm')",
        "return tostring(redis.call('zscore', 'z', 'm').double)",
        "return redis.call('zrange', 'z', 0, -1, 'withscores')",
        "local r = redis.call('zrange', 'z', 0, -1, 'withscores') return {#r, #r[1], r[1][1], r[1][2].double}",
        "return tostring(redis.call('get', 'nope'))",
        "return redis.call('get', 'nope')",
        "return redis.call('mget', 'nope', KEYS[1])",
        "return #redis.call('mget', KEYS[1], 'nope')",
        "return redis.call('lpop', 'nope', 1)",
        "redis.setresp(2) return tostring(redis.call('get', 'nope'))",
        "redis.setresp('3') return true",
        "redis.setresp(5)",
        "redis.setresp('x')",
        "return true",
        "return false",
        "return nil",
        "return {true, false, nil}",
        "return redis.call('info', 'clients').verbatim_string.format",
    ]
    .map(|script| format!("{prelude}{script}"))
    .into();
    check(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn tables_become_replies_of_resp3() {
    check(&[
        "return {double=3.14}",
        "return {double=3}",
        "return {double='3.14'}",
        "return {double=1/0}",
        "return {map={a=1}}",
        "return {map={a={b={double=1}}}}",
        "return {map=1}",
        "return {set={a=true}}",
        "return {set={1, 2}}",
        "return {set=1}",
        "return {big_number='123'}",
        "return {big_number='12\\r\\n3'}",
        "return {big_number=5}",
        "return {verbatim_string={format='txt', string='hello'}}",
        "return {verbatim_string={format='txt'}}",
        "return {verbatim_string=1}",
        "return {err='a', double=1}",
        "return {ok='a', double=1}",
        "return {double=1, map={a=1}}",
        "return {map={a=1}, set={b=1}}",
    ]);
}

/// The scripts that lock clients ship. KEYS[1] holds `10`, ARGV is `a1`, `2`.
#[test]
fn scripts_of_lock_clients() {
    check(&[
        // The Redis documentation's release, with the wrong and the right token.
        "if redis.call(\"get\",KEYS[1]) == ARGV[1] then
            return redis.call(\"del\",KEYS[1])
        else
            return 0
        end",
        "if redis.call(\"get\",KEYS[1]) == '10' then
            return redis.call(\"del\",KEYS[1])
        else
            return 0
        end",
        // Extending a lease, as Redlock clients do.
        "if redis.call('get', KEYS[1]) == '10' then
            return redis.call('pexpire', KEYS[1], 30000)
        else
            return 0
        end",
        "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
        if redis.call('set', KEYS[1], ARGV[1], 'XX', 'PX', ARGV[2]) then return 'OK' end",
        // redis-py: adds to what is left of the lease.
        "local token = redis.call('get', KEYS[1])
        if not token or token ~= '10' then
            return 0
        end
        local expiration = redis.call('pttl', KEYS[1])
        if not expiration then
            expiration = 0
        end
        if expiration < 0 then
            return 0
        end
        redis.call('pexpire', KEYS[1], expiration + ARGV[2])
        return 1",
        // Several keys, all or none.
        "for i, key in ipairs(KEYS) do
            if redis.call('set', key, ARGV[1], 'NX', 'PX', 100000) == false then
                for j = 1, i - 1 do redis.call('del', KEYS[j]) end
                return i
            end
        end
        return 'OK'",
        // A fencing token with the lock.
        "if redis.call('set', KEYS[2], ARGV[1], 'NX', 'PX', 100000) then
            return {1, redis.call('incr', KEYS[1])}
        end
        return {0, redis.call('get', KEYS[2]), redis.call('ttl', KEYS[2])}",
    ]);
}

#[test]
fn random_numbers_are_the_same_on_every_server() {
    check(&[
        "return tostring(math.random())",
        "return {math.random(10), math.random(10), math.random(5, 9), tostring(math.random())}",
        "math.randomseed(3) return {math.random(1000), math.random(1000)}",
        "math.randomseed(-1) return {math.random(1000), math.random(1000)}",
        "local t = {} for i = 1, 100 do t[i] = math.random(1000000) end return t",
    ]);
}

#[test]
fn shebang_declares_script_flags() {
    check(&[
        "#!lua\nreturn 1",
        "#!lua\nreturn foo",
        "#!lua",
        "#!py\nreturn 1",
        "#!lua nope=1\nreturn 1",
        "#!lua flags=zzz\nreturn 1",
        "#!lua flags=\nreturn 1",
        "#!lua flags=no-writes,allow-stale\nreturn redis.call('get', KEYS[1])",
        "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], 'b')",
        "#!lua flags=no-writes\nreturn redis.pcall('set', KEYS[1], 'b')",
    ]);
}

#[test]
fn failed_random_number_names_its_place() {
    check(&[
        "return math.random(0)",
        "return math.random(5, 1)",
        "local x = math.random(0) return x",
        "return {pcall(math.random, 0)}",
        "return {pcall(math.random, 5, 1)}",
        "return {pcall(math.random, 1, 2, 3)}",
        "return math.random(1, 2, 3)",
        "return math.random('x')",
        "return math.randomseed('x')",
        "return math.randomseed()",
        "math.randomseed(7) return {math.random(10), math.random(2.9), math.random('3', 900), math.random(-5, 5)}",
        "math.randomseed(7) return {tostring(math.random()), math.random(2147483647), math.random(-2147483648, 2147483647)}",
        "local f = math.random return f(0)",
        "local f = function(n) return math.random(n) end return f(0)",
    ]);
}

#[test]
fn error_of_a_command_says_that_it_was_counted() {
    check(&[
        "return tostring(redis.pcall('nope').ignore_error_stats_update)",
        "return tostring(redis.pcall('incr').ignore_error_stats_update)",
        "return tostring(redis.pcall('incr', KEYS[1], 'x').ignore_error_stats_update)",
        "redis.call('set', KEYS[1], 'x') return tostring(redis.pcall('incr', KEYS[1]).ignore_error_stats_update)",
        "return tostring(redis.pcall('multi').ignore_error_stats_update)",
        "return tostring(redis.pcall().ignore_error_stats_update)",
        "return tostring(redis.pcall('get', {}).ignore_error_stats_update)",
        "return tostring(redis.error_reply('A b').ignore_error_stats_update)",
        "local n = 0 for _ in pairs(redis.pcall('nope')) do n = n + 1 end return n",
        "return redis.pcall('nope')",
        "local e = redis.pcall('nope') e.ignore_error_stats_update = nil return e",
        "local ok, e = xpcall(function() redis.call('nope') end, function(e) return e end) return tostring(e.ignore_error_stats_update)",
    ]);
}

/// Lua's stack has room for 8000 values in one function.
#[test]
fn stack_overflow_matches_redis() {
    let fill = "local t = {} for i = 1, 8010 do t[i] = 'a' end";
    let mut scripts = Vec::new();
    for count in [7900, 7999, 8000] {
        scripts.push(format!("{fill} return select('#', unpack(t, 1, {count}))"));
    }
    for call in [
        "redis.sha1hex",
        "redis.setresp",
        "redis.call",
        "redis.error_reply",
    ] {
        scripts.push(format!("{fill} return {call}(unpack(t, 1, 7900))"));
    }
    scripts.push(format!(
        "{fill} return redis.call('sadd', unpack(t, 1, 7900))"
    ));
    check(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
}
