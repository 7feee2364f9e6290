//! How many instructions a script has run, and the end of one that runs for too long.
//!
//! Instructions are what a node measures a script's time by, so their number has to be
//! the same in every run: the count begins anew with each script.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Debug, HookTriggers, Lua, VmState};

use super::api;

/// How often instructions are counted (`luaMaskCountHook` is called as often).
const INSTRUCTIONS_PER_COUNT: u32 = 100_000;

/// What counts a script's instructions.
#[derive(Clone, Default)]
pub(super) struct Meter(Rc<RefCell<Reading>>);

/// What the meter of a script shows.
#[derive(Clone, Default)]
pub(in crate::redis) struct Reading {
    /// The instructions so far, to the last count.
    pub(in crate::redis) instructions: u64,
    /// The source and the line where the script was at the last count.
    pub(in crate::redis) position: Option<String>,
    /// It ran for longer than it may, and was ended.
    pub(in crate::redis) overrun: bool,
}

impl Meter {
    /// A script begins, which may run so many instructions. One that goes on ends with
    /// the error `overrun`, which it cannot catch.
    pub(super) fn start(
        &self,
        lua: &Lua,
        most_instructions: u64,
        overrun: &'static str,
    ) -> mlua::Result<()> {
        *self.0.borrow_mut() = Reading::default();
        let reading = Rc::clone(&self.0);
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_COUNT);
        lua.set_global_hook(triggers, move |lua, debug| {
            let mut reading = reading.borrow_mut();
            reading.instructions += u64::from(INSTRUCTIONS_PER_COUNT);
            reading.note_position(debug);
            if reading.instructions <= most_instructions {
                return Ok(VmState::Continue);
            }
            reading.overrun = true;
            // From here on at every instruction: whatever catches the error gets the
            // next one.
            let every = HookTriggers::new().every_nth_instruction(1);
            lua.set_global_hook(every, move |_, debug| end_script(debug, overrun))?;
            end_script(debug, overrun)
        })
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

/// Raises the error, but in the functions of the sandbox: they take part in its way.
fn end_script(debug: &Debug<'_>, overrun: &'static str) -> mlua::Result<VmState> {
    match source_of_script(debug) {
        Some(_) => Err(api::raise_text(overrun)),
        None => Ok(VmState::Continue),
    }
}

/// The name of the chunk that runs, if it is a script's and not the sandbox.
fn source_of_script(debug: &Debug<'_>) -> Option<String> {
    let source = debug.source().source?;
    (source != "=redis").then(|| source.into_owned())
}
