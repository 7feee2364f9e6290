//! SET and SETNX (`src/t_string.c`).

use bytes::Bytes;

use super::SYNTAX;
use super::comparison::Comparison;
use super::expire::{Base, Time, Unit};
use super::get::get;
use crate::Imitated;
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::keyspace::Entry;
use crate::store::value::Value;
use crate::wire::reply::{Answer, Error, Reply};

/// `SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]`. Later servers
/// have conditions on the value too, see [`Comparison`].
pub(in crate::engine) fn set(call: &mut Call<'_>) -> Answer {
    let options = Options::parse(&call.args[3..], call.state.imitated)?;
    let now_ms = call.now_ms();
    let expires_at_ms = match &options.expiry {
        Expiry::At(time) => Some(time.positive_unix_ms(call.live_ms(), "set")?),
        Expiry::Keep | Expiry::None => None,
    };
    let (key, value) = (call.args[1], call.args[2]);
    // The old value has to be a string only if GET is given.
    let old_value = match options.get {
        true => Some(get(call)?),
        false => None,
    };
    let old = call.state.db.get(key, now_ms);
    let exists = old.is_some();
    let kept = old.and_then(|entry| entry.expires_at_ms);
    let refused = match options.condition {
        Condition::None => false,
        Condition::Absent => exists,
        Condition::Present => !exists,
        Condition::Compared(with) => !with.holds(call.read::<Bytes>(key)?.map(|text| &text[..])),
    };
    if refused {
        return Ok(old_value.unwrap_or(Reply::Nil));
    }
    if call.state.imitated == Imitated::Valkey9_0
        && expires_at_ms.is_some_and(|when| call.deletes_at_once(when))
    {
        call.delete_at_once(key);
        return Ok(old_value.unwrap_or(Reply::OK));
    }
    let until_ms = match options.expiry {
        Expiry::Keep => kept,
        Expiry::At(_) | Expiry::None => expires_at_ms,
    };
    let entry = Entry::new(Value::String(Bytes::copy_from_slice(value)), until_ms);
    if options.get {
        call.reply_goes_here();
    }
    call.state.db.set(key, entry, now_ms);
    call.notify(Class::String, "set", key);
    if let Expiry::At(time) = &options.expiry {
        call.notify(Class::Generic, "expire", key);
        // A command that already has PXAT is propagated unchanged.
        if let Some(when) = expires_at_ms.filter(|_| !time.is_unix_ms() || options.compares()) {
            propagate_with_time(call, key, value, when);
        }
    } else if options.compares() {
        // A replica may be of an earlier version.
        let keep: &[&[u8]] = match options.expiry {
            Expiry::Keep => &[b"KEEPTTL"],
            Expiry::At(_) | Expiry::None => &[],
        };
        call.propagate_as(&[&[b"SET", key, value], keep].concat());
    } else if options.get {
        let is_get = |word: &[u8]| word.eq_ignore_ascii_case(b"get");
        let options = call.args[3..].iter().copied().filter(|word| !is_get(word));
        let words: Vec<&[u8]> = call.args[..3].iter().copied().chain(options).collect();
        call.propagate_as(&words);
    }
    Ok(old_value.unwrap_or(Reply::OK))
}

/// `SETNX key value`: 1 if the key did not exist and was set.
pub(in crate::engine) fn setnx(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    if call.state.db.get(call.args[1], now_ms).is_some() {
        return Ok(Reply::Integer(0));
    }
    call.set_string(call.args[1], Bytes::copy_from_slice(call.args[2]));
    Ok(Reply::Integer(1))
}

/// `SETEX key seconds value`.
pub(in crate::engine) fn setex(call: &mut Call<'_>) -> Answer {
    set_with_expiry(call, "setex", Unit::Seconds)
}

/// `PSETEX key milliseconds value`.
pub(in crate::engine) fn psetex(call: &mut Call<'_>) -> Answer {
    set_with_expiry(call, "psetex", Unit::Milliseconds)
}

fn set_with_expiry(call: &mut Call<'_>, name: &str, unit: Unit) -> Answer {
    let time = Time::new(call.args[2], unit, Base::Now);
    let when = time.positive_unix_ms(call.live_ms(), name)?;
    let value = Value::String(Bytes::copy_from_slice(call.args[3]));
    let entry = Entry::new(value, Some(when));
    let now_ms = call.now_ms();
    call.state.db.set(call.args[1], entry, now_ms);
    call.notify(Class::String, "set", call.args[1]);
    call.notify(Class::Generic, "expire", call.args[1]);
    propagate_with_time(call, call.args[1], call.args[3], when);
    Ok(Reply::OK)
}

fn propagate_with_time(call: &mut Call<'_>, key: &[u8], value: &[u8], when: i64) {
    let when = when.to_string();
    call.propagate_as(&[b"SET", key, value, b"PXAT", when.as_bytes()]);
}

struct Options<'a> {
    condition: Condition<'a>,
    expiry: Expiry<'a>,
    get: bool,
}

#[derive(PartialEq)]
enum Condition<'a> {
    None,
    /// NX.
    Absent,
    /// XX.
    Present,
    /// IFEQ and the like.
    Compared(Comparison<'a>),
}

enum Expiry<'a> {
    None,
    /// KEEPTTL.
    Keep,
    At(Time<'a>),
}

impl Expiry<'_> {
    /// The same option may be repeated; the last one counts.
    fn may_become(&self, new: &Time<'_>) -> bool {
        match self {
            Expiry::None => true,
            Expiry::Keep => false,
            Expiry::At(time) => time.has_form_of(new),
        }
    }
}

impl<'a> Options<'a> {
    /// Whether its condition is about the value.
    fn compares(&self) -> bool {
        matches!(self.condition, Condition::Compared(_))
    }

    /// `parseExtendedStringArgumentsOrReply`. The first option that contradicts an
    /// earlier one is a syntax error.
    fn parse(mut args: &[&'a [u8]], imitated: Imitated) -> Result<Self, Error> {
        let mut options = Options {
            condition: Condition::None,
            expiry: Expiry::None,
            get: false,
        };
        while let [option, rest @ ..] = args {
            args = rest;
            let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
            if is("nx") && options.condition != Condition::Present && !options.compares() {
                options.condition = Condition::Absent;
            } else if is("xx") && options.condition != Condition::Absent && !options.compares() {
                options.condition = Condition::Present;
            } else if is("get") {
                options.get = true;
            } else if is("keepttl") && !matches!(options.expiry, Expiry::At(_)) {
                options.expiry = Expiry::Keep;
            } else if let [with, rest @ ..] = args
                && let Some(comparison) = Comparison::of(option, with, imitated)
                && options.condition == Condition::None
            {
                args = rest;
                options.condition = Condition::Compared(comparison);
            } else if let [number, rest @ ..] = args
                && let Some(time) = Time::option(option, number)
                && options.expiry.may_become(&time)
            {
                args = rest;
                options.expiry = Expiry::At(time);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }
}
