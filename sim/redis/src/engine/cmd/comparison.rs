//! Conditions on the text of a key, which servers later than Redis 7.0 know, and DIGEST.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::Imitated;
use crate::engine::command::Call;
use crate::wire::reply::{Answer, Reply};

/// A condition on the text of a key: IFEQ, IFNE, IFDEQ or IFDNE, and the word after it.
#[derive(Copy, Clone, PartialEq)]
pub(super) struct Comparison<'a> {
    kind: Kind,
    with: &'a [u8],
}

#[derive(Copy, Clone, PartialEq)]
enum Kind {
    Equal,
    Different,
    DigestEqual,
    DigestDifferent,
}

impl<'a> Comparison<'a> {
    /// The condition of these two words, if the server knows it.
    pub(super) fn of(name: &[u8], with: &'a [u8], imitated: Imitated) -> Option<Self> {
        let known: &[(&str, Kind)] = match imitated {
            Imitated::Redis7_0 => &[],
            Imitated::Redis8_4 => &[
                ("ifeq", Kind::Equal),
                ("ifne", Kind::Different),
                ("ifdeq", Kind::DigestEqual),
                ("ifdne", Kind::DigestDifferent),
            ],
            Imitated::Valkey9_0 => &[("ifeq", Kind::Equal)],
        };
        let is = |(known, _): &&(&str, Kind)| name.eq_ignore_ascii_case(known.as_bytes());
        let (_, kind) = known.iter().find(is)?;
        Some(Comparison { kind: *kind, with })
    }

    /// Whether it is true of a key with this text; `None`: of a key that does not exist.
    pub(super) fn holds(&self, text: Option<&[u8]>) -> bool {
        let Some(text) = text else {
            return matches!(self.kind, Kind::Different | Kind::DigestDifferent);
        };
        match self.kind {
            Kind::Equal => text == self.with,
            Kind::Different => text != self.with,
            Kind::DigestEqual => self.is_digest_of(text),
            Kind::DigestDifferent => !self.is_digest_of(text),
        }
    }

    fn is_digest_of(&self, text: &[u8]) -> bool {
        digest_of(text).as_bytes().eq_ignore_ascii_case(self.with)
    }
}

/// `DIGEST key`: the XXH3 hash of a string, in hexadecimal digits.
pub(in crate::engine) fn digest(call: &mut Call<'_>) -> Answer {
    let text = call.read::<Bytes>(call.args[1])?;
    Ok(Reply::bulk_or_nil(text.map(|text| digest_of(text).into())))
}

fn digest_of(text: &[u8]) -> String {
    format!("{:016x}", xxh3_64(text))
}
