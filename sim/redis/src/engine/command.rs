//! A command, its properties, and a call of it. The commands themselves are in the table, which is
//! above everything that calls them and is passed down.

use super::state::State;
use super::state::requirements::Requirements;
use super::state::session::Session;
use crate::store::changes::Class;
use crate::wire::number::parse_i64;
use crate::wire::reply::Answer;

/// A command that the server knows.
pub(super) struct Command {
    /// Lower case; the name of a subcommand has the form `client|setname`.
    pub(super) name: &'static str,
    /// The number of words, including the command name; a negative number is a minimum.
    pub(super) arity: i32,
    pub(super) flags: &'static [Flag],
    /// First key, last key (negative: from the end), step; zeros for none.
    pub(super) keys: (i32, i32, i32),
    /// Who works with a lock and sends it: see the command table. For the page of commands.
    #[cfg(test)]
    pub(super) needed_by: &'static str,
    pub(super) run: fn(&mut Call<'_>) -> Answer,
    /// Subcommands, sorted by name. If there are any, the second word has to be one of them.
    pub(super) subcommands: &'static [Command],
}

/// One call of a command: its client, its time and its arguments.
pub(super) struct Call<'a> {
    /// The commands that this one may call.
    pub(super) table: Table,
    pub(super) state: &'a mut State,
    /// The client that sent this request; for commands of a script, the client that runs the
    /// script.
    pub(super) client: u64,
    /// The words of the request, including the command name.
    pub(super) args: &'a [&'a [u8]],
    /// The node's wall clock, in microseconds since the Unix epoch. A command, a transaction or a
    /// script reads it once.
    pub(super) wall_us: u64,
    pub(super) context: Context,
}

/// The origin of a call. Only a direct call can block.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Context {
    Direct,
    Transaction,
    Script,
}

impl Call<'_> {
    /// The session of the client that sent this request.
    pub(super) fn session(&mut self) -> &mut Session {
        self.state.client(self.client)
    }

    /// `notifyKeyspaceEvent`: a command calls this for each change that it made to a key.
    pub(super) fn notify(&mut self, class: Class, event: &'static str, key: &[u8]) {
        self.state.db.event(class, event, key);
    }

    /// `addReply`: called by a command that in Redis replies before it sends (all of) its
    /// notifications. Notifications from here on follow the reply. Has no effect in a script,
    /// whose commands have no reply of their own.
    pub(super) fn reply_goes_here(&mut self) {
        self.state.db.changes.reply_goes_here();
    }

    /// The time for commands of a script or a transaction that read the clock again in 7.0, in microseconds: those
    /// that ask for it (TIME, PTTL, TTL) or set a time to live. Whether a key has expired depends on the time at which
    /// the script or the transaction began.
    pub(super) fn live_us(&self) -> u64 {
        let passed_us = match (self.context, &self.state.clock) {
            (Context::Direct, _) => return self.wall_us,
            (_, Some(clock)) => clock().wall_us.saturating_sub(self.wall_us),
            (_, None) => self.state.script_us,
        };
        // The driver lets the sleep pass when the transaction is over.
        (self.wall_us.saturating_add(passed_us)).saturating_add(self.state.slept_us)
    }

    /// [`Call::live_us`] in milliseconds, the unit of expiry.
    pub(super) fn live_ms(&self) -> i64 {
        (self.live_us() / 1000) as i64
    }

    /// The node's wall clock in milliseconds, the unit of expiry.
    pub(super) fn now_ms(&self) -> i64 {
        (self.wall_us / 1000) as i64
    }
}

/// A property of a command.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Flag {
    /// May change the keyspace.
    Write,
    /// Reads the keyspace.
    ReadOnly,
    /// May make the keyspace larger.
    DenyOom,
    /// Takes constant or logarithmic time.
    Fast,
    /// May not be called from a script.
    NoScript,
    /// Works while the data set is being loaded.
    Loading,
    /// Works on a replica without its master.
    Stale,
    /// Works without authentication.
    NoAuth,
    /// For administrators.
    Admin,
    /// Concerns subscriptions and messages.
    PubSub,
    /// May block its client.
    Blocking,
    /// Fails while a replica loads a snapshot beside its old data. No node does that.
    NoAsyncLoading,
    /// May not be called in a transaction.
    NoMulti,
    /// Works while a long-running script makes the server busy.
    AllowBusy,
    /// The positions of its keys are not those in `keys`.
    MovableKeys,
    /// May affect replicas although it does not itself write (`CMD_MAY_REPLICATE`).
    MayReplicate,
    /// Is always propagated to replicas unchanged, even if it changed nothing.
    ToReplicas,
    /// Operates on a transaction, and is not queued in it.
    Unqueued,
    /// Executes the queue of a transaction.
    RunsQueue,
    /// Ends a transaction, if there is one: allowed in it when memory is short.
    EndsTransaction,
    /// Allowed in RESP2 while the client has subscriptions.
    WhileSubscribed,
    /// Its arguments are a password, or a user and a password, which MONITOR does not show.
    Password,
    /// It has an option with a user and a password, which MONITOR does not show.
    PasswordOption,
    /// Its first argument is the text of a script.
    TakesScript,
    /// Its first argument is the SHA-1 of a script.
    TakesSha,
}

impl Flag {
    /// The name in `COMMAND INFO`; `None` for a flag that it does not show.
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self {
            Flag::Write => "write",
            Flag::ReadOnly => "readonly",
            Flag::DenyOom => "denyoom",
            Flag::Fast => "fast",
            Flag::NoScript => "noscript",
            Flag::Loading => "loading",
            Flag::Stale => "stale",
            Flag::NoAuth => "no_auth",
            Flag::Admin => "admin",
            Flag::PubSub => "pubsub",
            Flag::Blocking => "blocking",
            Flag::NoAsyncLoading => "no_async_loading",
            Flag::NoMulti => "no_multi",
            Flag::AllowBusy => "allow_busy",
            Flag::MovableKeys => "movablekeys",
            Flag::MayReplicate
            | Flag::ToReplicas
            | Flag::Unqueued
            | Flag::RunsQueue
            | Flag::EndsTransaction
            | Flag::WhileSubscribed
            | Flag::Password
            | Flag::PasswordOption
            | Flag::TakesScript
            | Flag::TakesSha => return None,
        })
    }
}

impl Command {
    /// Whether the command has this property.
    pub(super) fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The container of a subcommand: `client` of `client|id`.
    pub(super) fn container(&self) -> Option<&'static str> {
        let (container, _) = self.name.split_once('|')?;
        Some(container)
    }

    /// Whether it runs a script.
    pub(super) fn runs_script(&self) -> bool {
        self.has(Flag::TakesScript) || self.has(Flag::TakesSha)
    }

    /// The keys in a request.
    pub(super) fn keys_of<'a>(&self, args: &[&'a [u8]]) -> Vec<&'a [u8]> {
        if self.has(Flag::MovableKeys) {
            // A script, the number of keys, then the keys.
            let count = args.get(2).and_then(|count| parse_i64(count)).unwrap_or(0);
            let count = usize::try_from(count).unwrap_or(0);
            return args.iter().copied().skip(3).take(count).collect();
        }
        let (first, last, step) = self.keys;
        let last = match last {
            ..0 => args.len() as i32 + last,
            _ => last,
        };
        let indices = (first..=last).step_by(step.max(1) as usize);
        let places = indices
            .filter(|_| first > 0)
            .filter_map(|index| usize::try_from(index).ok());
        places
            .filter_map(|place| args.get(place).copied())
            .collect()
    }

    /// Its requirements, for any arguments.
    pub(super) fn requirements(&self) -> Requirements {
        let writes = self.has(Flag::Write);
        Requirements {
            writes,
            fresh_data: !self.has(Flag::Stale),
            replicates: writes || self.has(Flag::MayReplicate),
            reads: self.has(Flag::ReadOnly),
            memory: self.has(Flag::DenyOom),
        }
    }
}

/// The commands of a node.
#[derive(Copy, Clone)]
pub(super) struct Table {
    /// Those that every server has, sorted by name.
    pub(super) common: &'static [Command],
    /// Those that the imitated server adds, sorted by name.
    pub(super) added: &'static [Command],
}

impl Table {
    /// No commands.
    pub(super) const EMPTY: Table = Table {
        common: &[],
        added: &[],
    };

    /// All of them without subcommands, sorted by name.
    pub(super) fn all(self) -> Vec<&'static Command> {
        self.with_added(self.common, None)
    }

    /// The subcommands of a command, sorted by name.
    pub(super) fn subcommands(self, command: &Command) -> Vec<&'static Command> {
        self.with_added(command.subcommands, Some(command.name))
    }

    /// These, and those that the server adds to them.
    fn with_added(
        self,
        common: &'static [Command],
        container: Option<&str>,
    ) -> Vec<&'static Command> {
        let added = { self.added.iter() }.filter(|command| command.container() == container);
        let mut all: Vec<_> = common.iter().chain(added).collect();
        all.sort_by_key(|command| command.name);
        all
    }

    /// Finds the command, or the subcommand, that a request names.
    pub(super) fn find(self, args: &[&[u8]]) -> Option<&'static Command> {
        let name = args.first()?;
        let added = |container, word| lookup(self.added, container, word);
        let command = lookup(self.common, "", name).or_else(|| added("", name))?;
        match args.get(1) {
            Some(word) if !command.subcommands.is_empty() => {
                lookup(command.subcommands, command.name, word)
                    .or_else(|| added(command.name, word))
            }
            _ => Some(command),
        }
    }

    /// Whether a word is the name of a command with subcommands.
    pub(super) fn is_container(self, word: &[u8]) -> bool {
        lookup(self.common, "", word).is_some_and(|command| !command.subcommands.is_empty())
    }
}

/// Finds a name, ignoring case, in a sorted table. The names of subcommands start with their container and a bar.
fn lookup(table: &'static [Command], container: &str, word: &[u8]) -> Option<&'static Command> {
    let bar = if container.is_empty() { "" } else { "|" };
    let order = |command: &Command| {
        let sought = container.bytes().chain(bar.bytes());
        let sought = sought.chain(word.iter().map(u8::to_ascii_lowercase));
        command.name.bytes().cmp(sought)
    };
    let found = &table[table.binary_search_by(order).ok()?];
    // A word with a bar in it is the name of no command.
    (found.container().is_none() == container.is_empty()).then_some(found)
}
