//! One Lua interpreter, its sandbox, and the scripts compiled in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};

use super::commands::Commands;
use super::convert;
use super::flags::{Flags, ScriptFlag};
use super::library;
use super::meter::Meter;
use super::random::Rand48;
use super::register::{self, Loading};
use super::shebang::{self, Shebang};
use super::{Access, Invocation, Program, Reading, Sha};
use super::{api, lib};
use crate::engine::dispatch;
use crate::engine::table::Call;
use crate::wire::reply::{Answer, Error, Resp};

/// The number of compiled scripts after which all are dropped: far more than a run uses.
const MAX_SCRIPTS: usize = 1000;

/// A script that runs for longer is considered endless.
const MOST_INSTRUCTIONS: u64 = 60_000_000;
/// A library that runs for longer is not loaded: half a second (`LOAD_TIMEOUT_MS`) at the speed
/// of a node's scripts.
const MOST_INSTRUCTIONS_OF_LOAD: u64 = 5_000_000;
/// The memory limit of all scripts' values while one runs, in bytes. Redis is only limited by the
/// machine's memory.
const MAX_MEMORY_BYTES: usize = 256 << 20;

/// The error of a script that is ended from outside.
pub(super) const KILLED: &str = "ERR Script killed by user with SCRIPT KILL...";

/// A function of a library.
pub(super) type Callback = Function;

pub(super) struct Engine {
    lua: Lua,
    sandbox: Sandbox,
    scripts: BTreeMap<Sha, Rc<Script>>,
    /// The generator of the node whose script is running.
    random: Rc<Cell<Rand48>>,
    /// The protocol of the running script.
    resp: Rc<Cell<Resp>>,
    /// The commands available to `redis.call`.
    commands: Commands,
    meter: Meter,
    /// The functions that `redis.register_function` has registered.
    loading: Loading,
}

/// The values that `sandbox.lua` returns.
struct Sandbox {
    /// The globals of scripts.
    environment: Table,
    /// The globals of function libraries.
    library_environment: Table,
    /// Runs a compiled script.
    run: Function,
    /// Runs a function.
    call: Function,
    /// Runs a library's text.
    load: Function,
}

/// A compiled script.
pub(super) struct Script {
    function: Function,
    /// `None` unless the first line declares flags.
    flags: Option<Flags>,
}

/// The outcome of a script: whether it succeeded, its value or error, and the position of the
/// error.
type Outcome = (bool, Value, Option<String>);

impl Engine {
    pub(super) fn new() -> mlua::Result<Self> {
        // Every interpreter includes the basic functions and coroutines.
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        // Plain `pcall`: our functions do not panic, and `xpcall` has to run its handler at the
        // position of the error.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let random = Rc::new(Cell::new(Rand48::default()));
        let resp = Rc::new(Cell::new(Resp::V2));
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
        let commands = Commands::default();
        let visible = lua.create_function(api::visible)?;
        let meter = Meter::default();
        let overrun = meter.overrun(&lua)?;
        let loading = Loading::default();
        let register = register::register_function(&lua, Rc::clone(&loading))?;
        let (environment, library_environment, run, call, load) = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=redis")
            .call((
                api::functions(&lua, Rc::clone(&resp), &commands)?,
                lib::tables(&lua)?,
                random_unit,
                seed_random,
                visible,
                register,
                overrun,
            ))?;
        let sandbox = Sandbox {
            environment,
            library_environment,
            run,
            call,
            load,
        };
        Ok(Engine {
            lua,
            sandbox,
            scripts: BTreeMap::new(),
            random,
            resp,
            commands,
            meter,
            loading,
        })
    }

    /// The compiled script, from the cache if present.
    pub(super) fn script(&mut self, sha: &Sha, body: &[u8]) -> Result<Rc<Script>, Error> {
        if let Some(script) = self.scripts.get(sha) {
            return Ok(Rc::clone(script));
        }
        let Shebang { flags, len } = shebang::parse(body)?;
        let compiled = self.compile(&body[len..], "@user_script", &self.sandbox.environment);
        let function = compiled.map_err(|text| {
            Error::new(format!("ERR Error compiling script (new function): {text}"))
        })?;
        if self.scripts.len() >= MAX_SCRIPTS {
            self.scripts.clear();
        }
        let script = Rc::new(Script { function, flags });
        self.scripts.insert(*sha, Rc::clone(&script));
        Ok(script)
    }

    /// Runs the text of a library, and returns the functions that it registers.
    pub(super) fn load_library(
        &mut self,
        code: &[u8],
    ) -> Result<BTreeMap<Bytes, library::Function>, Error> {
        let chunk = self
            .compile(code, "@user_function", &self.sandbox.library_environment)
            .map_err(|text| Error::new(format!("ERR Error compiling function: {text}")))?;
        self.loading.replace(Some(BTreeMap::new()));
        let outcome = self
            .meter
            .start(
                &self.lua,
                MOST_INSTRUCTIONS_OF_LOAD,
                "ERR FUNCTION LOAD timeout",
            )
            .and_then(|()| self.limited(|| self.sandbox.load.call::<Outcome>(chunk)));
        self.meter.stop(&self.lua);
        let functions = self.loading.take().unwrap_or_default();
        let (ok, value, _) = outcome.map_err(interpreter_error)?;
        match ok {
            true => Ok(functions),
            false => {
                let text = [
                    b"ERR Error registering functions: ",
                    &convert::text(&value)[..],
                ];
                Err(Error::new(text.concat()))
            }
        }
    }

    fn compile(&self, body: &[u8], name: &str, environment: &Table) -> Result<Function, String> {
        self.lua
            .load(body)
            .set_name(name)
            .set_mode(ChunkMode::Text)
            .set_environment(environment.clone())
            .into_function()
            .map_err(|error| match &error {
                mlua::Error::SyntaxError { message, .. } => message.clone(),
                other => other.to_string(),
            })
    }

    /// Runs a script, and converts its value to a reply.
    pub(super) fn run(
        &mut self,
        call: &mut Call<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<(Answer, Reading), Error> {
        let script = match invocation.program {
            Program::Script { sha, body } => Some(self.script(sha, body)?),
            Program::Function { .. } => None,
        };
        let flags = match (&script, invocation.program) {
            (Some(script), _) => script.flags.as_ref(),
            (None, Program::Function { function, .. }) => Some(&function.flags),
            (None, Program::Script { .. }) => None,
        };
        dispatch::may_run(call, flags, invocation.access)?;
        let access = match flags {
            Some(flags) if flags.contains(&ScriptFlag::NoWrites) => Access::ReadOnly,
            _ => invocation.access,
        };
        self.random.set(call.state.random);
        self.resp.set(Resp::V2);
        let outcome = self
            .meter
            .start(&self.lua, MOST_INSTRUCTIONS, KILLED)
            .and_then(|()| match (&script, invocation.program) {
                (Some(script), _) => self.run_script(call, script, invocation, access),
                (None, program) => self.call_function(call, program, invocation, access),
            });
        let reading = self.meter.stop(&self.lua);
        call.state.random = self.random.get();
        let (ok, value, position) = outcome.map_err(interpreter_error)?;
        if ok {
            let reply = convert::to_reply(&value, self.resp.get());
            return Ok((Ok(reply), reading));
        }
        let text = convert::text(&value);
        let error = error_in(invocation.program.name(), &text, position.as_deref());
        Ok((Err(error), reading))
    }

    fn run_script(
        &self,
        call: &mut Call<'_>,
        script: &Script,
        invocation: &Invocation<'_>,
        access: Access,
    ) -> mlua::Result<Outcome> {
        let keys = self.strings(invocation.keys)?;
        let argv = self.strings(invocation.argv)?;
        self.with_commands(call, access, || {
            self.sandbox.run.call((&script.function, keys, argv))
        })
    }

    fn call_function(
        &self,
        call: &mut Call<'_>,
        program: Program<'_>,
        invocation: &Invocation<'_>,
        access: Access,
    ) -> mlua::Result<Outcome> {
        let Program::Function { function, .. } = program else {
            return Err(mlua::Error::runtime("a script is no function"));
        };
        let keys = self.strings(invocation.keys)?;
        let argv = self.strings(invocation.argv)?;
        self.with_commands(call, access, || {
            self.sandbox.call.call((&function.callback, keys, argv))
        })
    }

    fn strings(&self, values: &[&[u8]]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(values.len(), 0)?;
        for value in values {
            table.raw_push(self.lua.create_string(value)?)?;
        }
        Ok(table)
    }

    /// Runs Lua for this client.
    fn with_commands(
        &self,
        call: &mut Call<'_>,
        access: Access,
        work: impl FnOnce() -> mlua::Result<Outcome>,
    ) -> mlua::Result<Outcome> {
        self.commands.begin(call, access);
        let outcome = self.limited(work);
        self.commands.end(call);
        outcome
    }

    /// Runs Lua with a limit on its memory. The limit makes each of mlua's own steps a protected
    /// call, so it is set only where needed.
    fn limited<T>(&self, work: impl FnOnce() -> mlua::Result<T>) -> mlua::Result<T> {
        self.lua.set_memory_limit(MAX_MEMORY_BYTES)?;
        let outcome = work();
        self.lua.set_memory_limit(0)?;
        outcome
    }
}

/// The error of a script, with the script and the position that caused it.
pub(super) fn error_in(name: &[u8], text: &[u8], position: Option<&str>) -> Error {
    let mut text = text.to_vec();
    if let Some(position) = position {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(name);
        text.extend_from_slice(format!(", on {position}.").as_bytes());
    }
    Error::new(text)
}

fn interpreter_error(error: mlua::Error) -> Error {
    Error::new(format!("ERR Lua: {error}"))
}
