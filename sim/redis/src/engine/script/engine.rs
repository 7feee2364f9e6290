//! One Lua interpreter, its sandbox, and the scripts compiled in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use locklab_lua as _; // the interpreter behind mlua
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, RegistryKey, StdLib, Table, Value};

use super::commands::Commands;
use super::convert;
use super::flags::{Flags, ScriptFlag};
use super::meter::{Limit, Meter};
use super::random::Rand48;
use super::shebang::{self, Shebang};
use super::{Access, Invocation, Reading};
use super::{api, error, lua_libraries, memory, walk};
use crate::engine::command::Call;
use crate::engine::execute;
use crate::engine::state::Sha;
use crate::engine::state::busy::Busy;
use crate::wire::reply::{Answer, Error, Resp};

/// The number of compiled scripts after which all are dropped: far more than a run uses.
const MAX_SCRIPTS: usize = 1000;

/// A script that runs for longer is considered endless.
const MAX_INSTRUCTIONS: u64 = 60_000_000;

/// The error of a script that is ended from outside.
pub(super) const KILLED: &str = "ERR Script killed by user with SCRIPT KILL...";

/// The start of the text of an error that `__redis__err__handler` did not see.
const ERROR_RUNNING: &str = "ERR Error running script, ";

pub(super) struct Engine {
    lua: Lua,
    sandbox: Sandbox,
    scripts: BTreeMap<Sha, Script>,
    /// The generator of the node whose script is running.
    random: Rc<Cell<Rand48>>,
    /// The protocol of the running script.
    resp: Rc<Cell<Resp>>,
    /// The commands available to `redis.call`.
    commands: Commands,
    meter: Meter,
}

/// The values that `sandbox.lua` returns.
struct Sandbox {
    /// The globals of scripts.
    environment: Table,
    /// Runs a compiled script.
    run: Function,
}

/// A compiled script.
pub(super) struct Script {
    compiled: RegistryKey,
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
        walk::prepare(&lua)?;
        let random = Rc::new(Cell::new(Rand48::default()));
        let resp = Rc::new(Cell::new(Resp::V2));
        let meter = Meter::default();
        lua.set_app_data(meter.clone());
        let commands = Commands::new(&meter);
        let visible = lua.create_function(error::visible)?;
        let overrun = meter.overrun(&lua)?;
        let (environment, run) = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=redis")
            .call((
                api::functions(&lua, Rc::clone(&resp), &commands)?,
                lua_libraries::tables(&lua)?,
                lua_libraries::random(&lua, &random)?,
                lua_libraries::seed_random(&lua, &random)?,
                visible,
                overrun,
                lua.create_function(lua_libraries::no_such_name)?,
            ))?;
        let sandbox = Sandbox { environment, run };
        Ok(Engine {
            lua,
            sandbox,
            scripts: BTreeMap::new(),
            random,
            resp,
            commands,
            meter,
        })
    }

    /// The compiled script, from the cache if present.
    pub(super) fn script(&mut self, sha: &Sha, body: &[u8]) -> Result<&Script, Error> {
        if !self.scripts.contains_key(sha) {
            let script = self.new_script(body)?;
            if self.scripts.len() >= MAX_SCRIPTS {
                self.scripts.clear();
            }
            self.scripts.insert(*sha, script);
        }
        Ok(&self.scripts[sha])
    }

    fn new_script(&self, body: &[u8]) -> Result<Script, Error> {
        let Shebang { flags, len } = shebang::parse(body)?;
        let compiled = self.compile(&body[len..]);
        let compiled = compiled.map_err(|text| {
            Error::new(format!("ERR Error compiling script (new function): {text}"))
        })?;
        let compiled = self.lua.create_registry_value(compiled);
        Ok(Script {
            compiled: compiled.map_err(interpreter_error)?,
            flags,
        })
    }

    fn compile(&self, body: &[u8]) -> Result<Function, String> {
        let chunk = self.lua.load(body).set_name("@user_script");
        let chunk = chunk.set_mode(ChunkMode::Text);
        let chunk = chunk.set_environment(self.sandbox.environment.clone());
        self.limited(|| chunk.into_function())
            .map_err(|error| match error {
                mlua::Error::SyntaxError { message, .. } => message,
                mlua::Error::MemoryError(_) => memory::NOT_ENOUGH.to_owned(),
                other => other.to_string(),
            })
    }

    /// Runs a script, and converts its value to a reply.
    pub(super) fn run(
        &mut self,
        call: &mut Call<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<(Answer, Reading), Error> {
        let ran = self.run_program(call, invocation);
        self.tidy();
        ran
    }

    fn run_program(
        &mut self,
        call: &mut Call<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<(Answer, Reading), Error> {
        let script = self.script(invocation.sha, invocation.body)?;
        let flags = script.flags.as_ref();
        execute::may_run(call, flags, invocation.access)?;
        let access = match flags {
            Some(flags) if flags.contains(&ScriptFlag::NoWrites) => Access::ReadOnly,
            _ => invocation.access,
        };
        let compiled = &self.scripts[invocation.sha].compiled;
        let function: Function = self
            .lua
            .registry_value(compiled)
            .map_err(interpreter_error)?;
        self.random.set(call.state.random);
        self.resp.set(Resp::V2);
        let running = running(call);
        let limit = match running {
            Some(_) => {
                let commands = self.commands.clone();
                Limit::Clients(Rc::new(move || commands.attend()))
            }
            None => Limit::Instructions(MAX_INSTRUCTIONS),
        };
        let outcome = self.meter.start(&self.lua, limit, KILLED);
        let outcome = outcome.and_then(|()| {
            let keys = self.strings(invocation.keys)?;
            let argv = self.strings(invocation.argv)?;
            let loan = self.commands.lend(call, access, running);
            let outcome = self.limited(|| self.sandbox.run.call::<Outcome>((function, keys, argv)));
            drop(loan);
            outcome
        });
        let reading = self.meter.stop(&self.lua);
        call.state.random = self.random.get();
        let (ok, value, position) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Ok((Err(interpreter_error(error)), reading)),
        };
        if ok {
            let reply = convert::to_reply(&self.lua, &value, self.resp.get());
            return Ok((Ok(reply), reading));
        }
        let text = match &value {
            Value::String(text) if text.as_bytes().len() > convert::MAX_REPLY_BYTES => {
                b"ERR the script's error is too large for a reply".to_vec()
            }
            value => convert::text(value),
        };
        let error = error_in(invocation.sha, &text, position.as_deref());
        Ok((Err(error), reading))
    }

    /// Leaves room for the next script.
    fn tidy(&mut self) {
        self.lua.expire_registry_values();
        if self.lua.used_memory() < memory::COLLECT_FROM_BYTES {
            return;
        }
        let collected = self.lua.gc_collect();
        if (collected.is_err() || self.lua.used_memory() > memory::MAX_KEPT_BYTES)
            && let Ok(renewed) = Engine::new()
        {
            *self = renewed;
        }
    }

    /// A table of strings. It is made without the limit, which would cost more than most scripts
    /// do; so there has to be room for it.
    fn strings(&self, values: &[&[u8]]) -> mlua::Result<Table> {
        let bytes = values
            .iter()
            .map(|value| value.len() + memory::STRING_BYTES);
        memory::afford_before(&self.lua, bytes.sum())?;
        let table = self.lua.create_table_with_capacity(values.len(), 0)?;
        for value in values {
            table.raw_push(self.lua.create_string(value)?)?;
        }
        Ok(table)
    }

    /// Runs Lua with a limit on its memory. The limit makes each of mlua's own steps a protected
    /// call, so it is set only where needed.
    fn limited<T>(&self, work: impl FnOnce() -> mlua::Result<T>) -> mlua::Result<T> {
        self.lua.set_memory_limit(memory::MAX_BYTES)?;
        let outcome = work();
        self.lua.set_memory_limit(0)?;
        outcome
    }
}

/// The script for other clients, on a node that attends to them.
fn running(call: &Call<'_>) -> Option<Box<Busy>> {
    call.state.attention.as_ref()?;
    let threshold_us = call.state.config.busy_threshold_us();
    Some(Box::new(Busy {
        client: call.client,
        answers_from_us: call.wall_us.saturating_add(threshold_us),
        ends_us: None,
        wrote: false,
        // The interpreter raises it.
        killed: Error::of(KILLED),
        reply: (0, 0),
    }))
}

/// The error of a script, with the script and the position that caused it.
pub(super) fn error_in(sha: &Sha, text: &[u8], position: Option<&str>) -> Error {
    let mut text = text.to_vec();
    if let Some(position) = position {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(sha);
        text.extend_from_slice(format!(", on {position}.").as_bytes());
    }
    Error::new(text)
}

fn interpreter_error(error: mlua::Error) -> Error {
    match error {
        // The format of errors in Redis that did not pass its own handler.
        mlua::Error::MemoryError(_) => Error::new(format!("{ERROR_RUNNING}{}", memory::NOT_ENOUGH)),
        error => Error::new(format!("ERR Lua: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_engine;
    use crate::engine::{Effect, Node, NodeConfig};

    /// Gives the scripts of this thread's interpreter a function that panics.
    fn plant_panic() {
        let planted = with_engine(|engine| {
            let panics = |_: &mlua::Lua, (): ()| -> mlua::Result<()> { panic!("planted") };
            let panics = engine.lua.create_function(panics);
            let environment = &engine.sandbox.environment;
            let planted = panics.and_then(|panics| environment.raw_set("panics", panics));
            planted.map_err(super::interpreter_error)
        });
        assert_eq!(planted, Ok(()));
    }

    #[test]
    fn panic_fails_only_its_own_script() {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        let mut say = |line: &str| {
            let mut effects = Vec::new();
            node.receive(conn, format!("{line}\r\n").as_bytes(), 0, &mut effects);
            match &effects[..] {
                [Effect::Send { bytes, .. }] => String::from_utf8_lossy(bytes).into_owned(),
                other => panic!("{line}: {other:?}"),
            }
        };
        for script in [
            "panics()",
            "return pcall(panics)",
            "coroutine.wrap(function() panics() end)()",
        ] {
            plant_panic();
            let reply = say(&format!("EVAL \"redis.call('incr', 'k') {script}\" 0"));
            assert_eq!(
                reply,
                "-ERR Lua: the interpreter failed, and is renewed\r\n"
            );
            assert_eq!(say("EVAL \"return redis.call('get', 'k')\" 0").len(), 7);
        }
        assert_eq!(say("GET k"), "$1\r\n3\r\n");
    }
    #[test]
    fn arguments_are_counted_before_they_are_copied() {
        let engine = super::Engine::new().expect("an interpreter");
        let most = vec![0; super::memory::MAX_BYTES];
        assert!(engine.strings(&[&most[..1000]]).is_ok());
        assert!(engine.strings(&[&most]).is_err());
    }
}
