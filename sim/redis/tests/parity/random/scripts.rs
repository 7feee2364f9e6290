//! Random scripts of a grammar, whose errors and values must be those of Redis.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::data::{Servers, cases};
use crate::pair::Pair;
use crate::versions;

/// About a second and a half.
const SCRIPTS: u32 = 1000;

/// How deeply the lines of the grammar are nested.
const MAX_DEPTH: usize = 10;

/// Tables as texts, as an array of Lua ends at its first nil.
const SHOW: &str = "local show show = function(...) local r = {} for i = 1, select('#', ...) do \
    local v = select(i, ...) if type(v) == 'table' then v = '{' .. show(rawget(v, 'err'), rawget(v, 'ok'), \
    unpack(v, 1, math.min(3, #v))) .. '}' elseif v ~= v then v = 'nan' else v = type(v) .. ':' .. tostring(v) end \
    r[i] = v end return table.concat(r, ' ') end ";

#[test]
fn any_script_gets_the_values_and_the_errors_of_redis() {
    if versions::skips_test() {
        return;
    }
    let pair = RefCell::new(Pair::start(1));
    super::check(SCRIPTS * super::stamina(), scripts(), |script| {
        let mut pair = pair.borrow_mut();
        pair.clear();
        pair.replies(0, &[b"SET", b"k1", b"10"]);
        let whole = format!("{SHOW}{script}");
        let call: [&[u8]; 7] = [b"EVAL", whole.as_bytes(), b"2", b"k1", b"k2", b"a1", b"2"];
        let (real, fake) = pair.replies(0, &call);
        let [real, fake] = [real, fake].map(|reply| shown(&reply));
        match real == fake || versions::excuses(&script) {
            true => Ok(()),
            false => Err(TestCaseError::fail(format!(
                "{script}\n  real: {real}\n  fake: {fake}"
            ))),
        }
    });
}

/// A reply without addresses, the signs of what is no number, and the lengths of texts with either.
fn shown(reply: &[u8]) -> String {
    let text = reply.escape_ascii().to_string().replace("-nan", "nan");
    let mut parts = text.split("0x");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        shown += if digits < 8 { "0x" } else { "address" };
        shown += if digits < 8 { part } else { &part[digits..] };
    }
    if !text.contains("nan") {
        return shown;
    }
    let lengths = shown.split('$');
    lengths
        .map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_digit()))
        .collect()
}

type Grammar = BTreeMap<String, Vec<String>>;

/// Scripts of the grammar in the file, which says how.
fn scripts() -> impl Strategy<Value = String> {
    let sections = cases(include_str!("scripts.txt")).into_iter();
    let grammar: Grammar = sections.map(|case| (case.section, case.lines)).collect();
    let choices = prop::collection::vec(any::<u8>(), 1..60);
    choices.prop_map(move |choices| {
        let mut script = String::new();
        write(&grammar, "script", &mut choices.into_iter(), 0, &mut script);
        script.replace('⏎', "\n")
    })
}

/// Writes a line of this section.
fn write(
    grammar: &Grammar,
    section: &str,
    choices: &mut impl Iterator<Item = u8>,
    depth: usize,
    script: &mut String,
) {
    let lines = &grammar[section];
    let choice = match depth {
        0..MAX_DEPTH => choices.next().unwrap_or_default(),
        _ => 0,
    };
    let mut rest = lines[usize::from(choice) % lines.len()].as_str();
    while let Some((before, after)) = rest.split_once('$') {
        script.push_str(before);
        let end = after.bytes().take_while(u8::is_ascii_lowercase).count();
        let (name, after) = after.split_at(end);
        match grammar.contains_key(name) {
            true => write(grammar, name, choices, depth + 1, script),
            false => *script += &format!("${name}"),
        }
        rest = after;
    }
    script.push_str(rest);
}
