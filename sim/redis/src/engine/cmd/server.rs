//! Commands about the server: TIME, INFO, COMMAND.

use std::fmt::Write as _;

use crate::VERSION;
use crate::engine::state::State;
use crate::engine::table::{COMMANDS, Call, Command, find};
use crate::wire::reply::{Answer, Reply};

/// `TIME`: the node's wall clock in seconds, and the microseconds within the second.
pub(in crate::engine) fn time(call: &mut Call<'_>) -> Answer {
    let part = |number: u64| Reply::bulk(number.to_string());
    let now_us = call.live_us();
    Ok(Reply::Array(vec![
        part(now_us / 1_000_000),
        part(now_us % 1_000_000),
    ]))
}

/// `INFO [section …]`: the sections and fields that apply to a fake node.
pub(in crate::engine) fn info(call: &mut Call<'_>) -> Answer {
    let wanted = &call.args[1..];
    let named = |name: &str| {
        let is = |word: &&[u8]| word.eq_ignore_ascii_case(name.as_bytes());
        wanted.iter().any(is)
    };
    let every = wanted.is_empty() || named("all") || named("default") || named("everything");
    call.state.run_due_cycles(call.wall_us);
    let mut text = String::new();
    for (name, body) in SECTIONS {
        if every || named(name) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str("# ");
            text.push_str(name);
            text.push_str("\r\n");
            text.push_str(&body(call.state, call.wall_us));
        }
    }
    Ok(Reply::text(text))
}

type Section = (&'static str, fn(&State, u64) -> String);

const SECTIONS: [Section; 5] = [
    ("Server", |state, wall_us| {
        let mut text = format!(
            "redis_version:{VERSION}\r\nredis_mode:standalone\r\nrun_id:{}\r\n",
            state.run_id
        );
        if let Some(leaving) = &state.leaving {
            let left_ms = leaving.until_ms - (wall_us / 1000) as i64;
            let _ = write!(text, "shutdown_in_milliseconds:{left_ms}\r\n");
        }
        text
    }),
    ("Clients", |state, _| {
        format!(
            "connected_clients:{}\r\nblocked_clients:{}\r\n",
            state.clients.len() - state.repl.replicas.len(),
            state.waiting.len() + state.count_postponed()
        )
    }),
    ("Stats", |state, _| {
        format!(
            "total_commands_processed:{}\r\nexpired_keys:{}\r\n",
            state.commands_processed, state.db.expired_keys
        )
    }),
    ("Replication", super::replication::info),
    ("Keyspace", |state, _| {
        let mut text = String::new();
        if state.db.len() > 0 {
            let (keys, expires) = (state.db.len(), state.db.volatile_len());
            let _ = write!(text, "db0:keys={keys},expires={expires},avg_ttl=0\r\n");
        }
        text
    }),
];

/// `COMMAND`: the table entries of all commands.
pub(in crate::engine) fn command(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(COMMANDS.iter().map(describe).collect()))
}

/// `COMMAND COUNT`.
pub(in crate::engine) fn command_count(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(COMMANDS.len() as i64))
}

/// `COMMAND LIST`, including subcommands.
pub(in crate::engine) fn command_list(_: &mut Call<'_>) -> Answer {
    let with_subcommands =
        |command: &'static Command| std::iter::once(command).chain(command.subcommands);
    let all = COMMANDS.iter().flat_map(with_subcommands);
    let names = all.map(|command| Reply::bulk(command.name));
    Ok(Reply::Array(names.collect()))
}

/// `COMMAND INFO [name …]`.
pub(in crate::engine) fn command_info(call: &mut Call<'_>) -> Answer {
    match &call.args[2..] {
        [] => command(call),
        names => Ok(Reply::Array(
            names
                .iter()
                .map(|name| find(&[name]).map_or(Reply::Nil, describe))
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
    let flags = command
        .flags
        .iter()
        .filter_map(|flag| Some(Reply::Status(flag.name()?.into())));
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
