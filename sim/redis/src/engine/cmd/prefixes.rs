//! The prefixes of CLIENT TRACKING: those of one client must not overlap.

use bytes::Bytes;
use locklab_vecmap::VecSet;

use crate::wire::reply::Error;

/// `checkPrefixCollisionsOrReply`, without comparing each with each.
///
/// # Errors
///
/// The first of the new prefixes that overlaps with one that the client has, or with a later new one.
pub(super) fn check_overlaps(new: &[Bytes], old: &VecSet<Bytes>) -> Result<(), Error> {
    let mut all = new.iter().enumerate();
    let with_old = all.find_map(|(index, prefix)| Some((index, overlapping(old, prefix)?)));
    let with_new = first_overlap(new);
    if let Some((index, other)) = with_old
        && with_new.is_none_or(|first| index <= first)
    {
        return Err(refusal(&new[index], "an existing", other));
    }
    let Some(index) = with_new else {
        return Ok(());
    };
    let prefix = &new[index];
    let mut later = new[index + 1..].iter();
    let other = later.find(|other| overlap(prefix, other));
    Err(refusal(prefix, "another provided", other.unwrap_or(prefix)))
}

fn overlap(a: &[u8], b: &[u8]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// The first of these prefixes that overlaps with another one. They do not overlap themselves, except
/// that the empty one may be among them.
fn overlapping<'a>(prefixes: &'a VecSet<Bytes>, prefix: &Bytes) -> Option<&'a Bytes> {
    let empty = prefixes.first().filter(|first| first.is_empty());
    // What starts with a prefix follows it in the order, and nothing else comes between.
    let before = prefixes.range::<Bytes, _>(..=prefix).next_back();
    let after = prefixes.range::<Bytes, _>(prefix..).next();
    let mut candidates = [empty, before, after].into_iter().flatten();
    candidates.find(|other| overlap(prefix, other))
}

/// The index of the first prefix that overlaps with a later one.
fn first_overlap(prefixes: &[Bytes]) -> Option<usize> {
    let mut sorted: Vec<usize> = (0..prefixes.len()).collect();
    sorted.sort_by_key(|index| &prefixes[*index]);
    // Each of them is a prefix of the next.
    let mut chain: Vec<usize> = Vec::new();
    let mut first = None;
    for index in sorted {
        while let Some(last) = chain.last()
            && !prefixes[index].starts_with(&prefixes[*last])
        {
            chain.pop();
        }
        if let Some(last) = chain.last() {
            let earlier = index.min(*last);
            first = Some(first.map_or(earlier, |first: usize| first.min(earlier)));
        }
        chain.push(index);
    }
    first
}

fn refusal(prefix: &[u8], which: &str, other: &[u8]) -> Error {
    let text: [&[u8]; 7] = [
        b"ERR Prefix '",
        prefix,
        b"' overlaps with ",
        which.as_bytes(),
        b" prefix '",
        other,
        b"'. Prefixes for a single client must not overlap.",
    ];
    Error::new(text.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Redis does it: each with each.
    fn each_with_each(new: &[Bytes], old: &VecSet<Bytes>) -> Result<(), Error> {
        for (index, prefix) in new.iter().enumerate() {
            if let Some(other) = old.iter().find(|other| overlap(prefix, other)) {
                return Err(refusal(prefix, "an existing", other));
            }
            let mut later = new[index + 1..].iter();
            if let Some(other) = later.find(|other| overlap(prefix, other)) {
                return Err(refusal(prefix, "another provided", other));
            }
        }
        Ok(())
    }

    #[test]
    fn same_overlap_is_found_as_by_comparing_each_with_each() {
        let words = ["", "a", "ab", "abc", "b", "ba", "c", "cab"].map(Bytes::from);
        let sets = [&[][..], &["b"], &["", "b"], &["ab", "c"]];
        for old in sets {
            let old: VecSet<Bytes> = old.iter().map(|word| Bytes::from(*word)).collect();
            for a in &words {
                for b in &words {
                    for c in &words {
                        let new = [a.clone(), b.clone(), c.clone()];
                        let expected = each_with_each(&new, &old);
                        assert_eq!(check_overlaps(&new, &old), expected, "{new:?} {old:?}");
                    }
                }
            }
        }
    }
}
