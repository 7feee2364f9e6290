//! Counts the instructions of a script, and ends a script that runs for too long.
//!
//! A node measures a script's time in instructions, so their number has to be the same in every
//! run: the count starts anew with each script.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::debug::Debug;
use mlua::{HookTriggers, Lua, VmState};

use super::{Reading, api};

/// The number of instructions per count (`luaMaskCountHook` is called as often).
const INSTRUCTIONS_PER_COUNT: u32 = 100_000;

/// The instruction counter of a script.
#[derive(Clone, Default)]
pub(super) struct Meter(Rc<RefCell<Reading>>);

impl Meter {
    /// Starts to count for a script that may run this many instructions. A longer one ends with
    /// the error `overrun`, which it cannot catch: see [`Meter::overrun`].
    pub(super) fn start(
        &self,
        lua: &Lua,
        most_instructions: u64,
        overrun: &'static str,
    ) -> mlua::Result<()> {
        *self.0.borrow_mut() = Reading::default();
        let reading = Rc::clone(&self.0);
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_COUNT);
        lua.set_global_hook(triggers, move |_, debug| {
            let mut reading = reading.borrow_mut();
            reading.instructions += u64::from(INSTRUCTIONS_PER_COUNT);
            reading.note_position(debug);
            if reading.instructions <= most_instructions {
                return Ok(VmState::Continue);
            }
            reading.overrun = true;
            Err(api::raise_text(overrun))
        })
    }

    /// Whether the script was ended. Code that catches errors for a script checks this, and does
    /// not catch that one.
    pub(super) fn overrun(&self, lua: &Lua) -> mlua::Result<mlua::Function> {
        let reading = Rc::clone(&self.0);
        lua.create_function(move |_, ()| Ok(reading.borrow().overrun))
    }

    /// Stops counting: the script is over.
    pub(super) fn stop(&self, lua: &Lua) -> Reading {
        lua.remove_global_hook();
        self.0.take()
    }
}

impl Reading {
    fn note_position(&mut self, debug: &Debug<'_>) {
        if let (Some(source), Some(line)) = (source_of_script(debug), debug.current_line()) {
            self.position = Some(format!("{source}:{line}"));
        }
    }
}

/// The name of the running chunk, if it belongs to a script and not to the sandbox.
fn source_of_script(debug: &Debug<'_>) -> Option<String> {
    let source = debug.source().source?;
    (source != "=redis").then(|| source.into_owned())
}
