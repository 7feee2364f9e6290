//! `load` and `loadstring`, with the names of chunks as Lua 5.1 shows them.

use lua_types::LuaStatus;
use lua_vm::api;

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Returned, Value, before_zero};
use crate::engine::script::{memory, meter};

/// The bytes for a name in an error (`LUA_IDSIZE`), and in one of syntax (`MAXSRC`).
const MOST_SHOWN: usize = 60;
const MOST_SHOWN_OF_SYNTAX: usize = 80;

/// `loadstring(text [, name])`.
pub(super) fn load_string(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let text = arguments.string(lua, 1)?;
    let name = arguments.optional_string(lua, 2, before_zero(&text))?;
    let mut text = Some(text.to_vec());
    compile(lua, &name, move |_| Ok(text.take()))
}

/// `load(function [, name])`, of the texts that the function returns until there are no more.
pub(super) fn load(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let name = arguments.optional_string(lua, 2, b"=(load)")?;
    let function = arguments.function(lua, 1)?;
    compile(lua, &name, move |lua| {
        lua::call(lua, &[function], 1)?;
        match lua.pop() {
            Value::Nil => Ok(None),
            text @ (Value::Str(_) | Value::Int(_) | Value::Float(_)) => Ok(Some(lua::text(text))),
            _ => Err(arguments::error(
                lua,
                "reader function must return a string",
            )),
        }
    })
}

/// Compiles a text of several pieces; an empty one is the last. The script is watched from here on.
fn compile(
    lua: &mut Lua,
    name: &[u8],
    mut next: impl FnMut(&mut Lua) -> lua::Result<Option<Vec<u8>>> + 'static,
) -> Returned {
    meter::follow(lua);
    let mut len = 0;
    let reader = Box::new(move |lua: &mut Lua| {
        let mut piece = next(lua)?;
        if let Some(piece) = &mut piece {
            meter::count(lua, 1)?;
            meter::count_bytes(lua, piece.len())?;
            // Bytecode would have to be trusted: after a space it is text.
            if len == 0 && piece.first() == Some(&0x1b) {
                piece.insert(0, b' ');
            }
            len += piece.len();
            memory::afford(lua, len)?;
        }
        Ok(piece)
    });
    // The interpreter shortens other names than Lua 5.1, but none that is short enough.
    let given = [b"=", &shown(name, MOST_SHOWN)[..], b"\0", name].concat();
    let status = api::load(lua, reader, Some(&given), Some(b"t"))?;
    let result = lua.pop();
    if status == LuaStatus::Ok {
        return lua::result(lua, result);
    }
    let error = match result {
        Value::Str(text) => {
            let prefix = &given[1..given.len().min(MOST_SHOWN)];
            match text.as_bytes().strip_prefix(prefix) {
                Some(rest) => {
                    let text = [&shown(name, MOST_SHOWN_OF_SYNTAX)[..], rest].concat();
                    lua::string(lua, &text)?
                }
                None => result,
            }
        }
        other => other,
    };
    lua::results(lua, &[Value::Nil, error])
}

/// The name of a chunk as errors show it, in this many bytes with a zero (`luaO_chunkid`).
fn shown(name: &[u8], room: usize) -> Vec<u8> {
    let last = |text: &[u8], most: usize| text.len().saturating_sub(most);
    match name.split_first() {
        Some((b'=', name)) => name[..name.len().min(room - 1)].to_vec(),
        Some((b'@', name)) => match last(name, room - b" '...' \0".len()) {
            0 => name.to_vec(),
            start => [b"...", &name[start..]].concat(),
        },
        _ => {
            let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let line = name.iter().take_while(|byte| !is_break(byte)).count();
            let len = line.min(room - b" [string \"...\"] \0".len());
            let dots: &[u8] = if len < name.len() { b"..." } else { b"" };
            [b"[string \"", &name[..len], dots, b"\"]"].concat()
        }
    }
}
