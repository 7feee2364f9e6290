//! Function libraries: FUNCTION LOAD creates them from a text, FCALL calls their functions.
//!
//! A function is a Lua closure, and the local variables of its library live as long as the library.
//! So each node has closures of its own, though all nodes of a thread share one interpreter. If the
//! interpreter had to be replaced, the library is run again, and its variables have their initial
//! values.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use locklab_vecmap::VecMap;

use super::flags::Flags;
use super::shebang;
use crate::engine::state::functions::{Callback, Closures, Function, Library};
use crate::wire::reply::Error;

/// A function as its library registers it.
pub(super) struct Registered {
    pub(super) description: Option<Bytes>,
    pub(super) flags: Flags,
    pub(super) callback: Callback,
}

impl Library {
    /// The library name that the text declares.
    ///
    /// # Errors
    ///
    /// The first line is not that of a Lua library.
    pub(in crate::engine) fn name_in(code: &[u8]) -> Result<Bytes, Error> {
        shebang::parse_library(code).map(|(name, _)| Bytes::from(name))
    }

    /// Runs a library's text, which registers its functions.
    ///
    /// # Errors
    ///
    /// Those of [`Library::name_in`]; or the text is not valid Lua, fails, or registers nothing.
    pub(in crate::engine) fn load(code: &[u8]) -> Result<Library, Error> {
        let (name, len) = shebang::parse_library(code)?;
        let code = Bytes::copy_from_slice(code);
        let text = code.slice(len..);
        let registered = super::with_engine(|engine| engine.load_library(&text))?;
        if registered.is_empty() {
            return Err(Error::of("ERR No functions registered"));
        }
        Ok(Library {
            name: Bytes::from(name),
            code,
            functions: functions(text, registered),
        })
    }
}

fn functions(code: Bytes, registered: VecMap<Bytes, Registered>) -> VecMap<Bytes, Function> {
    let mut callbacks = VecMap::new();
    let mut declared = Vec::new();
    for (name, function) in registered {
        callbacks.insert(name.clone(), function.callback);
        declared.push((name, function.description, function.flags));
    }
    let by_name = RefCell::new(callbacks);
    let closures = Rc::new(Closures { code, by_name });
    let function = |(name, description, flags)| {
        let closures = Rc::clone(&closures);
        let function = Function {
            description,
            flags,
            closures,
        };
        (name, function)
    };
    declared.into_iter().map(function).collect()
}
