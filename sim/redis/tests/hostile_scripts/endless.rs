//! Scripts that hang in a function of Lua or of its libraries: what such a function does counts as
//! instructions, so they run for too long like any other, and can be ended.

#[path = "../fuzz/patience.rs"]
mod patience;

use std::cell::Cell;
use std::rc::Rc;

use locklab_redis::resp::command;
use locklab_redis::{Effect, Node, NodeConfig};

use self::patience::Patience;

/// The node looks up from the script again and again.
#[track_caller]
fn check(script: &str) {
    let mut node = Node::new(NodeConfig::default());
    node.read_clock(|| 0);
    let patience = Patience(Rc::new(Cell::new(8)));
    node.attend(patience.clone());
    let conn = node.accept();
    let mut eval = |script: &str| {
        let mut effects = Vec::new();
        let words = [b"EVAL", script.as_bytes(), b"0"];
        node.receive(conn, &command(&words), 0, &mut effects);
        match &effects[..] {
            [Effect::Send { bytes, .. }] => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{script}: {other:?}"),
        }
    };
    let reply = eval(script);
    assert!(reply.starts_with("-ERR Script killed"), "{script}: {reply}");
    patience.0.set(8);
    assert_eq!(eval("return 1"), ":1\r\n", "after {script}");
}

#[test]
fn pattern_that_backtracks_without_end_can_be_killed() {
    for script in [
        "return string.find(string.rep('a', 40), string.rep('a*', 20) .. 'b')",
        "return string.match(string.rep('a', 40), string.rep('a-', 20) .. 'b')",
        "return string.gsub(string.rep('a', 40), string.rep('a?', 40) .. string.rep('a', 40) .. 'b', '')",
        "for _ in string.gmatch(string.rep('a', 40), string.rep('a*', 20) .. 'b') do end",
        "return string.find(string.rep('a', 1e6), string.rep('a', 5e5) .. 'b', 1, true)",
        "return string.find(string.rep('a', 1e6), '[' .. string.rep('b', 1e6) .. ']')",
        "while true do pcall(string.find, string.rep('a', 40), string.rep('a*', 20) .. 'b') end",
    ] {
        check(script);
    }
}

#[test]
fn loops_over_long_tables_can_be_killed() {
    for script in [
        "table.insert({}, -2147483648, 1)",
        "local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e9 do table.insert(t, 1, 1) table.remove(t, 1) end",
        "local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e9 do table.maxn(t) end",
        "local t = {} for i = 1, 1e5 do t[i] = 1 end for i = 1, 1e9 do table.sort(t) end",
        "local t = {} for i = 1, 1e5 do t[i] = '' end for i = 1, 1e9 do table.concat(t) end",
        "for i = 1, 1e9 do unpack({}, 1, 7000) end",
    ] {
        check(script);
    }
}

#[test]
fn loops_over_long_strings_and_coroutines_can_be_killed() {
    for script in [
        "local s = string.rep('x', 1e6) for i = 1, 1e9 do local r = s:reverse() end",
        "local s = string.rep('x', 1e6) for i = 1, 1e9 do local r = s:sub(2) end",
        "local s = string.rep('x', 1e6) for i = 1, 1e9 do local r = s .. i end",
        "local s = 'return ' .. string.rep('-- x', 1e5) for i = 1, 1e9 do loadstring(s) end",
        "while true do coroutine.wrap(function() for i = 1, 90000 do end end)() end",
    ] {
        check(script);
    }
}

/// Scripts that have no loop themselves.
#[test]
fn loops_in_compiled_texts_can_be_killed() {
    for script in [
        "loadstring('while true do end')()",
        "return pcall(loadstring('while true do end'))",
        "coroutine.wrap(loadstring('while true do end'))()",
        "load(string.gmatch('while true do end', '.+'))()",
        "return {xpcall(error, loadstring('while true do end'))}",
        "return tostring(setmetatable({}, {__tostring = loadstring('while true do end')}))",
        "load(function() return ' ' end)",
        "load(gcinfo)",
        "repeat until false",
    ] {
        check(script);
    }
}

#[test]
fn loops_over_functions_of_redis_can_be_killed() {
    let long = "local s = string.rep('1', 1e6)";
    for script in [
        &format!("{long} for i = 1, 1e9 do redis.sha1hex(s) end"),
        &format!("{long} for i = 1, 1e9 do redis.call('echo', s) end"),
        &format!("{long} for i = 1, 1e9 do redis.call('set', 'k', s) end"),
        &format!("{long} redis.call('set', 'k', s) for i = 1, 1e9 do redis.call('get', 'k') end"),
    ] {
        check(script);
    }
}
