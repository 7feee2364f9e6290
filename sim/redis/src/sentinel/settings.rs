//! `SENTINEL CONFIG`: the settings of a sentinel itself. None can be changed but to the value that it has.

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
