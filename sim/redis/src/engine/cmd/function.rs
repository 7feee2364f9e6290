//! FCALL, FCALL_RO and FUNCTION (`src/functions.c`).

use super::script::{part, run};
use super::subcommand_syntax;
use crate::engine::busy;
use crate::engine::command::Call;
use crate::engine::functions::{Collision, Functions};
use crate::engine::script::{Access, Invocation, Program};
use crate::engine::state::busy::Kind;
use crate::engine::state::functions::{Function, Library};
use crate::glob;
use crate::store::dump as payload;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply};

/// `FCALL function numkeys [key …] [arg …]`.
pub(in crate::engine) fn fcall(call: &mut Call<'_>) -> Answer {
    call_function(call, Access::ReadWrite)
}

/// `FCALL_RO function numkeys [key …] [arg …]`: a function that does not write.
pub(in crate::engine) fn fcall_ro(call: &mut Call<'_>) -> Answer {
    call_function(call, Access::ReadOnly)
}

fn call_function(call: &mut Call<'_>, access: Access) -> Answer {
    let (name, function) = match call.state.functions.find(call.args[1]) {
        Some((name, function)) => (name.clone(), function.clone()),
        None => return Err(Error::of("ERR Function not found")),
    };
    let count = parse_i64(call.args[2]);
    let count = count.ok_or(Error::of("ERR Bad number of keys provided"))?;
    let (keys, argv) = part(call.args, count)?;
    let program = Program::Function {
        name: &name,
        function: &function,
    };
    let invocation = Invocation {
        program,
        keys,
        argv,
        access,
    };
    run(call, &invocation)
}

/// `FUNCTION LOAD [REPLACE] code`: returns the name of the new library.
pub(in crate::engine) fn load(call: &mut Call<'_>) -> Answer {
    let (mut options, mut collision) = (&call.args[2..], Collision::Refuse);
    while let [option, rest @ ..] = options
        && !rest.is_empty()
    {
        if !option.eq_ignore_ascii_case(b"replace") {
            let text = [b"ERR Unknown option given: ", *option].concat();
            return Err(Error::new(text));
        }
        collision = Collision::Replace;
        options = rest;
    }
    let code = options[0];
    let name = call.state.functions.load(code, collision)?;
    call.state.db.effects.dirty += 1;
    Ok(Reply::Bulk(name))
}

/// `FUNCTION DELETE library`.
pub(in crate::engine) fn delete(call: &mut Call<'_>) -> Answer {
    if !call.state.functions.delete(call.args[2]) {
        return Err(Error::of("ERR Library not found"));
    }
    call.state.db.effects.dirty += 1;
    Ok(Reply::OK)
}

/// `FUNCTION FLUSH [SYNC | ASYNC]`.
pub(in crate::engine) fn flush(call: &mut Call<'_>) -> Answer {
    match &call.args[2..] {
        [_, _, ..] => return Err(subcommand_syntax(call.args)),
        options if !super::keys::is_flush_mode(options) => {
            return Err(Error::of(
                "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
            ));
        }
        _ => {}
    }
    call.state.functions = Functions::default();
    call.state.db.effects.dirty += 1;
    Ok(Reply::OK)
}

/// `FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]`.
pub(in crate::engine) fn list(call: &mut Call<'_>) -> Answer {
    let (mut pattern, mut with_code) = (None, false);
    let mut options = &call.args[2..];
    while let [option, rest @ ..] = options {
        options = rest;
        if !with_code && option.eq_ignore_ascii_case(b"withcode") {
            with_code = true;
        } else if pattern.is_none() && option.eq_ignore_ascii_case(b"libraryname") {
            let [given, rest @ ..] = rest else {
                return Err(Error::of("ERR library name argument was not given"));
            };
            pattern = Some(given.to_ascii_lowercase());
            options = rest;
        } else {
            return Err(Error::new([b"ERR Unknown argument ", *option].concat()));
        }
    }
    let matches = |library: &&Library| match &pattern {
        Some(pattern) => glob::matches(pattern, &library.name.to_ascii_lowercase()),
        None => true,
    };
    let libraries = call.state.functions.libraries().filter(matches);
    let shown = libraries.map(|library| show(library, with_code));
    Ok(Reply::Array(shown.collect()))
}

fn show(library: &Library, with_code: bool) -> Reply {
    let functions = library.functions.iter();
    let functions = functions.map(|(name, function)| show_function(name, function));
    let mut fields = vec![
        field("library_name", Reply::Bulk(library.name.clone())),
        field("engine", Reply::bulk("LUA")),
        field("functions", Reply::Array(functions.collect())),
    ];
    if with_code {
        fields.push(field("library_code", Reply::Bulk(library.code.clone())));
    }
    Reply::Map(fields)
}

fn show_function(name: &[u8], function: &Function) -> Reply {
    let flags = function.flags.iter();
    let flags = flags.map(|flag| Reply::Status(flag.name().into()));
    Reply::Map(vec![
        field("name", Reply::bulk(name)),
        field(
            "description",
            Reply::bulk_or_nil(function.description.clone()),
        ),
        field("flags", Reply::Set(flags.collect())),
    ])
}

/// `FUNCTION STATS`: the long-running function, if there is one, and the number of functions.
pub(in crate::engine) fn stats(call: &mut Call<'_>) -> Answer {
    let running = match &call.state.busy {
        None => Reply::Nil,
        Some(busy) if busy.kind == Kind::Script => return Err(busy.kind.error()),
        Some(busy) => {
            let words = busy.command.iter().cloned().map(Reply::Bulk);
            let lasted_ms = call.wall_us.saturating_sub(busy.since_us) / 1000;
            Reply::Map(vec![
                field("name", Reply::Bulk(busy.name.clone())),
                field("command", Reply::Array(words.collect())),
                field("duration_ms", Reply::Integer(lasted_ms as i64)),
            ])
        }
    };
    let functions = &call.state.functions;
    let libraries = functions.libraries().count() as i64;
    let counts = Reply::Map(vec![
        field("libraries_count", Reply::Integer(libraries)),
        field("functions_count", Reply::Integer(functions.len() as i64)),
    ]);
    Ok(Reply::Map(vec![
        field("running_script", running),
        field("engines", Reply::Map(vec![field("LUA", counts)])),
    ]))
}

fn field(name: &str, value: Reply) -> (Reply, Reply) {
    (Reply::bulk(name), value)
}

/// `FUNCTION KILL`: ends a function for which other clients get BUSY.
pub(in crate::engine) fn kill(call: &mut Call<'_>) -> Answer {
    busy::kill(call.state, Kind::Function).map(|()| Reply::OK)
}

/// `FUNCTION DUMP`: all libraries, for FUNCTION RESTORE.
pub(in crate::engine) fn dump(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Bulk(payload::functions(
        call.state.functions.codes(),
    )))
}

/// `FUNCTION RESTORE payload [FLUSH | APPEND | REPLACE]`: restores all of them, or none.
pub(in crate::engine) fn restore(call: &mut Call<'_>) -> Answer {
    let (flushes, collision) = match &call.args[3..] {
        [] => (false, Collision::Refuse),
        [policy] => match &policy.to_ascii_lowercase()[..] {
            b"append" => (false, Collision::Refuse),
            b"replace" => (false, Collision::Replace),
            b"flush" => (true, Collision::Refuse),
            _ => {
                return Err(Error::of(
                    "ERR Wrong restore policy given, value should be either FLUSH, APPEND or \
                     REPLACE.",
                ));
            }
        },
        _ => return Err(subcommand_syntax(call.args)),
    };
    let codes = payload::codes(call.args[2])?;
    let kept = match flushes {
        true => Functions::default(),
        false => call.state.functions.clone(),
    };
    call.state.functions = kept.with_all(&codes, collision)?;
    call.state.db.effects.dirty += 1;
    Ok(Reply::OK)
}
