//! Scripts that reach for what other scripts share.

use super::client::Client;

#[test]
fn nothing_with_a_finaliser_is_available() {
    // CVE-2024-46981.
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
