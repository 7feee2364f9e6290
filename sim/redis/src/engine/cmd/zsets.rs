//! Sorted sets: members and their scores (`src/t_zset.c`). Ranges are in
//! `zset_range`.

use bytes::Bytes;

use super::{NOT_A_FLOAT, SYNTAX, double};
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::value::{Listpack, Zset};
use crate::wire::float::parse_f64;
use crate::wire::reply::{Answer, Error, Reply};

/// `ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member …]`: how many are new
/// (CH: or have a new score); with INCR the new score, nil if it was not set.
pub(in crate::engine) fn zadd(call: &mut Call<'_>) -> Answer {
    add(call, Options::default())
}

/// `ZINCRBY key increment member`: the new score.
pub(in crate::engine) fn zincrby(call: &mut Call<'_>) -> Answer {
    add(
        call,
        Options {
            increment: true,
            ..Options::default()
        },
    )
}

fn add<'a>(call: &mut Call<'a>, options: Options) -> Answer {
    let key = call.args[1];
    let (options, pairs) = options.parse(&call.args[2..])?;
    let read = |pair: &[&'a [u8]]| Ok((parse_f64(pair[0]).ok_or(NOT_A_FLOAT)?, pair[1]));
    // No score is set if one is invalid. Most calls have one pair, which needs no list.
    let (one, several);
    let pairs: &[(f64, &[u8])] = match pairs {
        [_, _] => {
            one = [read(pairs)?];
            &one
        }
        pairs => {
            several = pairs
                .chunks_exact(2)
                .map(read)
                .collect::<Result<Vec<_>, Error>>()?;
            &several
        }
    };
    if options.only_present && call.read::<Zset>(key)?.is_none() {
        return Ok(options.reply(Outcome::default()));
    }
    let limits = call.state.db.limits.zset;
    let zset = call.edit_or_create::<Zset>(key)?;
    let mut outcome = Outcome::default();
    let added = pairs.iter().try_for_each(|(score, member)| {
        options.apply(zset, (*score, member), limits, &mut outcome)
    });
    if outcome.added + outcome.updated > 0 {
        call.reply_goes_here();
        call.filled_by(Class::SortedSet, options.event(), key);
    }
    added.map(|()| options.reply(outcome))
}

/// The result of ZADD.
#[derive(Default)]
struct Outcome {
    added: i64,
    /// Existing members whose score changed.
    updated: i64,
    /// The new score of the last member, if the options allowed it to be set.
    score: Option<f64>,
}

#[derive(Default)]
struct Options {
    only_absent: bool,
    only_present: bool,
    only_greater: bool,
    only_less: bool,
    /// CH.
    count_changes: bool,
    /// INCR.
    increment: bool,
}

impl Options {
    /// Parses the options; returns them and the pairs that follow.
    fn parse<'a>(mut self, mut args: &'a [&'a [u8]]) -> Result<(Self, &'a [&'a [u8]]), Error> {
        while let [option, rest @ ..] = args {
            let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
            let given = match () {
                () if is("nx") => &mut self.only_absent,
                () if is("xx") => &mut self.only_present,
                () if is("gt") => &mut self.only_greater,
                () if is("lt") => &mut self.only_less,
                () if is("ch") => &mut self.count_changes,
                () if is("incr") => &mut self.increment,
                () => break,
            };
            *given = true;
            args = rest;
        }
        if args.is_empty() || args.len() % 2 == 1 {
            return Err(SYNTAX);
        }
        if self.only_absent && self.only_present {
            return Err(Error::of(
                "ERR XX and NX options at the same time are not compatible",
            ));
        }
        let exclusive = [self.only_absent, self.only_greater, self.only_less];
        if exclusive.into_iter().filter(|given| *given).count() > 1 {
            return Err(Error::of(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.increment && args.len() > 2 {
            return Err(Error::of(
                "ERR INCR option supports a single increment-element pair",
            ));
        }
        Ok((self, args))
    }

    /// `zsetAdd`.
    fn apply(
        &self,
        zset: &mut Zset,
        (score, member): (f64, &[u8]),
        limits: Listpack,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let Some(old) = zset.score(member) else {
            if !self.only_present {
                zset.set(member, score, limits);
                outcome.added += 1;
                outcome.score = Some(score);
            }
            return Ok(());
        };
        if self.only_absent {
            return Ok(());
        }
        let new = if self.increment { old + score } else { score };
        if new.is_nan() {
            return Err(Error::of("ERR resulting score is not a number (NaN)"));
        }
        if (self.only_less && new >= old) || (self.only_greater && new <= old) {
            return Ok(());
        }
        outcome.score = Some(new);
        if new != old {
            zset.set(member, new, limits);
            outcome.updated += 1;
        }
        Ok(())
    }

    fn event(&self) -> &'static str {
        match self.increment {
            true => "zincr",
            false => "zadd",
        }
    }

    fn reply(&self, outcome: Outcome) -> Reply {
        if self.increment {
            return outcome.score.map_or(Reply::Nil, double);
        }
        Reply::Integer(match self.count_changes {
            true => outcome.added + outcome.updated,
            false => outcome.added,
        })
    }
}

/// `ZREM key member [member …]`: returns the number of members that existed.
pub(in crate::engine) fn zrem(call: &mut Call<'_>) -> Answer {
    let (key, members) = (call.args[1], &call.args[2..]);
    let Some(zset) = call.edit::<Zset>(key)? else {
        return Ok(Reply::Integer(0));
    };
    let removed = members.iter().filter(|member| zset.remove(member)).count();
    if removed > 0 {
        call.changed_by(Class::SortedSet, "zrem", key);
    }
    Ok(Reply::Integer(removed as i64))
}

/// `ZSCORE key member`.
pub(in crate::engine) fn zscore(call: &mut Call<'_>) -> Answer {
    let member = call.args[2];
    let zset = call.read::<Zset>(call.args[1])?;
    let score = zset.and_then(|zset| zset.score(member));
    Ok(score.map_or(Reply::Nil, double))
}

/// `ZCARD key`.
pub(in crate::engine) fn zcard(call: &mut Call<'_>) -> Answer {
    let zset = call.read::<Zset>(call.args[1])?;
    Ok(Reply::Integer(zset.map_or(0, Zset::len) as i64))
}

/// `ZRANK key member`: its rank from the lowest score, starting at 0.
pub(in crate::engine) fn zrank(call: &mut Call<'_>) -> Answer {
    let member = call.args[2];
    let zset = call.read::<Zset>(call.args[1])?;
    let rank = zset.and_then(|zset| zset.rank(member));
    Ok(rank.map_or(Reply::Nil, |rank| Reply::Integer(rank as i64)))
}

/// Members with their scores.
type Scored = Vec<(f64, Bytes)>;

/// Members, each with its score.
pub(in crate::engine) fn with_scores(members: Scored) -> Reply {
    let pairs = members
        .into_iter()
        .map(|(score, member)| (Reply::Bulk(member), double(score)));
    Reply::Pairs(pairs.collect())
}
