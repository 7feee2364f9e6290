//! Commands about the connection itself: PING, ECHO, HELLO, QUIT, RESET.

use bytes::Bytes;

use super::auth;
use crate::engine::command::Call;
use crate::engine::state::session::Closing;
use crate::engine::state::session::valid_name;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply, Resp};

/// `PING [message]`.
pub(in crate::engine) fn ping(call: &mut Call<'_>) -> Answer {
    let only_listens = call.session().only_listens();
    match call.args {
        // In RESP2 a reply and a message have the same type, so the reply is labelled.
        [_] | [_, _] if only_listens => Ok(Reply::Array(vec![
            Reply::bulk("pong"),
            Reply::bulk(call.args.get(1).unwrap_or(&&b""[..])),
        ])),
        [_] => Ok(Reply::Status("PONG".into())),
        [_, message] => Ok(Reply::bulk(message)),
        _ => Err(crate::engine::errors::wrong_arity("ping")),
    }
}

/// `ECHO message`.
pub(in crate::engine) fn echo(call: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk(call.args[1]))
}

/// `QUIT`: the server closes the connection after its OK.
pub(in crate::engine) fn quit(call: &mut Call<'_>) -> Answer {
    call.session().closing = Some(Closing::AfterReplies);
    Ok(Reply::OK)
}

/// `RESET`: resets the connection to the state of a new one: no transaction, watches or name.
pub(in crate::engine) fn reset(call: &mut Call<'_>) -> Answer {
    call.state.reset(call.client);
    Ok(Reply::Status("RESET".into()))
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`.
pub(in crate::engine) fn hello(call: &mut Call<'_>) -> Answer {
    let mut options = HelloOptions::default();
    if let [_, version, words @ ..] = call.args {
        options = HelloOptions::parse(version, words)?;
    }
    if let Some((user, password)) = options.auth {
        auth::check(call.state, user, password)?;
        call.session().authenticated = true;
    }
    if !call.session().authenticated {
        return Err(Error::of(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO AUTH <user> <pass> option can be used to authenticate the client and select \
             the RESP protocol version at the same time",
        ));
    }
    let session = call.session();
    if let Some(name) = options.name {
        session.name = name;
    }
    session.resp = options.resp.unwrap_or(session.resp);
    let proto = match session.resp {
        Resp::V2 => 2,
        Resp::V3 => 3,
    };
    let role = match call.state.repl.link() {
        None => "master",
        Some(_) => "replica",
    };
    let imitated = call.state.imitated;
    let pair = |key: &str, value: Reply| (Reply::bulk(key), value);
    Ok(Reply::Map(vec![
        pair("server", Reply::bulk(imitated.product())),
        pair("version", Reply::bulk(imitated.version())),
        pair("proto", Reply::Integer(proto)),
        pair("id", Reply::Integer(call.client as i64)),
        pair("mode", Reply::bulk("standalone")),
        pair("role", Reply::bulk(role)),
        pair("modules", Reply::Array(Vec::new())),
    ]))
}

/// The arguments of HELLO.
#[derive(Default)]
struct HelloOptions<'a> {
    resp: Option<Resp>,
    auth: Option<(&'a [u8], &'a [u8])>,
    name: Option<Bytes>,
}

impl<'a> HelloOptions<'a> {
    fn parse(version: &[u8], mut words: &[&'a [u8]]) -> Result<Self, Error> {
        let resp = match parse_i64(version) {
            Some(2) => Some(Resp::V2),
            Some(3) => Some(Resp::V3),
            Some(_) => return Err(Error::of("NOPROTO unsupported protocol version")),
            None => {
                return Err(Error::of(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
        };
        let mut options = HelloOptions {
            resp,
            ..HelloOptions::default()
        };
        while let [option, rest @ ..] = words {
            words = match rest {
                [user, password, rest @ ..] if option.eq_ignore_ascii_case(b"auth") => {
                    options.auth = Some((user, password));
                    rest
                }
                [name, rest @ ..] if option.eq_ignore_ascii_case(b"setname") => {
                    options.name = Some(valid_name("Client names", name)?);
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
        Ok(options)
    }
}
