//! DEBUG, as far as lock tests need it, and SHUTDOWN.

use super::SYNTAX;
use crate::engine::busy;
use crate::engine::command::{Call, Context};
use crate::engine::persist::Saving;
use crate::engine::shutdown::{self, ReplicaWait};
use crate::wire::reply::{Answer, Error, Reply};

/// `DEBUG SLEEP seconds | SET-ACTIVE-EXPIRE 0|1 | ERROR text`.
pub(in crate::engine) fn debug(call: &mut Call<'_>) -> Answer {
    let name = call.args[1].to_ascii_lowercase();
    match (name.as_slice(), &call.args[2..]) {
        (b"sleep", [seconds]) => {
            // Of a length that Redis cannot count, `nanosleep` wants to know nothing.
            let sleep_us = (leading_number(seconds) * 1e6) as u64;
            let sleep_us = i64::try_from(sleep_us).map_or(0, i64::unsigned_abs);
            if call.context == Context::Transaction {
                call.state.slept_us = call.state.slept_us.saturating_add(sleep_us);
            }
            let now_us = call.state.process_us(call.wall_us);
            let since_us = call.state.asleep_until_us.unwrap_or(0).max(now_us);
            call.state.asleep_until_us = Some(since_us.saturating_add(sleep_us));
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

/// C's `strtod`, for decimal numbers: what follows the number does not matter, and no number counts as 0.
fn leading_number(text: &[u8]) -> f64 {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let text = text.trim_ascii_start();
    // A number is short, and a text may be long.
    let len = text
        .iter()
        .take(64)
        .take_while(|byte| is_part(byte))
        .count();
    let prefixes = (1..=len).rev().map(|len| &text[..len]);
    let numbers = prefixes.filter_map(|text| str::from_utf8(text).ok()?.parse::<f64>().ok());
    numbers.take(1).sum()
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
