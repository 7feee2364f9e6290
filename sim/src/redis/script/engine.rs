//! One Lua interpreter, its sandbox, and the scripts compiled in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::{ChunkMode, Function, Lua, LuaOptions, MultiValue, StdLib, Table, Value};

use super::convert::{self, Arguments};
use super::random::Rand48;
use super::shebang::{self, Shebang};
use super::{Access, Invocation, Sha};
use crate::redis::dispatch;
use crate::redis::reply::{Answer, Error};
use crate::redis::session::Session;
use crate::redis::table::Call;

/// Compiled scripts kept before all are dropped: far more than a run uses.
const MAX_SCRIPTS: usize = 1000;

pub(super) struct Engine {
    lua: Lua,
    environment: Table,
    /// Where scripts find KEYS and ARGV.
    globals: Table,
    /// Runs a compiled script: `run` of `sandbox.lua`.
    run: Function,
    scripts: BTreeMap<Sha, Script>,
    random: Rc<Cell<Rand48>>,
}

/// A compiled script.
#[derive(Clone)]
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
        let random = Rc::new(Cell::new(Rand48::seeded(0)));
        let sha1hex = lua.create_function(|lua, text: mlua::String| {
            lua.create_string(super::sha(&text.as_bytes()))
        })?;
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
        let (environment, globals, run) = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=redis")
            .call((sha1hex, random_unit, seed_random))?;
        Ok(Engine {
            lua,
            environment,
            globals,
            run,
            scripts: BTreeMap::new(),
            random,
        })
    }

    /// The compiled script, from the cache if it is there.
    pub(super) fn script(&mut self, sha: &Sha, body: &[u8]) -> Result<Script, Error> {
        if let Some(script) = self.scripts.get(sha) {
            return Ok(script.clone());
        }
        let Shebang { access, len } = shebang::parse(body)?;
        let function = self.compile(sha, &body[len..])?;
        if self.scripts.len() >= MAX_SCRIPTS {
            self.scripts.clear();
        }
        let script = Script { function, access };
        self.scripts.insert(*sha, script.clone());
        Ok(script)
    }

    /// `luaCreateFunction`: the script is the body of a function, which shows in
    /// what Lua says of its mistakes.
    fn compile(&self, sha: &Sha, body: &[u8]) -> Result<Function, Error> {
        let name = format!("f_{}", String::from_utf8_lossy(sha));
        let source = [b"function ", name.as_bytes(), b"() ", body, b"\nend"].concat();
        let broken = |what: &str, error: mlua::Error| {
            let text = match &error {
                mlua::Error::SyntaxError { message, .. } => message.clone(),
                other => other.to_string(),
            };
            Error::new(format!("ERR Error {what} script (new function): {text}"))
        };
        let defined_in = self
            .lua
            .create_table()
            .map_err(|error| broken("compiling", error))?;
        let definition = self
            .lua
            .load(source)
            .set_name("@user_script")
            .set_mode(ChunkMode::Text)
            .set_environment(defined_in.clone())
            .into_function()
            .map_err(|error| broken("compiling", error))?;
        let define = || {
            definition.call::<()>(())?;
            let function: Function = defined_in.get(name)?;
            function.set_environment(self.environment.clone())?;
            Ok(function)
        };
        define().map_err(|error| broken("running", error))
    }

    /// Runs a script and turns its value into a reply.
    pub(super) fn run(&mut self, call: &mut Call<'_>, invocation: &Invocation<'_>) -> Answer {
        let script = self.script(invocation.sha, invocation.body)?;
        let access = match invocation.access {
            Access::ReadWrite => script.access,
            Access::ReadOnly => Access::ReadOnly,
        };
        let interpreter = |error: mlua::Error| Error::new(format!("ERR Lua: {error}"));
        self.random.set(Rand48::seeded(0));
        self.set_global("KEYS", invocation.keys)
            .and_then(|()| self.set_global("ARGV", invocation.argv))
            .map_err(interpreter)?;
        let (ok, value, line) = self
            .call(call, &script.function, access)
            .map_err(interpreter)?;
        if ok {
            return Ok(convert::to_reply(&value));
        }
        let sha = String::from_utf8_lossy(invocation.sha);
        let text = convert::text(&value);
        Err(Error::new(match line {
            Some(line) => {
                let suffix = format!(" script: {sha}, on @user_script:{line}.");
                [text.as_slice(), suffix.as_bytes()].concat()
            }
            // Lua ran out of something as it handled an error.
            None if value.is_string() && !text.contains(&b' ') => text,
            None => {
                let prefix = format!("ERR Error running script {sha}, ");
                [prefix.as_bytes(), &text[..text.len().min(100)]].concat()
            }
        }))
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
        // A script is a client of its own.
        let mut session = Session::default();
        self.lua.scope(|scope| {
            let commands = scope.create_function_mut(|lua: &Lua, values: MultiValue| {
                let reply = match Arguments::read(lua, &values)? {
                    Err(error) => error.into(),
                    Ok(arguments) => {
                        let mut call = Call {
                            state: &mut *call.state,
                            session: &mut session,
                            args: &arguments.as_slices(),
                            wall_us: call.wall_us,
                        };
                        dispatch::call_from_script(&mut call, access)
                    }
                };
                convert::from_reply(lua, &reply)
            })?;
            self.run.call((script.clone(), commands))
        })
    }
}
