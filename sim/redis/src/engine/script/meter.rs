//! Counts the instructions of a script, and ends a script that runs for too long.
//!
//! A node measures a script's time in instructions, so their number has to be the same in every
//! run: the count starts at zero with each script, and a command counts as a number of
//! instructions. On a node that attends to its other clients while a script runs, they end it.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::debug::Debug;
use mlua::{HookTriggers, Lua, VmState};

use super::{Reading, error};
use crate::engine::state::busy::{INSTRUCTIONS_PER_COMMAND, INSTRUCTIONS_PER_LOOK};

/// The number of instructions per count (`luaMaskCountHook` is called as often).
const INSTRUCTIONS_PER_COUNT: u32 = 100_000;

/// The cost of each argument and of each element of the reply.
const INSTRUCTIONS_PER_ITEM: u64 = 10;

/// The bytes that a library function reads or writes as it counts one instruction: a copy of
/// memory is faster, the encoding of numbers slower.
const BYTES_PER_INSTRUCTION: usize = 8;

/// A value of a table takes as long as this many bytes.
const BYTES_PER_VALUE: usize = 64;

/// The bytes of arguments and replies per instruction: they are copied a few times.
const BYTES_OF_COMMAND_PER_INSTRUCTION: usize = 64;

/// The instruction counter of a script.
#[derive(Clone, Default)]
pub(super) struct Meter(Rc<RefCell<Count>>);

#[derive(Default)]
struct Count {
    reading: Reading,
    limit: Limit,
    /// The text of the error that ends a script beyond the limit.
    overrun: &'static str,
}

/// How long a script may run.
pub(super) enum Limit {
    /// By the number of instructions, which is the same in every run.
    Instructions(u64),
    /// Until this says that another client has ended it.
    Clients(Rc<dyn Fn() -> bool>),
}

impl Default for Limit {
    fn default() -> Self {
        Limit::Instructions(0)
    }
}

impl Meter {
    /// Starts to count for a script that may run this long. A longer one ends with the error
    /// `overrun`, which it cannot catch: see [`Meter::overrun`].
    pub(super) fn start(&self, lua: &Lua, limit: Limit, overrun: &'static str) -> mlua::Result<()> {
        let reading = Reading::default();
        *self.0.borrow_mut() = Count {
            reading,
            limit,
            overrun,
        };
        let meter = self.clone();
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_COUNT);
        lua.set_global_hook(triggers, move |_, debug| {
            meter.0.borrow_mut().reading.note_position(debug);
            meter.spend(INSTRUCTIONS_PER_COUNT.into())?;
            Ok(VmState::Continue)
        })
    }

    /// Counts a command with this many arguments, and elements of its reply, of so many bytes
    /// in all.
    ///
    /// # Errors
    ///
    /// The script has run for too long.
    pub(super) fn count_command(&self, items: usize, bytes: usize) -> mlua::Result<()> {
        let items = INSTRUCTIONS_PER_ITEM.saturating_mul(items as u64);
        let bytes = (bytes / BYTES_OF_COMMAND_PER_INSTRUCTION) as u64;
        let cost = INSTRUCTIONS_PER_COMMAND + bytes;
        self.spend(cost.saturating_add(items))
    }

    /// Counts a value of a table that a library function reads or makes.
    ///
    /// # Errors
    ///
    /// The script has run for too long.
    pub(super) fn count_value(lua: &Lua) -> mlua::Result<()> {
        Self::count_bytes(lua, BYTES_PER_VALUE)
    }

    /// Counts the bytes that a library function of this interpreter reads or writes. Lua counts
    /// a call of it as one instruction.
    ///
    /// # Errors
    ///
    /// The script has run for too long.
    pub(super) fn count_bytes(lua: &Lua, bytes: usize) -> mlua::Result<()> {
        match lua.app_data_ref::<Meter>() {
            Some(meter) => meter.spend((bytes / BYTES_PER_INSTRUCTION) as u64),
            None => Ok(()),
        }
    }

    /// The instructions counted so far.
    pub(super) fn instructions(&self) -> u64 {
        self.0.borrow().reading.instructions
    }

    /// Whether the script was ended. Code that catches errors for a script checks this, and does
    /// not catch that one.
    pub(super) fn overrun(&self, lua: &Lua) -> mlua::Result<mlua::Function> {
        let count = Rc::clone(&self.0);
        lua.create_function(move |_, ()| Ok(count.borrow().reading.overrun))
    }

    /// Stops counting: the script is over.
    pub(super) fn stop(&self, lua: &Lua) -> Reading {
        lua.remove_global_hook();
        self.0.take().reading
    }

    fn spend(&self, instructions: u64) -> mlua::Result<()> {
        let mut count = self.0.borrow_mut();
        let before = count.reading.instructions;
        let now = before.saturating_add(instructions);
        count.reading.instructions = now;
        let attend = match &count.limit {
            Limit::Instructions(most) if now > *most => None,
            Limit::Instructions(_) => return Ok(()),
            Limit::Clients(attend) => Some(Rc::clone(attend)),
        };
        drop(count);
        let is_time_to_look = now / INSTRUCTIONS_PER_LOOK > before / INSTRUCTIONS_PER_LOOK;
        if let Some(attend) = attend
            && !(is_time_to_look && attend())
        {
            return Ok(());
        }
        let mut count = self.0.borrow_mut();
        count.reading.overrun = true;
        Err(error::raise_text(count.overrun))
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
