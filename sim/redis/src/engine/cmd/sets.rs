//! Sets (`src/t_set.c`). Random members are chosen by the node's own generator, so that a run can
//! be repeated.

use bytes::Bytes;

use super::{SYNTAX, integer, not_negative, set_of};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::value::Set;
use crate::wire::reply::{Answer, Error, Reply};

/// The maximum number of elements that one SRANDMEMBER may draw with repetition. (Redis is only
/// limited by its memory.)
const MAX_DRAWN: u64 = 1 << 20;

/// `SADD key member [member …]`: returns the number of new members.
pub(in crate::engine) fn sadd(call: &mut Call<'_>) -> Answer {
    let (key, members) = (call.args[1], &call.args[2..]);
    let most_ints = call.state.db.limits.intset_entries;
    let set = call.edit_or_create::<Set>(key)?;
    let added = members.iter();
    let added = added.filter(|member| set.add(member, most_ints)).count();
    if added > 0 {
        call.changed_by(Class::Set, "sadd", key);
    }
    Ok(Reply::Integer(added as i64))
}

/// `SREM key member [member …]`: returns the number of members that existed.
pub(in crate::engine) fn srem(call: &mut Call<'_>) -> Answer {
    let (key, members) = (call.args[1], &call.args[2..]);
    let Some(set) = call.edit::<Set>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let removed = members.iter().filter(|member| set.remove(member)).count();
    if removed > 0 {
        call.changed_by(Class::Set, "srem", key);
    }
    Ok(Reply::Integer(removed as i64))
}

/// `SMEMBERS key`.
pub(in crate::engine) fn smembers(call: &mut Call<'_>) -> Answer {
    let set = call.read::<Set>(call.args[1])?;
    Ok(set_of(
        set.into_iter()
            .flat_map(Set::iter)
            .map(Reply::Bulk)
            .collect(),
    ))
}

/// `SISMEMBER key member`.
pub(in crate::engine) fn sismember(call: &mut Call<'_>) -> Answer {
    let member = call.args[2];
    let set = call.read::<Set>(call.args[1])?;
    let found = set.is_some_and(|set| set.contains(member));
    Ok(Reply::Integer(found.into()))
}

/// `SMISMEMBER key member [member …]`.
pub(in crate::engine) fn smismember(call: &mut Call<'_>) -> Answer {
    let members = &call.args[2..];
    let set = call.read::<Set>(call.args[1])?;
    let found = |member: &&[u8]| set.is_some_and(|set| set.contains(member));
    let found = members
        .iter()
        .map(|member| Reply::Integer(found(member).into()));
    Ok(Reply::Array(found.collect()))
}

/// `SCARD key`.
pub(in crate::engine) fn scard(call: &mut Call<'_>) -> Answer {
    let set = call.read::<Set>(call.args[1])?;
    Ok(Reply::Integer(set.map_or(0, Set::len) as i64))
}

/// `SMOVE source destination member`: 1 if the member was in the source.
pub(in crate::engine) fn smove(call: &mut Call<'_>) -> Answer {
    let &[_, source, destination, member] = call.args else {
        return Err(SYNTAX);
    };
    // Both keys are looked up first: an expired one is deleted in any case.
    let now_ms = call.now_ms();
    call.state.db.get(source, now_ms);
    call.state.db.get(destination, now_ms);
    let Some(set) = call.read::<Set>(source)? else {
        return Ok(Reply::Integer(0));
    };
    let found = set.contains(member);
    call.read::<Set>(destination)?;
    if !found || source == destination {
        return Ok(Reply::Integer(found.into()));
    }
    if let Some(set) = call.edit::<Set>(source)? {
        set.remove(member);
    }
    call.changed_by(Class::Set, "srem", source);
    // The member may have been in both.
    let most_ints = call.state.db.limits.intset_entries;
    if call
        .edit_or_create::<Set>(destination)?
        .add(member, most_ints)
    {
        call.changed_by(Class::Set, "sadd", destination);
    }
    Ok(Reply::Integer(1))
}

/// `SPOP key [count]`: removes and returns random members.
pub(in crate::engine) fn spop(call: &mut Call<'_>) -> Answer {
    let count = match call.args {
        [_, _] => None,
        [_, _, count] => Some(not_negative(count)?),
        _ => return Err(SYNTAX),
    };
    let drawn = draw_distinct(call, count.unwrap_or(1))?;
    let key = call.args[1];
    if let Some(set) = call.edit::<Set>(key)?
        && !drawn.is_empty()
    {
        for member in &drawn {
            set.remove(member);
        }
        let gone = set.len() == 0;
        call.drawn_by(Class::Set, "spop", key);
        let mut words: Vec<&[u8]> = vec![b"SREM", key];
        match count {
            // Taking all members deletes the key.
            Some(_) if gone => words[0] = b"DEL",
            _ => words.extend(drawn.iter().map(|member| &member[..])),
        }
        call.propagate_as(&words);
    }
    Ok(match count {
        None => Reply::bulk_or_nil(drawn.into_iter().next()),
        Some(_) => set_of(drawn.into_iter().map(Reply::Bulk).collect()),
    })
}

/// `SRANDMEMBER key [count]`: random members; with a negative count a member may be repeated.
pub(in crate::engine) fn srandmember(call: &mut Call<'_>) -> Answer {
    let count = match call.args {
        [_, _] => None,
        [_, _, count] => Some(integer(count)?),
        _ => return Err(SYNTAX),
    };
    match count {
        None => {
            let drawn = draw_distinct(call, 1)?;
            Ok(Reply::bulk_or_nil(drawn.into_iter().next()))
        }
        Some(i64::MIN) => Err(Error::of(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        Some(count @ 0..) => {
            let drawn = draw_distinct(call, count as u64)?;
            Ok(Reply::Array(drawn.into_iter().map(Reply::Bulk).collect()))
        }
        Some(count) => draw_with_repetition(call, count.unsigned_abs()),
    }
}

fn draw_distinct(call: &mut Call<'_>, count: u64) -> Result<Vec<Bytes>, Error> {
    let mut left = members(call)?;
    let mut drawn = Vec::new();
    if count >= left.len() as u64 {
        return Ok(left);
    }
    for _ in 0..count {
        drawn.push(left.swap_remove(call.state.choose(left.len())));
    }
    Ok(drawn)
}

fn draw_with_repetition(call: &mut Call<'_>, count: u64) -> Answer {
    let members = members(call)?;
    if members.is_empty() {
        return Ok(Reply::Array(Vec::new()));
    }
    if count > MAX_DRAWN {
        return Err(Error::of("ERR value is out of range"));
    }
    let drawn = (0..count).map(|_| members[call.state.choose(members.len())].clone());
    Ok(Reply::Array(drawn.map(Reply::Bulk).collect()))
}

fn members(call: &mut Call<'_>) -> Result<Vec<Bytes>, Error> {
    let set = call.read::<Set>(call.args[1])?;
    Ok(set.into_iter().flat_map(Set::iter).collect())
}
