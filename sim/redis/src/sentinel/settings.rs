//! `SENTINEL CONFIG` and `SENTINEL DEBUG`: the settings of a sentinel itself. None can be changed
//! but to the value that it has.

use super::about::Answer;
use super::core::Core;
use crate::glob;
use crate::wire::reply::Reply;

/// The settings of `SENTINEL CONFIG`. A sentinel announces the address that it was started with.
fn settings(core: &Core) -> [(&'static str, String); 6] {
    [
        ("resolve-hostnames", "no".to_owned()),
        ("announce-hostnames", "no".to_owned()),
        ("announce-ip", core.me.host.clone()),
        ("announce-port", core.me.port.to_string()),
        ("sentinel-user", String::new()),
        ("sentinel-pass", String::new()),
    ]
}

/// `SENTINEL CONFIG GET pattern`, `SENTINEL CONFIG SET setting value`.
pub(super) fn config(core: &Core, words: &[&str]) -> Answer {
    match words {
        [get, pattern] if get.eq_ignore_ascii_case("get") => {
            let pattern = pattern.to_ascii_lowercase();
            let all = settings(core).into_iter();
            let found = all.filter(|(name, _)| glob::matches(pattern.as_bytes(), name.as_bytes()));
            let pair = |(name, value): (&str, String)| (Reply::bulk(name), Reply::bulk(value));
            Ok(Reply::Map(found.map(pair).collect()))
        }
        [set, name, value] if set.eq_ignore_ascii_case("set") => {
            let mut all = settings(core).into_iter();
            let Some((_, old)) = all.find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
                return Err(format!(
                    "ERR Invalid argument '{name}' to SENTINEL CONFIG SET"
                ));
            };
            match old.eq_ignore_ascii_case(value) {
                true => Ok(Reply::OK),
                false => Err(format!(
                    "ERR Invalid value '{value}' to SENTINEL CONFIG SET '{name}'"
                )),
            }
        }
        _ => Err(
            "ERR Only SENTINEL CONFIG GET <option> / SET <option> <value> are supported.".into(),
        ),
    }
}

/// The periods of `SENTINEL DEBUG`, in milliseconds.
const PERIODS: [(&str, i64); 13] = [
    ("INFO-PERIOD", 10_000),
    ("PING-PERIOD", 1000),
    ("ASK-PERIOD", 1000),
    ("PUBLISH-PERIOD", 2000),
    ("DEFAULT-DOWN-AFTER", 30_000),
    ("DEFAULT-FAILOVER-TIMEOUT", 180_000),
    ("TILT-TRIGGER", 2000),
    ("TILT-PERIOD", 30_000),
    ("SLAVE-RECONF-TIMEOUT", 10_000),
    ("MIN-LINK-RECONNECT-PERIOD", 15_000),
    ("ELECTION-TIMEOUT", 10_000),
    ("SCRIPT-MAX-RUNTIME", 60_000),
    ("SCRIPT-RETRY-DELAY", 30_000),
];

/// `SENTINEL DEBUG [period value …]`.
pub(super) fn debug(words: &[&str]) -> Answer {
    if words.is_empty() {
        let pair = |(name, ms): (&str, i64)| (Reply::bulk(name), Reply::bulk(ms.to_string()));
        return Ok(Reply::Map(PERIODS.map(pair).into()));
    }
    for pair in words.chunks(2) {
        let known = PERIODS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(pair[0]));
        let ([name, value], Some((_, ms))) = (pair, known) else {
            return Err(format!(
                "ERR Unknown option or number of arguments for SENTINEL DEBUG '{}'",
                pair[0]
            ));
        };
        if value.parse() != Ok(*ms) {
            return Err(format!(
                "ERR Invalid argument '{value}' for SENTINEL DEBUG '{name}'"
            ));
        }
    }
    Ok(Reply::OK)
}
