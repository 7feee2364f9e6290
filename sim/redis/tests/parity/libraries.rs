//! Redis's Lua libraries `cjson` and `cmsgpack`.

use std::cell::RefCell;

use proptest::prelude::*;

use crate::pair::Pair;
use crate::random;
use crate::scripts::check;
use crate::wire::Likeness;

/// Checks expressions; their values are shown with their types.
fn check_values(expressions: &[&str]) {
    let scripts: Vec<String> = expressions
        .iter()
        .map(|expression| format!("{SHOW} return show({expression})"))
        .collect();
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    check(&scripts);
    // Errors name the line and the function; in `pcall` the function has no name.
    let raw: Vec<String> = expressions
        .iter()
        .map(|expression| format!("\nlocal x = {expression}\nreturn x"))
        .collect();
    let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
    check(&raw);
}

/// Shows numbers with all their digits, and strings as hexadecimal.
const SHOW: &str = "local function one(v, depth)
    if type(v) == 'number' then return string.format('%.17g', v) end
    if type(v) == 'string' then
        return '<' .. v:gsub('.', function(c) return string.format('%02x', c:byte()) end) .. '>'
    end
    if type(v) ~= 'table' then return tostring(v) end
    if depth > 20 then return '...' end
    local t = {}
    for k, w in pairs(v) do t[#t + 1] = one(k, depth + 1) .. '=' .. one(w, depth + 1) end
    table.sort(t)
    return '{' .. table.concat(t, ',') .. '}'
end
local function show(...)
    local t = {}
    for i = 1, select('#', ...) do t[i] = one((select(i, ...)), 0) end
    return t
end";

#[test]
fn json_encoding_matches_redis() {
    check_values(&[
        "cjson.encode()",
        "cjson.encode(1, 2)",
        "cjson.encode(nil)",
        "cjson.encode({})",
        "cjson.encode({{}, {1}, {a = {}}})",
        "cjson.encode({1, 2.5, 'x', true, false, cjson.null})",
        "cjson.encode({a = 1})",
        // In which order, is the interpreter's affair.
        "cjson.decode(cjson.encode({a = 1, b = 2, c = {d = 3, e = 4}, [1] = 5, [2.5] = 6}))",
        "#cjson.encode({one = 1, two = 2, three = 3, four = 4, five = 5, six = 6, seven = 7})",
        "cjson.encode({1, 2, nil, 4})",
        "cjson.encode({[2] = 1})",
        "cjson.encode({[10] = 1})",
        "cjson.encode({[11] = 1})",
        "cjson.encode({[1] = 1, [2] = 1, [3] = 1, [4] = 1, [5] = 1, [12] = 1})",
        "cjson.encode({[1] = 1, [2] = 1, [3] = 1, [4] = 1, [5] = 1, [13] = 1})",
        "cjson.encode({[0] = 1})",
        "cjson.encode({[-1] = 1})",
        "cjson.encode({[1] = 1, x = 2})",
        "cjson.encode({[true] = 1})",
        "cjson.encode({[{}] = 1})",
        "cjson.encode({[0/0 == 0] = 1})",
        "cjson.encode(0.1)",
        "cjson.encode(1/3)",
        "cjson.encode(1e15)",
        "cjson.encode(1e14)",
        "cjson.encode(123456789012345678)",
        "cjson.encode(-0)",
        "cjson.encode(1e-7)",
        "cjson.encode(2^53)",
        "cjson.encode(0/0)",
        "cjson.encode(1/0)",
        "cjson.encode({-1/0})",
        "cjson.encode(type)",
        "cjson.encode({coroutine.create(type)})",
        "cjson.encode('a\\0b\\1\\8\\9\\10\\12\\13\\31\\127\\128\\255/\\\\\"é')",
        "cjson.encode(KEYS)",
        "(function() local t = {} t.t = t return cjson.encode(t) end)()",
        "(function() local t = {} for i = 1, 999 do t = {t} end return #cjson.encode(t) end)()",
        "(function() local t = {} for i = 1, 1000 do t = {t} end return #cjson.encode(t) end)()",
        "pcall(cjson.encode)",
        "pcall(cjson.encode, type)",
        "cjson._NAME .. cjson._VERSION",
        "tostring(cjson.null)",
        "type(cjson.null)",
        "cjson.nope",
    ]);
}

#[test]
fn json_decoding_matches_redis() {
    check_values(&[
        "cjson.decode()",
        "cjson.decode('1', 2)",
        "cjson.decode({})",
        "cjson.decode(nil)",
        "cjson.decode(12)",
        "cjson.decode('')",
        "cjson.decode(' ')",
        "cjson.decode(' [ 1 , 2 ] ')",
        "cjson.decode('[]')",
        "cjson.decode('{}')",
        "cjson.decode('null')",
        "cjson.decode('[null, 1]')",
        "cjson.decode('true')",
        "cjson.decode('falsey')",
        "cjson.decode('nul')",
        "cjson.decode('True')",
        "cjson.decode('\"text\"')",
        "cjson.decode('{\"a\": {\"b\": [1, {\"c\": \"d\"}]}, \"e\": true}')",
        "cjson.decode('{\"a\": 1, \"a\": 2}')",
        "cjson.decode('{a: 1}')",
        "cjson.decode('{\"a\" 1}')",
        "cjson.decode('{\"a\": }')",
        "cjson.decode('{\"a\": 1,}')",
        "cjson.decode('{\"a\": 1')",
        "cjson.decode('{\"a\": 1 2}')",
        "cjson.decode('{1: 2}')",
        "cjson.decode('[1,]')",
        "cjson.decode('[1 2]')",
        "cjson.decode('[,]')",
        "cjson.decode('[')",
        "cjson.decode(']')",
        "cjson.decode('[1] x')",
        "cjson.decode('[1] 2')",
        "cjson.decode('1 }')",
        "cjson.decode('\"a')",
        "cjson.decode('\"\\\\q\"')",
        "cjson.decode('\"a\\\\')",
        "cjson.decode('\"\\\\n\\\\t\\\\r\\\\b\\\\f\\\\/\\\\\\\\\\\\\"\"')",
        "cjson.decode('\"\\\\u0041\\\\u00e9\\\\u20ac\\\\ud83d\\\\ude00\"')",
        "cjson.decode('\"\\\\u0000\"')",
        "cjson.decode('\"\\\\ud800\"')",
        "cjson.decode('\"\\\\udc00\"')",
        "cjson.decode('\"\\\\ud800\\\\u0041\"')",
        "cjson.decode('\"\\\\u12\"')",
        "cjson.decode('\"a\\0b\"')",
        "cjson.decode('\"\\255\\254\"')",
        "cjson.decode('1\\0')",
        "cjson.decode('[1,\\0')",
        "cjson.decode('\\0\\0')",
        "cjson.decode('1')",
        "cjson.decode('-1.5e3')",
        "cjson.decode('1e400')",
        "cjson.decode('01')",
        "cjson.decode('0x10')",
        "cjson.decode('0xg')",
        "cjson.decode('0x.8p1')",
        "cjson.decode('+1')",
        "cjson.decode('+')",
        "cjson.decode('-')",
        "cjson.decode('--1')",
        "cjson.decode('1.')",
        "cjson.decode('.5')",
        "cjson.decode('-.5')",
        "cjson.decode('1e')",
        "cjson.decode('1e+')",
        "cjson.decode('inf')",
        "cjson.decode('-Infinity')",
        "cjson.decode('infinit')",
        "cjson.decode('nope')",
        "cjson.decode('I')",
        "cjson.decode('[1-2]')",
        "cjson.decode('12345678901234567890')",
        "cjson.decode(string.rep('[', 1001))",
        "#cjson.decode(string.rep('[', 1000) .. string.rep(']', 1000))",
        "cjson.decode(string.rep('{\"a\":', 1001))",
        "pcall(cjson.decode, '[')",
        "cjson.encode(cjson.decode('{\"y\": [2, {\"x\": {\"w\": null}}, {\"v\": \"u\"}]}'))",
    ]);
}

#[test]
fn msgpack_encoding_matches_redis() {
    check_values(&[
        "cmsgpack.pack()",
        "cmsgpack.pack(nil)",
        "cmsgpack.pack(1, 2, 'a', true, false)",
        "cmsgpack.pack(0, 127, 128, 255, 256, 65535, 65536, 2^32 - 1, 2^32, 2^53, 2^62)",
        "cmsgpack.pack(-1, -32, -33, -128, -129, -32768, -32769, -2^31, -2^31 - 1, -2^63)",
        "cmsgpack.pack(1.5, 0.1, 2^63, 2^64, -2^64, 1/0, -1/0, -0)",
        "cmsgpack.pack(0/0)",
        "cmsgpack.pack(string.rep('a', 31), string.rep('a', 32), string.rep('a', 255))",
        "cmsgpack.pack(string.rep('a', 256))",
        "#cmsgpack.pack(string.rep('a', 65536))",
        "cmsgpack.pack({}, {1, 2, {3}}, {a = 1}, {[1] = 1, [3] = 1}, {[1.5] = 1}, {['1'] = 1})",
        "cmsgpack.pack({1, nil, 3}, {[2] = 1}, {[0] = 1}, {[-1] = 1})",
        "cmsgpack.pack({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})",
        // In which order, is the interpreter's affair.
        "#cmsgpack.pack({one = 1, two = 2, three = 3, four = 4, five = 5})",
        "cmsgpack.unpack(cmsgpack.pack({one = 1, two = 2, three = 3, four = 4, five = 5}))",
        "(function() local t = {} t.t = t return cmsgpack.pack(t) end)()",
        "(function() local t = {} t[1] = t return cmsgpack.pack(t) end)()",
        "cmsgpack.pack(type, cjson.null)",
        "cmsgpack.unpack()",
        "cmsgpack.unpack('')",
        "cmsgpack.unpack({})",
        "cmsgpack.unpack(5)",
        "cmsgpack.unpack('\\1\\2\\3')",
        "cmsgpack.unpack('\\1\\2\\3', 2)",
        "cmsgpack.unpack('\\193')",
        "cmsgpack.unpack('\\196\\1a')",
        "cmsgpack.unpack('\\147\\1\\2')",
        "cmsgpack.unpack('\\217')",
        "cmsgpack.unpack('\\217\\5abc')",
        "cmsgpack.unpack('\\165abc')",
        "cmsgpack.unpack('\\206\\1\\2\\3')",
        "cmsgpack.unpack('\\221\\255\\255\\255\\255')",
        "cmsgpack.unpack('\\223\\255\\255\\255\\255\\1')",
        "cmsgpack.unpack('\\129\\192\\1')",
        "cmsgpack.unpack('\\129\\203\\127\\248\\0\\0\\0\\0\\0\\0\\1')",
        "cmsgpack.unpack('\\129\\1\\192\\2')",
        "cmsgpack.unpack('\\217\\1a\\218\\0\\1b\\219\\0\\0\\0\\1c')",
        "cmsgpack.unpack('\\208\\255\\209\\255\\1\\210\\255\\255\\255\\1')",
        "cmsgpack.unpack('\\211\\255\\255\\255\\255\\255\\255\\255\\1\\207\\255\\255\\255\\255\\255\\255\\255\\1')",
        "cmsgpack.unpack('\\202\\63\\192\\0\\0\\203\\63\\185\\153\\153\\153\\153\\153\\154')",
        "cmsgpack.unpack('\\204\\255\\205\\255\\1\\206\\255\\0\\0\\1\\224\\127')",
        "cmsgpack.unpack('\\220\\0\\2\\1\\2\\222\\0\\1\\161a\\1\\192\\194\\195')",
        "cmsgpack.unpack_one('\\1\\2\\3')",
        "cmsgpack.unpack_one('\\1\\2\\3', 1)",
        "cmsgpack.unpack_one('\\1\\2\\3', 2)",
        "cmsgpack.unpack_one('\\1\\2\\3', 3)",
        "cmsgpack.unpack_one('\\1\\2\\3', 4)",
        "cmsgpack.unpack_one('\\1\\2\\3', -1)",
        "cmsgpack.unpack_one('\\1\\2\\3', 'x')",
        "cmsgpack.unpack_limit('\\1\\2\\3', 2)",
        "cmsgpack.unpack_limit('\\1\\2\\3', 2, 1)",
        "cmsgpack.unpack_limit('\\1\\2\\3', 2, 9)",
        "cmsgpack.unpack_limit('\\1\\2\\3', -1)",
        "cmsgpack.unpack_limit('\\1\\2\\3', 0)",
        "cmsgpack.unpack_limit('\\1\\2\\3', 0, 1)",
        "cmsgpack.unpack_limit('\\1\\2\\3')",
        "pcall(cmsgpack.unpack)",
        "cmsgpack._NAME .. cmsgpack._VERSION .. cmsgpack._COPYRIGHT .. cmsgpack._DESCRIPTION",
    ]);
}

#[test]
fn libraries_are_read_only() {
    check(&[
        "cjson.x = 1",
        "cmsgpack.pack = nil",
        "cjson = nil",
        "rawset(cmsgpack, 'x', 1)",
        "setmetatable(cjson, {})",
        "local t = {} for k in pairs(cmsgpack) do t[#t + 1] = k end table.sort(t) return t",
        "error(cjson.null)",
        "return {1, cjson.null, 3}",
        "return cjson.null",
        "local ok, e = pcall(error, cjson.null) return {tostring(ok), tostring(e)}",
    ]);
}

/// Calls a function with random arguments, and shows its result or error.
fn check_random(function: &str, pieces: &'static [&'static [u8]]) {
    let pair = RefCell::new(Pair::start(1));
    let script = format!("{SHOW} return show(pcall({function}, unpack(ARGV)))");
    let argument = prop::collection::vec(prop::sample::select(pieces), 0..10);
    random::check(1000, (argument.clone(), argument), |arguments| {
        let (one, other) = (arguments.0.concat(), arguments.1.concat());
        let words: [&[u8]; 5] = [b"EVAL", script.as_bytes(), b"0", &one, &other];
        // `cjson.decode` takes one argument only.
        let len = if function == "cjson.decode" { 4 } else { 5 };
        pair.borrow_mut()
            .compare(0, &words[..len], Likeness::Bytes)
            .map_err(TestCaseError::fail)?;
        Ok(())
    });
}

#[test]
fn any_text_decodes_as_in_redis() {
    check_random(
        "cjson.decode",
        &[
            b"{", b"}", b"[", b"]", b"\"", b"\"a\"", b":", b",", b"1", b"-", b"0", b".5", b"e3",
            b"E", b"+", b"null", b"true", b"inf", b"nan", b"0x", b"f", b" ", b"\0", b"\\",
            b"\\u00e9", b"\\ud83d", b"\\ude00", b"x",
        ],
    );
}

#[test]
fn any_message_unpacks_as_in_redis() {
    check_random(
        "cmsgpack.unpack",
        &[
            b"\x01", b"\x7f", b"\x80", b"\x81", b"\x82", b"\x90", b"\x91", b"\x93", b"\xa1",
            b"\xa3", b"\xc0", b"\xc1", b"\xc2", b"\xc3", b"\xca", b"\xcb", b"\xcc", b"\xcd",
            b"\xce", b"\xcf", b"\xd0", b"\xd1", b"\xd2", b"\xd3", b"\xd9", b"\xda", b"\xdb",
            b"\xdc", b"\xdd", b"\xde", b"\xdf", b"\xe0", b"\xff", b"\0", b"\0\x02", b"a", b"bc",
        ],
    );
}

/// Lua's stack has room for 8000 values in one function.
#[test]
fn stack_overflow_matches_redis() {
    let fill = "local t = {} for i = 1, 8010 do t[i] = 'a' end";
    let mut scripts = Vec::new();
    for count in [4000, 4001, 7900] {
        scripts.push(format!(
            "{fill} return #cmsgpack.pack(unpack(t, 1, {count}))"
        ));
    }
    for count in [7900, 7999, 8000] {
        scripts.push(format!("{fill} return select('#', unpack(t, 1, {count}))"));
    }
    for (text, count) in [
        ("\\1", 7990),
        ("\\1", 8000),
        ("\\1", 10_000_000),
        ("\\144", 7990),
        ("\\144", 7999),
        ("\\145\\1", 7990),
        ("\\145\\1", 7998),
        ("\\128", 7990),
        ("\\129\\1\\1", 7990),
        ("\\129\\1\\1", 7998),
        ("\\145", 100_000),
    ] {
        scripts.push(format!(
            "return select('#', cmsgpack.unpack(string.rep('{text}', {count})))"
        ));
    }
    for limit in [7990, 7999, 8000] {
        scripts.push(format!(
            "return select('#', cmsgpack.unpack_limit(string.rep('\\1', 9000), {limit}))"
        ));
    }
    for call in [
        "cjson.encode",
        "cjson.decode",
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
