//! Lists: their ends, their length, and their elements (`src/t_list.c`).

use bytes::Bytes;

use super::{SYNTAX, integer, not_negative, slice};
use crate::engine::command::Call;
use crate::engine::errors::wrong_arity;
use crate::store::changes::Class;
use crate::store::value::{End, List};
use crate::wire::reply::{Answer, Error, Reply};

/// `LPUSH key element [element …]`: the new length.
pub(in crate::engine) fn lpush(call: &mut Call<'_>) -> Answer {
    push_all(call, End::Left)
}

/// `RPUSH key element [element …]`: the new length.
pub(in crate::engine) fn rpush(call: &mut Call<'_>) -> Answer {
    push_all(call, End::Right)
}

fn push_all(call: &mut Call<'_>, end: End) -> Answer {
    let (key, elements) = (call.args[1], &call.args[2..]);
    let list = call.edit_or_create::<List>(key)?;
    for element in elements {
        end.push(list, Bytes::copy_from_slice(element));
    }
    let len = list.len();
    call.reply_goes_here();
    call.filled_by(Class::List, end.push_event(), key);
    Ok(Reply::Integer(len as i64))
}

/// Adds one element at an end of a list, which is created if missing.
///
/// # Errors
///
/// WRONGTYPE.
pub(in crate::engine) fn push(
    call: &mut Call<'_>,
    key: &[u8],
    end: End,
    element: Bytes,
) -> Result<(), Error> {
    end.push(call.edit_or_create::<List>(key)?, element);
    call.changed_by(Class::List, end.push_event(), key);
    Ok(())
}

/// Takes the element at an end of a list; deletes a list that is empty then.
///
/// # Errors
///
/// WRONGTYPE.
pub(in crate::engine) fn pop(
    call: &mut Call<'_>,
    key: &[u8],
    end: End,
) -> Result<Option<Bytes>, Error> {
    let element = call.edit::<List>(key)?.and_then(|list| end.pop(list));
    if element.is_some() {
        call.reply_goes_here();
        call.changed_by(Class::List, end.pop_event(), key);
    }
    Ok(element)
}

/// `LPOP key [count]`.
pub(in crate::engine) fn lpop(call: &mut Call<'_>) -> Answer {
    pop_some(call, "lpop", End::Left)
}

/// `RPOP key [count]`.
pub(in crate::engine) fn rpop(call: &mut Call<'_>) -> Answer {
    pop_some(call, "rpop", End::Right)
}

fn pop_some(call: &mut Call<'_>, name: &str, end: End) -> Answer {
    let key = call.args[1];
    let count = match call.args {
        [_, _] => return Ok(Reply::bulk_or_nil(pop(call, key, end)?)),
        [_, _, count] => not_negative(count)?,
        _ => return Err(wrong_arity(name)),
    };
    let Some(list) = call.edit::<List>(key)? else {
        return Ok(Reply::NilArray);
    };
    let mut popped = Vec::new();
    while (popped.len() as u64) < count
        && let Some(element) = end.pop(list)
    {
        popped.push(Reply::Bulk(element));
    }
    if !popped.is_empty() {
        call.reply_goes_here();
        call.changed_by(Class::List, end.pop_event(), key);
    }
    Ok(Reply::Array(popped))
}

/// `LLEN key`.
pub(in crate::engine) fn llen(call: &mut Call<'_>) -> Answer {
    let list = call.read::<List>(call.args[1])?;
    Ok(Reply::Integer(list.map_or(0, List::len) as i64))
}

/// `LINDEX key index`: a negative index counts from the tail.
pub(in crate::engine) fn lindex(call: &mut Call<'_>) -> Answer {
    let index = call.args[2];
    let Some(list) = call.read::<List>(call.args[1])? else {
        return Ok(Reply::Nil);
    };
    let at = position(integer(index)?, list.len());
    Ok(Reply::bulk_or_nil(at.map(|at| list[at].clone())))
}

/// The position of an index in a list of this length, if it is in range.
fn position(index: i64, len: usize) -> Option<usize> {
    let at = if index < 0 {
        index.checked_add_unsigned(len as u64)?
    } else {
        index
    };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// `LRANGE key start stop`: both ends included, negative from the tail.
pub(in crate::engine) fn lrange(call: &mut Call<'_>) -> Answer {
    let (start, stop) = (integer(call.args[2])?, integer(call.args[3])?);
    let Some(list) = call.read::<List>(call.args[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let elements = list.range(slice(start, stop, list.len()));
    Ok(Reply::Array(elements.cloned().map(Reply::Bulk).collect()))
}

/// `LREM key count element`: removes up to `count` matches, all for 0, from the tail if negative;
/// returns the number removed.
pub(in crate::engine) fn lrem(call: &mut Call<'_>) -> Answer {
    let (key, element) = (call.args[1], call.args[3]);
    let count = integer(call.args[2])?;
    let Some(list) = call.edit::<List>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let most = match count {
        0 => usize::MAX,
        count => count.unsigned_abs() as usize,
    };
    let from_tail = count < 0;
    if from_tail {
        list.make_contiguous().reverse();
    }
    let mut removed = 0;
    list.retain(|other| {
        let remove = removed < most && other == element;
        removed += usize::from(remove);
        !remove
    });
    if from_tail {
        list.make_contiguous().reverse();
    }
    if removed > 0 {
        call.changed_by(Class::List, "lrem", key);
    }
    Ok(Reply::Integer(removed as i64))
}

/// `LMOVE source destination LEFT | RIGHT LEFT | RIGHT`: the element that was moved.
pub(in crate::engine) fn lmove(call: &mut Call<'_>) -> Answer {
    let &[_, source, destination, from, to] = call.args else {
        return Err(SYNTAX);
    };
    let (from, to) = (
        End::parse(from).ok_or(SYNTAX)?,
        End::parse(to).ok_or(SYNTAX)?,
    );
    move_one(call, (source, from), (destination, to))
}

/// `RPOPLPUSH source destination`.
pub(in crate::engine) fn rpoplpush(call: &mut Call<'_>) -> Answer {
    let (source, destination) = (call.args[1], call.args[2]);
    move_one(call, (source, End::Right), (destination, End::Left))
}

/// Moves one element; nil if the source is empty.
pub(in crate::engine) fn move_one(
    call: &mut Call<'_>,
    (source, from): (&[u8], End),
    (destination, to): (&[u8], End),
) -> Answer {
    if call.read::<List>(source)?.is_none() {
        return Ok(Reply::Nil);
    }
    call.read::<List>(destination)?;
    // The order of the two steps allows a list of one element as both source and destination.
    let Some(element) = call.edit::<List>(source)?.and_then(|list| from.pop(list)) else {
        return Ok(Reply::Nil);
    };
    push(call, destination, to, element.clone())?;
    call.reply_goes_here();
    call.changed_by(Class::List, from.pop_event(), source);
    Ok(Reply::Bulk(element))
}
