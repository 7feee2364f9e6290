//! The compact forms of small collections, as a real server writes them: a listpack
//! (`src/listpack.c`) and a set of integers (`src/intset.c`). They are read, never
//! written.

use bytes::Bytes;

use super::{CorruptRdb, Reader};

/// The elements of a listpack, integers as texts.
pub(super) fn listpack(bytes: &[u8]) -> Result<Vec<Bytes>, CorruptRdb> {
    let mut reader = Reader(bytes);
    // The total length, and the number of elements if it fits in two bytes. Both are skipped:
    // the end marker is enough.
    reader.take(4 + 2)?;
    let mut elements = Vec::new();
    while let Some(element) = element(&mut reader)? {
        elements.push(element);
    }
    match reader.0 {
        [] => Ok(elements),
        _ => Err(CorruptRdb),
    }
}

/// The next element; `None` at the end.
fn element(reader: &mut Reader<'_>) -> Result<Option<Bytes>, CorruptRdb> {
    let before = reader.0.len();
    let first = reader.byte()?;
    let element = match first {
        0..0x80 => integer(first.into()),
        0x80..0xc0 => text(reader, usize::from(first & 0x3f))?,
        0xc0..0xe0 => {
            let thirteen = u16::from_be_bytes([first & 0x1f, reader.byte()?]);
            // Shifted to the top and back, to extend the sign.
            integer(((thirteen << 3) as i16 >> 3).into())
        }
        0xe0..0xf0 => {
            let len = u16::from_be_bytes([first & 0x0f, reader.byte()?]);
            text(reader, len.into())?
        }
        0xf0 => {
            let len = u32::from_le_bytes(reader.bytes()?);
            text(reader, len as usize)?
        }
        0xf1 => integer(i16::from_le_bytes(reader.bytes()?).into()),
        0xf2 => {
            let [a, b, c] = reader.bytes()?;
            integer((i32::from_le_bytes([0, a, b, c]) >> 8).into())
        }
        0xf3 => integer(i32::from_le_bytes(reader.bytes()?).into()),
        0xf4 => integer(i64::from_le_bytes(reader.bytes()?)),
        0xff => return Ok(None),
        _ => return Err(CorruptRdb),
    };
    // The length of an element follows it, for reading backwards.
    let len_bytes = match before - reader.0.len() {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    reader.take(len_bytes)?;
    Ok(Some(element))
}

/// The members of a set of integers, as texts.
pub(super) fn intset(bytes: &[u8]) -> Result<Vec<Bytes>, CorruptRdb> {
    let mut reader = Reader(bytes);
    let width = u32::from_le_bytes(reader.bytes()?);
    let len = u32::from_le_bytes(reader.bytes()?);
    let member = |_| {
        Ok(integer(match width {
            2 => i16::from_le_bytes(reader.bytes()?).into(),
            4 => i32::from_le_bytes(reader.bytes()?).into(),
            8 => i64::from_le_bytes(reader.bytes()?),
            _ => return Err(CorruptRdb),
        }))
    };
    (0..len).map(member).collect()
}

fn text(reader: &mut Reader<'_>, len: usize) -> Result<Bytes, CorruptRdb> {
    reader.take(len).map(Bytes::copy_from_slice)
}

pub(super) fn integer(number: i64) -> Bytes {
    Bytes::from(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(elements: &[u8], expected: Result<&[&str], CorruptRdb>) {
        let whole = [&[0; 6], elements].concat();
        let read = listpack(&whole);
        let expected = expected.map(|texts| texts.iter().map(|t| Bytes::from(t.to_string())));
        assert_eq!(read, expected.map(|texts| texts.collect()));
    }

    #[test]
    fn every_form_of_an_element_is_read() {
        // In the formats written by `lpEncodeIntegerGetType` and `lpEncodeString`.
        check(b"\x00\x01\x7f\x01\xff", Ok(&["0", "127"]));
        check(b"\x82hi\x03\xff", Ok(&["hi"]));
        check(b"\xdf\xff\x02\xc0\x80\x02\xff", Ok(&["-1", "128"]));
        check(b"\xd0\x00\x02\xff", Ok(&["-4096"]));
        check(b"\xf1\x00\x80\x03\xff", Ok(&["-32768"]));
        check(b"\xf2\xff\xff\xff\x04\xff", Ok(&["-1"]));
        check(b"\xf3\x00\x00\x00\x80\x05\xff", Ok(&["-2147483648"]));
        check(
            b"\xf4\x00\x00\x00\x00\x00\x00\x00\x80\x09\xff",
            Ok(&["-9223372036854775808"]),
        );
        let long = "x".repeat(200);
        let head = [b"\xe0\xc8".as_slice(), long.as_bytes(), b"\x01\xca\xff"].concat();
        check(&head, Ok(&[&long]));
    }

    #[test]
    fn nothing_else_is_read() {
        for bytes in [
            b"".as_slice(),
            b"\x00\x01",
            b"\x00\xff",
            b"\x82hi",
            b"\xf5\x01\xff",
            b"\xff\xff",
        ] {
            check(bytes, Err(CorruptRdb));
        }
        assert_eq!(intset(b"\x03\0\0\0\x01\0\0\0\0\0\0"), Err(CorruptRdb));
        assert_eq!(intset(b"\x02\0\0\0\xff\xff\xff\xff"), Err(CorruptRdb));
    }
}
