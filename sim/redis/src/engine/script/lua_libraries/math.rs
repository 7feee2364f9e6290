//! Lua's library `math` (`lmathlib.c`), except for random numbers.

use std::f64::consts::PI;

use crate::engine::script::arguments::Arguments;
use crate::engine::script::lua::{self, Lua, Returned, Table};

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// The functions of one number.
const OF_ONE: &[(&str, OfOne)] = &[
    ("abs", f64::abs),
    ("acos", f64::acos),
    ("asin", f64::asin),
    ("atan", f64::atan),
    ("ceil", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("deg", |number| number / (PI / 180.0)),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("log", f64::ln),
    ("log10", f64::log10),
    ("rad", |number| number * (PI / 180.0)),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

/// The functions of two numbers, of which the second is looked at first.
const OF_TWO: &[(&str, OfTwo)] = &[
    ("atan2", f64::atan2),
    ("fmod", |number, divisor| number % divisor),
    ("mod", |number, divisor| number % divisor),
    ("pow", f64::powf),
];

/// The library.
pub(super) fn library(lua: &mut Lua) -> lua::Result<Table> {
    let library = lua::library(
        lua,
        &[
            ("frexp", frexp),
            ("ldexp", ldexp),
            ("max", |lua| most(lua, |one, other| one > other)),
            ("min", |lua| most(lua, |one, other| one < other)),
            ("modf", modf),
        ],
    )?;
    for (name, of) in OF_ONE {
        let function = lua::function(lua, |lua| {
            let number = Arguments::of(lua).number(lua, 1)?;
            lua::result(lua, lua::number(of(number)))
        });
        lua::set_field(lua, &library, name, function)?;
    }
    for (name, of) in OF_TWO {
        let function = lua::function(lua, |lua| {
            let arguments = Arguments::of(lua);
            let second = arguments.number(lua, 2)?;
            let first = arguments.number(lua, 1)?;
            lua::result(lua, lua::number(of(first, second)))
        });
        lua::set_field(lua, &library, name, function)?;
    }
    for (name, number) in [("huge", f64::INFINITY), ("pi", PI)] {
        lua::set_field(lua, &library, name, lua::number(number))?;
    }
    Ok(library)
}

fn frexp(lua: &mut Lua) -> Returned {
    let (mantissa, exponent) = libm::frexp(Arguments::of(lua).number(lua, 1)?);
    lua::results(lua, &[lua::number(mantissa), lua::number(exponent)])
}

fn ldexp(lua: &mut Lua) -> Returned {
    let arguments = Arguments::of(lua);
    let exponent = arguments.int(lua, 2)?;
    let mantissa = arguments.number(lua, 1)?;
    lua::result(lua, lua::number(libm::ldexp(mantissa, exponent)))
}

fn modf(lua: &mut Lua) -> Returned {
    let (fraction, whole) = libm::modf(Arguments::of(lua).number(lua, 1)?);
    lua::results(lua, &[lua::number(whole), lua::number(fraction)])
}

/// The number that all others do not exceed in this.
fn most(lua: &mut Lua, exceeds: fn(f64, f64) -> bool) -> Returned {
    let arguments = Arguments::of(lua);
    let mut most = arguments.number(lua, 1)?;
    for index in 2..=arguments.len() {
        let number = arguments.number(lua, index)?;
        if exceeds(number, most) {
            most = number;
        }
    }
    lua::result(lua, lua::number(most))
}
