//! `table.sort` (`auxsort` of `ltablib.c`): it counts what it compares, and leaves values that are alike
//! in the order that they have in Redis.

use super::tables;
use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Returned, Table, Value};
use crate::engine::script::meter;

/// The values on Lua's stack, of as many parts as can be nested in a table.
const MOST_ON_STACK: i32 = 200;

/// `table.sort(table [, compare])`.
pub(super) fn sort(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let table = arguments.table(lua, 1)?;
    let compare = match arguments.value(2) {
        Value::Nil => None,
        _ => Some(arguments.function(lua, 2)?),
    };
    lua.check_stack(MOST_ON_STACK)?;
    let sorter = Sorter { table, compare };
    sorter.sort(lua, 1, table.getn() as i64)?;
    Ok(0)
}

struct Sorter {
    table: Table,
    compare: Option<Value>,
}

impl Sorter {
    fn sort(&self, lua: &mut Lua, mut low: i64, mut high: i64) -> lua::Result<()> {
        while low < high {
            self.order(lua, low, high)?;
            if high - low == 1 {
                return Ok(());
            }
            let middle = (low + high) / 2;
            if !self.order(lua, low, middle)? {
                self.order(lua, middle, high)?;
            }
            if high - low == 2 {
                return Ok(());
            }
            // It stays on the stack, as the function may take it out of the table.
            let pivot = self.get(middle);
            lua.push(pivot);
            self.swap(lua, middle, high - 1)?;
            let parted = self.part(lua, low, high, pivot)?;
            self.swap(lua, high - 1, parted)?;
            lua.pop();
            // The smaller part first: so few are nested.
            if parted - low < high - parted {
                self.sort(lua, low, parted - 1)?;
                low = parted + 1;
            } else {
                self.sort(lua, parted + 1, high)?;
                high = parted - 1;
            }
        }
        Ok(())
    }

    /// Moves what is less than the pivot to the front; returns where the pivot belongs.
    fn part(&self, lua: &mut Lua, low: i64, high: i64, pivot: Value) -> lua::Result<i64> {
        let (mut up, mut down) = (low, high - 1);
        loop {
            up += 1;
            while self.less(lua, self.get(up), pivot)? {
                if up > high {
                    return Err(invalid(lua));
                }
                up += 1;
            }
            down -= 1;
            while self.less(lua, pivot, self.get(down))? {
                if down < low {
                    return Err(invalid(lua));
                }
                down -= 1;
            }
            if down < up {
                return Ok(up);
            }
            self.swap(lua, up, down)?;
        }
    }

    /// Swaps two elements unless they are in order; returns whether it did.
    fn order(&self, lua: &mut Lua, low: i64, high: i64) -> lua::Result<bool> {
        let swaps = self.less(lua, self.get(high), self.get(low))?;
        if swaps {
            self.swap(lua, low, high)?;
        }
        Ok(swaps)
    }

    fn swap(&self, lua: &mut Lua, one: i64, other: i64) -> lua::Result<()> {
        let (first, second) = (self.get(one), self.get(other));
        tables::set(lua, &self.table, one, second)?;
        tables::set(lua, &self.table, other, first)
    }

    fn get(&self, index: i64) -> Value {
        self.table.get_int(index)
    }

    fn less(&self, lua: &mut Lua, one: Value, other: Value) -> lua::Result<bool> {
        meter::count(lua, 1)?;
        let Some(compare) = self.compare else {
            return lua.less_than(&one, &other);
        };
        lua::call(lua, &[compare, one, other], 1)?;
        Ok(lua.pop().is_truthy())
    }
}

fn invalid(lua: &mut Lua) -> lua_types::LuaError {
    arguments::error(lua, "invalid order function for sorting")
}
