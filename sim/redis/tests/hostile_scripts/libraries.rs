//! Scripts with extreme arguments for the libraries that Redis adds to Lua, and scripts that reach for
//! what other scripts share.

use super::client::{Client, check};

// The libraries that Redis adds.

#[test]
fn packed_data_with_false_lengths_gets_an_error() {
    // CVE-2018-11218, CVE-2022-24834.
    for (data, expected) in [
        ("\\221", "Missing bytes"),
        ("\\144", "*0\r\n"),
        ("\\221\\221", "Missing bytes"),
        ("\\xdd\\xff\\xff\\xff\\xff", "Missing bytes"),
        ("\\xdf\\xff\\xff\\xff\\xff", "Missing bytes"),
        ("\\xdb\\xff\\xff\\xff\\xff", "Missing bytes"),
        ("\\xda\\xff", "Missing bytes"),
        ("\\xd9", "Missing bytes"),
        ("\\xcf\\1", "Missing bytes"),
        ("\\xc1", "Bad data format"),
        ("\\x81\\xc0\\1", "table index is nil"),
    ] {
        let data = [
            "xdd", "xff", "xdf", "xdb", "xda", "xd9", "xcf", "xc1", "x81", "xc0",
        ]
        .iter()
        .fold(data.to_owned(), |data, hex| {
            let byte = u8::from_str_radix(&hex[1..], 16).expect("two digits");
            data.replace(&format!("\\{hex}"), &format!("\\{byte}"))
        });
        check(&format!("return cmsgpack.unpack('{data}')"), expected);
    }
    for call in [
        "cmsgpack.unpack_one('\\1', -1)",
        "cmsgpack.unpack_one('\\1', -2147483648)",
        "cmsgpack.unpack_limit('\\1', -1)",
        "cmsgpack.unpack_limit('\\1', -1, -1)",
    ] {
        check(&format!("return {call}"), "Invalid request to unpack");
    }
    check(
        "return cmsgpack.unpack_one('\\1', 2147483647)",
        "greater than input length",
    );
    // As an int it is 0.
    check(
        "return select(2, cmsgpack.unpack_one('\\1', 4294967296))",
        ":1\r\n",
    );
    check(
        "return cmsgpack.unpack(('\\145'):rep(100000) .. '\\1')",
        "stack overflow",
    );
    check(
        "local t = {} t[1], t[2] = t, t return cjson.encode(t)",
        "excessive nesting",
    );
    check(
        "return cjson.encode({[2147483647] = 1})",
        "excessively sparse array",
    );
    check(
        "return cjson.encode({[1e308] = 1})",
        "excessively sparse array",
    );
    check("return cjson.encode({[-1] = 1})", "{\"-1\":1}");
    check("return cjson.encode(0/0)", "must not be NaN or Inf");
    check(
        "return cjson.decode(('['):rep(100000))",
        "too many nested data structures",
    );
    check(
        "return cjson.decode(('{\"a\":'):rep(100000))",
        "too many nested data structures",
    );
    check(
        "return cjson.decode('\"\\\\ud800\"')",
        "invalid unicode escape",
    );
    check("return #cjson.encode(('\\0'):rep(1e6))", ":6000002\r\n");
}

// What scripts share.

#[test]
fn metatables_of_basic_types_are_out_of_reach() {
    // CVE-2022-24735, CVE-2025-46818.
    for value in [
        "''",
        "1",
        "true",
        "nil",
        "print",
        "tostring",
        "cjson.null",
        "_G",
        "redis",
        "math",
    ] {
        let value = if value == "print" {
            "function() end"
        } else {
            value
        };
        let mut client = Client::new();
        let reply = client.eval(&format!(
            "local m = getmetatable({value}) if not m then return 'none' end \
             m.__index = function() return 'changed' end return 'reached'"
        ));
        assert!(
            reply == "$4\r\nnone\r\n" || reply.contains("readonly table"),
            "{value}: {reply}"
        );
        assert_eq!(client.eval("return ('x').nothing"), "$-1\r\n", "{value}");
    }
    check("setmetatable('', {})", "table expected, got string");
    check("setmetatable(_G, {})", "readonly table");
    check(
        "return setfenv(0, {})",
        "nonexistent global variable 'setfenv'",
    );
    check("return getfenv()", "nonexistent global variable 'getfenv'");
}

#[test]
fn nothing_with_a_finaliser_is_available() {
    // CVE-2024-46981.
    for name in [
        "newproxy", "debug", "io", "os", "package", "require", "dofile", "loadfile", "print",
    ] {
        check(
            &format!("return {name}"),
            &format!("nonexistent global variable '{name}'"),
        );
    }
    let finaliser = "setmetatable({}, {__gc = function() redis.call('SET', 'k', 'v') end}) \
        local t = {} for i = 1, 100000 do t[i % 10] = {i} end";
    let mut client = Client::new();
    for _ in 0..20 {
        assert_eq!(client.eval(finaliser), "$-1\r\n");
    }
    assert_eq!(client.eval("return redis.call('GET', 'k')"), "$-1\r\n");
}

#[test]
fn incomplete_or_hostile_scripts_do_not_compile() {
    // CVE-2022-24736: a shebang without a name, and the like.
    for script in [
        "#!", "#!\n", "#!lua", "#!lua ", "#!lua\0", "#", "\0", "\u{1b}", "[", "--[", "--[[", "'",
    ] {
        let mut client = Client::new();
        let reply = client.eval(script);
        assert!(
            reply.starts_with('-') || reply.starts_with('$'),
            "{script:?}: {reply}"
        );
        assert_eq!(client.eval("return 1"), ":1\r\n");
    }
}
