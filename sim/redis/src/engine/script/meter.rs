//! Counts the instructions of a script, and ends a script that runs for too long or takes too much.
//!
//! A node measures a script's time in instructions, so their number has to be the same in every
//! run: the count starts at zero with each script, and a command counts as a number of
//! instructions. On a node that attends to its other clients while a script runs, they end it.
//!
//! The interpreter counts down from a number of instructions, and lets no script catch the error at the end;
//! and it looks at its memory, at every instruction. Before each of them it calls [`watch`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use lua_types::CallInfoIdx;
use lua_vm::debug::LuaDebug;
use lua_vm::prelude::{InstructionExt as _, OpCode};
use lua_vm::state::{SANDBOX_TRIP_INSTRUCTIONS, SANDBOX_TRIP_MEMORY, StackIdx};

use super::lua::{self, Lua, Value};
use super::{Reading, arguments, memory};
use crate::engine::state::busy::{INSTRUCTIONS_PER_COMMAND, INSTRUCTIONS_PER_LOOK};

/// The number of instructions between two notes of a script's position.
const INSTRUCTIONS_PER_NOTE: u64 = 100_000;

/// The cost of each argument and of each element of the reply.
const INSTRUCTIONS_PER_ITEM: u64 = 10;

/// The bytes that a library function reads or writes as it counts one instruction: a copy of
/// memory is faster, the encoding of numbers slower.
const BYTES_PER_INSTRUCTION: usize = 16;

/// The bytes of arguments and replies per instruction: they are copied a few times.
const BYTES_OF_COMMAND_PER_INSTRUCTION: usize = 64;

/// More instructions than any script runs.
const ENDLESS: u64 = 1 << 62;

// The script that this thread runs.
thread_local! {
    static ATTEND: RefCell<Option<Attend>> = const { RefCell::new(None) };
    /// Its last position.
    static POSITION: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The numbers of instructions at which it is looked at and its position noted next.
    static NEXT_LOOK: Cell<u64> = const { Cell::new(0) };
    static NEXT_NOTE: Cell<u64> = const { Cell::new(0) };
}

/// Attends to other clients; returns whether one of them has ended the script.
pub(super) type Attend = Rc<dyn Fn() -> bool>;

/// How long a script may run.
pub(super) enum Limit {
    /// By the number of instructions, which is the same in every run.
    Instructions(u64),
    /// Until this says that another client has ended it.
    Clients(Attend),
}

/// Starts to count for a script that may run this long. Its instructions do not count before it is
/// [watched](follow).
pub(super) fn start(lua: &mut Lua, limit: Limit) {
    let (most, attend) = match limit {
        Limit::Instructions(most) => (most, None),
        Limit::Clients(attend) => (ENDLESS, Some(attend)),
    };
    ATTEND.set(attend);
    POSITION.set(None);
    NEXT_LOOK.set(INSTRUCTIONS_PER_LOOK);
    NEXT_NOTE.set(INSTRUCTIONS_PER_NOTE);
    let sandbox = &lua.global().sandbox;
    sandbox.interval.set(1);
    sandbox.instr_limited.set(true);
    sandbox.instr_limit.set(most);
    sandbox.mem_limit.set(Some(memory::MAX_BYTES));
    lua.sandbox_reset();
}

/// Watches the instructions of this thread of Lua.
pub(super) fn follow(lua: &mut Lua) {
    const LUA_MASKCOUNT: i32 = 1 << 3;
    lua_vm::debug::set_hook(lua, Some(Box::new(watch)), LUA_MASKCOUNT, 1);
}

/// Why a script was ended.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// It ran for too long, or another client ended it.
    Killed,
    Memory,
}

/// Why the script was ended, if it was.
pub(super) fn ended(lua: &Lua) -> Option<Ended> {
    match lua.sandbox_tripped_code() {
        SANDBOX_TRIP_INSTRUCTIONS => Some(Ended::Killed),
        SANDBOX_TRIP_MEMORY => Some(Ended::Memory),
        _ => None,
    }
}

/// Stops counting: the script is over.
pub(super) fn stop(lua: &mut Lua) -> Reading {
    let overrun = ended(lua) == Some(Ended::Killed);
    let instructions = instructions(lua);
    lua.sandbox_reset();
    lua.global().sandbox.interval.set(0);
    lua_vm::debug::set_hook(lua, None, 0, 0);
    ATTEND.set(None);
    Reading {
        instructions,
        position: POSITION.take(),
        overrun,
    }
}

/// The instructions counted so far.
pub(super) fn instructions(lua: &Lua) -> u64 {
    let sandbox = &lua.global().sandbox;
    sandbox.instr_limit.get() - sandbox.instr_remaining.get()
}

/// Counts a command with this many arguments, and elements of its reply, of so many bytes
/// in all.
///
/// # Errors
///
/// The script has run for too long.
pub(super) fn count_command(lua: &mut Lua, items: usize, bytes: usize) -> lua::Result<()> {
    let items = INSTRUCTIONS_PER_ITEM.saturating_mul(items as u64);
    let bytes = (bytes / BYTES_OF_COMMAND_PER_INSTRUCTION) as u64;
    let cost = INSTRUCTIONS_PER_COMMAND + bytes;
    count(lua, cost.saturating_add(items))
}

/// Counts the bytes that a library function reads or writes. Lua counts a call of it as one instruction.
///
/// # Errors
///
/// The script has run for too long.
pub(super) fn count_bytes(lua: &mut Lua, bytes: usize) -> lua::Result<()> {
    count(lua, (bytes / BYTES_PER_INSTRUCTION) as u64)
}

/// Counts work, in instructions.
///
/// # Errors
///
/// The script has run for too long.
pub(super) fn count(lua: &mut Lua, instructions: u64) -> lua::Result<()> {
    if instructions == 0 {
        return Ok(());
    }
    let over = lua.sandbox_charge(instructions);
    if over.is_none() && look(lua) {
        return lua.sandbox_charge(1).map_or(Ok(()), Err);
    }
    over.map_or(Ok(()), Err)
}

/// Attends to other clients, if it is time to; returns whether the script has to end, which it does
/// when it counts the next instruction.
fn look(lua: &Lua) -> bool {
    let now = instructions(lua);
    if now < NEXT_LOOK.get() {
        return false;
    }
    NEXT_LOOK.set(now - now % INSTRUCTIONS_PER_LOOK + INSTRUCTIONS_PER_LOOK);
    let attend = ATTEND.with_borrow(Clone::clone);
    let ends = attend.is_some_and(|attend| attend());
    if ends {
        lua.global().sandbox.instr_remaining.set(0);
    }
    ends
}

/// Before each instruction.
fn watch(lua: &mut Lua, at: &LuaDebug) {
    let Some(frame) = at.i_ci else { return };
    look(lua);
    if instructions(lua) >= NEXT_NOTE.get() {
        note_position(lua, frame);
    }
    let instruction = lua.get_proto_instr(frame, lua.ci_savedpc(frame) - 1);
    if instruction.opcode() == OpCode::Concat {
        let first = lua.ci_base(frame) + instruction.arg_a();
        count_concatenation(lua, first, instruction.arg_b());
    }
}

fn note_position(lua: &mut Lua, frame: CallInfoIdx) {
    NEXT_NOTE.set(instructions(lua) + INSTRUCTIONS_PER_NOTE);
    let mut place = LuaDebug {
        i_ci: Some(frame),
        ..LuaDebug::default()
    };
    lua_vm::debug::get_info(lua, b"Sl", &mut place);
    if let Some(source) = &place.source {
        let source = String::from_utf8_lossy(arguments::source(source));
        let line = place.currentline;
        POSITION.set(Some(format!("{source}:{line}")));
    }
}

/// The operator `..` makes a text of up to 200 others in one instruction, of any length. It counts as
/// work, and if there is no room for it the script ends: then its last operand, at which it begins, is taken away, so
/// that the instruction fails.
fn count_concatenation(lua: &mut Lua, first: StackIdx, count: i32) {
    let len = |place| match lua.get_at(first + place) {
        Value::Str(text) => text.len(),
        _ => 0,
    };
    let bytes: usize = (0..count).map(len).sum();
    // It is made twice.
    let refused = lua.sandbox_reserve(2 * bytes);
    if refused.is_some() || count_bytes(lua, bytes).is_err() {
        lua.set_at(first + (count - 1), Value::Nil);
    }
}
