//! Coroutines, which are watched as the script is. Like those of Lua 5.1 they cannot yield to a function
//! that is not called by an instruction of Lua.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use lua_stdlib::coro_lib;
use lua_types::{LuaClosure, LuaError};
use lua_vm::prelude::{InstructionExt as _, OpCode};

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Returned, Table, Value};
use crate::engine::script::{error, memory, meter};

/// The coroutines after which those that nothing refers to are removed: the interpreter does not
/// count their memory, which is about 4 kB for each.
const MANY_COROUTINES: usize = 4096;

/// The most coroutines at a time.
const MAX_COROUTINES: usize = 32_768;

thread_local! {
    /// The coroutines after which those without a use are removed next.
    static MANY: Cell<usize> = const { Cell::new(MANY_COROUTINES) };
}

/// The library `coroutine`.
pub(super) fn library(lua: &mut Lua) -> lua::Result<Table> {
    let library = lua::library(
        lua,
        &[
            ("create", create),
            ("resume", resume),
            ("running", coro_lib::co_running),
            ("status", status),
            ("yield", yield_),
        ],
    )?;
    let next = lua::registered(lua, resume_wrapped);
    let wrap = lua::function(lua, move |lua| {
        create(lua)?;
        let thread = lua.pop();
        let function = lua::closure(lua, next, vec![thread]);
        lua::result(lua, function)
    });
    lua::set_field(lua, &library, "wrap", wrap)?;
    Ok(library)
}

/// `coroutine.create(function)`, whose instructions are counted.
fn create(lua: &mut Lua) -> Returned {
    let Value::Function(LuaClosure::Lua(_)) = Arguments::of(lua).value(1) else {
        return Err(arguments::bad(lua, 1, "Lua function expected"));
    };
    if count(lua) >= MANY.get() {
        lua.gc().full_collect();
        let left = count(lua);
        if left >= MAX_COROUTINES {
            return Err(memory::none());
        }
        MANY.set(MANY_COROUTINES.max(2 * left));
    }
    let results = coro_lib::co_create(lua)?;
    if let Value::Thread(thread) = lua.peek_top()
        && let Some(state) = state(lua, thread.id)
    {
        meter::follow(&mut state.borrow_mut());
    }
    Ok(results)
}

fn count(lua: &Lua) -> usize {
    lua.global().threads.len()
}

/// `coroutine.status(coroutine)`.
fn status(lua: &mut Lua) -> Returned {
    match Arguments::of(lua).value(1) {
        Value::Thread(_) => coro_lib::co_status(lua),
        _ => Err(arguments::bad(lua, 1, "coroutine expected")),
    }
}

/// `coroutine.resume(coroutine, …)`.
fn resume(lua: &mut Lua) -> Returned {
    let thread = Arguments::of(lua).value(1);
    status(lua)?;
    let status = lua::text(lua.pop());
    if status != b"suspended" {
        let why = [b"cannot resume ", &status[..], b" coroutine"].concat();
        let why = lua::string(lua, &why)?;
        return lua::results(lua, &[Value::Bool(false), why]);
    }
    let results = coro_lib::co_resume(lua)?;
    let failed = lua.get_at(lua.top_idx() - results as i32) == Value::Bool(false);
    if let (true, Value::Thread(thread)) = (failed, thread)
        && let Some(state) = state(lua, thread.id)
    {
        let error = lua.peek_top();
        let completed = error::completed(&mut state.borrow_mut(), 0, error);
        if let Some(text) = completed {
            lua.pop();
            let text = lua::string(lua, &text)?;
            lua.push(text);
        }
    }
    Ok(results)
}

/// The state of a coroutine.
fn state(lua: &Lua, id: u64) -> Option<Rc<RefCell<Lua>>> {
    let global = lua.global();
    let entry = global.get_thread(id)?;
    Some(Rc::clone(&entry.state))
}

/// Resumes a wrapped coroutine, whose error gets this position, too (`auxwrap`).
fn resume_wrapped(lua: &mut Lua) -> Returned {
    if let Some(closure) = lua::called(lua) {
        let thread = closure.upvalues.borrow()[0];
        lua.push(thread);
        lua.insert(1)?;
    }
    let results = resume(lua)?;
    let first = lua.top_idx() - results as i32;
    match (lua.get_at(first), lua.peek_top()) {
        (Value::Bool(true), _) => Ok(results - 1),
        (_, error @ (Value::Str(_) | Value::Int(_) | Value::Float(_))) => {
            Err(arguments::error(lua, lua::text(error)))
        }
        (_, error) => Err(LuaError::Runtime(error)),
    }
}

/// `coroutine.yield(…)`.
fn yield_(lua: &mut Lua) -> Returned {
    let mut place = lua.prev_ci(lua.current_ci_idx());
    while let Some(frame) = place.filter(|frame| !lua.is_base_ci(*frame)) {
        let is_call = lua.get_ci(frame).is_lua() && {
            let instruction = lua.get_proto_instr(frame, lua.ci_savedpc(frame) - 1);
            matches!(instruction.opcode(), OpCode::Call | OpCode::TailCall)
        };
        if !is_call {
            return Err(lua::error(
                "attempt to yield across metamethod/C-call boundary",
            ));
        }
        place = lua.prev_ci(frame);
    }
    coro_lib::co_yield(lua)
}
