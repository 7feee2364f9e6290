//! Commands about the connection itself: PING, ECHO, HELLO, CLIENT, QUIT, RESET.

use std::borrow::Cow;

use bytes::Bytes;

use crate::redis::number::parse_i64;
use crate::redis::reply::{Answer, Error, Reply};
use crate::redis::state::VERSION;
use crate::redis::table::Call;

/// `PING [message]`.
pub(in crate::redis) fn ping(call: &mut Call<'_>) -> Answer {
    match call.args {
        [_] => Ok(Reply::Status(Cow::Borrowed("PONG"))),
        [_, message] => Ok(Reply::bulk(message)),
        _ => Err(crate::redis::dispatch::wrong_arity("ping")),
    }
}

/// `ECHO message`.
pub(in crate::redis) fn echo(call: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk(call.args[1]))
}

/// `QUIT`: the server closes the connection after its OK.
pub(in crate::redis) fn quit(call: &mut Call<'_>) -> Answer {
    call.session.closing = true;
    Ok(Reply::OK)
}

/// `RESET`: the connection is as a new one, without transaction, watches, name.
pub(in crate::redis) fn reset(call: &mut Call<'_>) -> Answer {
    call.session.reset(&mut call.state.db);
    Ok(Reply::Status(Cow::Borrowed("RESET")))
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`. RESP2 only, for now.
pub(in crate::redis) fn hello(call: &mut Call<'_>) -> Answer {
    let mut name = None;
    if let [_, version, options @ ..] = call.args {
        match parse_i64(version) {
            Some(2) => {}
            Some(_) => return Err(Error::of("NOPROTO unsupported protocol version")),
            None => {
                return Err(Error::of(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
        }
        name = hello_options(options)?;
    }
    if let Some(name) = name {
        call.session.name = name;
    }
    let pair = |key: &str, value: Reply| [Reply::bulk(key), value];
    Ok(Reply::Array(
        [
            pair("server", Reply::bulk("redis")),
            pair("version", Reply::bulk(VERSION)),
            pair("proto", Reply::Integer(2)),
            pair("id", Reply::Integer(call.session.id as i64)),
            pair("mode", Reply::bulk("standalone")),
            pair("role", Reply::bulk("master")),
            pair("modules", Reply::Array(Vec::new())),
        ]
        .into_iter()
        .flatten()
        .collect(),
    ))
}

/// Reads the options of HELLO; returns the name to set.
fn hello_options(mut options: &[&[u8]]) -> Result<Option<Bytes>, Error> {
    let mut name = None;
    while let [option, rest @ ..] = options {
        options = match rest {
            [user, _password, rest @ ..] if option.eq_ignore_ascii_case(b"auth") => {
                // The default user of a default configuration has no password and
                // takes any; there is no other user.
                if *user != b"default" {
                    return Err(Error::of(
                        "WRONGPASS invalid username-password pair or user is disabled.",
                    ));
                }
                rest
            }
            [new, rest @ ..] if option.eq_ignore_ascii_case(b"setname") => {
                name = Some(valid_name(new)?);
                rest
            }
            _ => {
                let mut text = b"ERR Syntax error in HELLO option '".to_vec();
                text.extend_from_slice(option);
                text.push(b'\'');
                return Err(Error::new(text));
            }
        };
    }
    Ok(name)
}

/// `CLIENT ID`.
pub(in crate::redis) fn client_id(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(call.session.id as i64))
}

/// `CLIENT GETNAME`.
pub(in crate::redis) fn client_getname(call: &mut Call<'_>) -> Answer {
    let name = &call.session.name;
    Ok(Reply::bulk_or_nil((!name.is_empty()).then(|| name.clone())))
}

/// `CLIENT SETNAME name`; an empty name takes it away.
pub(in crate::redis) fn client_setname(call: &mut Call<'_>) -> Answer {
    call.session.name = valid_name(call.args[2])?;
    Ok(Reply::OK)
}

fn valid_name(name: &[u8]) -> Result<Bytes, Error> {
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err(Error::of(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ));
    }
    Ok(Bytes::copy_from_slice(name))
}
