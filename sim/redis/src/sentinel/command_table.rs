//! The commands of a sentinel, with the number of words that each takes.

/// A command, or a subcommand.
pub(crate) struct Command {
    /// Lower case; the name of a subcommand has the form `client|id`.
    pub(crate) name: &'static str,
    /// The number of words, including the name; a negative number is a minimum.
    pub(crate) arity: i32,
    /// The flags in COMMAND INFO.
    pub(super) flags: &'static [&'static str],
    pub(super) subcommands: &'static [Command],
}

const ADMIN: &[&str] = &["admin"];
const ALWAYS: &[&str] = &["loading", "stale"];
const OWN: &[&str] = &["noscript", "loading", "stale"];
const LOGIN: &[&str] = &[
    "noscript",
    "loading",
    "stale",
    "fast",
    "no_auth",
    "allow_busy",
];
const LISTEN: &[&str] = &["pubsub", "noscript", "loading", "stale"];

/// Every command, sorted by name.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Command] = &[
    Command { subcommands: ACL, ..command("acl", -2, &[]) },
    command("auth", -2, LOGIN),
    Command { subcommands: CLIENT, ..command("client", -2, &[]) },
    Command { subcommands: COMMAND, ..command("command", -1, ALWAYS) },
    command("hello", -1, LOGIN),
    command("info", -1, ALWAYS),
    command("ping", -1, &["fast"]),
    command("psubscribe", -2, LISTEN),
    command("publish", 3, &["pubsub", "loading", "stale", "fast"]),
    command("punsubscribe", -1, LISTEN),
    command("role", 1, &["noscript", "loading", "stale", "fast"]),
    Command { subcommands: SENTINEL, ..command("sentinel", -2, ADMIN) },
    command("subscribe", -2, LISTEN),
    command("unsubscribe", -1, LISTEN),
];

static ACL: &[Command] = &[command("acl|whoami", 2, OWN)];

static CLIENT: &[Command] = &[
    command("client|getname", 2, OWN),
    command("client|id", 2, OWN),
    command("client|setname", 3, OWN),
];

static COMMAND: &[Command] = &[
    command("command|count", 2, ALWAYS),
    command("command|docs", -2, ALWAYS),
    command("command|info", -2, ALWAYS),
];

static SENTINEL: &[Command] = &[
    command("sentinel|ckquorum", 3, ADMIN),
    command("sentinel|config", -3, ADMIN),
    command("sentinel|failover", 3, ADMIN),
    command("sentinel|flushconfig", 2, ADMIN),
    command("sentinel|get-master-addr-by-name", 3, ADMIN),
    command("sentinel|is-master-down-by-addr", 6, ADMIN),
    command("sentinel|master", 3, ADMIN),
    command("sentinel|masters", 2, ADMIN),
    command("sentinel|monitor", 6, ADMIN),
    command("sentinel|myid", 2, ADMIN),
    command("sentinel|remove", 3, ADMIN),
    command("sentinel|replicas", 3, ADMIN),
    command("sentinel|reset", 3, ADMIN),
    command("sentinel|sentinels", 3, ADMIN),
    command("sentinel|set", -5, ADMIN),
    command("sentinel|slaves", 3, ADMIN),
];

const fn command(name: &'static str, arity: i32, flags: &'static [&'static str]) -> Command {
    Command {
        name,
        arity,
        flags,
        subcommands: &[],
    }
}

/// Every command, each with its subcommands.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    let with_own = |command: &'static Command| std::iter::once(command).chain(command.subcommands);
    COMMANDS.iter().flat_map(with_own)
}

/// Finds the command that a request names, in any case, and checks the number of its words.
///
/// # Errors
///
/// The text of Redis's error, code first.
pub(super) fn find(words: &[&str]) -> Result<&'static Command, String> {
    let name = words[0];
    let is = |command: &&Command, word: &str| {
        let own = command.name.rsplit('|').next().unwrap_or_default();
        own.eq_ignore_ascii_case(word)
    };
    let Some(command) = COMMANDS.iter().find(|command| is(command, name)) else {
        let arguments: String = words[1..].iter().map(|word| format!("'{word}' ")).collect();
        return Err(format!(
            "ERR unknown command '{name}', with args beginning with: {arguments}"
        ));
    };
    let found = match words.get(1) {
        Some(word) if !command.subcommands.is_empty() => {
            let own = command.subcommands.iter().find(|command| is(command, word));
            own.ok_or_else(|| {
                let container = command.name.to_ascii_uppercase();
                format!("ERR unknown subcommand '{word}'. Try {container} HELP.")
            })?
        }
        _ => command,
    };
    let expected = found.arity.unsigned_abs() as usize;
    let fits = words.len() == expected || (found.arity < 0 && words.len() > expected);
    match fits {
        true => Ok(found),
        false => Err(format!(
            "ERR wrong number of arguments for '{}' command",
            found.name
        )),
    }
}

#[cfg(test)]
impl Command {
    /// Whether it cannot be called without a subcommand.
    pub(crate) fn is_container(&self) -> bool {
        !self.subcommands.is_empty() && self.arity != -1
    }
}
