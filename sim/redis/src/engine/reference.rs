//! `docs/redis-commands.md`: the commands of the node, generated from the command table, from the
//! comments on the functions, and from the requests in the parity tests.
//!
//! A test checks that the page is up to date; `LOCKLAB_BLESS=1` rewrites it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::table::{COMMANDS, Command};
use crate::VERSION;

/// The intentional differences between the node and Redis, and the reasons.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "Only database 0 exists.",
        "It is a server with `databases 1`; locks use no other.",
    ),
    (
        "`KEYS`, hashes beyond 128 fields or 64 bytes, and sets with anything but integers show their elements in an order of their own: by name, or as they came.",
        "In Redis it is chance, and changes from server to server. A run has to be repeatable.",
    ),
    (
        "A key that nobody looked at from its end until the node's clock stepped back may be there again. An active expiry cycle deletes every key whose time is over, in the order of their times, and takes no time.",
        "While nobody listens, a node does its cycles only when it is asked to count keys, for they cost a run a timer each. (A served node does them all.) Redis looks at samples of a hash table, and leaves up to a tenth of what is over its time for later.",
    ),
    (
        "A client that hears of events of its own in RESP3 gets `zpopmin` and `zpopmax`, and `expired` of what `MGET` looks up, before the reply.",
        "Redis sends them in the midst of the reply, which no decoder can read then.",
    ),
    (
        "A client that hears of events and of invalidations gets the invalidation first, where `RENAME`, `SMOVE`, `LTRIM`, `ZREM` or what takes from a list's end changed the key.",
        "In Redis these tell of an event first.",
    ),
    (
        "Messages for several patterns of one client, and what `UNSUBSCRIBE` without names confirms, come by name.",
        "In Redis the order is a hash table's.",
    ),
    (
        "`FLUSHALL` tells a client in RESP3 that gets the invalidations of one in RESP2 a nil of RESP3.",
        "Redis sends a nil of RESP2, which is none in RESP3.",
    ),
    (
        "`QUIT` ends the connection after `CLIENT REPLY OFF` too. A connection without password may send long requests.",
        "In 7.0.15 the first waits for a reply that never goes, and the second only protects memory.",
    ),
    (
        "A key's absence (`m`) is never published.",
        "No lock listens for it.",
    ),
    (
        "`DEBUG` is allowed.",
        "Tests need it. Redis wants `enable-debug-command yes` first.",
    ),
    (
        "`CONFIG SET` takes `timeout`, `maxmemory`, `client-output-buffer-limit`, `proto-max-bulk-len` and `repl-backlog-ttl`, and does nothing about them.",
        "They protect a machine's memory, or its connections. A served node has limits of its own.",
    ),
    (
        "`CONFIG` knows the parameters that matter to locks. `CLIENT LIST` shows no memory and no file descriptors. There is one user, and there are no `HELP` texts.",
        "The rest is of no use to a fake node.",
    ),
    (
        "`SCAN` and its relatives have other cursors, and return exactly `COUNT` elements where Redis returns about as many.",
        "A cursor is a place in a hash table. What it promises is kept: what is there from the first call to the last is returned.",
    ),
    (
        "`RANDOMKEY`, `SPOP` and `SRANDMEMBER` draw from a generator that the node's seed determines. A negative count beyond 2^20 is an error.",
        "A run has to be repeatable, and end.",
    ),
    (
        "Ranges by name (`BYLEX`) of a set whose scores differ are always what Redis answers for a small set.",
        "Redis leaves them undefined; for a large set they depend on its skip list's random levels.",
    ),
    (
        "`OBJECT ENCODING` and `OBJECT REFCOUNT` of a string follow from its text alone; Redis calls it `raw` after `APPEND` or `SETRANGE`.",
        "Nothing else depends on it.",
    ),
    (
        "`OBJECT IDLETIME` is 0, `MEMORY USAGE` is 48, `SLOWLOG` and `LATENCY` are empty.",
        "The node notes no access times, counts no memory, and takes no time over a command.",
    ),
    (
        "`INFO` has the fields that are true of a node. `COMMAND` leaves ACL categories, tips and key specifications empty, and `COMMAND DOCS` everything.",
        "Clients ask for little of it.",
    ),
    (
        "A snapshot has every value in the plain form of its type. The compact forms of 7.0 are read, those of former versions and of streams are not: a node that follows a server with any of these asks it again and again. `BGSAVE` is unknown.",
        "The compact forms save memory, which a node does not count.",
    ),
    (
        "`WAITAOF` is there, and a replica with an append-only file acknowledges what is durable there (`REPLCONF ACK … FACK …`).",
        "Redis knows both from 7.2 on; they are here so that locks which use them can be tested, and are not compared.",
    ),
    (
        "The append-only file is never rewritten as it grows, and a sync takes no time. `CONFIG REWRITE` writes names and values of the parameters that were set, no text.",
        "Runs are short. A scenario says what a node is told when it starts.",
    ),
    (
        "Arithmetic of `INCRBYFLOAT` and `HINCRBYFLOAT` is that of x86's `long double` on every machine.",
        "In Redis its last digits depend on the processor. A run has to be the same everywhere.",
    ),
    (
        "A script of up to a million instructions takes no time, and a longer one a microsecond for every ten; one of more than 60 million has no end. `SCRIPT KILL` and `FUNCTION KILL` refuse a script that writes at all, also if it would do so only later; what it publishes is out when the node first answers again.",
        "A machine runs perhaps ten times as many, no two alike. Between two calls no time passes in a node: it runs the script to its end, and keeps what it did to itself until that is due.",
    ),
    (
        "`CLIENT UNBLOCK` without `ERROR`, of a client whose `SHUTDOWN` waits for replicas, tells it that it was unblocked.",
        "It ends a 7.0.15 as a crash does.",
    ),
    (
        "A script that loops in a coroutine can be killed.",
        "In 7.0.15 it cannot: the server stays busy.",
    ),
    (
        "`FUNCTION LIST` goes by name, and `FUNCTION DUMP` compresses nothing. A library that runs for more than five million instructions is not loaded.",
        "In Redis the order is a hash table's, and the limit half a second.",
    ),
    (
        "A value that a script returns may nest 500 tables deep, and what `cmsgpack.unpack` reads 200.",
        "In Redis the size of Lua's stack sets limits of some thousand.",
    ),
    (
        "A client for which more than 64 MB of replies would be kept is cut off. A script's values may take 256 MB, and what it returns 64 MB.",
        "In Redis only the machine's memory limits them. A wrong client must not take the machine down.",
    ),
    (
        "`cjson` has no settings, and there is no `redis.acl_check_cmd`.",
        "In Redis a setting outlives the script that made it, and so one script's result depends on which others ran.",
    ),
    (
        "`print`, addresses and memory sizes are hidden from scripts.",
        "They differ from run to run.",
    ),
];

/// Families of Redis commands that the node does not implement, with patterns of their names. A
/// parity test checks that the list is complete.
const ABSENT: &[(&str, &str)] = &[
    ("streams", "X*"),
    ("HyperLogLog", "PF*"),
    ("geography", "GEO*"),
    ("bitmaps", "BIT* GETBIT SETBIT"),
    ("modules", "MODULE*"),
    ("cluster", "CLUSTER* ASKING READONLY READWRITE *-ASKING"),
    ("sorting", "SORT SORT_RO"),
    (
        "the algebra of sets and sorted sets",
        "SINTER* SUNION* SDIFF* ZINTER* ZUNION* ZDIFF* ZRANGESTORE",
    ),
    ("random members", "HRANDFIELD ZRANDMEMBER"),
    (
        "what moves keys from server to server, or from database to database",
        "DUMP RESTORE MIGRATE MOVE SWAPDB",
    ),
    ("saving by hand", "SAVE BGSAVE BGREWRITEAOF LASTSAVE"),
    ("replication before 2.8", "SYNC"),
    (
        "users",
        "ACL|CAT ACL|DELUSER ACL|DRYRUN ACL|GENPASS ACL|LOAD ACL|LOG ACL|SAVE ACL|SETUSER",
    ),
    (
        "what people look at",
        "MONITOR LCS LOLWUT *|HELP COMMAND|GETKEYS* LATENCY|HISTOGRAM MEMORY|STATS \
         MEMORY|MALLOC-STATS SCRIPT|DEBUG",
    ),
];

#[test]
fn the_page_says_what_there_is() {
    let path = root().join("../../docs/redis-commands.md");
    let expected = page();
    if std::env::var_os("LOCKLAB_BLESS").is_some() {
        fs::write(&path, &expected).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/redis-commands.md is out of date: run this test with LOCKLAB_BLESS=1"
    );
}

#[test]
fn every_command_says_how_it_is_called() {
    let usages = usages();
    let missing = all().into_iter().map(shown_name);
    let missing: Vec<String> = missing.filter(|name| !usages.contains_key(name)).collect();
    assert!(missing.is_empty(), "no comment shows a call of {missing:?}");
}

fn page() -> String {
    let (usages, compared) = (usages(), compared());
    let mut page = format!(
        "# Commands of the fake node\n\n\
         <!-- Made by a test of locklab-redis; LOCKLAB_BLESS=1 rewrites it. -->\n\n\
         The fake node is a Redis {VERSION} in whatever a client can see, but for what is \
         listed at the end.\n\n\
         *Arity* counts the words of a call, its name included; negative: at least so many. \
         A command marked in *compared* is in the tests that send the same requests to a \
         real `redis-server` {VERSION} and to the node, and want the same bytes back \
         (`sim/redis/tests/parity/`).\n\n\
         | Call | Arity | Compared |\n| --- | ---: | :---: |\n"
    );
    for command in all() {
        let name = shown_name(command);
        let usage = usages.get(&name).unwrap_or(&name);
        let usage = usage.replace('|', "\\|");
        let mark = if compared.contains(&name) { "yes" } else { "" };
        let arity = command.arity;
        let _ = writeln!(page, "| `{usage}` | {arity} | {mark} |");
    }
    page.push_str("\n## Differences\n\n| The node | Why |\n| --- | --- |\n");
    for (what, why) in DIFFERENCES {
        let _ = writeln!(page, "| {what} | {why} |");
    }
    let _ = write!(
        page,
        "\n## Absent\n\nThese commands are unknown to the node; a star stands for any \
         letters.\n\n| | |\n| --- | --- |\n"
    );
    for (family, patterns) in ABSENT {
        let patterns: Vec<String> = (patterns.split_whitespace())
            .map(|pattern| format!("`{}`", pattern.replace('|', "\\|")))
            .collect();
        let _ = writeln!(page, "| {family} | {} |", patterns.join(" "));
    }
    page
}

/// Every command that can be called; a container is replaced by its subcommands.
fn all() -> Vec<&'static Command> {
    let callable = |command: &'static Command| match command.subcommands {
        [] => vec![command],
        subcommands if command.arity == -1 => {
            let with_itself = std::iter::once(command).chain(subcommands);
            with_itself.collect()
        }
        subcommands => subcommands.iter().collect(),
    };
    COMMANDS.iter().flat_map(callable).collect()
}

fn shown_name(command: &Command) -> String {
    command.name.replace('|', " ").to_ascii_uppercase()
}

/// The usage of each command, as the comment on its function shows it in backticks.
fn usages() -> BTreeMap<String, String> {
    let names: BTreeSet<String> = all().into_iter().map(shown_name).collect();
    let mut usages = BTreeMap::<String, String>::new();
    for text in texts(&root().join("src/engine/cmd")) {
        let comments = text.lines().map(str::trim_start);
        let comments = comments.map(|line| line.strip_prefix("/// ").unwrap_or("\n"));
        let comments = comments.collect::<Vec<_>>().join(" ");
        for span in comments.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = span.split(' ').collect();
            let two = words[..words.len().min(2)].join(" ");
            let name = [two.as_str(), words[0]]
                .into_iter()
                .find(|name| names.contains(*name));
            if let Some(name) = name {
                let usage = usages.entry(name.to_owned()).or_default();
                if usage.len() < span.len() {
                    *usage = span.to_owned();
                }
            }
        }
    }
    usages
}

/// The commands in the parity tests: the first words of their lines.
fn compared() -> BTreeSet<String> {
    let names: BTreeSet<String> = all().into_iter().map(shown_name).collect();
    let mut compared = BTreeSet::new();
    for text in texts(&root().join("tests/parity")) {
        for line in text.lines() {
            // Only marks precede a request: `2:`, `~`, a quote.
            let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
            let end = line.find(['"', '\\']).unwrap_or(line.len());
            let words: Vec<&str> = line[..end].split_whitespace().take(2).collect();
            for count in 1..=words.len() {
                let name = words[..count].join(" ");
                if names.contains(&name) {
                    compared.insert(name);
                }
            }
        }
    }
    compared
}

/// The contents of the Rust files in a directory and its subdirectories, sorted by path.
fn texts(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the package has its sources");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let text = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => fs::read_to_string(path).into_iter().collect(),
    };
    paths.into_iter().flat_map(text).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
