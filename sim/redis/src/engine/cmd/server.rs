//! Commands about the server: TIME, COMMAND, and those of a cluster.

use crate::Imitated;
use crate::engine::command::{Call, Command, Flag, Table};
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
        (call.table.all().into_iter())
            .map(|command| describe(call.table, command))
            .collect(),
    ))
}

/// `COMMAND COUNT`.
pub(in crate::engine) fn command_count(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(call.table.all().len() as i64))
}

/// `COMMAND INFO [name …]`.
pub(in crate::engine) fn command_info(call: &mut Call<'_>) -> Answer {
    match &call.args[2..] {
        [] => command(call),
        names => Ok(Reply::Array(
            names
                .iter()
                .map(|name| {
                    let words: Vec<&[u8]> = name.split(|byte| *byte == b'|').collect();
                    let found = call.table.find(&words);
                    let found = found.filter(|it| it.name.as_bytes().eq_ignore_ascii_case(name));
                    found.map_or(Reply::Nil, |command| describe(call.table, command))
                })
                .collect(),
        )),
    }
}

/// `COMMAND DOCS`, which `redis-cli` queries for hints: there are none.
pub(in crate::engine) fn command_docs(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Map(Vec::new()))
}

/// `CLUSTER subcommand [argument …]`, `ASKING`: clients ask a server with them whether it belongs to a cluster.
pub(in crate::engine) fn cluster(_: &mut Call<'_>) -> Answer {
    Err(Error::of("ERR This instance has cluster support disabled"))
}

/// `READONLY`, `READWRITE`: Valkey takes them without a cluster too.
pub(in crate::engine) fn read_mode(call: &mut Call<'_>) -> Answer {
    match call.state.imitated {
        Imitated::Valkey9_0 => Ok(Reply::OK),
        _ => cluster(call),
    }
}

/// The ten fields of Redis 7. ACL categories, tips and key specifications are empty.
fn describe(table: Table, command: &Command) -> Reply {
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
        Reply::Array(
            (table.subcommands(command).into_iter())
                .map(|command| describe(table, command))
                .collect(),
        ),
    ])
}
