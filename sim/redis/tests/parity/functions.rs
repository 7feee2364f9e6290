//! Libraries of functions: FUNCTION, FCALL, FCALL_RO, and the flags that scripts declare in
//! their first line.
//!
//! A line is a request; words with spaces are in backticks, where `\n` is a line's end.

use locklab_testing::free_ports;

use crate::pair::Pair;
use crate::wire::{Likeness, words};

fn check(cases: &[&str]) {
    let mut pair = Pair::start(1);
    let mut failures = Vec::new();
    for case in cases {
        pair.clear();
        pair.compare(0, &[b"FUNCTION", b"FLUSH"], Likeness::Bytes)
            .expect("libraries can be flushed");
        for line in case.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words = words(&line.replace("\\n", "\n"), '`');
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            if let Err(difference) = pair.compare(0, &words, Likeness::Bytes) {
                failures.push(difference);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Loads each text as a library of its own, and calls its function `f`.
fn check_libraries(texts: &[&str]) {
    let cases: Vec<String> = texts
        .iter()
        .map(|text| {
            format!(
                "FUNCTION LOAD `#!lua name=lib\\n{text}`
                 FCALL f 1 key arg
                 FCALL f 1 key arg
                 FUNCTION LIST"
            )
        })
        .collect();
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn first_lines_of_libraries() {
    check(&["FUNCTION LOAD x
         FUNCTION LOAD #!lua
         FUNCTION LOAD `#!lua name=a`
         FUNCTION LOAD `#!lua name=a\\n`
         FUNCTION LOAD `#!lua name=a\\nreturn 1`
         FUNCTION LOAD `#!\\n`
         FUNCTION LOAD `#!lua\\n`
         FUNCTION LOAD `#!js name=a\\n`
         FUNCTION LOAD `#!js name=a-b\\n`
         FUNCTION LOAD `#!LUA name=a\\nredis.register_function('f', function() return 1 end)`
         FUNCTION LOAD `#!lua NAME=b\\nredis.register_function('g', function() return 1 end)`
         FUNCTION LOAD `#!lua name=\\n`
         FUNCTION LOAD `#!lua name=a-b\\n`
         FUNCTION LOAD `#!lua name=a name=b\\n`
         FUNCTION LOAD `#!lua name=a foo=b\\n`
         FUNCTION LOAD `#!lua name=a flags=no-writes\\n`
         FUNCTION LOAD `#!lua name=\"q\\n`
         FUNCTION LOAD `#!lua name=\"z\"\\n(`
         FUNCTION LOAD `#!lua  name=z  \\nredis.register_function('zz', function() end)`
         FUNCTION LOAD `#!lua name=a\\n`"]);
}

#[test]
fn registering() {
    check_libraries(&[
        "redis.register_function('f', function() return 1 end)",
        "redis.register_function(1, function() end)",
        "redis.register_function({}, function() end)",
        "redis.register_function('f', function() end, 1)",
        "redis.register_function('f', function() end, 1, 2)",
        "redis.register_function()",
        "redis.register_function('f')",
        "redis.register_function('f', 1)",
        "redis.register_function{}",
        "redis.register_function{function_name='f'}",
        "redis.register_function{callback=function() end}",
        "redis.register_function{function_name=1, callback=function() end}",
        "redis.register_function{FUNCTION_NAME='f', Callback=function() return 2 end}",
        "redis.register_function{function_name='f', callback=1}",
        "redis.register_function{function_name='f', callback=function() end, flags=1}",
        "redis.register_function{function_name='f', callback=function() end, flags={'x'}}",
        "redis.register_function{function_name='f', callback=function() end, flags={1}}",
        "redis.register_function{function_name='f', callback=function() end, flags={a='no-writes'}}",
        "redis.register_function{function_name='f', callback=function() end, flags={'no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys', 'no-writes'}}",
        "redis.register_function{function_name='f', callback=function() end, description=1}",
        "redis.register_function{function_name='f', callback=function() end, description='what it does'}",
        "redis.register_function{function_name='f', callback=function() end, description={}}",
        "redis.register_function{function_name='f', callback=function() end, foo=1}",
        "redis.register_function{function_name='f', callback=function() end, [1]=1}",
        "redis.register_function{function_name='f', callback=function() end, [{}]=1}",
        "redis.register_function('f-g', function() end)",
        "redis.register_function('', function() end)",
        "redis.register_function('f', function() end)\\nredis.register_function('f', function() end)",
        "redis.register_function('f', redis.register_function)",
        "local register = redis.register_function register('f', function() return register('x', function() end) end)",
    ]);
}

#[test]
fn environment_of_a_library_while_it_is_loaded() {
    check_libraries(&[
        "(",
        "error('x')",
        "x = 1",
        "foo()",
        "redis.call('set', 'a', '1')",
        "redis.x = 1",
        "return _G.x",
        "return redis.REPL_ALL",
        "return redis.REDIS_VERSION",
        "return redis.LOG_DEBUG.x",
        "redis.log(redis.LOG_NOTICE, 'x')",
        "redis.log()",
        "redis.setresp(3)",
        "math.random()",
        "local f = function() return redis.call end redis.register_function('f', function() return f() and 1 end)",
        "local r = redis redis.register_function('f', function() return r.call('get', 'a') end)",
        "while true do end",
    ]);
}

#[test]
fn the_database_that_a_function_selects_is_its_own() {
    check(&["FUNCTION LOAD `#!lua name=lib\\nredis.register_function('f', function(k, a) redis.call('select', a[1]) return redis.call('incr', k[1]) end)`
         FCALL f 1 k 3
         FCALL f 1 k 3
         FCALL f 1 k 0
         FCALL f 1 k 16
         GET k
         SELECT 3
         GET k
         MULTI
         FCALL f 1 k 2
         GET k
         EXEC"]);
}

#[test]
fn environment_and_replies_of_functions() {
    check_libraries(&[
        "redis.register_function('f', function(keys, args) return {keys, args, #keys, type(args)} end)",
        "redis.register_function('f', function(...) return select('#', ...) end)",
        "redis.register_function('f', function() return KEYS end)",
        "redis.register_function('f', function() x = 1 end)",
        "redis.register_function('f', function() foo() end)",
        "redis.register_function('f', function() error('boo') end)",
        "redis.register_function('f', function() error({err='MY boo'}) end)",
        "redis.register_function('f', function() return redis.call('nope') end)",
        "redis.register_function('f', function() return redis.pcall('nope') end)",
        "redis.register_function('f', function() return redis.error_reply('A b') end)",
        "redis.register_function('f', function() return {err='x'} end)",
        "redis.register_function('f', function() return {ok='x'} end)",
        "local n = 0 redis.register_function('f', function() n = n + 1 return n end)",
        "redis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)",
        "redis.register_function('f', function() return redis.breakpoint() end)",
        "redis.register_function('f', function() return redis.set_repl(redis.REPL_NONE) end)",
        "redis.register_function('f', function() return redis.register_function('x', 1) end)",
        "redis.register_function('f', function() string.x = 1 end)",
        "redis.register_function('f', function() redis.x = 1 end)",
        "redis.register_function('f', function() return _G.redis == redis and 1 end)",
        "redis.register_function('f', function() return loadstring('return 5')() end)",
        "redis.register_function('f', function() return loadstring('return KEYS')() end)",
        "redis.register_function('f', function() return cjson.encode({1}) end)",
        "redis.register_function('f', function() redis.setresp(3) return redis.call('hgetall', 'x') end)",
        "redis.register_function('f', function() local t = {} for k in pairs(_G) do t[#t + 1] = k end table.sort(t) return t end)",
        "local function g() local h = nil h() end\\nredis.register_function('f', function()\\n g() end)",
        "redis.register_function('f', function() return type(getmetatable(_G)) end)",
        "redis.register_function('f', function() return getmetatable(_G).__index(_G, 1) end)",
        "redis.register_function('f', function() getmetatable(_G).x = 1 end)",
        "redis.register_function('f', function() return type(getmetatable(redis)) end)",
        "redis.register_function{function_name='f', flags={'no-writes'}, callback=function(keys) return redis.call('set', keys[1], 'x') end}",
        "redis.register_function{function_name='f', flags={'no-writes'}, callback=function(keys) return redis.pcall('set', keys[1], 'x') end}",
    ]);
}

const LIBRARY: &str = "`#!lua name=lib\\nredis.register_function('f', function(k, a) return {k, a} end)\\n\
    redis.register_function{function_name='r', flags={'no-writes'}, callback=function(k) return redis.call('get', k[1]) end}\\n\
    redis.register_function('w', function(k) return redis.call('set', k[1], '1') end)`";
const ONE: &str = "`#!lua name=one\\nredis.register_function{function_name='one', flags={'no-writes'}, description='it', callback=function() return 1 end}`";

#[test]
fn functions_as_commands() {
    let with_library = |lines: &str| format!("FUNCTION LOAD {LIBRARY}\n{lines}");
    let with_one = |lines: &str| format!("FUNCTION LOAD {ONE}\n{lines}");
    let cases = [
        with_library(&format!(
            "FUNCTION LOAD {LIBRARY}
             FUNCTION LOAD REPLACE {LIBRARY}
             FUNCTION LOAD replace REPLACE {LIBRARY}
             FUNCTION LOAD NOPE {LIBRARY}
             FUNCTION LOAD REPLACE
             FUNCTION LOAD
             FUNCTION LOAD `#!lua name=other\\nredis.register_function('f', function() end)`
             FUNCTION LOAD `#!lua name=other\\nredis.register_function('F', function() end)`
             FUNCTION LOAD `#!lua name=LIB\\nredis.register_function('x', function() end)`
             FUNCTION LOAD REPLACE `#!lua name=lib\\nredis.register_function('x', function() end)`
             FUNCTION LOAD REPLACE `#!lua name=lib\\n(`
             FCALL f 0"
        )),
        with_library(
            "FCALL f 0
             FCALL F 0
             FCALL f 2 a b c d
             FCALL f 3 a b
             FCALL f -1
             FCALL f x
             FCALL nope x
             FCALL f
             FCALL
             FCALL_RO f 0
             FCALL_RO r 1 a
             FCALL r 1 a
             FCALL w 1 a
             FCALL_RO w 1 a
             FCALL_RO r 1 a
             EVAL `return redis.call('fcall', 'f', 0)` 0
             MULTI
             FCALL w 1 b
             FCALL nope 0
             FUNCTION STATS
             EXEC
             GET b
             FUNCTION DELETE lib
             FUNCTION DELETE lib
             FCALL f 0",
        ),
        with_one(
            "FUNCTION LIST
             FUNCTION LIST WITHCODE
             FUNCTION LIST LIBRARYNAME
             FUNCTION LIST LIBRARYNAME o*
             FUNCTION LIST LIBRARYNAME x
             FUNCTION LIST libraryname O*
             FUNCTION LIST WITHCODE WITHCODE
             FUNCTION LIST LIBRARYNAME o LIBRARYNAME o
             FUNCTION LIST nope
             FUNCTION LIST WITHCODE LIBRARYNAME one
             FUNCTION STATS
             FUNCTION STATS x
             FUNCTION KILL
             FUNCTION DELETE
             FUNCTION FLUSH x
             FUNCTION FLUSH sync x
             FLUSHALL
             FCALL ONE 0
             FUNCTION FLUSH ASYNC
             FCALL one 0
             FUNCTION LIST
             FUNCTION
             FUNCTION NOPE",
        ),
        with_one(
            "FUNCTION DUMP x
             FUNCTION RESTORE x
             FUNCTION RESTORE
             FUNCTION RESTORE x y z
             FUNCTION RESTORE x y
             FUNCTION FLUSH
             FUNCTION DUMP",
        ),
    ];
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn function_dumps_of_either_server_are_restored() {
    let mut pair = Pair::start(1);
    let mut say = |words: &[&[u8]]| {
        let compared = pair.compare(0, words, Likeness::Bytes);
        compared.expect("both servers answer alike")
    };
    // The dump of a library by a real server, `CONFIG SET rdbcompression` yes and no.
    let code = b"#!lua name=one\nredis.register_function{function_name=\"o\",callback=function(k) \
        return 1 end,flags={\"no-writes\",\"allow-oom\",\"allow-stale\",\"no-cluster\",\
        \"allow-cross-slot-keys\",\"no-writes\"},description=\"reads\"}";
    let compressed: &[u8] = b"\xf5\xc3@\xb0@\xce\x1f#!lua name=one\nredis.register_fu\x06nction{\
        \xc0\x08\x00_`)\x0c\"o\",callback=\xc0\x1a\x1f(k) return 1 end,flags={\"no-writ\x04es\",\" \
        4\x05ow-oom\xe0\x00\x0b\x04stale \r %\x02clu@u \x0c\x80&\rcross-slot-key@> $\xa0J\x08},\
        descrip@\x9e\x05=\"read \x14\n\x00\xde\x18\x14>\xfe\xef|\x82";
    let plain = [b"\xf5@\xce", &code[..], b"\n\x00\x1e\xd9@\x8e\xad5?\x0e"].concat();
    for payload in [compressed, &plain] {
        let restore: &[&[u8]] = &[b"FUNCTION", b"RESTORE", payload];
        assert_eq!(say(restore), b"+OK\r\n");
        say(&[b"FUNCTION", b"LIST", b"WITHCODE"]);
        say(restore);
        for policy in ["APPEND", "REPLACE", "FLUSH", "nope"] {
            say(&[restore, &[policy.as_bytes()]].concat());
        }
        say(&[b"FUNCTION", b"RESTORE", &payload[1..]]);
        say(&[b"FUNCTION", b"FLUSH"]);
    }
}

#[test]
fn first_lines_of_scripts() {
    let first_lines = [
        "#!lua",
        "#!lua flags=",
        "#!lua flags=no-writes",
        "#!lua flags=nope",
        "#!lua flags=no-writes,allow-oom",
        "#!lua flags=no-writes,,allow-oom",
        "#!lua flags=no-writes,",
        "#!lua flags=NO-WRITES",
        "#!lua flags=\"no-writes\"",
        "#!lua flags=no-writes flags=allow-oom",
        "#!lua  flags=no-writes  x",
        "#!lua Flags=no-writes",
        "#!lua name=x",
        "#!LUA",
        "#! lua",
        "#!",
        "#!lua \"",
    ];
    let cases: Vec<String> = first_lines
        .iter()
        .map(|line| {
            format!(
                "EVAL `{line}\\nreturn 1` 0
                 EVAL_RO `{line}\\nreturn 1` 0
                 SCRIPT LOAD `{line}\\nreturn 1`
                 EVAL `{line}\\nreturn redis.call('set', 'a', '1')` 0
                 EVAL_RO `{line}\\nreturn redis.call('set', 'a', '1')` 0
                 EVAL `{line}` 0"
            )
        })
        .collect();
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn read_only_functions_cannot_publish() {
    let library = "`#!lua name=p\\n\
        redis.register_function('w', function(_, a) return redis.call(a[1], 'c', 'm') end)\\n\
        redis.register_function{function_name='r', flags={'no-writes'}, callback=function(_, a) return redis.call(a[1], 'c', 'm') end}\\n\
        redis.register_function{function_name='p', flags={'no-writes'}, callback=function(_, a) return redis.pcall(a[1], 'c', 'm') end}`";
    let mut lines = format!("FUNCTION LOAD {library}\n");
    for command in ["publish", "spublish"] {
        for body in [
            format!("return redis.call('{command}', 'c', 'm')"),
            format!("return redis.pcall('{command}', 'c', 'm')"),
            format!("#!lua\\nreturn redis.call('{command}', 'c', 'm')"),
            format!("#!lua flags=no-writes\\nreturn redis.call('{command}', 'c', 'm')"),
            format!("#!lua flags=no-writes\\nreturn redis.pcall('{command}', 'c', 'm')"),
        ] {
            let sha = sha1_smol::Sha1::from(body.replace("\\n", "\n"))
                .digest()
                .to_string();
            lines += &format!(
                "EVAL `{body}` 0
                 EVAL_RO `{body}` 0
                 EVALSHA {sha} 0
                 EVALSHA_RO {sha} 0
                "
            );
        }
        for function in ["w", "r", "p"] {
            lines += &format!(
                "FCALL {function} 0 {command}
                 FCALL_RO {function} 0 {command}
                "
            );
        }
    }
    check(&[&lines]);
}

#[test]
fn commands_allowed_in_read_only_scripts() {
    let scripts = [
        "return 1",
        "#!lua\\nreturn 1",
        "#!lua flags=no-writes\\nreturn 1",
        "#!lua flags=allow-stale\\nreturn 1",
        "#!lua flags=no-writes,allow-stale\\nreturn 1",
        "#!lua flags=no-writes,allow-stale\\nreturn redis.call('get', 'a')",
        "#!lua flags=nope\\nreturn 1",
        "return redis.call('set', 'a', '1')",
    ];
    let mut lines: Vec<String> = scripts
        .iter()
        .map(|script| {
            format!(
                "EVAL `{script}` 0
                 EVAL_RO `{script}` 0
                 MULTI
                 EVAL `{script}` 0
                 EXEC"
            )
        })
        .collect();
    lines.push(
        "FCALL w 1 a
         FCALL r 1 a
         FCALL f 0
         FCALL_RO w 1 a
         FCALL nope 0
         FUNCTION LOAD x
         FUNCTION FLUSH"
            .to_owned(),
    );
    let lines = lines.join("\n");
    // Nobody listens there: a port that this process has bound and closed.
    let [no_master] = free_ports();
    check(&[&format!(
        "FUNCTION LOAD {LIBRARY}
         CONFIG SET min-replicas-to-write 1
         {lines}
         CONFIG SET min-replicas-to-write 0
         REPLICAOF 127.0.0.1 {no_master}
         {lines}
         CONFIG SET replica-serve-stale-data no
         {lines}
         CONFIG SET replica-serve-stale-data yes
         REPLICAOF NO ONE"
    )]);
}
