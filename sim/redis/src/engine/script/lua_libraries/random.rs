//! `math.random` and `math.randomseed`, which Redis replaces (`redis_math_random` of
//! `src/script_lua.c`).

use std::cell::Cell;
use std::rc::Rc;

use crate::engine::script::arguments::{self, Arguments};
use crate::engine::script::lua::{self, Lua, Value};
use crate::engine::script::random::Rand48;

/// `math.random([low,] [high])`: a number from this generator in [0, 1), or an integer in these
/// bounds, both included.
pub(in crate::engine::script) fn random(lua: &mut Lua, generator: &Rc<Cell<Rand48>>) -> Value {
    let stream = Rc::clone(generator);
    lua::function(lua, move |lua| {
        let mut generator = stream.get();
        let unit = generator.unit();
        stream.set(generator);
        let arguments = Arguments::of(lua);
        let (low, high) = match arguments.len() {
            0 => return lua::result(lua, lua::number(unit)),
            1 => (1, arguments.int(lua, 1)?),
            2 => (arguments.int(lua, 1)?, arguments.int(lua, 2)?),
            _ => return Err(arguments::error(lua, "wrong number of arguments")),
        };
        if low > high {
            return Err(arguments::bad(lua, arguments.len(), "interval is empty"));
        }
        let count = high.wrapping_sub(low).wrapping_add(1);
        let drawn = libm::floor(unit * f64::from(count)) + f64::from(low);
        lua::result(lua, lua::number(drawn))
    })
}

/// `math.randomseed(seed)`.
pub(in crate::engine::script) fn seed_random(lua: &mut Lua, generator: &Rc<Cell<Rand48>>) -> Value {
    let stream = Rc::clone(generator);
    lua::function(lua, move |lua| {
        let seed = Arguments::of(lua).int(lua, 1)?;
        stream.set(Rand48::seeded(seed));
        Ok(0)
    })
}
