//! DEBUG, as far as lock tests need it, and SHUTDOWN.

use super::SYNTAX;
use crate::engine::busy;
use crate::engine::command::Call;
use crate::engine::persist::Saving;
use crate::engine::shutdown::{self, ReplicaWait};
use crate::wire::reply::{Answer, Error, Reply};

/// `DEBUG SLEEP seconds | SET-ACTIVE-EXPIRE 0|1 | ERROR text`.
pub(in crate::engine) fn debug(call: &mut Call<'_>) -> Answer {
    let name = call.args[1].to_ascii_lowercase();
    match (name.as_slice(), &call.args[2..]) {
        (b"sleep", [seconds]) => {
            let sleep_us = leading_number(seconds) * 1e6;
            let until_us = call.wall_us.saturating_add(sleep_us as u64);
            call.state.asleep_until_us = Some(until_us);
            Ok(Reply::OK)
        }
        (b"set-active-expire", [flag]) => {
            call.state.run_due_cycles(call.wall_us);
            call.state.active_expiry.enabled = leading_number(flag) >= 1.0;
            Ok(Reply::OK)
        }
        (b"error", [text]) => {
            let no_newline = |b: &u8| if b"\r\n".contains(b) { b' ' } else { *b };
            let text: Vec<u8> = text.iter().map(no_newline).collect();
            // Directly, because INFO does not count it among the errors.
            call.session().answer(&Error::new(text).into());
            Ok(Reply::NONE)
        }
        _ => Err(super::subcommand_syntax(call.args)),
    }
}

/// C's `strtod`, for plain numbers: an invalid number counts as 0.
fn leading_number(text: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(text);
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    text[..end].parse().unwrap_or(0.0)
}

/// `SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE]`, `SHUTDOWN ABORT`.
pub(in crate::engine) fn shutdown(call: &mut Call<'_>) -> Answer {
    let has = |wanted: &str| {
        let is = |word: &&[u8]| word.eq_ignore_ascii_case(wanted.as_bytes());
        call.args[1..].iter().any(is)
    };
    let is_flag = |word: &&[u8]| {
        ["nosave", "save", "now", "force"]
            .iter()
            .any(|flag| word.eq_ignore_ascii_case(flag.as_bytes()))
    };
    let flags = call.args[1..].iter().filter(|word| is_flag(word)).count();
    let known = |word: &&[u8]| is_flag(word) || word.eq_ignore_ascii_case(b"abort");
    let contradicts = has("save") && has("nosave") || has("abort") && flags > 0;
    if !call.args[1..].iter().all(known) || contradicts {
        return Err(SYNTAX);
    }
    if has("abort") {
        return match shutdown::abort(call.state) {
            true => Ok(Reply::OK),
            false => Err(Error::of("ERR No shutdown in progress.")),
        };
    }
    // A script that is still running may have left its work incomplete.
    if call.state.busy.is_some() && !has("nosave") {
        return Err(busy::error(call.state));
    }
    let saving = match (has("save"), has("nosave")) {
        (true, _) => Saving::Always,
        (_, true) => Saving::Never,
        _ => Saving::AsConfigured,
    };
    let wait = match has("now") {
        true => ReplicaWait::Skip,
        false => ReplicaWait::Configured,
    };
    shutdown::begin(call.state, call.client, saving, wait, call.wall_us);
    Ok(Reply::NONE)
}
