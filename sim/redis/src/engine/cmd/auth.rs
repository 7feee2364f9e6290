//! AUTH, and ACL for the only user: `default`.

use std::fmt::Write as _;

use crate::engine::command::Call;
use crate::engine::state::State;
use crate::wire::reply::{Answer, Error, Reply};

/// `AUTH [username] password`.
pub(in crate::engine) fn auth(call: &mut Call<'_>) -> Answer {
    let (user, password): (&[u8], &[u8]) = match call.args {
        [_, password] => {
            if call.state.config.requirepass.is_empty() {
                return Err(Error::of(
                    "ERR AUTH <password> called without any password configured for the \
                     default user. Are you sure your configuration is correct?",
                ));
            }
            (b"default", password)
        }
        [_, user, password] => (user, password),
        _ => return Err(super::SYNTAX),
    };
    check(call.state, user, password)?;
    call.session().authenticated = true;
    Ok(Reply::OK)
}

/// Checks a name and a password. If the default user has no password, any password is valid.
///
/// # Errors
///
/// WRONGPASS.
pub(in crate::engine) fn check(state: &State, user: &[u8], password: &[u8]) -> Result<(), Error> {
    let wanted = &state.config.requirepass;
    if user == b"default" && (wanted.is_empty() || password == wanted) {
        return Ok(());
    }
    Err(Error::of(
        "WRONGPASS invalid username-password pair or user is disabled.",
    ))
}

/// `ACL WHOAMI`.
pub(in crate::engine) fn whoami(_: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk("default"))
}

/// `ACL USERS`.
pub(in crate::engine) fn users(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(vec![Reply::bulk("default")]))
}

/// `ACL LIST`.
pub(in crate::engine) fn list(call: &mut Call<'_>) -> Answer {
    let password = match password_hash(call.state) {
        Some(hash) => format!("#{hash}"),
        None => "nopass".to_owned(),
    };
    let rule = format!("user default on {password} ~* &* +@all");
    Ok(Reply::Array(vec![Reply::bulk(rule)]))
}

/// `ACL GETUSER username`.
pub(in crate::engine) fn getuser(call: &mut Call<'_>) -> Answer {
    if call.args[2] != b"default" {
        return Ok(Reply::Nil);
    }
    let hash = password_hash(call.state);
    let flags: &[&str] = match hash {
        Some(_) => &["on"],
        None => &["on", "nopass"],
    };
    let pair = |name: &str, value: Reply| (Reply::bulk(name), value);
    Ok(Reply::Map(vec![
        pair("flags", Reply::Set(flags.iter().map(Reply::bulk).collect())),
        pair(
            "passwords",
            Reply::Array(hash.into_iter().map(Reply::bulk).collect()),
        ),
        pair("commands", Reply::bulk("+@all")),
        pair("keys", Reply::bulk("~*")),
        pair("channels", Reply::bulk("&*")),
        pair("selectors", Reply::Array(Vec::new())),
    ]))
}

/// The SHA-256 of the password, which Redis stores instead of the password.
fn password_hash(state: &State) -> Option<String> {
    let password = &state.config.requirepass;
    let digest = hmac_sha256::Hash::hash(password);
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    (!password.is_empty()).then_some(hex)
}
