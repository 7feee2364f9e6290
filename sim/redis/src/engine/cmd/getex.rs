//! GETEX: returns the value, and sets a new time to live.

use bytes::Bytes;

use super::SYNTAX;
use super::expire::Time;
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::wire::reply::{Answer, Error, Reply};

/// `GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]`.
pub(in crate::engine) fn getex(call: &mut Call<'_>) -> Answer {
    let change = Change::parse(&call.args[2..])?;
    let (key, now_ms) = (call.args[1], call.now_ms());
    let Some(value) = call.read::<Bytes>(key)?.cloned() else {
        return Ok(Reply::Nil);
    };
    let expires_at_ms = match &change {
        Change::None => return Ok(Reply::Bulk(value)),
        Change::Persist => None,
        Change::At(time) => Some(time.positive_unix_ms(now_ms, "getex")?),
    };
    call.reply_goes_here();
    let db = &mut call.state.db;
    if expires_at_ms.is_some_and(|when| when <= now_ms) {
        db.remove(key, now_ms);
        call.notify(Class::Generic, "del", key);
        call.propagate_as(&[b"DEL", key]);
    } else if let Some(entry) = db.get(key, now_ms) {
        let had = entry.expires_at_ms.is_some();
        db.set_expiry(key, expires_at_ms);
        if had || expires_at_ms.is_some() {
            db.touch(key);
            let event = match expires_at_ms {
                Some(_) => "expire",
                None => "persist",
            };
            call.notify(Class::Generic, event, key);
            match expires_at_ms.map(|when| when.to_string()) {
                Some(when) => call.propagate_as(&[b"PEXPIREAT", key, when.as_bytes()]),
                None => call.propagate_as(&[b"PERSIST", key]),
            }
        }
    }
    Ok(Reply::Bulk(value))
}

enum Change<'a> {
    None,
    Persist,
    At(Time<'a>),
}

impl<'a> Change<'a> {
    /// `parseExtendedStringArgumentsOrReply`, for GETEX.
    fn parse(mut args: &[&'a [u8]]) -> Result<Self, Error> {
        let mut change = Change::None;
        while let [option, rest @ ..] = args {
            args = rest;
            if option.eq_ignore_ascii_case(b"persist") && !matches!(change, Change::At(_)) {
                change = Change::Persist;
            } else if let [number, rest @ ..] = args
                && let Some(time) = Time::option(option, number)
                && change.may_become(&time)
            {
                args = rest;
                change = Change::At(time);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(change)
    }

    /// The same option may be repeated; the last one counts.
    fn may_become(&self, new: &Time<'_>) -> bool {
        match self {
            Change::None => true,
            Change::Persist => false,
            Change::At(time) => time.has_form_of(new),
        }
    }
}
