//! A node that imitates a later server: the commands that release a lock without a script. The
//! replies are those that the documentation of Redis 8.4 and of Valkey 9.0 gives, those of Redis's
//! own tests (`tests/unit/type/string.tcl`), and those that Valkey 9.1.2 gave.

use locklab_redis::{ConnId, Effect, Imitated, Node, NodeConfig};

/// A client of a node with an append-only file.
struct Client {
    node: Node,
    conn: ConnId,
    /// What the node wrote to its file.
    file: String,
}

impl Client {
    fn of(imitated: Imitated) -> Self {
        let mut node = Node::new(NodeConfig {
            imitated,
            ..NodeConfig::default()
        });
        node.configure("appendonly", "yes").expect("a parameter");
        let conn = node.accept();
        Client {
            node,
            conn,
            file: String::new(),
        }
    }

    /// Sends a line; returns the reply without lengths, its lines separated by spaces.
    fn send(&mut self, line: &str) -> String {
        let (mut effects, mut reply) = (Vec::new(), String::new());
        let line = format!("{line}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), 1_000_000, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { bytes, .. } => reply.push_str(&String::from_utf8_lossy(&bytes)),
                effect => self.file.push_str(&format!("{effect:?}")),
            }
        }
        let is_length = |line: &&str| line.starts_with(['$', '*', '%']) && *line != "$-1";
        let lines = reply.lines().filter(|line| !is_length(line));
        lines.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(&mut self, exchanges: &[(&str, &str)]) {
        for (request, reply) in exchanges {
            assert_eq!(self.send(request), *reply, "{request}");
        }
    }
}

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn delex_deletes_a_string_on_a_condition() {
    let mut client = Client::of(Imitated::Redis8_4);
    client.check(&[
        ("SET k hello", "+OK"),
        ("DELEX k IFEQ world", ":0"),
        ("DELEX k ifeq hello", ":1"),
        ("EXISTS k", ":0"),
        ("SET k hello", "+OK"),
        ("DELEX k IFNE hello", ":0"),
        ("DELEX k IFNE world", ":1"),
        // A key that does not exist is not deleted, whatever the condition.
        ("DELEX k IFEQ hello", ":0"),
        ("DELEX k IFNE hello", ":0"),
        ("SET k 12345", "+OK"),
        ("DELEX k IFEQ 12345", ":1"),
        ("SET k 1", "+OK"),
        ("DELEX k", ":1"),
        ("RPUSH l a", ":1"),
        (
            "DELEX l IFEQ a",
            "-ERR Key should be of string type if conditions are specified",
        ),
        ("DELEX l", ":1"),
        ("SET k x", "+OK"),
        (
            "DELEX k IF x",
            "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE",
        ),
        (
            "DELEX k IFEQ",
            "-ERR wrong number of arguments for 'delex' command",
        ),
        (
            "DELEX absent IFEQ x y",
            "-ERR wrong number of arguments for 'delex' command",
        ),
    ]);
}

#[test]
fn digest_is_that_of_the_documentation() {
    let mut client = Client::of(Imitated::Redis8_4);
    client.check(&[
        ("SET k \"Hello world\"", "+OK"),
        ("DIGEST k", "b6acb9d84a38ff74"),
        ("DIGEST absent", "$-1"),
        ("SET k other IFDEQ b6acb9d84a38ff75", "$-1"),
        ("SET k \"Hello world\" IFDEQ b6acb9d84a38ff74", "+OK"),
        ("DELEX k IFDNE b6acb9d84a38ff74", ":0"),
        ("DELEX k IFDEQ b6acb9d84a38ff75", ":0"),
        ("DELEX k IFDEQ b6acb9d84a38ff74", ":1"),
        ("RPUSH l a", ":1"),
        ("DIGEST l", WRONG_TYPE),
    ]);
}

#[test]
fn set_takes_a_condition_on_the_value() {
    let mut client = Client::of(Imitated::Redis8_4);
    client.check(&[
        ("SET k new IFEQ old", "$-1"),
        ("SET k old IFNE new", "+OK"),
        ("SET k new IFNE old", "$-1"),
        ("SET k new IFEQ other GET", "old"),
        ("SET k new IFEQ old GET PX 100", "old"),
        ("PTTL k", ":100"),
        ("SET k newer IFEQ new KEEPTTL", "+OK"),
        ("PTTL k", ":100"),
        ("SET k x NX IFEQ newer", "-ERR syntax error"),
        ("SET k x IFEQ newer XX", "-ERR syntax error"),
        ("SET k x IFEQ newer IFNE y", "-ERR syntax error"),
        ("SET k x IFEQ", "-ERR syntax error"),
        ("RPUSH l a", ":1"),
        ("SET l x IFEQ a", WRONG_TYPE),
    ]);
}

#[test]
fn delifeq_deletes_a_string_with_this_text() {
    let mut client = Client::of(Imitated::Valkey9_0);
    client.check(&[
        ("SET k abc123", "+OK"),
        ("DELIFEQ k xyz789", ":0"),
        ("DELIFEQ k abc123", ":1"),
        ("DELIFEQ k abc123", ":0"),
        ("SADD s member", ":1"),
        ("DELIFEQ s member", WRONG_TYPE),
        (
            "DELIFEQ k",
            "-ERR wrong number of arguments for 'delifeq' command",
        ),
        ("SET k a", "+OK"),
        ("SET k b IFEQ a", "+OK"),
        ("SET k c IFNE a", "-ERR syntax error"),
        ("SET k c IFEQ b IFEQ b", "-ERR syntax error"),
        ("SET k c IFEQ b GET GET", "b"),
        ("READONLY", "+OK"),
        ("READWRITE", "+OK"),
    ]);
}

#[test]
fn a_time_that_is_over_lets_a_key_of_valkey_expire() {
    let mut client = Client::of(Imitated::Valkey9_0);
    client.send("CONFIG SET notify-keyspace-events EA");
    client.send("HELLO 3");
    client.send("PSUBSCRIBE *");
    for request in [
        "SET k v IFEQ old PXAT 1",
        "SET k v EXAT 1",
        "PEXPIRE k 0",
        "EXPIREAT k 1",
    ] {
        client.send("SET k old");
        client.file.clear();
        let said = client.send(request);
        let events = said.matches("__keyevent").count();
        assert!(
            events == 1 && said.contains("@0__:expired k"),
            "{request}: {said}"
        );
        assert!(client.file.contains(r"$3\r\nDEL\r\n"), "{}", client.file);
        client.check(&[("EXISTS k", ":0"), ("SET k v EXAT 1", "+OK")]);
    }
    let stats = client.send("INFO stats");
    assert!(stats.contains(" expired_keys:4 "), "{stats}");
}

#[test]
fn a_time_that_is_over_deletes_a_key_of_redis() {
    let mut client = Client::of(Imitated::Redis7_0);
    for line in [
        "CONFIG SET notify-keyspace-events EA",
        "HELLO 3",
        "PSUBSCRIBE *",
        "SET k old",
    ] {
        client.send(line);
    }
    let said = client.send("EXPIREAT k 1");
    assert!(said.contains("@0__:del k"), "{said}");
}

#[test]
fn later_servers_know_the_library_of_a_client() {
    for imitated in [Imitated::Redis8_4, Imitated::Valkey9_0] {
        let mut client = Client::of(imitated);
        client.check(&[
            ("CLIENT SETINFO lib-name Jedis", "+OK"),
            ("CLIENT SETINFO LIB-VER 5.1", "+OK"),
            (
                "CLIENT SETINFO LIB-VER \"5 1\"",
                "-ERR LIB-VER cannot contain spaces, newlines or special characters.",
            ),
            ("CLIENT SETINFO LIB x", "-ERR Unrecognized option 'LIB'"),
            (
                "CLIENT SETINFO LIB-VER",
                "-ERR wrong number of arguments for 'client|setinfo' command",
            ),
            (
                "CLIENT|SETINFO LIB-VER x",
                "-ERR unknown command 'CLIENT|SETINFO', with args beginning with: 'LIB-VER' 'x' ",
            ),
            ("RESET", "+RESET"),
        ]);
        let line = client.send("CLIENT INFO");
        assert!(
            line.trim_end()
                .ends_with(" resp=2 lib-name=Jedis lib-ver=5.1"),
            "{line}"
        );
        let row = client.send("COMMAND INFO client|setinfo");
        assert!(row.contains(" :4 "), "{row}");
        let rows = client.send("COMMAND INFO client");
        assert!(rows.contains("client|setinfo"), "{rows}");
    }
}

#[test]
fn a_deletion_is_propagated_as_del_and_a_refused_one_is_not() {
    for (imitated, right, wrong) in [
        (
            Imitated::Redis8_4,
            "DELEX k IFEQ mine",
            "DELEX k IFEQ yours",
        ),
        (Imitated::Valkey9_0, "DELIFEQ k mine", "DELIFEQ k yours"),
    ] {
        let mut client = Client::of(imitated);
        client.send("SET k mine");
        client.file.clear();
        client.check(&[(wrong, ":0")]);
        assert_eq!(client.file, "", "{wrong}");
        client.check(&[(right, ":1")]);
        assert!(client.file.contains(r"$3\r\nDEL\r\n"), "{}", client.file);
    }
}

#[test]
fn a_set_with_a_condition_is_propagated_without_it() {
    let mut client = Client::of(Imitated::Redis8_4);
    client.send("SET k a");
    for (request, propagated) in [
        (
            "SET k b IFEQ a",
            r"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nb\r\n",
        ),
        ("SET k c IFEQ b KEEPTTL", r"$1\r\nc\r\n$7\r\nKEEPTTL\r\n"),
        (
            "SET k d IFEQ c PXAT 5000",
            r"$1\r\nd\r\n$4\r\nPXAT\r\n$4\r\n5000\r\n",
        ),
    ] {
        client.file.clear();
        client.check(&[(request, "+OK")]);
        assert!(client.file.contains(propagated), "{}", client.file);
        assert!(!client.file.contains("IFEQ"), "{}", client.file);
    }
}

#[test]
fn watch_notices_a_conditional_deletion() {
    let mut client = Client::of(Imitated::Redis8_4);
    let other = client.node.accept();
    client.check(&[("SET k a", "+OK"), ("WATCH k", "+OK"), ("MULTI", "+OK")]);
    client
        .node
        .receive(other, b"DELEX k IFEQ a\r\n", 1_000_000, &mut Vec::new());
    client.check(&[("SET x 1", "+QUEUED"), ("EXEC", "")]);
}

#[test]
fn each_server_has_its_own_commands_and_says_its_version() {
    for (imitated, delex, delifeq, version) in [
        (Imitated::Redis7_0, false, false, "redis_version:7.0.15 "),
        (Imitated::Redis8_4, true, false, "redis_version:8.4.0 "),
        (
            Imitated::Valkey9_0,
            false,
            true,
            "redis_version:7.2.4 server_name:valkey valkey_version:9.0.0 ",
        ),
    ] {
        let mut client = Client::of(imitated);
        for (request, known) in [("DELEX k IFEQ a", delex), ("DELIFEQ k a", delifeq)] {
            let (name, rest) = request.split_once(' ').expect("two words");
            let words: Vec<String> = rest.split(' ').map(|word| format!("'{word}' ")).collect();
            let unknown = format!(
                "-ERR unknown command '{name}', with args beginning with: {}",
                words.concat()
            );
            let expected = if known { ":0" } else { &*unknown };
            client.check(&[(request, expected)]);
            let row = client.send(&format!("COMMAND INFO {name}"));
            let is_listed = row.contains(&name.to_ascii_lowercase());
            assert_eq!(is_listed, known, "{imitated}: {row:?}");
        }
        let info = client.send("INFO server");
        assert!(info.contains(version), "{info}");
        let hello = client.send("HELLO");
        let expected = format!(
            "server {} version {} proto",
            imitated.product(),
            imitated.version()
        );
        assert!(hello.contains(&expected), "{hello}");
    }
    let mut redis = Client::of(Imitated::Redis7_0);
    redis.check(&[("SET k a", "+OK"), ("SET k b IFEQ a", "-ERR syntax error")]);
}

#[test]
fn the_names_are_those_that_are_parsed() {
    for imitated in Imitated::ALL {
        assert_eq!(imitated.to_string().parse(), Ok(imitated));
    }
    let error = "redis-8".parse::<Imitated>().unwrap_err().to_string();
    assert_eq!(
        error,
        "a node can be like one of redis-7.0, redis-8.4, valkey-9.0"
    );
}
