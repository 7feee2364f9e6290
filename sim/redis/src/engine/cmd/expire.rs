//! Expiry times: EXPIRE and its three relatives, TTL, PERSIST (`src/expire.c`).

use super::integer;
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::wire::reply::{Answer, Error, Reply};

/// `EXPIRE key seconds [NX | XX | GT | LT]`: 1 if the key's time was set.
pub(in crate::engine) fn expire(call: &mut Call<'_>) -> Answer {
    expire_generic(call, "expire", Unit::Seconds, Base::Now)
}

/// `PEXPIRE key milliseconds [NX | XX | GT | LT]`.
pub(in crate::engine) fn pexpire(call: &mut Call<'_>) -> Answer {
    expire_generic(call, "pexpire", Unit::Milliseconds, Base::Now)
}

/// `EXPIREAT key unix-time [NX | XX | GT | LT]`.
pub(in crate::engine) fn expireat(call: &mut Call<'_>) -> Answer {
    expire_generic(call, "expireat", Unit::Seconds, Base::Epoch)
}

/// `PEXPIREAT key unix-time-in-ms [NX | XX | GT | LT]`.
pub(in crate::engine) fn pexpireat(call: &mut Call<'_>) -> Answer {
    expire_generic(call, "pexpireat", Unit::Milliseconds, Base::Epoch)
}

fn expire_generic(call: &mut Call<'_>, name: &str, unit: Unit, base: Base) -> Answer {
    let (key, number) = (call.args[1], call.args[2]);
    let options = Options::parse(&call.args[3..])?;
    let time = Time { number, unit, base };
    let now_ms = call.now_ms();
    let when = time.unix_ms(call.live_ms(), name)?;
    let Some(entry) = call.state.db.get(key, now_ms) else {
        return Ok(Reply::Integer(0));
    };
    if !options.allow(entry.expires_at_ms, when) {
        return Ok(Reply::Integer(0));
    }
    if call.deletes_at_once(when) {
        call.delete_at_once(key);
    } else {
        call.reply_goes_here();
        call.state.db.set_expiry(key, Some(when));
        call.state.db.touch(key);
        call.notify(Class::Generic, "expire", key);
        propagate_as_pexpireat(call, when);
    }
    Ok(Reply::Integer(1))
}

/// Options are propagated too, although they have already been applied.
fn propagate_as_pexpireat(call: &mut Call<'_>, when: i64) {
    let name: &[u8] = match call.args[0].eq_ignore_ascii_case(b"pexpireat") {
        true => call.args[0],
        false => b"PEXPIREAT",
    };
    let when = when.to_string();
    let words = [&[name, call.args[1], when.as_bytes()], &call.args[3..]].concat();
    call.propagate_as(&words);
}

/// `PERSIST key`: 1 if the key had a time to live, which is now removed.
pub(in crate::engine) fn persist(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let entry = call.state.db.get(call.args[1], now_ms);
    let had = entry.is_some_and(|entry| entry.expires_at_ms.is_some());
    if had {
        call.state.db.set_expiry(call.args[1], None);
        call.state.db.touch(call.args[1]);
        call.notify(Class::Generic, "persist", call.args[1]);
    }
    Ok(Reply::Integer(had.into()))
}

/// `PTTL key`: milliseconds left, -1 without expiry, -2 if the key does not exist.
pub(in crate::engine) fn pttl(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(remaining_ms(call)))
}

/// `TTL key`: like PTTL, in seconds, rounded to the nearest.
pub(in crate::engine) fn ttl(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(match remaining_ms(call) {
        none @ ..0 => none,
        // Redis's own addition, which may overflow; ours does not.
        ms => ms.saturating_add(500) / 1000,
    }))
}

/// `PEXPIRETIME key`: when the key expires, in milliseconds since the Unix epoch; -1 and -2 as
/// for PTTL.
pub(in crate::engine) fn pexpiretime(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(expires_at_ms(call)))
}

/// `EXPIRETIME key`: like PEXPIRETIME, in seconds, rounded to the nearest.
pub(in crate::engine) fn expiretime(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(match expires_at_ms(call) {
        none @ ..0 => none,
        ms => ms.saturating_add(500) / 1000,
    }))
}

fn expires_at_ms(call: &mut Call<'_>) -> i64 {
    let now_ms = call.now_ms();
    match call.state.db.peek(call.args[1], now_ms) {
        None => -2,
        Some(entry) => entry.expires_at_ms.unwrap_or(-1),
    }
}

fn remaining_ms(call: &mut Call<'_>) -> i64 {
    let now_ms = call.now_ms();
    let live_ms = call.live_ms();
    match call.state.db.peek(call.args[1], now_ms) {
        None => -2,
        Some(entry) => match entry.expires_at_ms {
            None => -1,
            Some(when) => (when - live_ms).max(0),
        },
    }
}

/// A time in a request, not yet parsed, because Redis parses it only after all options.
pub(in crate::engine) struct Time<'a> {
    number: &'a [u8],
    unit: Unit,
    base: Base,
}

#[derive(Copy, Clone, PartialEq)]
pub(in crate::engine) enum Unit {
    Seconds,
    Milliseconds,
}

#[derive(Copy, Clone, PartialEq)]
pub(in crate::engine) enum Base {
    /// Relative to the node's wall clock.
    Now,
    /// Absolute: since the Unix epoch.
    Epoch,
}

impl<'a> Time<'a> {
    pub(in crate::engine) fn new(number: &'a [u8], unit: Unit, base: Base) -> Self {
        Time { number, unit, base }
    }

    /// The time that SET's options EX, PX, EXAT and PXAT give.
    pub(in crate::engine) fn option(name: &[u8], number: &'a [u8]) -> Option<Self> {
        let (unit, base) = match name.to_ascii_lowercase().as_slice() {
            b"ex" => (Unit::Seconds, Base::Now),
            b"px" => (Unit::Milliseconds, Base::Now),
            b"exat" => (Unit::Seconds, Base::Epoch),
            b"pxat" => (Unit::Milliseconds, Base::Epoch),
            _ => return None,
        };
        Some(Time { number, unit, base })
    }

    /// Whether two options have the same unit and base.
    pub(in crate::engine) fn has_form_of(&self, other: &Time<'_>) -> bool {
        (self.unit, self.base) == (other.unit, other.base)
    }

    /// Whether the time is given in milliseconds since the Unix epoch.
    pub(in crate::engine) fn is_unix_ms(&self) -> bool {
        (self.unit, self.base) == (Unit::Milliseconds, Base::Epoch)
    }

    /// The time in milliseconds since the Unix epoch, possibly negative.
    ///
    /// # Errors
    ///
    /// The number is invalid or out of range; `command` is for the message.
    fn unix_ms(&self, now_ms: i64, command: &str) -> Result<i64, Error> {
        self.checked(integer(self.number)?, now_ms)
            .ok_or_else(|| invalid(command))
    }

    /// Like [`Time::unix_ms`], but rejects numbers below 1.
    pub(in crate::engine) fn positive_unix_ms(
        &self,
        now_ms: i64,
        command: &str,
    ) -> Result<i64, Error> {
        let number = integer(self.number)?;
        Some(number)
            .filter(|number| *number > 0)
            .and_then(|number| self.checked(number, now_ms))
            .ok_or_else(|| invalid(command))
    }

    fn checked(&self, number: i64, now_ms: i64) -> Option<i64> {
        let ms = match self.unit {
            Unit::Seconds => number.checked_mul(1000)?,
            Unit::Milliseconds => number,
        };
        match self.base {
            Base::Now => ms.checked_add(now_ms),
            Base::Epoch => Some(ms),
        }
    }
}

fn invalid(command: &str) -> Error {
    Error::new(format!("ERR invalid expire time in '{command}' command"))
}

#[derive(Default)]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Options {
    fn parse(args: &[&[u8]]) -> Result<Self, Error> {
        let mut options = Options::default();
        for arg in args {
            match arg.to_ascii_lowercase().as_slice() {
                b"nx" => options.nx = true,
                b"xx" => options.xx = true,
                b"gt" => options.gt = true,
                b"lt" => options.lt = true,
                _ => {
                    let mut text = b"ERR Unsupported option ".to_vec();
                    text.extend_from_slice(arg);
                    return Err(Error::new(text));
                }
            }
        }
        if options.nx && (options.xx || options.gt || options.lt) {
            return Err(Error::of(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if options.gt && options.lt {
            return Err(Error::of(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(options)
    }

    /// A key without expiry counts as one that never expires: no time is greater.
    fn allow(&self, current: Option<i64>, when: i64) -> bool {
        !(self.nx && current.is_some()
            || self.xx && current.is_none()
            || self.gt && current.is_none_or(|current| when <= current)
            || self.lt && current.is_some_and(|current| when >= current))
    }
}
