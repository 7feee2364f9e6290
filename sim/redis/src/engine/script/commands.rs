//! `redis.call` and `redis.pcall`: commands that scripts call.

use std::cell::{Cell, RefCell};
use std::mem;
use std::rc::Rc;

use super::convert::{self, Arguments};
use super::lua::{self, Lua, Returned, Value};
use super::{Access, error, memory, meter};
use crate::Imitated;
use crate::engine::command::{Call, Context, Table};
use crate::engine::execute;
use crate::engine::state::State;
use crate::engine::state::busy::{Busy, taken_us};
use crate::store::effects::Targets;
use crate::wire::reply::{Answer, Reply, Resp};

/// Gives the two functions access to their node. They are created once, because creating them
/// takes as long as running a short script, so a node lends its state for each run.
#[derive(Clone)]
pub(super) struct Commands {
    lent: Rc<RefCell<Lent>>,
}

struct Lent {
    table: Table,
    state: State,
    client: u64,
    wall_us: u64,
    access: Access,
    /// The running script, on a node that attends to other clients meanwhile.
    running: Option<Box<Busy>>,
}

impl Commands {
    /// Commands without a node.
    pub(super) fn new() -> Self {
        let lent = Lent {
            table: Table::EMPTY,
            state: State::new(0, Imitated::default()), // of no node; never used
            client: 0,
            wall_us: 0,
            access: Access::ReadOnly,
            running: None,
        };
        Commands {
            lent: Rc::new(RefCell::new(lent)),
        }
    }

    /// Until the loan ends, commands operate on the node of this call, for its client.
    pub(super) fn lend<'a, 'b>(
        &'a self,
        call: &'a mut Call<'b>,
        access: Access,
        running: Option<Box<Busy>>,
    ) -> Loan<'a, 'b> {
        let lent = &mut *self.lent.borrow_mut();
        lent.running = running;
        mem::swap(&mut lent.state, call.state);
        lent.table = call.table;
        lent.client = call.client;
        lent.wall_us = call.wall_us;
        lent.access = access;
        Loan {
            commands: self,
            db: lent.state.db.selected(),
            call,
        }
    }

    /// Sets where commands are propagated from here on.
    pub(super) fn set_targets(&self, targets: Targets) {
        self.lent.borrow_mut().state.db.effects.script_targets = targets;
    }

    /// `redis.call`, which raises errors. Scripts see replies in the protocol `resp`.
    pub(super) fn raising(&self, lua: &mut Lua, resp: Rc<Cell<Resp>>) -> Value {
        let commands = self.clone();
        lua::function(lua, move |lua| match commands.reply_to(lua)? {
            Ok(Reply::Error(error)) => Err(error::raise_of_command(lua, &error)),
            Ok(reply) => returned(lua, &reply, resp.get()),
            Err(error) => Err(error::raise(lua, &error)),
        })
    }

    /// `redis.pcall`, which returns errors.
    pub(super) fn protected(&self, lua: &mut Lua, resp: Rc<Cell<Resp>>) -> Value {
        let commands = self.clone();
        lua::function(lua, move |lua| match commands.reply_to(lua)? {
            Ok(reply) => returned(lua, &reply, resp.get()),
            Err(error) => {
                let table = error::table(lua, error.text())?;
                lua::result(lua, Value::Table(table))
            }
        })
    }

    /// The reply to a command, or the error of arguments that are none.
    fn reply_to(&self, lua: &mut Lua) -> lua::Result<Answer> {
        // The script's writes are kept for replicas and files until it ends.
        memory::afford(lua, self.lent.borrow().state.db.effects.bytes())?;
        let values = lua::arguments(lua);
        let given = values.len();
        let arguments = match Arguments::read(&values) {
            Ok(arguments) => arguments,
            Err(error) => {
                meter::count_command(lua, given, 0)?;
                return Ok(Err(error));
            }
        };
        let reply = self.call(&arguments, meter::instructions(lua));
        let size = convert::size(&reply);
        meter::count_command(lua, given + size.items, arguments.bytes() + size.bytes)?;
        Ok(Ok(reply))
    }

    /// Lets the node attend to its other clients, if the script has run for longer than
    /// `busy-reply-threshold`. Returns whether one of them has ended it.
    pub(super) fn attend(&self) -> bool {
        let lent = &mut *self.lent.borrow_mut();
        let state = &mut lent.state;
        let (Some(running), Some(clock)) = (&mut lent.running, &state.clock) else {
            return false;
        };
        let Some(mut attention) = state.attention.take_if(|attention| {
            attention.other_clients.is_process_ended()
                || clock().monotonic_us() >= running.answers_from_us
        }) else {
            return false;
        };
        let now = clock();
        state.clocks = state.clocks.map(|_| now);
        running.wrote = state.script_wrote;
        state.busy = lent.running.take().map(|running| *running);
        (attention.attend)(state, &mut attention, now.wall_us);
        lent.running = state.busy.take().map(Box::new);
        state.attention = Some(attention);
        let running = lent.running.as_ref();
        let attention = state.attention.as_ref();
        running.is_some_and(|running| running.ends_us.is_some())
            || state.shut_down.is_some()
            || attention.is_some_and(|it| it.other_clients.is_process_ended())
    }

    fn call(&self, arguments: &Arguments, instructions: u64) -> Reply {
        let lent = &mut *self.lent.borrow_mut();
        lent.state.script_us = taken_us(instructions);
        let mut call = Call {
            table: lent.table,
            state: &mut lent.state,
            client: lent.client,
            args: &arguments.as_slices(),
            wall_us: lent.wall_us,
            context: Context::Script,
        };
        execute::call_from_script(&mut call, lent.access)
    }
}

fn returned(lua: &mut Lua, reply: &Reply, resp: Resp) -> Returned {
    let value = convert::from_reply(lua, reply, resp)?;
    lua::result(lua, value)
}

/// The guard of a loan: commands have access to the node until it is dropped, also by a panic.
pub(super) struct Loan<'a, 'b> {
    commands: &'a Commands,
    /// The number of the selected database. A script that selects another does so for itself.
    db: usize,
    call: &'a mut Call<'b>,
}

impl Drop for Loan<'_, '_> {
    fn drop(&mut self) {
        let lent = &mut *self.commands.lent.borrow_mut();
        lent.running = None;
        mem::swap(&mut lent.state, self.call.state);
        self.call.state.script_us = 0;
        self.call.state.db.select(self.db);
    }
}
