//! The bounds of a JSON text, checked before it is parsed.

use crate::{Bounds, Refused};

/// Checks depth, size and number of elements. What is no JSON passes, and its parser refuses it.
///
/// # Errors
///
/// If a bound is exceeded.
pub fn check(text: &[u8], bounds: Bounds) -> Result<(), Refused> {
    if text.len() > bounds.bytes {
        return Err(Refused::Large(bounds.bytes));
    }
    // Nearly every text is within the bounds by these counts, which take little time.
    let opens = |byte: &&u8| matches!(byte, b'[' | b'{');
    if text.len() <= bounds.elements && text.iter().filter(opens).count() <= bounds.depth {
        return Ok(());
    }
    let (mut depth, mut elements) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => pass_string(&mut bytes),
            b'[' | b'{' => {
                depth += 1;
                elements += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => elements += 1,
            _ => {}
        }
        if depth > bounds.depth {
            return Err(Refused::Deep(bounds.depth));
        }
        if elements > bounds.elements {
            return Err(Refused::Many(bounds.elements));
        }
    }
    Ok(())
}

/// Passes over the rest of a string.
fn pass_string<'t>(bytes: &mut impl Iterator<Item = &'t u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_outside_strings() {
        let bounds = Bounds {
            depth: 2,
            bytes: 40,
            elements: 4,
        };
        for (text, expected) in [
            ("[[1]]", Ok(())),
            ("[[],[],{}]", Err(Refused::Many(4))),
            ("[{},[]]", Ok(())),
            ("[{\"a\":[1]}]", Err(Refused::Deep(2))),
            ("\"[[[[[[[[\\\"[[[,,,,,,\"", Ok(())),
            ("[1,2,3,4]", Ok(())),
            ("[1,2,3,4,5]", Err(Refused::Many(4))),
            ("]]][[", Ok(())),
            ("[[[", Err(Refused::Deep(2))),
        ] {
            assert_eq!(check(text.as_bytes(), bounds), expected, "{text}");
        }
        assert_eq!(check(&[b' '; 41], bounds), Err(Refused::Large(40)));
    }
}
