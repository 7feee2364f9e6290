//! AUTH, and ACL WHOAMI: there is one user, `default`.

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
