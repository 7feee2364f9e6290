//! How many instructions a script has run, and the end of one that runs for too long.
//!
//! Instructions are what a node measures a script's time by, so their number has to be
//! the same in every run: the count begins anew with each script.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::debug::Debug;
use mlua::{HookTriggers, Lua, VmState};

use super::{Reading, api};

/// How often instructions are counted (`luaMaskCountHook` is called as often).
const INSTRUCTIONS_PER_COUNT: u32 = 100_000;

/// What counts a script's instructions.
#[derive(Clone, Default)]
pub(super) struct Meter(Rc<RefCell<Reading>>);

impl Meter {
    /// A script begins, which may run so many instructions. One that goes on ends with
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

    /// Whether the script was ended: what catches errors for it asks, and lets that one
    /// pass.
    pub(super) fn overrun(&self, lua: &Lua) -> mlua::Result<mlua::Function> {
        let reading = Rc::clone(&self.0);
        lua.create_function(move |_, ()| Ok(reading.borrow().overrun))
    }

    /// The script is over.
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

/// The name of the chunk that runs, if it is a script's and not the sandbox.
fn source_of_script(debug: &Debug<'_>) -> Option<String> {
    let source = debug.source().source?;
    (source != "=redis").then(|| source.into_owned())
}
