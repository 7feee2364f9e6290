//! Scripts that are sure to end: without loops and functions, as most of those of locks are.
//!
//! To watch each instruction takes as long as to execute it, so these are not watched. They may call
//! functions of ours, which count what they do, and compile texts, which are watched from then on.

use lua_types::LuaClosure;
use lua_types::opcode::Instruction;
use lua_vm::prelude::{InstructionExt as _, OpCode};

use super::lua::Value;

/// The most instructions of such a script.
const MAX_INSTRUCTIONS: usize = 10_000;

/// Whether a compiled script executes each of its instructions once at most, and none of them makes a
/// text of any length.
pub(super) fn is_brief(script: Value) -> bool {
    let Value::Function(LuaClosure::Lua(script)) = script else {
        return false;
    };
    let (code, functions) = (&script.proto.code, &script.proto.p);
    functions.is_empty() && code.len() <= MAX_INSTRUCTIONS && code.iter().all(is_once)
}

fn is_once(instruction: &Instruction) -> bool {
    match instruction.opcode() {
        OpCode::Jmp => instruction.arg_s_j() >= 0,
        OpCode::ForLoop | OpCode::TForLoop | OpCode::Concat => false,
        _ => true,
    }
}
