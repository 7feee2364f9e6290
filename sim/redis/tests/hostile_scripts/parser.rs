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
fn bytecode_is_never_loaded() {
    // CVE-2015-4335, CVE-2015-8080. What a script makes of it itself is in `scripts/texts.txt`.
    // The node hands it to the interpreter as it is.
    let mut client = Client::new();
    let reply = client.eval("\u{1b}Lua\u{51}\0\u{1}\u{4}\u{8}\u{4}\u{8}\0");
    assert!(reply.starts_with("-ERR Error compiling script"), "{reply}");
}
