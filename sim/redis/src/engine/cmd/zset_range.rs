//! Ranges of sorted sets: by rank, by score (`src/t_zset.c`).

use std::ops::Range;

use bytes::Bytes;

use super::{SYNTAX, integer, slice, zsets};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::value::Zset;
use crate::wire::float::parse_bound;
use crate::wire::reply::{Answer, Error, Reply};

/// `ZRANGE key start stop [BYSCORE] [REV] [LIMIT offset count] [WITHSCORES]`.
pub(in crate::engine) fn zrange(call: &mut Call<'_>) -> Answer {
    range(call, None, None)
}

/// `ZREVRANGE key start stop [WITHSCORES]`.
pub(in crate::engine) fn zrevrange(call: &mut Call<'_>) -> Answer {
    range(call, Some(By::Rank), Some(Direction::Down))
}

/// `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]`.
pub(in crate::engine) fn zrangebyscore(call: &mut Call<'_>) -> Answer {
    range(call, Some(By::Score), Some(Direction::Up))
}

/// `ZCOUNT key min max`.
pub(in crate::engine) fn zcount(call: &mut Call<'_>) -> Answer {
    count(call, By::Score)
}

/// `ZREMRANGEBYRANK key start stop`: how many were removed.
pub(in crate::engine) fn zremrangebyrank(call: &mut Call<'_>) -> Answer {
    remove(call, By::Rank)
}

/// `ZREMRANGEBYSCORE key min max`: how many were removed.
pub(in crate::engine) fn zremrangebyscore(call: &mut Call<'_>) -> Answer {
    remove(call, By::Score)
}

fn count(call: &mut Call<'_>, by: By) -> Answer {
    let interval = Interval::parse(by, call.args[2], call.args[3])?;
    let zset = call.read::<Zset>(call.args[1])?;
    let ranks = zset.map_or(0..0, |zset| interval.ranks(zset));
    Ok(Reply::Integer(ranks.len() as i64))
}

fn remove(call: &mut Call<'_>, by: By) -> Answer {
    let key = call.args[1];
    let interval = Interval::parse(by, call.args[2], call.args[3])?;
    let Some(zset) = call.edit::<Zset>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let removed = zset.remove_ranks(interval.ranks(zset)).len();
    if removed > 0 {
        let event = match by {
            By::Rank => "zremrangebyrank",
            By::Score => "zremrangebyscore",
        };
        call.changed_by(Class::SortedSet, event, key);
    }
    Ok(Reply::Integer(removed as i64))
}

/// `zrangeGenericCommand`. Options may set what the command's name leaves open.
fn range(call: &mut Call<'_>, by: Option<By>, direction: Option<Direction>) -> Answer {
    let options = Options::parse(&call.args[4..], by, direction)?;
    let by = options.by.unwrap_or(By::Rank);
    let direction = options.direction.unwrap_or(Direction::Up);
    if options.limit != -1 && by == By::Rank {
        return Err(Error::of(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    let (mut min, mut max) = (call.args[2], call.args[3]);
    if direction == Direction::Down && by != By::Rank {
        (min, max) = (max, min);
    }
    let interval = Interval::parse(by, min, max)?;
    let Some(zset) = call.read::<Zset>(call.args[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let ranks = match (by, direction) {
        (By::Rank, Direction::Down) => {
            let from_end = interval.ranks(zset);
            zset.len() - from_end.end..zset.len() - from_end.start
        }
        _ => interval.ranks(zset),
    };
    let in_order: Box<dyn Iterator<Item = &(f64, Bytes)>> = match direction {
        Direction::Up => Box::new(zset.ranked()[ranks].iter()),
        Direction::Down => Box::new(zset.ranked()[ranks].iter().rev()),
    };
    // Redis decrements a negative offset until the end of the set.
    let offset = usize::try_from(options.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let found = in_order.skip(offset).take(limit).cloned();
    Ok(match options.with_scores {
        true => zsets::with_scores(found.collect()),
        false => Reply::Array(found.map(|(_, member)| Reply::Bulk(member)).collect()),
    })
}

/// The criterion of a range.
#[derive(Copy, Clone, PartialEq)]
enum By {
    Rank,
    Score,
}

#[derive(Copy, Clone, PartialEq)]
enum Direction {
    /// From the lowest score.
    Up,
    /// From the highest score.
    Down,
}

struct Options {
    by: Option<By>,
    direction: Option<Direction>,
    with_scores: bool,
    offset: i64,
    /// A negative limit means no limit.
    limit: i64,
}

impl Options {
    fn parse(
        mut args: &[&[u8]],
        by: Option<By>,
        direction: Option<Direction>,
    ) -> Result<Self, Error> {
        let mut options = Options {
            by,
            direction,
            with_scores: false,
            offset: 0,
            limit: -1,
        };
        while let [option, rest @ ..] = args {
            args = rest;
            match (option.to_ascii_lowercase().as_slice(), args) {
                (b"withscores", _) => options.with_scores = true,
                (b"limit", [offset, limit, rest @ ..]) => {
                    args = rest;
                    options.offset = integer(offset)?;
                    options.limit = integer(limit)?;
                }
                (b"rev", _) if options.direction.is_none() => {
                    options.direction = Some(Direction::Down);
                }
                (b"byscore", _) if options.by.is_none() => options.by = Some(By::Score),
                _ => return Err(SYNTAX),
            }
        }
        Ok(options)
    }
}

/// The bounds of a range.
enum Interval {
    /// Start and stop, both included, negative from the end.
    Ranks(i64, i64),
    Scores(Bound, Bound),
}

enum Bound {
    Included(f64),
    Excluded(f64),
}

impl Interval {
    fn parse(by: By, min: &[u8], max: &[u8]) -> Result<Self, Error> {
        Ok(match by {
            By::Rank => Interval::Ranks(integer(min)?, integer(max)?),
            By::Score => Interval::Scores(score_bound(min)?, score_bound(max)?),
        })
    }

    /// The ranks of the members in the interval.
    fn ranks(&self, zset: &Zset) -> Range<usize> {
        let all = zset.ranked();
        match self {
            Interval::Ranks(start, stop) => slice(*start, *stop, all.len()),
            Interval::Scores(min, max) => {
                let start = all.partition_point(|(score, _)| min.is_above(*score));
                let end = all.partition_point(|(score, _)| !max.is_below(*score));
                start..end.max(start)
            }
        }
    }
}

impl Bound {
    /// Whether, as a lower bound, it excludes this value.
    fn is_above(&self, value: f64) -> bool {
        match self {
            Bound::Included(bound) => value < *bound,
            Bound::Excluded(bound) => value <= *bound,
        }
    }

    /// Whether, as an upper bound, it excludes this value.
    fn is_below(&self, value: f64) -> bool {
        match self {
            Bound::Included(bound) => value > *bound,
            Bound::Excluded(bound) => value >= *bound,
        }
    }
}

/// `zslParseRange`: `1.5`, or `(1.5` to exclude it.
fn score_bound(text: &[u8]) -> Result<Bound, Error> {
    const INVALID: Error = Error::of("ERR min or max is not a float");
    match text.strip_prefix(b"(") {
        Some(text) => parse_bound(text).map(Bound::Excluded),
        None => parse_bound(text).map(Bound::Included),
    }
    .ok_or(INVALID)
}
