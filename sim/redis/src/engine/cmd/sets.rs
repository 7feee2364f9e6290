//! Sets (`src/t_set.c`).

use super::set_of;
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::value::Set;
use crate::wire::reply::{Answer, Reply};

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

/// `SCARD key`.
pub(in crate::engine) fn scard(call: &mut Call<'_>) -> Answer {
    let set = call.read::<Set>(call.args[1])?;
    Ok(Reply::Integer(set.map_or(0, Set::len) as i64))
}
