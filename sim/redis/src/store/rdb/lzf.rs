//! LZF (`src/lzf_d.c`): how a real server compresses texts of more than twenty bytes.

use super::CorruptRdb;

/// Decompresses a text of `len` bytes.
pub(super) fn decompress(mut input: &[u8], len: usize) -> Result<Vec<u8>, CorruptRdb> {
    // Three bytes encode at most 264: a length that is too large for the input reserves no
    // memory.
    if len / 88 > input.len() {
        return Err(CorruptRdb);
    }
    let mut out = Vec::with_capacity(len);
    while let Some((&control, rest)) = input.split_first() {
        input = rest;
        let high = usize::from(control >> 5);
        if high == 0 {
            // A literal text, one byte longer than the number.
            let (text, rest) = input
                .split_at_checked(usize::from(control) + 1)
                .ok_or(CorruptRdb)?;
            out.extend_from_slice(text);
            input = rest;
        } else {
            // A reference to earlier output: its length, and how far back it starts.
            let count = match high {
                7 => 7 + usize::from(next(&mut input)?),
                count => count,
            } + 2;
            let back = usize::from(control & 0x1f) << 8 | usize::from(next(&mut input)?);
            let start = out.len().checked_sub(back + 1).ok_or(CorruptRdb)?;
            // The reference may overlap its own output.
            for index in start..start + count {
                out.push(out[index]);
            }
        }
        if out.len() > len {
            return Err(CorruptRdb);
        }
    }
    match out.len() == len {
        true => Ok(out),
        false => Err(CorruptRdb),
    }
}

fn next(input: &mut &[u8]) -> Result<u8, CorruptRdb> {
    let (first, rest) = input.split_first().ok_or(CorruptRdb)?;
    *input = rest;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], len: usize, expected: Result<&str, CorruptRdb>) {
        let text = decompress(input, len).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(text, expected.map(str::to_owned));
    }

    #[test]
    fn back_references_may_overlap_their_own_output() {
        check(b"\x02abc", 3, Ok("abc"));
        check(b"\x02abc\x20\x02", 6, Ok("abcabc"));
        check(b"\x00a\x80\x00\x00b", 8, Ok("aaaaaaab"));
        check(b"\x00a\xe0\x01\x00", 11, Ok("aaaaaaaaaaa"));
    }

    #[test]
    fn invalid_lzf_is_rejected() {
        check(b"\x02ab", 3, Err(CorruptRdb));
        check(b"\x20\x00", 3, Err(CorruptRdb));
        check(b"\x00a\x20", 4, Err(CorruptRdb));
        check(b"\x02abc", 2, Err(CorruptRdb));
        check(b"\x02abc", 4, Err(CorruptRdb));
        check(b"\x00a", usize::MAX, Err(CorruptRdb));
    }
}
