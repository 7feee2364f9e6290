//! `math.random` and `math.randomseed`, which Redis replaces (`redis_math_random` of
//! `src/script_lua.c`).

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue};

use super::arguments::Arguments;
use crate::engine::script::random::Rand48;

/// `math.random([low,] [high])`: a number from this generator in [0, 1), or an integer in these
/// bounds, both included.
pub(in crate::engine::script) fn random(
    lua: &Lua,
    generator: &Rc<Cell<Rand48>>,
) -> mlua::Result<Function> {
    let stream = Rc::clone(generator);
    lua.create_function(move |lua, values: MultiValue| {
        let mut generator = stream.get();
        let unit = generator.unit();
        stream.set(generator);
        let values = &values;
        let arguments = Arguments { lua, values };
        let (low, high) = match arguments.len() {
            0 => return Ok(unit),
            1 => (1, arguments.int(1)?),
            2 => (arguments.int(1)?, arguments.int(2)?),
            _ => return Err(arguments.error("wrong number of arguments")),
        };
        if low > high {
            return Err(arguments.bad(arguments.len(), "interval is empty"));
        }
        let count = high.wrapping_sub(low).wrapping_add(1);
        Ok(libm::floor(unit * f64::from(count)) + f64::from(low))
    })
}

/// `math.randomseed(seed)`.
pub(in crate::engine::script) fn seed_random(
    lua: &Lua,
    generator: &Rc<Cell<Rand48>>,
) -> mlua::Result<Function> {
    let stream = Rc::clone(generator);
    lua.create_function(move |lua, values: MultiValue| {
        let values = &values;
        let seed = Arguments { lua, values }.int(1)?;
        stream.set(Rand48::seeded(seed));
        Ok(())
    })
}
