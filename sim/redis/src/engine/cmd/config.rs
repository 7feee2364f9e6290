//! CONFIG GET, SET, RESETSTAT, REWRITE.

use locklab_vecmap::VecMap;

use crate::engine::command::Call;
use crate::engine::config;
use crate::engine::persist;
use crate::engine::stats::Stats;
use crate::glob;
use crate::wire::reply::{Answer, Error, Reply};

/// `CONFIG GET pattern [pattern …]`.
pub(in crate::engine) fn get(call: &mut Call<'_>) -> Answer {
    let mut found: VecMap<Vec<u8>, Vec<u8>> = VecMap::new();
    for pattern in &call.args[2..] {
        let is_glob = pattern.iter().any(|b| b"[*?".contains(b));
        let lower = pattern.to_ascii_lowercase();
        for (parameter, value) in call.state.config.all() {
            let value = match parameter.name {
                config::REPLICAOF => call.state.repl.master_address().into_bytes(),
                _ => value,
            };
            for name in parameter.names().map(str::as_bytes) {
                // A name without pattern characters is returned as it was written.
                if is_glob && glob::matches(&lower, name) {
                    found.insert(name.to_vec(), value.clone());
                } else if !is_glob && lower == name {
                    found.insert(pattern.to_vec(), value.clone());
                }
            }
        }
    }
    let pairs = found.into_iter();
    Ok(Reply::Map(
        pairs
            .map(|(name, value)| (Reply::bulk(name), Reply::bulk(value)))
            .collect(),
    ))
}

/// `CONFIG SET parameter value [parameter value …]`: sets all of them, or none.
pub(in crate::engine) fn set(call: &mut Call<'_>) -> Answer {
    if !call.args.len().is_multiple_of(2) {
        return Err(crate::engine::errors::wrong_arity("config|set"));
    }
    let mut parameters = Vec::new();
    for pair in call.args[2..].chunks_exact(2) {
        let Some(parameter) = config::find(pair[0]) else {
            let mut text = b"ERR Unknown option or number of arguments for CONFIG SET - '".to_vec();
            text.extend_from_slice(pair[0]);
            text.push(b'\'');
            return Err(Error::new(text));
        };
        if parameter.is_immutable() {
            return Err(refuse(pair[0], "can't set immutable config"));
        }
        // A former name counts as another parameter: the last value is set.
        let again =
            |known: &(&[u8], &config::Parameter, &[u8])| known.0.eq_ignore_ascii_case(pair[0]);
        if parameters.iter().any(again) {
            return Err(refuse(pair[0], "duplicate parameter"));
        }
        parameters.push((pair[0], parameter, pair[1]));
    }
    let mut values = Vec::new();
    for (name, parameter, value) in parameters {
        let value = parameter.read(value).map_err(|why| refuse(name, &why))?;
        if let Some(why) = parameter.is_of_the_driver()
            && call.state.config.shown(parameter.name).as_bytes() != value
        {
            return Err(refuse(name, why));
        }
        values.push((parameter, value));
    }
    let appended = call.state.config.append_only();
    for (parameter, value) in values {
        call.state.config.set(parameter, value);
    }
    match (appended, call.state.config.append_only()) {
        (false, true) => persist::rewrite(call.state),
        (true, false) => persist::stop(call.state),
        _ => {}
    }
    call.state.listen();
    call.state.eviction.is_due = true;
    Ok(Reply::OK)
}

/// `CONFIG RESETSTAT`: resets the counters of INFO to zero.
pub(in crate::engine) fn resetstat(call: &mut Call<'_>) -> Answer {
    call.state.stats = Stats::default();
    call.state.db.expired_keys = 0;
    call.state.db.evicted_keys = 0;
    Ok(Reply::OK)
}

/// `CONFIG REWRITE`: writes the current parameters to the configuration file.
pub(in crate::engine) fn rewrite(call: &mut Call<'_>) -> Answer {
    if !call.state.config.has_file {
        return Err(Error::of("ERR The server is running without a config file"));
    }
    persist::save_config(call.state);
    Ok(Reply::OK)
}

fn refuse(name: &[u8], why: &str) -> Error {
    let text: [&[u8]; 4] = [
        b"ERR CONFIG SET failed (possibly related to argument '",
        name,
        b"') - ",
        why.as_bytes(),
    ];
    Error::new(text.concat())
}
