//! The data on a node's disk after a restart, a kill or a power loss.

use locklab_redis::{ConnId, Effect, Node, NodeConfig, Parameters};
use locklab_services::disk::Disk;

/// A node with a disk.
struct Machine {
    node: Node,
    client: ConnId,
    disk: Disk,
    parameters: Parameters,
}

impl Machine {
    fn start(parameters: &[(&'static str, &'static str)], now_ms: u64) -> Self {
        let mut machine = Machine {
            node: Node::new(NodeConfig::default()),
            client: Node::new(NodeConfig::default()).accept(),
            disk: Disk::default(),
            parameters: Parameters::new(parameters.iter().copied()).expect("sound parameters"),
        };
        machine.restart(now_ms);
        machine
    }

    /// The process ends, for any reason, and another starts.
    fn restart(&mut self, now_ms: u64) {
        self.node = Node::new(NodeConfig::default());
        let written = self.disk.files().config.as_ref();
        self.node.configure_all(written.unwrap_or(&self.parameters));
        self.node.load(self.disk.files(), now_ms * 1000);
        self.client = self.node.accept();
    }

    fn say(&mut self, now_ms: u64, line: &str) -> String {
        let mut effects = Vec::new();
        let line = format!("{line}\r\n");
        self.node
            .receive(self.client, line.as_bytes(), now_ms * 1000, &mut effects);
        self.execute_effects(effects, now_ms)
    }

    fn wake(&mut self, now_ms: u64) -> String {
        let mut effects = Vec::new();
        self.node.wake(now_ms * 1000, &mut effects);
        self.execute_effects(effects, now_ms)
    }

    fn execute_effects(&mut self, effects: Vec<Effect>, now_ms: u64) -> String {
        let mut heard = String::new();
        for effect in effects {
            match effect {
                Effect::Send { bytes, .. } => heard.push_str(&String::from_utf8_lossy(&bytes)),
                Effect::Disk(write) => self.disk.write(write, now_ms * 1_000_000),
                Effect::Close { .. } | Effect::Connect { .. } | Effect::Exit => {}
            }
        }
        heard
    }
}

const NIL: &str = "$-1\r\n";
const ALWAYS: &[(&str, &str)] = &[("appendonly", "yes"), ("appendfsync", "always")];
const EVERY_SECOND: &[(&str, &str)] = &[("appendonly", "yes")];
const KERNEL: &[(&str, &str)] = &[("appendonly", "yes"), ("appendfsync", "no")];

/// Whether a key that was set at 10 000 ms survives this event at 10 300 ms.
fn survives(
    parameters: &[(&'static str, &'static str)],
    failure: impl FnOnce(&mut Machine),
) -> bool {
    let mut machine = Machine::start(parameters, 9_500);
    // This write is synced in this second; the next sync covers the writes that follow.
    machine.say(10_000, "SET before v");
    machine.say(10_100, "SET k v PX 60000");
    failure(&mut machine);
    machine.restart(10_400);
    machine.say(10_400, "GET k") != NIL
}

fn power_loss(machine: &mut Machine) {
    machine.disk.lose_power(10_300 * 1_000_000);
}

fn shutdown(machine: &mut Machine) {
    machine.say(10_300, "SHUTDOWN");
    machine.disk.lose_power(10_300 * 1_000_000);
}

#[test]
fn surviving_data_depends_on_the_kind_of_end_and_on_fsync() {
    const SNAPSHOT: &[(&str, &str)] = &[("save", "3600 1")];
    let kill = |_: &mut Machine| {};
    for (parameters, after_kill, after_power_loss, after_shutdown) in [
        (&[][..], false, false, false),
        (ALWAYS, true, true, true),
        (EVERY_SECOND, true, false, true),
        (KERNEL, true, false, true),
        (SNAPSHOT, false, false, true),
    ] {
        let survived = [
            survives(parameters, kill),
            survives(parameters, power_loss),
            survives(parameters, shutdown),
        ];
        let expected = [after_kill, after_power_loss, after_shutdown];
        assert_eq!(survived, expected, "{parameters:?}");
    }
}

#[test]
fn everysec_syncs_once_a_second() {
    let mut machine = Machine::start(EVERY_SECOND, 9_500);
    machine.say(10_000, "SET a v");
    machine.say(10_100, "SET k v");
    assert_eq!(machine.node.next_wake_us(), Some(11_000_000));
    machine.wake(11_000);
    assert_eq!(machine.node.next_wake_us(), None);
    machine.disk.lose_power(11_001 * 1_000_000);
    machine.restart(12_000);
    assert_eq!(machine.say(12_000, "GET k"), "$1\r\nv\r\n");
}

#[test]
fn snapshot_is_taken_after_enough_changes_and_time() {
    let mut machine = Machine::start(&[("save", "2 2")], 10_000);
    machine.say(10_000, "SET a v");
    assert_eq!(machine.node.next_wake_us(), None);
    machine.say(10_100, "SET b v");
    assert_eq!(machine.node.next_wake_us(), Some(13_000_000));
    machine.wake(13_000);
    machine.say(13_100, "SET c v");
    machine.disk.lose_power(13_200 * 1_000_000);
    machine.restart(14_000);
    assert_eq!(machine.say(14_000, "EXISTS a b c"), ":2\r\n");
}

#[test]
fn time_passes_while_the_node_is_down() {
    for parameters in [ALWAYS, &[("save", "3600 1")]] {
        let mut machine = Machine::start(parameters, 10_000);
        machine.say(10_000, "SET short v PX 500");
        machine.say(10_000, "SET long v PX 5000");
        machine.say(10_100, "SHUTDOWN");
        machine.restart(11_000);
        assert_eq!(machine.say(11_000, "GET short"), NIL);
        assert_eq!(machine.say(11_000, "PTTL long"), ":4000\r\n");
        assert_eq!(machine.say(11_000, "SET short w NX"), "+OK\r\n");
    }
}

#[test]
fn scripts_and_transactions_are_restored_whole() {
    let mut machine = Machine::start(ALWAYS, 10_000);
    for line in [
        "EVAL \"redis.call('set','a','1','PX',5000); return redis.call('incr','b')\" 0",
        "MULTI",
        "INCR b",
        "HSET h f v",
        "EXEC",
        "SADD s x",
        "SREM s x",
        "PEXPIRE h 3000",
    ] {
        machine.say(10_000, line);
    }
    machine.restart(10_100);
    assert_eq!(machine.say(10_100, "GET b"), "$1\r\n2\r\n");
    assert_eq!(machine.say(10_100, "PTTL a"), ":4900\r\n");
    assert_eq!(machine.say(10_100, "PTTL h"), ":2900\r\n");
    assert_eq!(machine.say(10_100, "EXISTS s"), ":0\r\n");
    assert_eq!(
        machine.say(10_100, "SUBSCRIBE a"),
        "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
    );
}

#[test]
fn a_torn_tail_is_left_out() {
    let mut machine = Machine::start(ALWAYS, 10_000);
    machine.say(10_000, "SET a v");
    machine.say(10_000, "SET b v");
    let mut files = machine.disk.files().clone();
    files.aof.pop();
    let mut node = Node::new(NodeConfig::default());
    node.configure("appendonly", "yes").expect("it exists");
    node.load(&files, 10_100_000);
    machine.node = node;
    machine.client = machine.node.accept();
    assert_eq!(machine.say(10_100, "EXISTS a"), ":1\r\n");
    assert_eq!(machine.say(10_100, "EXISTS b"), ":0\r\n");
}

/// Sentinel sends CONFIG REWRITE after each SLAVEOF, so that a restart undoes no failover.
#[test]
fn a_role_survives_if_the_configuration_file_was_written() {
    let mut machine = Machine::start(&[("replicaof", "n1 6379"), ("hz", "20")], 1_000);
    let role = |machine: &mut Machine| machine.say(1_000, "ROLE").contains("master");
    assert_eq!(machine.say(1_000, "REPLICAOF NO ONE"), "+OK\r\n");
    machine.restart(1_000);
    assert!(!role(&mut machine), "nothing was written");
    machine.say(1_000, "REPLICAOF NO ONE");
    machine.say(1_000, "CONFIG SET requirepass \"\" appendonly yes");
    assert_eq!(machine.say(1_000, "CONFIG REWRITE"), "+OK\r\n");
    machine.restart(1_000);
    assert!(role(&mut machine));
    for (name, value) in [("hz", "20"), ("appendonly", "yes")] {
        let shown = machine.say(1_000, &format!("CONFIG GET {name}"));
        assert!(shown.contains(&format!("{value}\r\n")), "{shown}");
    }
    machine.say(1_000, "REPLICAOF n9 6379");
    machine.say(1_000, "CONFIG REWRITE");
    machine.disk.lose_power(1_000_000_000);
    machine.restart(1_000);
    assert!(machine.say(1_000, "ROLE").contains("n9"));
}

#[test]
fn a_server_without_a_configuration_file_has_none_to_rewrite() {
    let mut machine = Machine::start(&[], 1_000);
    let refused = machine.say(1_000, "CONFIG REWRITE");
    assert!(
        refused.starts_with("-ERR The server is running without"),
        "{refused}"
    );
}

#[test]
fn a_script_chooses_what_is_written_to_the_file() {
    let mut machine = Machine::start(ALWAYS, 10_000);
    let script =
        "EVAL \"for flags = 0, 3 do redis.set_repl(flags) redis.call('set', flags, 'v') end\" 0";
    assert_eq!(machine.say(10_000, script), NIL);
    machine.restart(11_000);
    for (flags, kept) in [(0, false), (1, true), (2, false), (3, true)] {
        let there = machine.say(11_000, &format!("GET {flags}")) != NIL;
        assert_eq!(there, kept, "{flags}");
    }
}

#[test]
fn a_file_that_was_given_up_is_not_waited_for() {
    let mut machine = Machine::start(&[], 10_000);
    machine.say(10_000, "CONFIG SET appendonly yes");
    machine.say(10_100, "SET k v");
    machine.say(10_200, "SET k w");
    assert!(machine.node.next_wake_us().is_some(), "a sync is due");
    machine.say(10_300, "CONFIG SET appendonly no");
    assert_eq!(machine.node.next_wake_us(), None);
}

#[test]
fn shutdown_saves_as_its_arguments_say() {
    for (parameters, command, kept) in [
        (&[("save", "3600 1")][..], "SHUTDOWN", true),
        (&[("save", "3600 1")], "SHUTDOWN NOSAVE", false),
        (&[], "SHUTDOWN", false),
        (&[], "SHUTDOWN SAVE", true),
    ] {
        let mut machine = Machine::start(parameters, 10_000);
        machine.say(10_000, "SET k v");
        machine.say(10_000, command);
        machine.restart(11_000);
        let there = machine.say(11_000, "GET k") != NIL;
        assert_eq!(there, kept, "{parameters:?} {command}");
    }
}

#[test]
fn writes_of_an_unfinished_script_are_not_on_disk() {
    const ENDLESS: &str = "EVAL \"redis.call('set', 'k', 'v') while true do end\" 0";
    for parameters in [ALWAYS, &[("save", "3600 1")]] {
        let mut machine = Machine::start(parameters, 10_000);
        assert_eq!(machine.say(10_000, ENDLESS), "");
        let looker_on = machine.node.accept();
        machine.client = looker_on;
        let busy = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or \
                    SHUTDOWN NOSAVE.\r\n";
        assert_eq!(machine.say(20_000, "SHUTDOWN"), busy);
        assert_eq!(machine.say(20_000, "SHUTDOWN NOSAVE"), "");
        machine.restart(21_000);
        assert_eq!(machine.say(21_000, "GET k"), NIL);
    }
}

/// WAITAOF's reply without replicas.
const DURABLE: &str = "*2\r\n:1\r\n:0\r\n";
const NOT_DURABLE: &str = "*2\r\n:0\r\n:0\r\n";
const NO_FILE: &str =
    "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n";

#[test]
fn waitaof_waits_until_writes_are_durable() {
    let mut machine = Machine::start(EVERY_SECOND, 9_500);
    machine.say(10_000, "SET before v");
    machine.say(10_100, "SET k v");
    assert_eq!(machine.say(10_101, "WAITAOF 1 0 0\r\nPING"), "");
    assert_eq!(machine.node.next_wake_us(), Some(11_000_000));
    assert_eq!(machine.wake(11_000), format!("{DURABLE}+PONG\r\n"));
    machine.disk.lose_power(11_001 * 1_000_000);
    machine.restart(12_000);
    assert_eq!(machine.say(12_000, "GET k"), "$1\r\nv\r\n");
    // A client that wrote nothing does not wait.
    assert_eq!(machine.say(12_000, "WAITAOF 1 0 0"), DURABLE);
}

#[test]
fn waitaof_returns_immediately_if_every_write_is_synced() {
    let mut machine = Machine::start(ALWAYS, 9_500);
    assert_eq!(machine.say(10_000, "SET k v"), "+OK\r\n");
    assert_eq!(machine.say(10_000, "WAITAOF 1 0 0"), DURABLE);
    // Also within one turn of the event loop, at whose end the node syncs.
    let replies = machine.say(10_001, "SET k w\r\nWAITAOF 1 0 0\r\nGET k");
    assert_eq!(replies, format!("+OK\r\n{DURABLE}$1\r\nw\r\n"));
    let replies = machine.say(
        10_002,
        "SET k x\r\nWAITAOF 1 0 0\r\nSET k y\r\nWAITAOF 1 0 0",
    );
    assert_eq!(replies, format!("+OK\r\n{DURABLE}+OK\r\n{DURABLE}"));
}

#[test]
fn waitaof_gives_up_when_its_time_is_over() {
    for parameters in [EVERY_SECOND, KERNEL] {
        let mut machine = Machine::start(parameters, 9_500);
        machine.say(10_000, "SET before v");
        machine.say(10_100, "SET k v");
        assert_eq!(machine.say(10_101, "WAITAOF 1 0 300"), "");
        assert_eq!(machine.wake(10_500), NOT_DURABLE);
    }
    // The kernel writes at some time, without notice.
    let mut machine = Machine::start(KERNEL, 9_500);
    machine.say(10_000, "SET k v");
    assert_eq!(machine.say(10_000, "WAITAOF 1 0 60000"), "");
    assert_eq!(machine.wake(60_000), "");
    assert_eq!(machine.wake(70_100), NOT_DURABLE);
}

#[test]
fn waitaof_does_not_wait_for_writes_of_other_clients() {
    let mut machine = Machine::start(EVERY_SECOND, 9_500);
    machine.say(10_000, "SET k v");
    let other = machine.node.accept();
    let (mut effects, request) = (Vec::new(), b"SET k w\r\n");
    machine
        .node
        .receive(other, request, 10_100_000, &mut effects);
    machine.execute_effects(effects, 10_100);
    assert_eq!(machine.say(10_200, "WAITAOF 1 0 0"), DURABLE);
}

#[test]
fn waitaof_waits_only_where_it_can() {
    let mut machine = Machine::start(&[], 9_500);
    let refused = |machine: &mut Machine, line: &str, error: &str| {
        assert_eq!(machine.say(10_000, line), format!("-ERR {error}\r\n"));
    };
    let not_an_integer = "value is not an integer or out of range";
    refused(&mut machine, "WAITAOF x 0 0", not_an_integer);
    let not_one = "value is out of range, value must between 0 and 1";
    for local in ["2", "-1"] {
        refused(&mut machine, &format!("WAITAOF {local} x x"), not_one);
    }
    let negative = "value is out of range, must be positive";
    for replicas in ["-1", "x"] {
        refused(&mut machine, &format!("WAITAOF 1 {replicas} x"), negative);
    }
    let no_time = "timeout is not an integer or out of range";
    refused(&mut machine, "WAITAOF 1 0 x", no_time);
    refused(&mut machine, "WAITAOF 1 0 -1", "timeout is negative");
    let in_script = "EVAL \"return redis.call('WAITAOF', 0, 0, 0)\" 0";
    let text = machine.say(10_000, in_script);
    assert!(text.contains("not allowed from script"), "{text}");
    assert_eq!(machine.say(10_000, "WAITAOF 1 0 0"), NO_FILE);
    assert_eq!(machine.say(10_000, "WAITAOF 0 0 0"), NOT_DURABLE);

    machine.say(10_000, "CONFIG SET appendonly yes");
    assert_eq!(machine.say(10_000, "WAITAOF 1 0 0"), DURABLE);
    machine.say(10_000, "SET before v");
    let transaction = "MULTI\r\nSET k v\r\nWAITAOF 1 0 0\r\nEXEC";
    machine.say(10_500, "SET k v");
    let text = machine.say(10_500, transaction);
    assert!(text.ends_with(NOT_DURABLE), "{text}");
    assert_eq!(machine.say(10_500, "WAITAOF 1 0 0"), "");
    let other = machine.node.accept();
    let (mut effects, request) = (Vec::new(), b"CONFIG SET appendonly no\r\n");
    machine
        .node
        .receive(other, request, 10_600_000, &mut effects);
    let heard = machine.execute_effects(effects, 10_600);
    assert!(heard.contains(NO_FILE), "{heard}");
}
