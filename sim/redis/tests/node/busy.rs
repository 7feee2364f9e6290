//! How long a script takes, and which clients notice it.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

/// A node with one client that runs scripts and one that observes.
struct Scene {
    node: Node,
    runner: ConnId,
    other: ConnId,
}

/// A loop of about this many instructions, and then the minimum needed to observe its end.
fn script(million_instructions: u64) -> String {
    let turns = million_instructions * 1_000_000;
    format!("EVAL \"for i = 1, {turns} do end return redis.call('set', 'k', 'v')\" 0")
}

impl Scene {
    fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        Scene {
            runner: node.accept(),
            other: node.accept(),
            node,
        }
    }

    /// The messages after a request, each with its recipient.
    fn say(&mut self, conn: ConnId, now_us: u64, line: &str) -> Vec<(ConnId, String)> {
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        self.node
            .receive(conn, line.as_bytes(), now_us, &mut effects);
        sent(effects)
    }

    fn wake(&mut self, now_us: u64) -> Vec<(ConnId, String)> {
        let mut effects = Vec::new();
        self.node.wake(now_us, &mut effects);
        sent(effects)
    }
}

fn sent(effects: Vec<Effect>) -> Vec<(ConnId, String)> {
    let text = |effect| match effect {
        Effect::Send { conn, bytes } => (conn, String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("{other:?}"),
    };
    effects.into_iter().map(text).collect()
}

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or \
                    SHUTDOWN NOSAVE.\r\n";

#[test]
fn a_short_script_takes_no_time() {
    let mut scene = Scene::new();
    let runner = scene.runner;
    let reply = scene.say(
        runner,
        0,
        "EVAL \"for i = 1, 900000 do end return redis.call('set', 'k', 'v')\" 0",
    );
    assert_eq!(reply, [(runner, "+OK\r\n".to_owned())]);
    assert_eq!(scene.node.next_wake_us(), None);
}

#[test]
fn longer_script_delays_other_clients() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    assert_eq!(scene.say(runner, 0, &script(20)), []);
    // Ten instructions per microsecond.
    let ends_us = scene.node.next_wake_us().expect("it ends");
    assert!((2_000_000..2_000_100).contains(&ends_us), "{ends_us}");
    assert_eq!(scene.say(other, 1_000_000, "GET k"), []);
    assert_eq!(scene.say(runner, 1_000_000, "GET k"), []);
    assert_eq!(scene.wake(ends_us - 1), []);
    let mut all = scene.wake(ends_us);
    all.sort();
    assert_eq!(
        all,
        [
            (runner, "+OK\r\n$1\r\nv\r\n".to_owned()),
            (other, "$1\r\nv\r\n".to_owned()),
        ]
    );
    assert_eq!(scene.node.next_wake_us(), None);
}

#[test]
fn script_beyond_the_threshold_makes_the_node_busy_until_it_ends() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    scene.say(other, 0, "CONFIG SET busy-reply-threshold 500");
    assert_eq!(scene.say(runner, 0, &script(20)), []);
    assert_eq!(scene.node.next_wake_us(), Some(500_000));
    assert_eq!(scene.say(other, 499_999, "GET k"), []);
    assert_eq!(scene.wake(500_000), [(other, BUSY.to_owned())]);
    assert_eq!(
        scene.say(other, 600_000, "GET k"),
        [(other, BUSY.to_owned())]
    );
    let ends_us = scene.node.next_wake_us().expect("it ends");
    assert_eq!(scene.say(runner, 600_000, "GET k"), []);
    assert_eq!(
        scene.wake(ends_us),
        [(runner, "+OK\r\n$1\r\nv\r\n".to_owned())]
    );
    assert_eq!(
        scene.say(other, ends_us, "GET k"),
        [(other, "$1\r\nv\r\n".to_owned())]
    );
}

#[test]
fn read_only_script_can_be_killed_before_it_ends() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    scene.say(runner, 0, "MULTI");
    scene.say(
        runner,
        0,
        "EVAL \"for i = 1, 55000000 do end return 'never seen'\" 0",
    );
    scene.say(runner, 0, "SET after x");
    assert_eq!(scene.say(runner, 0, "EXEC"), []);
    assert_eq!(scene.wake(5_000_000), []);
    let mut all = scene.say(other, 5_100_000, "SCRIPT KILL");
    all.sort();
    assert_eq!(
        all,
        [
            (
                runner,
                "*2\r\n-ERR Script killed by user with SCRIPT KILL... script: \
                 2f9da0ecf3fa61ae66c0dda3d6e6485db02b4496, on @user_script:1.\r\n+OK\r\n"
                    .to_owned()
            ),
            (other, "+OK\r\n".to_owned()),
        ]
    );
    assert_eq!(
        scene.say(other, 5_100_000, "GET after"),
        [(other, "$1\r\nx\r\n".to_owned())]
    );
}

#[test]
fn how_long_a_script_takes_does_not_depend_on_others() {
    let ends_us = |before: u64| {
        let mut scene = Scene::new();
        let runner = scene.runner;
        for _ in 0..before {
            scene.say(runner, 0, "EVAL \"for i = 1, 12345 do end\" 0");
        }
        scene.say(runner, 0, &script(2));
        scene.node.next_wake_us()
    };
    assert!(ends_us(0).is_some());
    for before in [1, 7, 30] {
        assert_eq!(ends_us(before), ends_us(0));
    }
}

#[test]
fn client_blocked_on_keys_of_a_script_is_served_when_it_ends() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    scene.say(other, 0, "BLPOP list 1");
    scene.say(
        runner,
        0,
        "EVAL \"redis.call('rpush', 'list', 'x') for i = 1, 20000000 do end\" 0",
    );
    let ends_us = scene.node.next_wake_us().expect("it ends");
    // The wait was long enough, but the clock was not checked.
    let mut all = scene.wake(ends_us);
    all.sort();
    assert_eq!(
        all,
        [
            (runner, "$-1\r\n".to_owned()),
            (other, "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n".to_owned()),
        ]
    );
}

#[test]
fn a_loop_in_a_coroutine_ends_too() {
    for body in [
        "while true do coroutine.resume(coroutine.create(function() pcall(f) end)) end",
        "coroutine.wrap(function() while true do pcall(f) end end)()",
        "while true do xpcall(f, f) end",
    ] {
        let mut scene = Scene::new();
        let (runner, other) = (scene.runner, scene.other);
        let line = format!("EVAL \"local function f() while true do end end {body}\" 0");
        assert_eq!(scene.say(runner, 0, &line), [], "{body}");
        scene.wake(5_000_000);
        let heard = scene.say(other, 5_000_000, "SCRIPT KILL");
        assert_eq!(heard.len(), 2, "{heard:?}");
    }
}

#[test]
fn script_continues_after_its_client_disconnects() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    scene.say(runner, 0, &script(55));
    scene.node.closed(runner);
    scene.wake(5_000_000);
    assert_eq!(
        scene.say(other, 5_000_000, "GET k"),
        [(other, BUSY.to_owned())]
    );
    let ends_us = scene.node.next_wake_us().expect("it ends");
    scene.wake(ends_us);
    assert_eq!(
        scene.say(other, ends_us, "GET k"),
        [(other, "$1\r\nv\r\n".to_owned())]
    );
}

#[test]
fn commands_take_time_too() {
    let ends_us = |calls: u64| {
        let mut scene = Scene::new();
        let runner = scene.runner;
        scene.say(runner, 0, "RPUSH list a b c d e f g h i j");
        let line =
            format!("EVAL \"for i = 1, {calls} do redis.call('lrange', 'list', 0, -1) end\" 0");
        scene.say(runner, 0, &line);
        scene.node.next_wake_us()
    };
    assert_eq!(ends_us(1_000), None);
    // A hundred instructions each, ten for each of four words and ten elements, and those of
    // the loop.
    let took_us = ends_us(10_000).expect("it takes its time");
    assert!((240_000..260_000).contains(&took_us), "{took_us}");
    assert_eq!(ends_us(10_000), Some(took_us));
}

#[test]
fn a_script_that_only_calls_commands_has_no_end() {
    let mut scene = Scene::new();
    let (runner, other) = (scene.runner, scene.other);
    let line = "EVAL \"while 1 do redis.pcall('ping') end\" 0";
    assert_eq!(scene.say(runner, 0, line), []);
    scene.wake(5_000_000);
    let heard = scene.say(other, 5_000_000, "SCRIPT KILL");
    assert_eq!(heard.len(), 2, "{heard:?}");
}

#[test]
fn a_script_can_wait_for_the_clock() {
    let waited = || {
        let mut scene = Scene::new();
        let (runner, other) = (scene.runner, scene.other);
        scene.say(other, 0, "SET k v PX 1000");
        let line = "EVAL \"local n = 0 while redis.call('time')[1] + 0 < 2 do n = n + 1 end \
                    return {n, redis.call('exists', 'k'), redis.call('pttl', 'k')}\" 0";
        assert_eq!(scene.say(runner, 0, line), []);
        let ends_us = scene.node.next_wake_us().expect("it ends");
        assert!((2_000_000..2_050_000).contains(&ends_us), "{ends_us}");
        scene.wake(ends_us)
    };
    let reply = &waited()[0].1;
    // That the key is there is decided by the time at which the script began.
    assert!(reply.ends_with(":1\r\n:0\r\n"), "{reply}");
    assert_eq!(waited(), waited());
}
