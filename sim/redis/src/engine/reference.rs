//! `docs/redis-commands.md`: the commands of the node, generated from the command table, from the
//! comments on the functions, and from the requests in the parity tests.
//!
//! A test checks that the page is up to date; `LOCKLAB_BLESS=1` rewrites it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::command::Command;
use super::command_table::{COMMANDS, added_by};
use crate::sentinel::command_table;
use crate::{Imitated, VERSION};

/// The intentional differences between the node and Redis, and the reasons.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "`KEYS`, hashes beyond the limits of a listpack (512 fields or 64 bytes), and sets with anything but integers list their elements in another order than Redis: by name, or by insertion.",
        "In Redis the order is random, and differs from server to server. A run must be repeatable.",
    ),
    (
        "An expired key that was not accessed before the node's clock stepped back may exist again. An active expiry cycle deletes every expired key, database by database in order of expiry, and takes no time.",
        "While no client listens, a node runs these cycles only when it is asked to count keys, because each costs a run a timer. (A served node runs them all.) Redis samples a hash table, and leaves up to a tenth of the expired keys for later.",
    ),
    (
        "A RESP3 client that is notified of events that it caused itself receives `expired` for keys that `MGET` looks up before the reply.",
        "Redis sends them in the middle of the reply, which no decoder can then read.",
    ),
    (
        "A client that receives notifications and invalidations gets the invalidation first if `ZREM` or a command that pops from a list changed the key.",
        "In Redis these commands send the notification first.",
    ),
    (
        "Messages for several patterns of one client, and the confirmations of `UNSUBSCRIBE` without names, are sorted by name.",
        "In Redis the order is that of a hash table.",
    ),
    (
        "A connection is closed when it sends the first line of an HTTP request, `PUT /path HTTP/1.1`, of any method.",
        "In 7.0.15 it is closed at `POST` or at a header `Host:`, and until then the text of a request is executed.",
    ),
    (
        "Events of missing keys (`m`) are never published.",
        "No lock listens for them.",
    ),
    (
        "`DEBUG` is allowed.",
        "Tests need it. Redis requires `enable-debug-command yes`.",
    ),
    (
        "`CONFIG SET` accepts no other `port` and no other `bind` than the current one: the errors are those of a port that is taken, and of an address that the machine does not have.",
        "The driver of a node listens where it was told to when it began.",
    ),
    (
        "`CONFIG SET` accepts `timeout`, `client-output-buffer-limit`, `proto-max-bulk-len`, `repl-backlog-ttl`, `list-*` and `maxmemory-clients`, but they have no effect.",
        "They protect a machine's memory or connections. A served node has its own limits.",
    ),
    (
        "`CONFIG` knows the parameters that matter to locks. `CLIENT LIST` shows no memory except the query buffer, no file descriptors and no traffic. There is one user, and there are no `HELP` texts. `ZRANGE` has no `BYLEX`, and `CLIENT TRACKING` no `BCAST`, `PREFIX` and `REDIRECT`: they are syntax errors.",
        "A fake node has no use for the rest.",
    ),
    (
        "`SCAN` and its relatives use other cursors, and return exactly `COUNT` elements, where Redis returns about as many.",
        "A cursor is a position in a hash table. Its guarantee is kept: an element that is present from the first call to the last is returned.",
    ),
    (
        "`used_memory`, `MEMORY USAGE` and `maxmemory` are of the memory that the keys would take in Redis 7.0.15 with jemalloc, and of 914,608 bytes for the server. Collections are estimates if they are large, or are sets of texts; clients, scripts and buffers count for nothing.",
        "A run must be repeatable. A served node has its own limits on what clients take.",
    ),
    (
        "With `maxmemory` keys are evicted without a limit on the time that it takes, candidates are drawn by the node's generator, and the counter of `OBJECT FREQ` grows after as many accesses as on average in Redis, with the default `lfu-log-factor` and `lfu-decay-time`. The keys of a replica are never evicted by itself (`replica-ignore-maxmemory`).",
        "A run must be repeatable.",
    ),
    (
        "`INFO` has only the fields that apply to a node; what only a machine can measure is constant (`used_cpu_*`, the times in `commandstats`), and so are `process_id` and `mem_allocator`. `COMMAND` leaves ACL categories, tips and key specifications empty; `COMMAND DOCS` is empty.",
        "Clients use little of it.",
    ),
    (
        "A snapshot has every value in the plain form of its type. A node reads the compact forms of 7.0, but not those of earlier versions or of streams, and no database beyond its own `databases`: a node that follows a server with any of these asks it for a snapshot again and again. A command that the node does not have is not executed when its master sends it: the replica then lacks what it wrote.",
        "The compact forms save memory, of which a node has enough. Redis exits if a snapshot has more databases.",
    ),
    (
        "A master sends every snapshot with its length before it, also to a replica that could read it up to an end mark (`capa eof`); a connection may ask for it while replies to it are pending.",
        "Redis streams it to such a replica, and the stream of commands follows its first acknowledgement. What arrives is the same.",
    ),
    (
        "The rows of `commandstats` and `errorstats` are sorted by name. A script's own error with the text of one that a command gave it is not counted again.",
        "In Redis the order is that of a hash table. Redis marks the errors of commands; the node recognises them by their texts.",
    ),
    (
        "The node's seed determines which keys a node forgets because of `tracking-table-max-keys`.",
        "In Redis the choice is random. A run must be repeatable.",
    ),
    (
        "`WAITAOF` exists, and a replica with an append-only file acknowledges what is durable there (`REPLCONF ACK … FACK …`).",
        "Redis has both since 7.2; they exist here so that locks that use them can be tested, and are not compared.",
    ),
    (
        "The append-only file is never rewritten as it grows, and a sync takes no time. `CONFIG REWRITE` writes the names and values of the parameters that were set, and nothing else.",
        "Runs are short. A scenario gives the parameters with which a node starts.",
    ),
    (
        "A served node serves what came while a script ran in the order of its arrival.",
        "Redis serves first, and in the order of that turn, the clients that had asked in the turn of its loop in which the script came.",
    ),
    (
        "A script of up to a million instructions takes no time, and a longer one a microsecond for every ten; one of more than 60 million never ends. A call of a command counts as a hundred instructions, and ten more for each argument and each element of its reply; functions of Lua and of its libraries count by the steps that they take and the bytes that they copy, so that a script that hangs in one of them can be killed. `SCRIPT KILL` refuses a script that writes at all, even if its first write is still to come; the messages that it publishes are sent when the node first answers again. On a served node a script takes as long as it takes, and its clients see what they see in Redis, except that it can be killed also while a function of Lua runs, and that a request of more than 64 kB waits for the end of the script.",
        "A machine executes perhaps ten times as many, and no two machines are alike; Redis does not interrupt a single call of a function. No time passes within a call of a simulated node: the node runs the script to its end, and withholds the effects until they are due.",
    ),
    (
        "`CLIENT UNBLOCK` without `ERROR` tells a client whose `SHUTDOWN` waits for replicas that it was unblocked.",
        "In 7.0.15 the server ends as in a crash.",
    ),
    (
        "A script that loops in a coroutine can be killed.",
        "In 7.0.15 it cannot: the server stays busy.",
    ),
    (
        "A value that a script returns may nest tables 500 deep. A call passes up to 7,980 values to a function of Redis, and receives as many.",
        "In Redis the size of Lua's stack limits the depth to some thousands, and the values to 7,999.",
    ),
    (
        "`unpack` over a range that overflows an integer is refused, and a pattern with more than 2,000 items that can match in several ways is an error (`pattern too complex`).",
        "7.0.15 ends at either, as in a crash; later versions refuse the first.",
    ),
    (
        "Lua is omniLua with its dialect 5.1. A table is iterated in another order than in Redis; the order is the same in every run. `tostring` writes NaN without its sign, `-#''` is 0 and not -0, and a function may have both 0 and -0 as constants. In arithmetic `'inf'`, `'nan'` and texts with a zero byte are no numbers; `%` does not round (`5.3 % 0.1`), and has the sign of a zero (`-6 % 3`). `__newindex` is called for the keys nil and NaN, too. A `for` over more than three values fails (`for k in f, s, k, more`). Nested calls of a script may take 65,500 values in all. A script that has used up its memory cannot catch that error, unless a function of a library raises it. `string.dump` returns the first bytes of bytecode.",
        "The hashes of the interpreter are others. In Redis the stack grows to a million values, and whichever of the two constants comes first is both.",
    ),
    (
        "The text of an error differs in these cases: an expression of several lines fails (another of its lines is named); a text does not compile (some name another token, or no place); an operation on two texts that are no numbers fails (the variable is not named); a constant is compared with `nil and …` (other types are named); `__call` is no function (its own type is named); the handler of `xpcall` raises an error at level 2, or a metamethod of a script's error does (no place is named).",
        "The interpreter has other instructions, and its parser is that of a later Lua.",
    ),
    (
        "A script that ends with an error that is a table without a text `err`, as by `error({})`, gets `ERR unknown error`.",
        "7.0.15 ends, as in a crash; later versions reply with this text.",
    ),
    (
        "A client is disconnected if more than 64 MB of replies would be buffered for it. A script's values may take 256 MB, and its result 64 MB.",
        "In Redis only the machine's memory limits them. A faulty client must not take the machine down.",
    ),
    (
        "There are no libraries of functions: those in a snapshot are skipped, and `FUNCTION` and `FCALL` are unknown. Scripts do not have the libraries `cjson`, `cmsgpack`, `struct` and `bit`, and no `redis.acl_check_cmd`.",
        "No lock library uses them.",
    ),
    (
        "Addresses are hidden from scripts, and the memory is always 64 kB: `collectgarbage` does nothing.",
        "They differ from run to run.",
    ),
];

/// The intentional differences between a fake sentinel and `redis-sentinel`, and the reasons.
const SENTINEL_DIFFERENCES: &[(&str, &str)] = &[
    (
        "A sentinel has no password and no scripts: `AUTH` knows the user `default` without a password, `SENTINEL SET` no `auth-pass`, `notification-script` and the like.",
        "No test of a lock needs them.",
    ),
    (
        "`SENTINEL CONFIG SET` accepts only the values that it shows. `announce-ip` and `announce-port` are always those with which the sentinel was started.",
        "The periods are constants of the model.",
    ),
    (
        "`SHUTDOWN` is unknown.",
        "A sentinel ends when its driver ends it.",
    ),
    (
        "Hosts are not resolved: `SENTINEL MONITOR` takes any name.",
        "A simulated host is known by its name.",
    ),
    (
        "Masters are sorted by name, in `ROLE` and `SENTINEL MASTERS` too.",
        "In Redis the order is that of a hash table.",
    ),
    (
        "`INFO` has the sections `server` and `sentinel`; its `run_id` is that of `SENTINEL MYID`. `COMMAND` leaves ACL categories, tips and key specifications empty; `COMMAND DOCS` is empty.",
        "Clients use little of it.",
    ),
    (
        "These do not exist: `SENTINEL DEBUG`, `HELP`, `INFO-CACHE`, `PENDING-SCRIPTS` and `SIMULATE-FAILURE`; of `ACL`, `CLIENT` and `COMMAND` what is not in the list.",
        "No client library calls them.",
    ),
];

/// Families of Redis commands that the node does not implement, with patterns of their names. A
/// parity test checks that the list is complete.
const ABSENT: &[(&str, &str)] = &[
    ("streams", "X*"),
    ("HyperLogLog", "PF*"),
    ("geospatial", "GEO*"),
    ("bitmaps", "BIT* GETBIT SETBIT"),
    ("libraries of functions", "FUNCTION* FCALL FCALL_RO"),
    ("modules", "MODULE*"),
    (
        "shard channels",
        "SPUBLISH SSUBSCRIBE SUNSUBSCRIBE PUBSUB|SHARD*",
    ),
    ("sorting", "SORT SORT_RO"),
    (
        "algebra of sets and sorted sets",
        "SINTER* SUNION* SDIFF* ZINTER* ZUNION* ZDIFF* ZRANGESTORE",
    ),
    ("ranges of names", "*BYLEX ZLEXCOUNT"),
    (
        "random members",
        "HRANDFIELD ZRANDMEMBER SRANDMEMBER SPOP RANDOMKEY",
    ),
    (
        "members with the lowest or highest score",
        "ZPOPMIN ZPOPMAX ZMPOP BZPOPMIN BZPOPMAX BZMPOP",
    ),
    ("several elements of several lists", "LMPOP BLMPOP"),
    ("elements within a list", "LINSERT LPOS LSET LTRIM"),
    (
        "further commands of lists, sets, sorted sets and hashes",
        "LPUSHX RPUSHX SMISMEMBER SMOVE ZMSCORE ZREVRANK ZREVRANGEBYSCORE HSTRLEN",
    ),
    ("parts of texts", "APPEND GETRANGE SETRANGE SUBSTR LCS"),
    ("fractions", "INCRBYFLOAT HINCRBYFLOAT"),
    (
        "moving, copying and touching keys",
        "RENAME RENAMENX COPY MOVE SWAPDB TOUCH GETEX",
    ),
    ("moving keys between servers", "DUMP RESTORE* MIGRATE"),
    ("saving on request", "SAVE BGSAVE BGREWRITEAOF LASTSAVE"),
    ("replication before 2.8", "SYNC"),
    (
        "users",
        "ACL|CAT ACL|DELUSER ACL|DRYRUN ACL|GENPASS ACL|GETUSER ACL|LIST ACL|LOAD ACL|LOG ACL|SAVE \
         ACL|SETUSER ACL|USERS",
    ),
    (
        "settings of connections",
        "CLIENT|GETREDIR CLIENT|NO-EVICT CLIENT|REPLY CLIENT|TRACKINGINFO",
    ),
    (
        "inspection by people",
        "LATENCY* SLOWLOG* LOLWUT *|HELP COMMAND|GETKEYS COMMAND|GETKEYSANDFLAGS COMMAND|LIST \
         MEMORY|DOCTOR MEMORY|MALLOC-STATS MEMORY|PURGE MEMORY|STATS OBJECT|REFCOUNT SCRIPT|DEBUG",
    ),
];

#[test]
fn command_page_is_up_to_date() {
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
fn every_command_documents_its_syntax() {
    let usages = usages();
    let missing = all().into_iter().chain(added()).map(shown_name);
    let missing: Vec<String> = missing.filter(|name| !usages.contains_key(name)).collect();
    assert!(missing.is_empty(), "no comment shows a call of {missing:?}");
}

fn page() -> String {
    let (usages, compared) = (usages(), compared());
    let mut page = format!(
        "# Commands of the fake node\n\n\
         <!-- Made by a test of locklab-redis; LOCKLAB_BLESS=1 rewrites it. -->\n\n\
         The fake node is a Redis {VERSION} in everything that a client can see, except for the \
         differences listed at the end.\n\n\
         *Arity* counts the words of a call, including its name; a negative number is a minimum. \
         A command marked under *compared* is in tests that send the same requests to a \
         real `redis-server` {VERSION} and to the node, and require the same bytes in reply \
         (`sim/redis/tests/parity/`). *Needed by* is why the node has it: a lock of the catalogue, a library \
         of locks or semaphores that sends it, clients as they connect, replicas and sentinels, tests of \
         faults, or a person who looks at what a lock left behind. What nobody needs, the node does not \
         have.\n\n\
         | Call | Arity | Needed by | Compared |\n| --- | ---: | --- | :---: |\n"
    );
    for command in all() {
        let name = shown_name(command);
        let usage = usages.get(&name).unwrap_or(&name);
        let usage = usage.replace('|', "\\|");
        let mark = if compared.contains(&name) { "yes" } else { "" };
        // Who needs a container needs one of its subcommands.
        let needing = command.subcommands.first().unwrap_or(command);
        let (arity, needed_by) = (command.arity, needing.needed_by);
        let _ = writeln!(page, "| `{usage}` | {arity} | {needed_by} | {mark} |");
    }
    page.push_str(&of_other_servers(&usages));
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
    page + &of_sentinels()
}

fn of_other_servers(usages: &BTreeMap<String, String>) -> String {
    let mut page = "\n## Later servers\n\n\
         With `imitate` (of a scenario's `[node]`, of `locklab serve`, or of `NodeConfig`) a node has \
         the commands with which a later server releases a lock without a script, and reports that \
         server's version in `INFO` and `HELLO`. Everything else, `redis.REDIS_VERSION` in scripts \
         included, is as above. `cargo xtask parity` runs the tests that compare the node against servers \
         of Valkey 9.1 and 8.1 and of Redis 8.2 too; `sim/redis/tests/parity/versions.txt` lists what differs. \
         `DELEX`, `DIGEST` and the conditions of `SET` in `redis-8.4` are compared with no server, because \
         none can be installed that simply: they are as in its documentation and in its own tests.\n\n\
         | `imitate` | Call | Arity |\n| --- | --- | ---: |\n"
        .to_owned();
    for imitated in Imitated::ALL {
        for command in added_by(imitated) {
            let usage = usages[&shown_name(command)].replace('|', "\\|");
            let arity = command.arity;
            let _ = writeln!(page, "| `{imitated}` | `{usage}` | {arity} |");
        }
    }
    page.push_str(
        "\nThere `SET` has the conditions too: `IFEQ value`, and in `redis-8.4` also `IFNE value`, \
         `IFDEQ digest` and `IFDNE digest`. What such a command did is propagated as `DEL` or as a `SET` \
         without a condition. In `valkey-9.0` a key to which `SET` or `EXPIRE` and its relatives give a time \
         that is over expires at once, with no event but `expired`, and `READONLY` and `READWRITE` are `OK`.\n",
    );
    page
}

/// The commands that other servers add.
fn added() -> impl Iterator<Item = &'static Command> {
    Imitated::ALL.into_iter().flat_map(added_by)
}

fn of_sentinels() -> String {
    let mut page = format!(
        "\n## Sentinel\n\nThe commands of a fake sentinel, with their arity. \
         `sim/redis/tests/parity/sentinel.rs` compares their replies with those of a \
         `redis-sentinel` {VERSION}.\n\n| Command | Arity |\n| --- | ---: |\n"
    );
    for command in command_table::all().filter(|command| !command.is_container()) {
        let name = command.name.replace('|', " ").to_ascii_uppercase();
        let _ = writeln!(page, "| `{name}` | {} |", command.arity);
    }
    page.push_str("\n| The sentinel | Why |\n| --- | --- |\n");
    for (what, why) in SENTINEL_DIFFERENCES {
        let _ = writeln!(page, "| {what} | {why} |");
    }
    page
}

/// Every command that can be called; a container is replaced by its subcommands.
fn all() -> Vec<&'static Command> {
    let callable = |command: &'static Command| match command.subcommands {
        [] => vec![command],
        // All of them say the same.
        _ if command.name == "cluster" => vec![command],
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
    let names: BTreeSet<String> = all().into_iter().chain(added()).map(shown_name).collect();
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
