//! Tables and results of any size, a few values at a time.
//!
//! mlua keeps each value that Rust holds in one of some 8,000 slots, and a thread's interpreter
//! has no more. So nothing here or in the libraries holds the elements of a table.

use mlua::{Function, IntoLua, Lua, Table, Value, Variadic};

/// The name in the registry under which the interpreter keeps Lua's `next`.
const NEXT: &str = "next";

/// The most slots of Lua's stack that one C function may use (`LUAI_MAXCSTACK`).
pub(super) const MAX_SLOTS: usize = 8000;

/// Keeps what [`Pairs`] needs, before anything can replace it.
pub(super) fn prepare(lua: &Lua) -> mlua::Result<()> {
    let next: Function = lua.globals().get(NEXT)?;
    lua.set_named_registry_value(NEXT, next)
}

/// Walks through tables, in Lua's order of iteration. Unlike mlua's iterator it does not borrow
/// the table, so a walk through nested tables can be a stack of these.
pub(super) struct Pairs {
    next: Function,
    table: Table,
    /// The key of the last pair.
    key: Value,
}

impl Pairs {
    pub(super) fn of(lua: &Lua, table: Table) -> mlua::Result<Self> {
        Ok(Pairs {
            next: lua.named_registry_value(NEXT)?,
            table,
            key: Value::Nil,
        })
    }

    pub(super) fn next(&mut self) -> mlua::Result<Option<(Value, Value)>> {
        let (key, value) = self.next.call::<(Value, Value)>((&self.table, &self.key))?;
        self.key = key.clone();
        Ok((!key.is_nil()).then_some((key, value)))
    }
}

/// The results of a function, any number of them, which stay in Lua.
pub(super) struct Results {
    table: Table,
    count: usize,
}

impl Results {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Self> {
        let table = lua.create_table()?;
        Ok(Results { table, count: 0 })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, value: Value) -> mlua::Result<()> {
        self.count += 1;
        self.table.raw_set(self.count, value)
    }

    /// The results for Lua, in their order, after those of `first`.
    pub(super) fn after(self, first: Option<i64>) -> Variadic<Returned> {
        let first = first.map(Returned::Number).into_iter();
        let table = self.table;
        let rest = (1..=self.count).map(|index| Returned::In(table.clone(), index));
        first.chain(rest).collect()
    }
}

/// One result, fetched when it is passed on.
pub(super) enum Returned {
    Number(i64),
    In(Table, usize),
}

impl IntoLua for Returned {
    fn into_lua(self, _: &Lua) -> mlua::Result<Value> {
        match self {
            Returned::Number(number) => Ok(Value::Integer(number)),
            Returned::In(table, index) => table.raw_get(index),
        }
    }
}
