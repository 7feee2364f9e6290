//! Errors about the type of a value: they say what to write instead, without the names of Rust
//! types.
//!
//! serde says ``invalid type: integer `-5`, expected u64``; the words before the comma are its
//! `Unexpected`, those after it come from the type, or from this crate's own visitors.

/// Returns what to write instead; or, if the message has another form, the message.
pub(super) fn plain_message(message: &str) -> String {
    let Some((complaint, expected)) = message.split_once(", expected ") else {
        return match message {
            "floating-point number overflowed" | "JSON number out of range" => {
                "this number is too large".into()
            }
            "wanted string or table" => "write a word in quotes".into(),
            _ => message.replace('`', "\""),
        };
    };
    let found = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|start| complaint.strip_prefix(start));
    let Some(found) = found else {
        return message.replace('`', "\"");
    };
    let wanted = wanted(expected);
    match number(found) {
        Some(digits) if found.ends_with("128") => {
            format!("{digits} is too large; {}", largest(expected))
        }
        Some(digits) if digits.starts_with('-') && matches!(expected, "u64" | "u32") => {
            format!("{digits} is negative; write {wanted}")
        }
        Some(digits) if expected == "u32" => {
            format!("{digits} is too large; {}", largest(expected))
        }
        _ => match expected.strip_prefix("an array of length ") {
            Some(length) => format!("expected {length} values, found {}", named(found)),
            None => format!("write {wanted}, not {}", named(found)),
        },
    }
}

/// The digits of an integer: of ``integer `-5` ``, `-5`.
fn number(found: &str) -> Option<&str> {
    found.strip_prefix("integer ")?.split('`').nth(1)
}

fn largest(expected: &str) -> String {
    let largest = match expected {
        "u32" => u64::from(u32::MAX),
        _ => i64::MAX.unsigned_abs(),
    };
    format!("the largest whole number here is {largest}")
}

/// The expected type, as an instruction for the user.
fn wanted(expected: &str) -> String {
    match expected {
        "u64" | "u32" => "a whole number, 0 or more".into(),
        "i64" => "a whole number".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text in quotes".into(),
        "a sequence" => "a list in brackets".into(),
        "a map" => "a table of keys and values".into(),
        other if other.starts_with("struct ") || other.contains(" enum ") => {
            "a table of keys and values".into()
        }
        other => other.replace('`', ""),
    }
}

/// The value as it was written, or its kind.
fn named(found: &str) -> String {
    let value = found.split('`').nth(1);
    match (found, value) {
        (_, Some(value)) => value.into(),
        ("map", _) => "a table".into(),
        ("sequence", _) => "a list".into(),
        (found, _) => match found.strip_prefix("string ") {
            Some(text) => text.into(),
            None => found.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_type_error() {
        let check = |message, expected: &str| assert_eq!(plain_message(message), expected);
        check(
            "invalid value: integer `-5`, expected u64",
            "-5 is negative; write a whole number, 0 or more",
        );
        check(
            "invalid value: integer `4294967296`, expected u32",
            "4294967296 is too large; the largest whole number here is 4294967295",
        );
        check(
            "invalid type: integer `123456789012345678901234` as i128, expected any value",
            "123456789012345678901234 is too large; the largest whole number here is 9223372036854775807",
        );
        check(
            "invalid type: floating point `1.5`, expected i64",
            "write a whole number, not 1.5",
        );
        check(
            "invalid type: string \"three\", expected u64",
            "write a whole number, 0 or more, not \"three\"",
        );
        check(
            "invalid type: integer `5`, expected internally tagged enum LockSpec",
            "write a table of keys and values, not 5",
        );
        check(
            "invalid type: integer `5`, expected struct Topology",
            "write a table of keys and values, not 5",
        );
        check(
            "invalid type: map, expected a string",
            "write a text in quotes, not a table",
        );
        check(
            "invalid length 1, expected an array of length 2",
            "expected 2 values, found 1",
        );
        check(
            "invalid type: boolean `true`, expected \"holds\", or a table",
            "write \"holds\", or a table, not true",
        );
        check(
            "floating-point number overflowed",
            "this number is too large",
        );
    }
}
