//! Scripts that reach for what other scripts share.

use super::client::{Client, check};

#[test]
fn metatables_of_basic_types_are_out_of_reach() {
    // CVE-2022-24735, CVE-2025-46818.
    for value in [
        "''", "1", "true", "nil", "print", "tostring", "_G", "redis", "math",
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
