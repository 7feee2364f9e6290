//! Parameters whose value is a list of words: `save` and `client-output-buffer-limit`; and sizes in
//! bytes.
//!
//! The words of CONFIG SET are separated by exactly one space, so two of them have an empty word
//! between them, which C's functions read as 0.

/// The classes of `client-output-buffer-limit`, as CONFIG GET shows them.
const CLASSES: [&str; 3] = ["normal", "slave", "pubsub"];

/// `setConfigSaveOption`: pairs of seconds and changes.
///
/// # Errors
///
/// The value is invalid.
pub(super) fn save(text: &str) -> Result<String, String> {
    let invalid = || "Invalid save parameters".to_owned();
    if text.is_empty() {
        return Ok(String::new());
    }
    let numbers: Option<Vec<i64>> = text.split(' ').map(strtoll).collect();
    let numbers = numbers.ok_or_else(invalid)?;
    let pairs = numbers.chunks_exact(2);
    if !pairs.remainder().is_empty() || pairs.clone().any(|pair| pair[0] < 1 || pair[1] < 0) {
        return Err(invalid());
    }
    // The number of changes is an `int`.
    let shown = pairs.map(|pair| format!("{} {}", pair[0], pair[1] as i32));
    Ok(shown.collect::<Vec<_>>().join(" "))
}

/// `updateClientOutputBufferLimit`: classes, each with its hard limit, its soft limit, and the
/// seconds of the soft one. Returns them in plain numbers.
///
/// # Errors
///
/// The value is invalid.
pub(super) fn output_limits(text: &str) -> Result<String, String> {
    let words: Vec<&str> = match text {
        "" => Vec::new(),
        text => text.split(' ').collect(),
    };
    let classes = words.chunks_exact(4);
    if !classes.remainder().is_empty() {
        return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
    }
    let limits: Result<Vec<String>, String> = classes.map(output_limit).collect();
    Ok(limits?.join(" "))
}

fn output_limit(words: &[&str]) -> Result<String, String> {
    let name = match words[0].to_ascii_lowercase().as_str() {
        "replica" => "slave",
        name => CLASSES
            .into_iter()
            .find(|class| *class == name)
            .ok_or("Invalid client class specified in buffer limit configuration.")?,
    };
    let seconds = strtoll(words[3]).map(|seconds| seconds as i32);
    let limits = (bytes(words[1]), bytes(words[2]), seconds);
    let (Some(hard), Some(soft), Some(seconds @ 0..)) = limits else {
        let why = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
        return Err(why.to_owned());
    };
    Ok(format!("{name} {hard} {soft} {seconds}"))
}

/// The limits of all classes after some of them, in the form of [`output_limits`], were set.
pub(super) fn merged_output_limits(old: &str, new: &str) -> String {
    let limit_of = |text: &str, class: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let limits = words.chunks_exact(4).rev();
        let mut limits = limits.filter(|words| words[0] == class);
        limits.next().map(|words| words.join(" "))
    };
    let merged = CLASSES
        .into_iter()
        .filter_map(|class| limit_of(new, class).or_else(|| limit_of(old, class)));
    merged.collect::<Vec<_>>().join(" ")
}

/// A size in bytes, or a percentage, which is shown as such.
///
/// # Errors
///
/// It is neither.
pub(super) fn bytes_or_percent(text: &str) -> Result<String, String> {
    const NEITHER: &str = "argument must be a memory or percent value";
    let Some(number) = text.strip_suffix('%') else {
        let number = bytes(text).filter(|bytes| i64::try_from(*bytes).is_ok());
        return number.map(|bytes| bytes.to_string()).ok_or(NEITHER.into());
    };
    match strtoll(number) {
        Some(0) => Ok("0".into()),
        Some(percent @ 1..=100) => Ok(format!("{percent}%")),
        Some(101..) => Err("percentage argument must be less or equal to 100".into()),
        _ => Err(NEITHER.into()),
    }
}

/// How many bytes a unit of Redis's configuration has: `k`, `m` and `g` are powers of 1000, `kb`, `mb` and `gb` of 1024;
/// none and `b` are one byte. `None` for another word.
pub fn unit_of_memory(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    })
}

/// `memtoull` of `src/util.c`: a number too large wraps, as it does there.
pub(super) fn bytes(text: &str) -> Option<u64> {
    const MAX_DIGITS: usize = 127;
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = unit_of_memory(unit)?;
    let number = match number {
        "" => 0,
        number if number.len() > MAX_DIGITS => return None,
        number => number.parse().unwrap_or(u64::MAX),
    };
    Some(number.wrapping_mul(factor))
}

/// C's `strtoll`, if it consumes the whole word: white space before the number is ignored, and a
/// number too large is the largest.
fn strtoll(word: &str) -> Option<i64> {
    if word.is_empty() {
        return Some(0);
    }
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    let number = word.trim_start_matches(is_space);
    let (largest, digits) = match number.strip_prefix('-') {
        Some(digits) => (i64::MIN, digits),
        None => (i64::MAX, number.strip_prefix('+').unwrap_or(number)),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| number.parse().unwrap_or(largest))
}
