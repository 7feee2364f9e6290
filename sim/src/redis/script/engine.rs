//! One Lua interpreter, its sandbox, and the scripts compiled in it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::{
    ChunkMode, Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState,
};

use super::api;
use super::convert::{self, Arguments};
use super::lib;
use super::random::Rand48;
use super::shebang::{self, Shebang};
use super::{Access, Invocation, Sha};
use crate::redis::dispatch;
use crate::redis::reply::{Answer, Error, Reply, Resp};
use crate::redis::table::{Call, Context};

/// Compiled scripts kept before all are dropped: far more than a run uses.
const MAX_SCRIPTS: usize = 1000;

/// A script that runs for longer is taken to have no end. (Redis lets it run on,
/// and after five seconds lets others kill it. Here no time passes meanwhile.)
const MAX_INSTRUCTIONS: u32 = 100_000_000;
/// The most that all scripts' values take while one runs, in bytes. In Redis only the
/// machine's memory limits them.
const MAX_MEMORY_BYTES: usize = 256 << 20;
/// How often instructions are counted.
const INSTRUCTIONS_PER_COUNT: u32 = 1_000_000;

pub(super) struct Engine {
    lua: Lua,
    environment: Table,
    /// Where scripts find KEYS and ARGV.
    globals: Table,
    /// Runs a compiled script: `run` of `sandbox.lua`.
    run: Function,
    scripts: BTreeMap<Sha, Rc<Script>>,
    /// The generator of the node whose script is running.
    random: Rc<Cell<Rand48>>,
    /// The protocol that the script that is running speaks.
    resp: Rc<Cell<Resp>>,
    /// What the script that is running has run, to the last count.
    instructions: Rc<Cell<u32>>,
}

/// A compiled script.
pub(super) struct Script {
    function: Function,
    access: Access,
}

impl Engine {
    pub(super) fn new() -> mlua::Result<Self> {
        // The basic functions and coroutines come with every interpreter.
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        // Plain `pcall`: our functions do not panic, and `xpcall` has to run its
        // handler where the error is.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let random = Rc::new(Cell::new(Rand48::default()));
        let resp = Rc::new(Cell::new(Resp::V2));
        let instructions = Rc::new(Cell::new(0));
        limit_instructions(&lua, Rc::clone(&instructions))?;
        let stream = Rc::clone(&random);
        let random_unit = lua.create_function(move |_, ()| {
            let mut generator = stream.get();
            let unit = generator.unit();
            stream.set(generator);
            Ok(unit)
        })?;
        let stream = Rc::clone(&random);
        let seed_random = lua.create_function(move |_, seed: f64| {
            stream.set(Rand48::seeded(seed as i32));
            Ok(())
        })?;
        let visible = lua.create_function(api::visible)?;
        let (environment, globals, run) = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=redis")
            .call((
                api::functions(&lua, Rc::clone(&resp))?,
                lib::tables(&lua)?,
                random_unit,
                seed_random,
                visible,
            ))?;
        Ok(Engine {
            lua,
            environment,
            globals,
            run,
            scripts: BTreeMap::new(),
            random,
            resp,
            instructions,
        })
    }

    /// The compiled script, from the cache if it is there.
    pub(super) fn script(&mut self, sha: &Sha, body: &[u8]) -> Result<Rc<Script>, Error> {
        if let Some(script) = self.scripts.get(sha) {
            return Ok(Rc::clone(script));
        }
        let Shebang { access, len } = shebang::parse(body)?;
        let function = self.compile(&body[len..])?;
        if self.scripts.len() >= MAX_SCRIPTS {
            self.scripts.clear();
        }
        let script = Rc::new(Script { function, access });
        self.scripts.insert(*sha, Rc::clone(&script));
        Ok(script)
    }

    fn compile(&self, body: &[u8]) -> Result<Function, Error> {
        self.lua
            .load(body)
            .set_name("@user_script")
            .set_mode(ChunkMode::Text)
            .set_environment(self.environment.clone())
            .into_function()
            .map_err(|error| {
                let text = match &error {
                    mlua::Error::SyntaxError { message, .. } => message.clone(),
                    other => other.to_string(),
                };
                Error::new(format!("ERR Error compiling script (new function): {text}"))
            })
    }

    /// Runs a script and turns its value into a reply.
    pub(super) fn run(&mut self, call: &mut Call<'_>, invocation: &Invocation<'_>) -> Answer {
        let script = self.script(invocation.sha, invocation.body)?;
        let access = match invocation.access {
            Access::ReadWrite => script.access,
            Access::ReadOnly => Access::ReadOnly,
        };
        let interpreter = |error: mlua::Error| Error::new(format!("ERR Lua: {error}"));
        self.set_global("KEYS", invocation.keys)
            .and_then(|()| self.set_global("ARGV", invocation.argv))
            .map_err(interpreter)?;
        self.random.set(call.state.random);
        self.resp.set(Resp::V2);
        self.instructions.set(0);
        let outcome = self.call(call, &script.function, access);
        call.state.random = self.random.get();
        let (ok, value, position) = outcome.map_err(interpreter)?;
        if ok {
            return Ok(convert::to_reply(&value, self.resp.get()));
        }
        let mut text = convert::text(&value);
        if let Some(position) = position {
            let sha = String::from_utf8_lossy(invocation.sha);
            text.extend_from_slice(format!(" script: {sha}, on {position}.").as_bytes());
        }
        Err(Error::new(text))
    }

    fn set_global(&self, name: &str, values: &[&[u8]]) -> mlua::Result<()> {
        let table = self.lua.create_table_with_capacity(values.len(), 0)?;
        for value in values {
            table.raw_push(self.lua.create_string(value)?)?;
        }
        self.globals.raw_set(name, table)
    }

    fn call(
        &self,
        call: &mut Call<'_>,
        script: &Function,
        access: Access,
    ) -> mlua::Result<(bool, Value, Option<String>)> {
        let state = RefCell::new(&mut *call.state);
        let reply_to = |lua: &Lua, values: &MultiValue| -> mlua::Result<Reply> {
            let arguments = match Arguments::read(lua, values)? {
                Ok(arguments) => arguments,
                Err(error) => return Ok(Reply::Error(error)),
            };
            let mut call = Call {
                state: &mut state.borrow_mut(),
                client: call.client,
                args: &arguments.as_slices(),
                wall_us: call.wall_us,
                context: Context::Script,
            };
            Ok(dispatch::call_from_script(&mut call, access))
        };
        self.lua.scope(|scope| {
            let raising =
                scope.create_function(|lua: &Lua, values: MultiValue| {
                    match reply_to(lua, &values)? {
                        Reply::Error(error) => Err(api::raise(error)),
                        reply => convert::from_reply(lua, &reply, self.resp.get()),
                    }
                })?;
            let protected = scope.create_function(|lua: &Lua, values: MultiValue| {
                convert::from_reply(lua, &reply_to(lua, &values)?, self.resp.get())
            })?;
            // With a limit each of mlua's own steps is a protected call, so there is one
            // only while it matters.
            self.lua.set_memory_limit(MAX_MEMORY_BYTES)?;
            let outcome = self.run.call((script, raising, protected));
            self.lua.set_memory_limit(0)?;
            outcome
        })
    }
}

fn limit_instructions(lua: &Lua, instructions: Rc<Cell<u32>>) -> mlua::Result<()> {
    let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_COUNT);
    lua.set_global_hook(triggers, move |_, _| {
        instructions.set(instructions.get().saturating_add(INSTRUCTIONS_PER_COUNT));
        if instructions.get() <= MAX_INSTRUCTIONS {
            return Ok(VmState::Continue);
        }
        Err(api::raise(Error::of(
            "ERR Script killed by the node: it ran for more than 100 million instructions",
        )))
    })
}
