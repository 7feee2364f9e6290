//! Commands about the connection and about the sentinel itself: AUTH, ACL, CLIENT, COMMAND, HELLO.
//! A sentinel has no password.

use super::command_table::{self, COMMANDS, Command};
use super::effect::ConnId;
use super::state::State;
use crate::VERSION;
use crate::wire::reply::{Reply, Resp};

/// A reply; the text of an error begins with its code.
pub(super) type Answer = Result<Reply, String>;

const SYNTAX: &str = "ERR syntax error";

/// `AUTH [username] password`.
pub(super) fn auth(words: &[&str]) -> Answer {
    match words {
        [_] => Err(
            "ERR AUTH <password> called without any password configured for the \
                    default user. Are you sure your configuration is correct?"
                .into(),
        ),
        ["default", _] => Ok(Reply::OK),
        [_, _] => Err("WRONGPASS invalid username-password pair or user is disabled.".into()),
        _ => Err(SYNTAX.into()),
    }
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`.
pub(super) fn hello(state: &mut State, conn: ConnId, words: &[&str]) -> Answer {
    if let [version, options @ ..] = words {
        let resp = match version.parse::<i64>() {
            Ok(2) => Resp::V2,
            Ok(3) => Resp::V3,
            Ok(_) => return Err("NOPROTO unsupported protocol version".into()),
            Err(_) => return Err("ERR Protocol version is not an integer or out of range".into()),
        };
        let mut left = options;
        let mut name = None;
        while let [option, rest @ ..] = left {
            left = match (option.to_ascii_lowercase().as_str(), rest) {
                ("auth", [user, password, rest @ ..]) => {
                    auth(&[user, password])?;
                    rest
                }
                ("setname", [given, rest @ ..]) => {
                    name = Some(valid_name(given)?);
                    rest
                }
                _ => {
                    return Err(format!("ERR Syntax error in HELLO option '{option}'"));
                }
            };
        }
        if let Some(client) = state.core.clients.get_mut(&conn) {
            client.resp = resp;
            client.name = name.unwrap_or(std::mem::take(&mut client.name));
        }
    }
    let client = state.core.clients.get(&conn);
    let proto = match client.map_or(Resp::V2, |client| client.resp) {
        Resp::V2 => 2,
        Resp::V3 => 3,
    };
    let fields = [
        ("server", Reply::bulk("redis")),
        ("version", Reply::bulk(VERSION)),
        ("proto", Reply::Integer(proto)),
        ("id", Reply::Integer(conn.0 as i64)),
        ("mode", Reply::bulk("sentinel")),
        ("modules", Reply::Array(Vec::new())),
    ];
    let pairs = fields
        .into_iter()
        .map(|(name, value)| (Reply::bulk(name), value));
    Ok(Reply::Map(pairs.collect()))
}

/// `CLIENT SETNAME name`, and `CLIENT GETNAME`.
pub(super) fn set_name(state: &mut State, conn: ConnId, name: &str) -> Answer {
    let name = valid_name(name)?;
    if let Some(client) = state.core.clients.get_mut(&conn) {
        client.name = name;
    }
    Ok(Reply::OK)
}

fn valid_name(name: &str) -> Result<String, String> {
    match name.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(name.to_owned()),
        false => {
            Err("ERR Client names cannot contain spaces, newlines or special characters.".into())
        }
    }
}

/// The name of a client, or nil.
pub(super) fn name(state: &State, conn: ConnId) -> Reply {
    let name = state.core.clients.get(&conn).map(|client| &client.name);
    let name = name.filter(|name| !name.is_empty());
    name.map_or(Reply::Nil, Reply::bulk)
}

/// `COMMAND INFO [name …]`.
pub(super) fn command_info(names: &[&str]) -> Reply {
    if names.is_empty() {
        return Reply::Array(COMMANDS.iter().map(row).collect());
    }
    let of = |name: &&str| {
        let mut all = command_table::all();
        let found = all.find(|command| command.name.eq_ignore_ascii_case(name));
        found.map_or(Reply::Nil, row)
    };
    Reply::Array(names.iter().map(of).collect())
}

/// The ten fields of Redis 7. ACL categories, tips and key specifications are empty.
fn row(command: &Command) -> Reply {
    let flags = command.flags.iter().copied();
    let flags = flags.map(|flag| Reply::Status(flag.into()));
    let none = || Reply::Set(Vec::new());
    Reply::Array(vec![
        Reply::bulk(command.name),
        Reply::Integer(command.arity.into()),
        Reply::Set(flags.collect()),
        Reply::Integer(0),
        Reply::Integer(0),
        Reply::Integer(0),
        none(),
        none(),
        none(),
        Reply::Array(command.subcommands.iter().map(row).collect()),
    ])
}
