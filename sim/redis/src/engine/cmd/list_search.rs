//! Lists: the commands that search for an element (`src/t_list.c`).

use bytes::Bytes;

use super::{SYNTAX, integer, not_negative_or};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::value::List;
use crate::wire::reply::{Answer, Error, Reply};

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

/// `LINSERT key BEFORE | AFTER pivot element`: the new length, -1 if the pivot is missing, 0 if
/// the list is.
pub(in crate::engine) fn linsert(call: &mut Call<'_>) -> Answer {
    let &[_, key, place, pivot, element] = call.args else {
        return Err(SYNTAX);
    };
    let after = match place.to_ascii_lowercase().as_slice() {
        b"before" => 0,
        b"after" => 1,
        _ => return Err(SYNTAX),
    };
    let Some(list) = call.edit::<List>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let Some(at) = list.iter().position(|other| other == pivot) else {
        return Ok(Reply::Integer(-1));
    };
    list.insert(at + after, Bytes::copy_from_slice(element));
    let len = list.len();
    call.changed_by(Class::List, "linsert", key);
    Ok(Reply::Integer(len as i64))
}

/// `LPOS key element [RANK rank] [COUNT matches] [MAXLEN comparisons]`.
pub(in crate::engine) fn lpos(call: &mut Call<'_>) -> Answer {
    let (key, element) = (call.args[1], call.args[2]);
    let options = Options::parse(&call.args[3..])?;
    let Some(list) = call.read::<List>(key)? else {
        return Ok(match options.count {
            Some(_) => Reply::Array(Vec::new()),
            None => Reply::Nil,
        });
    };
    let most = match options.count {
        None => 1,
        Some(0) => usize::MAX,
        Some(count) => count,
    };
    let places: Box<dyn Iterator<Item = (usize, &Bytes)>> = match options.rank {
        ..0 => Box::new(list.iter().enumerate().rev()),
        _ => Box::new(list.iter().enumerate()),
    };
    // The smallest number has no absolute value; in that case 7.0.15 starts at the first match.
    let skipped = options.rank.checked_abs().map_or(0, |rank| rank - 1) as usize;
    let mut found = places
        .take(options.comparisons)
        .filter(|(_, other)| *other == element)
        .skip(skipped)
        .take(most)
        .map(|(at, _)| Reply::Integer(at as i64));
    Ok(match options.count {
        None => found.next().unwrap_or(Reply::Nil),
        Some(_) => Reply::Array(found.collect()),
    })
}

struct Options {
    /// The first match to return, counted from 1; negative from the tail.
    rank: i64,
    /// The number of matches to return, 0 for all; without it one match, and not as an array.
    count: Option<usize>,
    comparisons: usize,
}

impl Options {
    fn parse(mut args: &[&[u8]]) -> Result<Self, Error> {
        let mut options = Options {
            rank: 1,
            count: None,
            comparisons: usize::MAX,
        };
        while let [option, value, rest @ ..] = args {
            args = rest;
            match option.to_ascii_lowercase().as_slice() {
                b"rank" => {
                    options.rank = integer(value)?;
                    if options.rank == 0 {
                        return Err(Error::of(
                            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
                        ));
                    }
                }
                b"count" => {
                    let count = not_negative_or(value, "ERR COUNT can't be negative")?;
                    options.count = Some(count as usize);
                }
                b"maxlen" => {
                    options.comparisons =
                        match not_negative_or(value, "ERR MAXLEN can't be negative")? {
                            0 => usize::MAX,
                            most => most as usize,
                        };
                }
                _ => return Err(SYNTAX),
            }
        }
        match args {
            [] => Ok(options),
            _ => Err(SYNTAX),
        }
    }
}
