//! Scripts that want more than the interpreter has: more values at a time, or more memory.

use super::client::{Client, check};

#[test]
fn thousands_of_values_pass_through_a_call() {
    let fill = |count: u32, of: &str| format!("local m = {{}} for i = 1, {count} do {of} end");
    for (count, made, used, expected) in [
        (
            7_000,
            "m[i] = 'a' .. i",
            "redis.call('sadd', 's', unpack(m))",
            ":7000\r\n",
        ),
        (
            7_000,
            "m[i] = {}",
            "redis.pcall(unpack(m)).err ~= nil",
            ":1\r\n",
        ),
    ] {
        check(&format!("{} return {used}", fill(count, made)), expected);
    }
}

#[test]
fn a_script_returns_a_map_and_a_set_of_thousands() {
    for (kind, each, head) in [
        ("map", "m[tostring(i)] = i", "*18000\r\n"),
        ("set", "m[tostring(i)] = 1", "*9000\r\n"),
    ] {
        let mut client = Client::new();
        let script = format!(
            "redis.setresp(3) local m = {{}} for i = 1, 9000 do {each} end return {{{kind} = m}}"
        );
        assert!(client.eval(&script).starts_with(head), "{kind}");
    }
}

#[test]
fn thousands_of_scripts_coexist() {
    let mut client = Client::new();
    for number in 0..2_000 {
        assert_eq!(
            client.eval(&format!("return {number}")),
            format!(":{number}\r\n")
        );
    }
}

/// Takes more than the values of a script may, in tables and in texts.
const TOO_MUCH: [&str; 2] = [
    "local t = {} for i = 1, 3000000 do t[i] = {i} end return 1",
    "local t = {} for i = 1, 400 do t[i] = string.rep('x', 1000000) .. i end return 1",
];

const NOT_ENOUGH: &str = "-ERR Error running script, not enough memory\r\n";

#[test]
fn a_script_that_meets_the_memory_limit_may_try_again() {
    let mut client = Client::new();
    for script in TOO_MUCH {
        for _ in 0..2 {
            assert_eq!(client.eval(script), NOT_ENOUGH, "{script}");
            assert_eq!(client.eval("return 1"), ":1\r\n");
            let large = client.eval("return #string.rep(string.rep('x', 60000), 1000)");
            assert_eq!(large, ":60000000\r\n");
        }
    }
}

#[test]
fn concatenation_of_many_long_texts_meets_the_limit() {
    let doubles = "local s = 'x' for i = 1, 60 do s = s .. s end return #s";
    let many = format!(
        "local s = ('x'):rep(5e7) return #({}s)",
        "s .. ".repeat(150)
    );
    for script in [doubles, &many] {
        assert_eq!(Client::new().eval(script), NOT_ENOUGH, "{script:.60}");
        let caught = format!("return {{pcall(function() {script} end)}}");
        assert_eq!(Client::new().eval(&caught), NOT_ENOUGH, "{script:.60}");
    }
}

#[test]
fn coroutines_that_are_kept_meet_the_limit() {
    check(
        "local t = {} for i = 1, 1e6 do t[i] = coroutine.create(function() end) end return 1",
        "not enough memory",
    );
    check(
        "for i = 1, 1e5 do coroutine.wrap(function() end)() end return 1",
        ":1\r\n",
    );
}

#[test]
fn iterators_that_are_over_take_no_memory() {
    check(
        "for i = 1, 2e6 do for _ in string.gmatch('a', 'b') do end end return 1",
        ":1\r\n",
    );
}

#[test]
fn replacements_of_any_length_meet_the_limit() {
    check(
        "local s = ('x'):rep(1e6) return #s:gsub('x', s)",
        "not enough memory",
    );
    check(
        "local s = ('x'):rep(6e7) return #string.format('%s%s%s%s%s%s', s, s, s, s, s, s)",
        "not enough memory",
    );
}

#[test]
fn script_can_catch_out_of_memory() {
    check(
        "local ok, why = pcall(function() return string.rep(string.rep('x', 1000000), 1000) end) return why",
        "$17\r\nnot enough memory\r\n",
    );
}

#[test]
fn results_of_scripts_count_as_memory() {
    let many = "local s = string.rep('x', 1000000) local t = {} for i = 1, 1000 do t[i] = s end";
    for value in [
        "t",
        "{ok = s}",
        "{err = s}",
        "{big_number = s}",
        "{map = {[s] = t}}",
        "{set = {[s] = 1}}",
        "{verbatim_string = {format = 'txt', string = s}}",
    ] {
        let script =
            format!("{many} local all = {{}} for i = 1, 1000 do all[i] = {value} end return all");
        check(
            &script,
            "-ERR the script's value is too large for a reply\r\n",
        );
    }
    let script = "error({err = string.rep(string.rep('x', 1000000), 70)})";
    let reply = Client::new().eval(script);
    let start = "-ERR the script's error is too large for a reply script: ";
    assert!(reply.starts_with(start), "{}", reply.len());
}

/// A node with replicas, or a file, keeps what a script writes until the script ends.
#[test]
fn propagated_writes_count_as_memory_of_the_script() {
    let script = "local s = string.rep('x', 1000000) \
                  for i = 1, 1000 do redis.call('set', 'k', s) end return redis.status_reply('all')";
    let mut client = Client::new();
    assert_eq!(client.eval(script), "+all\r\n");
    assert_eq!(
        client.send(&["CONFIG", "SET", "appendonly", "yes"]),
        "+OK\r\n"
    );
    let reply = client.eval(script);
    assert!(reply.contains("not enough memory"), "{reply}");
    assert_eq!(
        client.eval("return redis.call('strlen', 'k')"),
        ":1000000\r\n"
    );
}
