//! Scripts that would end a process through Lua's parser, and bytecode.

use super::client::{Client, check};

#[test]
fn deeply_nested_text_gets_an_error() {
    let levels = "chunk has too many syntax levels";
    for (open, close) in [
        ("return (", ")"),
        ("return {", "}"),
        ("return - ", "1"),
        ("return not ", "1"),
        ("return '' .. ", "''"),
        ("return 2 ^ ", "2"),
        ("do ", " end"),
        ("while 1 do ", " end"),
        ("if 1 then ", " end"),
        ("repeat ", " until 1"),
        ("return function() ", " end"),
        ("local function f() ", " end"),
        ("for i = 1, 2 do ", " end"),
        ("f(", ")"),
        ("return t[", "]"),
    ] {
        let open = match open.strip_prefix("return ") {
            Some(rest) if !rest.starts_with("function") => format!("return {}", rest.repeat(9000)),
            _ => open.repeat(9000),
        };
        let text = format!("{open}1{}", close.repeat(9000));
        let text = text.replace("do 1", "do ").replace("then 1", "then ");
        let reply = Client::new().eval(&text);
        assert!(
            reply.starts_with("-ERR Error compiling script"),
            "{open:.40}: {reply:.200}"
        );
        check(
            "return select(2, loadstring('return ' .. ('('):rep(9000)))",
            levels,
        );
    }
    // Without depth.
    let long = format!("return 1{}", " + 1".repeat(20_000));
    check(&long, ":20001\r\n");
    let long = format!(
        "if nil then {} end return 3",
        "elseif nil then ".repeat(5_000)
    );
    check(&long, ":3\r\n");
    let assigned = format!("{}x = 1", "a,".repeat(9000));
    let reply = Client::new().eval(&assigned);
    assert!(
        reply.starts_with("-ERR Error compiling script"),
        "{reply:.200}"
    );
}

#[test]
fn long_brackets_of_any_level_are_read_within_bounds() {
    // CVE-2025-46819.
    check("return [==[a]=]b]==]", "$5\r\na]=]b\r\n");
    check("return [=[]=]", "$0\r\n\r\n");
    check("--[==[ a ]=] ]==] return 5", ":5\r\n");
    check("--[== a\nreturn 6", ":6\r\n");
    check(
        "return loadstring('return [' .. ('='):rep(1e6) .. '[x]' .. ('='):rep(1e6) .. ']')()",
        "$1\r\nx\r\n",
    );
    for text in [
        "[==", "[=", "[==[", "[==[]=", "[==[]==", "--[==[", "--[==[]=",
    ] {
        let script = format!("return select(2, loadstring('return {text}'))");
        let reply = Client::new().eval(&script);
        let is_error = reply.contains("unfinished long")
            || reply.contains("invalid long string")
            || reply.contains("unexpected symbol");
        assert!(is_error || reply == "$-1\r\n", "{text}: {reply}");
        check(&format!("return {text}"), "Error compiling script");
    }
    check(
        "return select(2, loadstring('return [' .. ('='):rep(1e7)))",
        "invalid long string delimiter",
    );
    check(
        "return loadstring('return [' .. ('='):rep(1e7) .. '[' )",
        "$-1\r\n",
    );
}

#[test]
fn garbage_collected_while_a_text_is_read_is_not_used() {
    // CVE-2025-49844.
    check(
        "local ended, junk = false, {} \
         local function piece() \
           for i = 1, 2000 do junk[i % 10] = ('x'):rep(1000) .. i end \
           if ended then return nil end ended = true return '' end \
         for i = 1, 50 do ended = false load(piece, 'name' .. i) end return 7",
        ":7\r\n",
    );
    check(
        "local n = 0 \
         for i = 1, 3000 do \
           local f = loadstring('local a = {} for i = 1, 9 do a[i] = {} end return #a', 'chunk' .. i) \
           n = n + f() end return n",
        ":27000\r\n",
    );
}

#[test]
fn bytecode_is_never_loaded() {
    // CVE-2015-4335, CVE-2015-8080.
    let dump = "local code = string.dump(function() return 1 end)";
    check(&format!("{dump} return code:byte()"), ":27\r\n");
    check(&format!("{dump} return loadstring(code)"), "$-1\r\n");
    check(
        &format!("{dump} return load(function() local c = code code = nil return c end)"),
        "$-1\r\n",
    );
    check(
        &format!("{dump} local i = 0 return load(function() i = i + 1 return code:sub(i, i) end)"),
        "$-1\r\n",
    );
    // The node hands it to the interpreter as it is.
    let mut client = Client::new();
    let reply = client.eval("\u{1b}Lua\u{51}\0\u{1}\u{4}\u{8}\u{4}\u{8}\0");
    assert!(reply.starts_with("-ERR Error compiling script"), "{reply}");
}
