//! Commands about the server: TIME, COMMAND.

use super::SYNTAX;
use crate::engine::command::{Call, Command, Flag};
use crate::engine::execute::has_right_arity;
use crate::glob;
use crate::wire::reply::{Answer, Error, Reply};

/// `TIME`: the node's wall clock in seconds, and the microseconds within the second.
pub(in crate::engine) fn time(call: &mut Call<'_>) -> Answer {
    let part = |number: u64| Reply::bulk(number.to_string());
    let now_us = call.live_us();
    Ok(Reply::Array(vec![
        part(now_us / 1_000_000),
        part(now_us % 1_000_000),
    ]))
}

/// `COMMAND`: the table entries of all commands.
pub(in crate::engine) fn command(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(
        call.table.all().into_iter().map(describe).collect(),
    ))
}

/// `COMMAND COUNT`.
pub(in crate::engine) fn command_count(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(call.table.all().len() as i64))
}

/// `COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]`, including
/// subcommands.
pub(in crate::engine) fn command_list(call: &mut Call<'_>) -> Answer {
    let listed = Listed::parse(&call.args[2..])?;
    let with_subcommands =
        |command: &'static Command| std::iter::once(command).chain(command.subcommands);
    let all = call.table.all().into_iter().flat_map(with_subcommands);
    let names = all
        .filter(|command| listed.contains(command))
        .map(|command| Reply::bulk(command.name));
    Ok(Reply::Array(names.collect()))
}

/// The commands that COMMAND LIST returns.
enum Listed {
    All,
    /// The commands of a module; there are none.
    OfModule,
    /// The commands of an ACL category.
    InCategory(String),
    /// The commands whose names match a pattern.
    Matching(Vec<u8>),
}

impl Listed {
    fn parse(words: &[&[u8]]) -> Result<Self, Error> {
        let [filter_by, kind, value] = words else {
            return match words {
                [] => Ok(Listed::All),
                _ => Err(SYNTAX),
            };
        };
        if !filter_by.eq_ignore_ascii_case(b"filterby") {
            return Err(SYNTAX);
        }
        let value = value.to_ascii_lowercase();
        match kind.to_ascii_lowercase().as_slice() {
            b"module" => Ok(Listed::OfModule),
            b"aclcat" => Ok(Listed::InCategory(
                String::from_utf8_lossy(&value).into_owned(),
            )),
            b"pattern" => Ok(Listed::Matching(value)),
            _ => Err(SYNTAX),
        }
    }

    fn contains(&self, command: &Command) -> bool {
        match self {
            Listed::All => true,
            Listed::OfModule => false,
            Listed::InCategory(category) => command.is_in(category),
            Listed::Matching(pattern) => glob::matches(pattern, command.name.as_bytes()),
        }
    }
}

/// `COMMAND GETKEYS command [arg …]`.
pub(in crate::engine) fn command_getkeys(call: &mut Call<'_>) -> Answer {
    let words = &call.args[2..];
    let found = call.table.find(words);
    let command = found.ok_or(Error::of("ERR Invalid command specified"))?;
    if !command.has_keys() {
        return Err(Error::of("ERR The command has no key arguments"));
    }
    if !has_right_arity(command, words) {
        return Err(Error::of(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let keys = command.valid_keys_of(words);
    let keys = keys.ok_or(Error::of("ERR Invalid arguments specified for command"))?;
    Ok(Reply::Array(keys.into_iter().map(Reply::bulk).collect()))
}

/// `COMMAND INFO [name …]`.
pub(in crate::engine) fn command_info(call: &mut Call<'_>) -> Answer {
    match &call.args[2..] {
        [] => command(call),
        names => Ok(Reply::Array(
            names
                .iter()
                .map(|name| call.table.find(&[name]).map_or(Reply::Nil, describe))
                .collect(),
        )),
    }
}

/// `COMMAND DOCS`, which `redis-cli` queries for hints: there are none.
pub(in crate::engine) fn command_docs(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Map(Vec::new()))
}

/// The ten fields of Redis 7. ACL categories, tips and key specifications are empty.
fn describe(command: &Command) -> Reply {
    let own = command.flags.iter().filter_map(|flag| flag.name());
    let of_scripts: &[&str] = match command.runs_script() {
        true => &["skip_monitor", "no_mandatory_keys"],
        false => &[],
    };
    let of_queue = command.has(Flag::RunsQueue).then_some("skip_slowlog");
    let flags = own.chain(of_scripts.iter().copied()).chain(of_queue);
    let flags = flags.map(|flag| Reply::Status(flag.into()));
    let (first, last, step) = command.keys;
    Reply::Array(vec![
        Reply::bulk(command.name),
        Reply::Integer(command.arity.into()),
        Reply::Set(flags.collect()),
        Reply::Integer(first.into()),
        Reply::Integer(last.into()),
        Reply::Integer(step.into()),
        Reply::Set(Vec::new()),
        Reply::Set(Vec::new()),
        Reply::Set(Vec::new()),
        Reply::Array(command.subcommands.iter().map(describe).collect()),
    ])
}
