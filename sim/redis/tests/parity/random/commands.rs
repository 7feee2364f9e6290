//! The commands of random sequences: few keys, so that commands meet values of other types.

use proptest::prelude::*;

use crate::data::cases;

/// A time in seconds, far enough in the future that no test reaches it.
const FAR_S: u64 = 4_102_444_800;

const COMPARE_AND_DELETE: &str = "if(redis.call('get',KEYS[1])==ARGV[1])then\treturn(redis.call('del',KEYS[1]))else\treturn(0)end";

/// Any command, with one space between words.
pub fn any() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => strings(),
        4 => expiry(),
        4 => of_any_type(),
        4 => transactions(),
        3 => from("databases"),
        3 => from("hashes"),
        4 => from("lists"),
        3 => from("sets"),
        5 => from("sorted sets"),
    ]
}

/// Any command, on servers whose memory is often too small for any key.
pub fn with_limits_on_memory() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any(),
        1 => from("memory"),
    ]
}

/// Makes a command of a template of a section of the file, which says what its capital letters stand for.
fn from(section: &str) -> impl Strategy<Value = String> + use<> {
    let sections = cases(include_str!("commands.txt")).into_iter();
    let mut templates = sections.filter(|case| case.section == section);
    let templates = templates.next().expect("the file has this section").lines;
    let words = prop::collection::vec(proptest::prelude::any::<u8>(), 8);
    (prop::sample::select(templates), words).prop_map(|(template, chosen)| {
        let mut chosen = chosen.into_iter();
        let words = template.split(' ').map(|word| {
            let choices: &[&str] = match word {
                "K" => &["a", "b", "c"],
                "M" => &["x", "y", "1", "2", "-5"],
                "V" => &["1", "-5", "x", "9223372036854775807", "0.5"],
                "I" => &["0", "1", "-1", "2", "-2", "5", "-9", "x"],
                "D" => &["0", "1", "2", "1", "0", "16", "x"],
                "N" => &["0", "1", "2", "3", "100", "-1"],
                "S" => &["1", "2", "-1", "0.1", "1e20", "inf", "-inf", "0", "x"],
                "B" => &["-inf", "+inf", "1", "(1", "2", "(0.1", "-1", "x"],
                _ => return word,
            };
            let index = chosen.next().unwrap_or_default();
            choices[usize::from(index) % choices.len()]
        });
        words.collect::<Vec<_>>().join(" ")
    })
}

fn strings() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let value = || prop::sample::select(vec!["1", "-5", "x", "9223372036854775807"]);
    // Relative times are never compared with each other: the two servers do not
    // run a command in the same millisecond.
    let expiry = prop_oneof![
        Just(String::new()),
        Just(" EX 100".to_owned()),
        Just(" PX 100000".to_owned()),
        Just(" PX 0".to_owned()),
        Just(" KEEPTTL".to_owned()),
        Just(" PXAT 1".to_owned()),
        Just(format!(" EXAT {FAR_S}")),
    ];
    let condition = prop::sample::select(vec!["", " NX", " XX", " GET", " NX GET", " XX GET"]);
    prop_oneof![
        4 => (key(), value(), condition, expiry)
            .prop_map(|(key, value, condition, expiry)| format!("SET {key} {value}{condition}{expiry}")),
        4 => from("strings"),
        1 => (key(), value())
            .prop_map(|(key, value)| format!("EVAL {COMPARE_AND_DELETE} 1 {key} {value}")),
    ]
}

fn expiry() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let when = (0..3_u64).prop_map(|more| (FAR_S + more).to_string());
    let flag = prop::sample::select(vec!["", " NX", " XX", " GT", " LT", " XX GT"]);
    prop_oneof![
        2 => (key(), when, flag).prop_map(|(key, when, flag)| format!("EXPIREAT {key} {when}{flag}")),
        3 => from("expiry"),
    ]
}

fn of_any_type() -> impl Strategy<Value = String> {
    from("of any type")
}

fn transactions() -> impl Strategy<Value = String> {
    from("transactions")
}
