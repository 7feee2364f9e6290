//! One Lua interpreter, its sandbox, and the scripts compiled in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use lua_gc::HeapGuard;
use lua_types::{LuaError, LuaStatus};
use lua_vm::api;
use lua_vm::state::ExternalRootKey;
use omnilua::{HostHooks, LuaRuntime, LuaVersion};

use super::commands::Commands;
use super::flags::{Flags, ScriptFlag};
use super::lua::{self, Lua, Table, Value, before_zero};
use super::meter::{self, Ended, Limit};
use super::random::Rand48;
use super::shebang::{self, Shebang};
use super::{Access, Invocation, Reading};
use super::{brief, convert, error, lua_libraries, memory};
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
const KILLED: &str = "ERR Script killed by user with SCRIPT KILL...";

/// The start of the text of an error that `__redis__err__handler` did not see.
const ERROR_RUNNING: &str = "ERR Error running script, ";

pub(super) struct Engine {
    lua: LuaRuntime,
    /// The table of the scripts' globals, which their environment keeps.
    globals: Table,
    /// [`error::handle`] and [`error::parts`].
    handle_error: Value,
    error_parts: Value,
    scripts: BTreeMap<Sha, Script>,
    /// The generator of the node whose script is running.
    random: Rc<Cell<Rand48>>,
    /// The protocol of the running script.
    resp: Rc<Cell<Resp>>,
    /// The commands available to `redis.call`.
    commands: Commands,
}

/// A compiled script.
pub(super) struct Script {
    compiled: ExternalRootKey,
    is_brief: bool,
    /// `None` unless the first line declares flags.
    flags: Option<Flags>,
}

/// The value of a script, or the [`error::parts`] of its error.
type Outcome = Result<Value, [Value; 3]>;

impl Engine {
    pub(super) fn new() -> Result<Self, omnilua::Error> {
        let mut lua = LuaRuntime::with_hooks_versioned(HostHooks::default(), LuaVersion::V51)?;
        let state = lua.state_mut();
        let _heap = heap(state);
        let random = Rc::new(Cell::new(Rand48::default()));
        let resp = Rc::new(Cell::new(Resp::V2));
        let commands = Commands::new();
        let redis = super::api::functions(state, &resp, &commands)?;
        let globals = lua_libraries::install(state, redis, &random)?;
        let handle_error = lua::function(state, error::handle);
        lua::set_field(state, &globals, "__redis__err__handler", handle_error)?;
        let error_parts = lua::function(state, error::parts);
        Ok(Engine {
            lua,
            globals,
            handle_error,
            error_parts,
            scripts: BTreeMap::new(),
            random,
            resp,
            commands,
        })
    }

    /// The compiled script, from the cache if present.
    pub(super) fn script(&mut self, sha: &Sha, body: &[u8]) -> Result<&Script, Error> {
        if !self.scripts.contains_key(sha) {
            let script = self.new_script(body)?;
            if self.scripts.len() >= MAX_SCRIPTS {
                for script in std::mem::take(&mut self.scripts).into_values() {
                    self.lua.state_mut().external_unroot_value(script.compiled);
                }
            }
            self.scripts.insert(*sha, script);
        }
        Ok(&self.scripts[sha])
    }

    fn new_script(&mut self, body: &[u8]) -> Result<Script, Error> {
        let Shebang { flags, len } = shebang::parse(body)?;
        let lua = self.lua.state_mut();
        let _heap = heap(lua);
        let compiled = compile(lua, &body[len..], b"@user_script").map_err(|text| {
            let why = b"ERR Error compiling script (new function): ";
            Error::new([&why[..], &text].concat())
        })?;
        Ok(Script {
            is_brief: brief::is_brief(compiled),
            compiled: lua.external_root_value(compiled),
            flags,
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
        let (flags, compiled, is_brief) = (script.flags.as_ref(), script.compiled, script.is_brief);
        execute::may_run(call, flags, invocation.access)?;
        let access = match flags {
            Some(flags) if flags.contains(&ScriptFlag::NoWrites) => Access::ReadOnly,
            _ => invocation.access,
        };
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
        let lua = self.lua.state_mut();
        let _heap = heap(lua);
        meter::start(lua, limit);
        if !is_brief {
            meter::follow(lua);
        }
        let loan = self.commands.lend(call, access, running);
        let handlers = [self.handle_error, self.error_parts];
        let outcome = outcome(lua, &self.globals, handlers, compiled, invocation);
        drop(loan);
        let ended = meter::ended(lua);
        let reading = meter::stop(lua);
        call.state.random = self.random.get();
        let answer = match (ended, outcome) {
            (Some(Ended::Memory), _) | (None, Err(LuaError::Memory)) => {
                // The format of errors in Redis that did not pass its own handler.
                Err(Error::new(format!("{ERROR_RUNNING}{}", memory::NOT_ENOUGH)))
            }
            (Some(Ended::Killed), _) => Err(killed(invocation.sha, &reading)),
            (None, Err(error)) => Err(Error::new(format!(
                "{ERROR_RUNNING}{}",
                error.message_lossy()
            ))),
            (None, Ok(Ok(value))) => Ok(convert::to_reply(lua, value, self.resp.get())),
            (None, Ok(Err(parts))) => Err(error_of(invocation.sha, parts)),
        };
        Ok((answer, reading))
    }

    /// Leaves room for the next script.
    fn tidy(&mut self) {
        let lua = self.lua.state_mut();
        if memory::used(lua) < memory::COLLECT_FROM_BYTES {
            return;
        }
        lua.gc().full_collect();
        if memory::used(lua) > memory::MAX_KEPT_BYTES
            && let Ok(renewed) = Engine::new()
        {
            *self = renewed;
        }
    }
}

/// Makes the heap of this interpreter that of the thread, until it is dropped.
fn heap(lua: &Lua) -> HeapGuard {
    HeapGuard::push(&lua.global().heap)
}

/// Compiles a text; or the error that says why that fails.
fn compile(lua: &mut Lua, text: &[u8], name: &[u8]) -> Result<Value, Vec<u8>> {
    let mut text = Some(text.to_vec());
    let reader = Box::new(move |_: &mut Lua| Ok(text.take()));
    let status = api::load(lua, reader, Some(name), Some(b"t"));
    match (status, lua.pop()) {
        (Ok(LuaStatus::Ok), function) => Ok(function),
        (_, error) => Err(lua::text(error)),
    }
}

/// Calls a function with these arguments, which follow it; the handler gets its errors, unless it is nil.
fn call<const RESULTS: usize>(
    lua: &mut Lua,
    handler: Value,
    values: &[Value],
) -> Result<[Value; RESULTS], LuaError> {
    let top = lua.top_idx();
    lua.push(handler);
    for value in values {
        lua.push(*value);
    }
    let handler = match handler {
        Value::Nil => 0,
        _ => -1 - values.len() as i32,
    };
    let arguments = values.len() as i32 - 1;
    let called = api::pcall_k(lua, arguments, RESULTS as i32, handler, 0, None);
    let mut results = [Value::Nil; RESULTS];
    if called.is_ok() {
        for result in results.iter_mut().rev() {
            *result = lua.pop();
        }
    }
    lua.set_top_idx(top);
    called.map(|_| results)
}

/// Runs a compiled script.
///
/// # Errors
///
/// It was ended, or failed in a way that it could not handle.
fn outcome(
    lua: &mut Lua,
    globals: &Table,
    [handle_error, error_parts]: [Value; 2],
    compiled: ExternalRootKey,
    invocation: &Invocation<'_>,
) -> Result<Outcome, LuaError> {
    let compiled = lua.external_rooted_value(compiled).unwrap_or(Value::Nil);
    for (name, values) in [("KEYS", invocation.keys), ("ARGV", invocation.argv)] {
        let values = strings(lua, values)?;
        lua::set_field(lua, globals, name, values)?;
    }
    match call(lua, handle_error, &[compiled]) {
        Ok([value]) => Ok(Ok(value)),
        Err(LuaError::Runtime(error @ Value::Table(_))) => {
            Ok(Err(call(lua, Value::Nil, &[error_parts, error])?))
        }
        Err(error) => Err(error),
    }
}

/// A table of strings.
///
/// # Errors
///
/// There is no room.
fn strings(lua: &mut Lua, values: &[&[u8]]) -> Result<Value, LuaError> {
    let bytes = values
        .iter()
        .map(|value| value.len() + memory::STRING_BYTES);
    memory::afford(lua, bytes.sum()).map_err(|_| LuaError::Memory)?;
    let table = lua::table(lua, values.len())?;
    for (index, value) in values.iter().enumerate() {
        let value = lua::string(lua, value)?;
        lua::set_index(lua, &table, index + 1, value)?;
    }
    Ok(Value::Table(table))
}

/// The script for other clients, on a node that attends to them.
fn running(call: &Call<'_>) -> Option<Box<Busy>> {
    call.state.attention.as_ref()?;
    let threshold_us = call.state.config.busy_threshold_us();
    Some(Box::new(Busy {
        client: call.client,
        answers_from_us: call
            .state
            .process_us(call.wall_us)
            .saturating_add(threshold_us),
        ends_us: None,
        wrote: false,
        // The interpreter raises it.
        killed: Error::of(KILLED),
        reply: (0, 0),
    }))
}

/// The error of a script that has these parts.
fn error_of(sha: &Sha, parts: [Value; 3]) -> Error {
    let text = |value| match value {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => {
            Some(before_zero(&lua::text(value)).to_vec())
        }
        _ => None,
    };
    let position = match (text(parts[1]), text(parts[2])) {
        (Some(source), Some(line)) => Some([source, line].join(&b':')),
        _ => None,
    };
    let error = match text(parts[0]) {
        Some(text) if text.len() > convert::MAX_REPLY_BYTES => {
            b"ERR the script's error is too large for a reply".to_vec()
        }
        Some(text) => text,
        // Here 7.0.15 crashes; later versions say this.
        None => b"ERR unknown error".to_vec(),
    };
    error_in(sha, error, position.as_deref())
}

/// The error of a script, with the script and the position that caused it.
fn error_in(sha: &Sha, mut text: Vec<u8>, position: Option<&[u8]>) -> Error {
    if let Some(position) = position {
        text = [&text[..], b" script: ", &sha[..], b", on ", position, b"."].concat();
    }
    Error::new(text)
}

/// The error of a script that was ended, at its last known position.
pub(super) fn killed(sha: &Sha, reading: &Reading) -> Error {
    let position = reading.position.as_deref().map(str::as_bytes);
    error_in(sha, KILLED.into(), position)
}

#[cfg(test)]
mod tests {
    use super::super::with_engine;
    use super::*;
    use crate::engine::{Effect, Node, NodeConfig};

    /// Gives the scripts of this thread's interpreter a function that panics.
    fn plant_panic() {
        let planted = with_engine(|engine| {
            let lua = engine.lua.state_mut();
            let _heap = heap(lua);
            let panics = lua::function(lua, |_| panic!("planted"));
            let environment = lua.v51_thread_lgt(lua.global().main_thread_id);
            let Value::Table(environment) = environment else {
                panic!("{environment:?}");
            };
            lua::set_field(lua, &environment, "panics", panics).map_err(|_| Error::of("ERR"))
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
        let mut engine = Engine::new().expect("an interpreter");
        let lua = engine.lua.state_mut();
        let _heap = heap(lua);
        let most = vec![0; memory::MAX_BYTES];
        assert!(strings(lua, &[&most[..1000]]).is_ok());
        assert!(strings(lua, &[&most]).is_err());
    }
}
