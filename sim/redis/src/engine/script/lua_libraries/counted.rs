//! Lua's own functions, with the work that they do, and its coroutines, which are watched.

use std::cell::Cell;
use std::rc::Rc;

use lua_stdlib::coro_lib;
use lua_types::{LuaClosure, LuaError};

use super::{arguments, format, patterns, sort, strings, tables};
use crate::engine::script::lua::{self, Lua, Returned, Table, Value};
use crate::engine::script::{memory, meter};

/// The coroutines after which those that nothing refers to are removed: the interpreter does not
/// count their memory, which is about 4 kB for each.
const MANY_COROUTINES: usize = 4096;

/// The most coroutines at a time.
const MAX_COROUTINES: usize = 32_768;

thread_local! {
    /// The coroutines after which those without a use are removed next.
    static MANY: Cell<usize> = const { Cell::new(MANY_COROUTINES) };
}

/// The functions that replace those of the interpreter, in a table for each library.
pub(in crate::engine::script) fn replacements(lua: &mut Lua) -> lua::Result<Table> {
    let string = lua::library(
        lua,
        &[
            ("byte", strings::byte),
            ("char", strings::char),
            ("find", patterns::find),
            ("format", format::format),
            ("gsub", patterns::gsub),
            ("match", patterns::match_once),
            ("rep", strings::rep),
        ],
    )?;
    let gmatch = patterns::gmatch(lua);
    for name in ["gmatch", "gfind"] {
        lua::set_field(lua, &string, name, gmatch)?;
    }
    let table = lua::library(
        lua,
        &[
            ("concat", tables::concat),
            ("insert", tables::insert),
            ("remove", tables::remove),
            ("sort", sort::sort),
        ],
    )?;
    let all = lua::library(lua, &[("unpack", tables::unpack)])?;
    lua::set_field(lua, &all, "string", Value::Table(string))?;
    lua::set_field(lua, &all, "table", Value::Table(table))?;
    let coroutine = lua::library(lua, &[("create", create)])?;
    let wrap = wrap(lua);
    lua::set_field(lua, &coroutine, "wrap", wrap)?;
    lua::set_field(lua, &all, "coroutine", Value::Table(coroutine))?;
    Ok(all)
}

/// `counted(function)`: the function, which counts as instructions what it reads of a table and
/// writes of a text.
pub(in crate::engine::script) fn counted(lua: &mut Lua) -> Returned {
    let original = match lua::arguments(lua)[..] {
        [Value::Function(LuaClosure::LightC(index))] => lua.global().c_functions[index].clone(),
        _ => return Err(lua::error("no function of the interpreter")),
    };
    let counted = lua::function(lua, move |lua| {
        if let Some(Value::Table(table)) = lua::arguments(lua).first() {
            let elements = table.with_inner(|inner| inner.array.len() + inner.node.len());
            meter::count(lua, elements as u64)?;
        }
        let results = original.call(lua)?;
        if results > 0
            && let Value::Str(text) = lua.peek_top()
        {
            meter::count_bytes(lua, text.len())?;
        }
        Ok(results)
    });
    lua::result(lua, counted)
}

/// `coroutine.create(function)`, whose instructions are counted.
fn create(lua: &mut Lua) -> Returned {
    if count(lua) >= MANY.get() {
        lua.gc().full_collect();
        let left = count(lua);
        if left >= MAX_COROUTINES {
            return Err(memory::none());
        }
        MANY.set(MANY_COROUTINES.max(2 * left));
    }
    let results = coro_lib::co_create(lua)?;
    if let Value::Thread(thread) = lua.peek_top() {
        let entry = lua
            .global()
            .get_thread(thread.id)
            .map(|entry| Rc::clone(&entry.state));
        if let Some(state) = entry {
            meter::follow(&mut state.borrow_mut());
        }
    }
    Ok(results)
}

/// Creates `coroutine.wrap`, with the function that it returns.
fn wrap(lua: &mut Lua) -> Value {
    let resume = lua::registered(lua, resume);
    lua::function(lua, move |lua| {
        create(lua)?;
        let thread = lua.pop();
        let function = lua::closure(lua, resume, vec![thread]);
        lua::result(lua, function)
    })
}

/// Resumes a wrapped coroutine, whose error gets this position, too (`auxwrap`).
fn resume(lua: &mut Lua) -> Returned {
    if let Some(closure) = lua::called(lua) {
        let thread = closure.upvalues.borrow()[0];
        lua.push(thread);
        lua.insert(1)?;
    }
    let results = coro_lib::co_resume(lua)?;
    let first = lua.top_idx() - results as i32;
    match (lua.get_at(first), lua.peek_top()) {
        (Value::Bool(true), _) => Ok(results - 1),
        (_, Value::Str(text)) => Err(arguments::error(lua, text.as_bytes())),
        (_, error) => Err(LuaError::Runtime(error)),
    }
}

fn count(lua: &Lua) -> usize {
    lua.global().threads.len()
}
