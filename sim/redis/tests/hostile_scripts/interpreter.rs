//! Scripts that would end a process through Lua's interpreter and its own libraries: by overflowing an
//! integer or the C stack, or by reading what is freed.

use super::client::{Client, check};

// Sizes and ranges.

#[test]
fn unpack_of_a_range_that_overflows_an_int_is_refused() {
    // CVE-2025-46817.
    for range in [
        "0, 2147483647",
        "-2147483648, 2147483647",
        "-2147483648, -1",
        "1, 2147483647",
        "-1, 2147483646",
        "2147483647 - 8000, 2147483647",
        "1, 8000",
        "1, 1e308",
    ] {
        let script = format!("return unpack({{}}, {range})");
        if range == "1, 1e308" {
            // As an int it is 0.
            check(&script, "$-1\r\n");
        } else {
            check(&script, "too many results to unpack");
        }
    }
    check(
        "return select('#', unpack({}, 2147483647, 2147483647))",
        ":1\r\n",
    );
    check(
        "return select('#', unpack({}, -2147483648, -2147483648))",
        ":1\r\n",
    );
    check("return select('#', unpack({}, 2, 1))", ":0\r\n");
    check("return select('#', unpack({}, 1, 7000))", ":7000\r\n");
    check("return select('#', unpack({}, 0/0, 0/0))", ":1\r\n");
}

#[test]
fn indices_at_the_ends_of_an_int_are_read_and_written() {
    // CVE-2025-46817, the part in tables.
    for index in ["-2147483648", "2147483647", "-1", "0"] {
        let script = format!(
            "local t = {{1, 2, 3}} rawset(t, {index}, 7) \
             return {{rawget(t, {index}), t[{index}], #t, (next({{[{index}] = 1}}))}}"
        );
        check(&script, &format!("*4\r\n:7\r\n:7\r\n:3\r\n:{index}\r\n"));
    }
    check(
        "return table.concat({}, 'x', 2147483647, -2147483648)",
        "$0\r\n\r\n",
    );
    check(
        "return table.concat({}, 'x', -2147483648, 2147483647)",
        "invalid value (nil) at index -2147483648 in table for 'concat'",
    );
    check(
        "return table.concat({[2147483647] = 'a'}, 'x', 2147483647, 2147483647)",
        "$1\r\na\r\n",
    );
    check("return table.remove({1, 2}, -2147483648)", "$-1\r\n");
    check("return table.remove({1, 2}, 2147483647)", "$-1\r\n");
    check(
        "local t = {1, 2} table.insert(t, 2147483647, 3) return t[2147483647]",
        ":3\r\n",
    );
}

#[test]
fn sizes_of_strings_are_checked() {
    let not_enough = "not enough memory";
    check("return #string.rep('x', -1)", ":0\r\n");
    check("return #string.rep('', 2147483647)", ":0\r\n");
    check("return #string.rep('x', 0/0)", ":0\r\n");
    check("return #string.rep(('x'):rep(1e6), 2147483647)", not_enough);
    check(
        "local s = ('x'):rep(3e7) return #table.concat({s, s, s, s, s, s, s, s, s})",
        not_enough,
    );
    check(
        "local s = ('x'):rep(3e7) return #(s .. s .. s .. s .. s .. s .. s .. s .. s)",
        not_enough,
    );
    check(
        "return string.byte(('x'):rep(9000), 1, -1)",
        "string slice too long",
    );
    check(
        "return select('#', string.byte('abc', -2147483648, 2147483647))",
        ":3\r\n",
    );
    check(
        "return select('#', string.byte('abc', 9e18, 9e18))",
        ":0\r\n",
    );
    check("return #string.sub('abc', -9e18, 9e18)", ":3\r\n");
    check("return #string.sub('abc', 9e18, -9e18)", ":0\r\n");
    check("return {string.find('abc', 'b', 9e18)}", "*0\r\n");
    check(
        "return {string.find('abc', 'b', -9e18)}",
        "*2\r\n:2\r\n:2\r\n",
    );
    check("return string.char(256)", "invalid value");
    check("return string.char(-1)", "invalid value");
    check("return string.char(0/0)", "$1\r\n\0\r\n");
    check(
        "return #string.char(unpack({}, 1, 7000))",
        "number expected, got nil",
    );
}

#[test]
fn formats_of_any_width_fit() {
    check("return #string.format('%99.99f', -1e308)", ":410\r\n");
    check("return #string.format('%-+ #099.99f', -1e308)", ":410\r\n");
    check("return #string.format('%99.99d', 1e308)", ":100\r\n");
    check("return #string.format('%99c', 0)", ":98\r\n");
    check("return #string.format('%99s', 'x')", ":99\r\n");
    check("return #string.format('%.99s', ('x'):rep(1000))", ":99\r\n");
    check(
        "return #string.format('%99s', ('x'):rep(1000))",
        ":1000\r\n",
    );
    check(
        "return string.format('%100d', 1)",
        "width or precision too long",
    );
    check(
        "return string.format('%.100d', 1)",
        "width or precision too long",
    );
    check("return string.format('%------d', 1)", "repeated flags");
    check("return string.format('%')", "no value");
    check("return string.format('%', 1)", "invalid option");
    check("return string.format('%n', 1)", "invalid option");
    check("return string.format('%' .. ('d'):rep(9000))", "no value");
    check(
        "return #string.format('%q', ('\\0'):rep(100000))",
        ":400002\r\n",
    );
    check(
        "return string.format('%d', 0/0)",
        "$20\r\n-9223372036854775808\r\n",
    );
}

// Recursion in C.

#[test]
fn pattern_of_many_items_gets_an_error() {
    for pattern in [
        "string.rep('a?', 50000)",
        "string.rep('a*', 50000)",
        "string.rep('a-', 50000) .. 'b'",
        "string.rep('()', 50000)",
        "string.rep('(a)', 50000)",
    ] {
        for call in [
            "return string.find(s, p)",
            "return string.match(s, p)",
            "return (string.gsub(s, p, ''))",
            "for _ in string.gmatch(s, p) do end",
        ] {
            let script = format!("local s, p = string.rep('a', 50000), {pattern} {call}");
            let expected = if pattern.contains('(') {
                "-ERR "
            } else {
                "pattern too complex"
            };
            let expected = if pattern.contains("('(") {
                "too many captures"
            } else {
                expected
            };
            check(&script, expected);
        }
    }
    // What a pattern needs that somebody writes.
    check(
        "return #string.match(string.rep('a', 1000), string.rep('a?', 1000))",
        ":1000\r\n",
    );
    check(
        "return #string.match(string.rep('a', 1e6), '^a-$')",
        ":1000000\r\n",
    );
    check(
        "return #string.match(string.rep('a', 1e6), '^(a*)(a+)$')",
        ":999999\r\n",
    );
    check(
        "return #string.match(string.rep('ab', 5000), string.rep('ab', 5000))",
        ":10000\r\n",
    );
}

#[test]
fn malformed_patterns_get_errors() {
    for (pattern, expected) in [
        ("%", "malformed pattern (ends with '%')"),
        ("[", "malformed pattern (missing ']')"),
        ("[^", "malformed pattern (missing ']')"),
        ("[]", "malformed pattern (missing ']')"),
        ("[%", "malformed pattern (missing ']')"),
        ("[a-", "malformed pattern (missing ']')"),
        ("%b", "unbalanced pattern"),
        ("%bx", "unbalanced pattern"),
        ("%f", "missing '[' after '%f' in pattern"),
        ("(", "unfinished capture"),
        (")", "invalid pattern capture"),
        ("%1", "invalid capture index"),
        ("(%1)", "invalid capture index"),
        ("()%1", "$-1\r\n"),
        ("[\\0", "malformed pattern (missing ']')"),
    ] {
        check(&format!("return string.match('a', '{pattern}')"), expected);
    }
    check(
        "return string.gsub('a', 'a', '%9')",
        "invalid capture index",
    );
    check("return string.gsub('a', '(a', '%1')", "unfinished capture");
}

#[test]
fn functions_nested_through_c_get_an_error() {
    for recursion in [
        "function f() return (string.gsub('a', 'a', f)) end",
        "function f() return string.format('%s', (string.gsub('a', 'a', f))) end",
        "function f() table.sort({1, 2}, f) end",
        "function f() table.foreach({1}, f) end",
        "function f() table.foreachi({1}, f) end",
        "function f() return pcall(f) and error() end",
        "function f() assert(pcall(f)) end",
        "function f() local ok, why = xpcall(f, tostring) error(why) end",
        "function f() return 'a' .. setmetatable({}, {__concat = f}) end",
        "function f() return tostring(setmetatable({}, {__tostring = f})) end",
        "function f() return setmetatable({}, {__index = f}).x end",
        "function f() setmetatable({}, {__newindex = f}).x = 1 end",
        "function f() return setmetatable({}, {__unm = f}) + 1 end",
        "function f() return -setmetatable({}, {__unm = f}) end",
        "function f() return 1 + setmetatable({}, {__call = f})() end",
        "local m = {} function f() return setmetatable({}, m) < setmetatable({}, m) end m.__lt = f",
        "local m = {} function f() return setmetatable({}, m) == setmetatable({}, m) end m.__eq = f",
        "function f() return coroutine.wrap(f)() end",
        "function f() assert(coroutine.resume(coroutine.create(f))) end",
        "function f() return loadstring('return f()')() end",
        "function f() return load(f) end",
        // With what needs most of the stack at the end.
        "function f() string.find(('a'):rep(1990), ('a?'):rep(1990)) return (string.gsub('a', 'a', f)) end",
    ] {
        let declared = recursion.replacen("function f", "local f f = function", 1);
        let script = format!("{declared} return {{pcall(f)}}");
        let mut client = Client::new();
        let reply = client.eval(&script);
        assert!(
            reply.starts_with('*') || reply.starts_with('-'),
            "{script}: {reply:?}"
        );
        assert_eq!(client.eval("return 1"), ":1\r\n", "after {script}");
        // Not caught either.
        client.eval(&format!("{declared} return f()"));
        assert_eq!(client.eval("return 1"), ":1\r\n", "after {script}");
    }
}

#[test]
fn handlers_of_errors_that_fail_get_an_error() {
    check("return {xpcall(error, error)}", "*");
    check(
        "local function h() return h() + 1 end return {xpcall(error, h)}",
        "*",
    );
    check(
        "local function h() error('again') end return {xpcall(error, h)}",
        "*",
    );
    check(
        "local function h(e) return xpcall(error, h) end return {xpcall(error, h)}",
        "*",
    );
    check(
        "error(setmetatable({}, {__tostring = function() error('x') end}))",
        "-ERR unknown error",
    );
    check("error()", "-ERR nil script");
    check("error(('x'):rep(100000))", "-ERR user_script:1: xxx");
}

#[test]
fn coroutines_nested_without_end_get_an_error() {
    check(
        "local function f() return coroutine.wrap(f)() end return f()",
        "C stack overflow",
    );
    check(
        "local f f = function(n) local ok, why = coroutine.resume(coroutine.create(f), n + 1) \
         if ok then return why end return n end return f(0)",
        ":1",
    );
    check(
        "local co co = coroutine.wrap(function() return co() end) return co()",
        "cannot resume running coroutine",
    );
    check(
        "local co co = coroutine.create(function() \
           return coroutine.wrap(function() return coroutine.resume(co, unpack({}, 1, 7000)) end)() \
         end) return {coroutine.resume(co)}",
        "cannot resume normal coroutine",
    );
    check(
        "local co = coroutine.wrap(function(...) return ... end) return select('#', co(unpack({}, 1, 7000)))",
        ":7000\r\n",
    );
    check(
        "return select(2, pcall(coroutine.yield, 1))",
        "attempt to yield across metamethod/C-call boundary",
    );
    check(
        "return coroutine.wrap(function() return select(2, pcall(coroutine.yield, 1)) end)()",
        "attempt to yield across metamethod/C-call boundary",
    );
    check("return coroutine.create(type)", "Lua function expected");
}

#[test]
fn functions_with_many_fixed_parameters_get_room() {
    // CVE-2014-5461.
    let names = (1..=200)
        .map(|n| format!("p{n}"))
        .collect::<Vec<_>>()
        .join(",");
    let names = names.replace(",p200", "");
    check(
        &format!("local function f({names}, ...) return select('#', ...) end return f()"),
        ":0\r\n",
    );
    check(
        &format!(
            "local function f({names}, ...) return p199, select('#', ...) end \
             local function g(n) if n == 0 then return f(1) end return g(n - 1) end \
             return coroutine.wrap(function() return g(50) end)()"
        ),
        "$-1\r\n",
    );
    check(
        "local function f(a, ...) if a == 0 then return 0 end return 1 + f(a - 1, ...) end \
         return f(30, unpack({}, 1, 700))",
        ":30\r\n",
    );
}

#[test]
fn values_beyond_the_stack_of_c_are_refused() {
    // CVE-2021-32626.
    check("return redis.call('ECHO', unpack({}, 1, 7979))", "-ERR");
    check("return {pcall(string.format, unpack({}, 1, 7900))}", "*");
    check(
        "return select('#', string.byte(('x'):rep(7900), 1, -1))",
        ":7900\r\n",
    );
    check(
        "local t = {} for i = 1, 7000 do t = {t} end return t",
        "reached lua stack limit",
    );
    check(
        "redis.setresp(3) local t = {} for i = 1, 7000 do t = {map = {[1] = t}} end return t",
        "reached lua stack limit",
    );
    check(
        "redis.setresp(3) local t = {} for i = 1, 7000 do t = {set = {[t] = true}} end return t",
        "reached lua stack limit",
    );
}

// Tables that change while they are used.

#[test]
fn invalid_order_functions_get_an_error_or_an_order() {
    let fill = "local t = {} for i = 1, 1000 do t[i] = (i * 7919) % 1009 end";
    for compare in [
        "function() return true end",
        "function() return 1 end",
        "function(a, b) t[#t] = nil return true end",
        "function(a, b) for i = 1, #t do t[i] = nil end return a end",
        "function(a, b) for i = 1, 9 do table.insert(t, i) end return #t < 5000 end",
        "function(a, b) table.sort(t) return true end",
        "function(a, b) error('x') end",
        "function(a, b) return coroutine.yield() end",
        "redis.call",
    ] {
        let mut client = Client::new();
        let reply = client.eval(&format!(
            "{fill} return {{pcall(table.sort, t, {compare})}}"
        ));
        assert!(reply.starts_with('*'), "{compare}: {reply}");
        assert_eq!(client.eval("return 1"), ":1\r\n", "after {compare}");
    }
    check(
        "local t = {1, 0/0, 3, 0/0, 2, 0/0} table.sort(t) return #t",
        ":6\r\n",
    );
    check("table.sort({1, 'a', {}})", "attempt to compare");
    check(
        "local t = {3, 1} for k in pairs(t) do t[k] = nil t[k + 10] = 1 end return 1",
        "",
    );
    check("return next({}, 'absent')", "invalid key to 'next'");
    check("return next({1, 2}, 0/0)", "invalid key to 'next'");
}
