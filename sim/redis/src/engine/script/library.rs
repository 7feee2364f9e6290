//! Function libraries: FUNCTION LOAD creates them from a text, FCALL calls their functions.
//!
//! A function is a Lua closure, and the local variables of its library live as long as the
//! library. So each node has closures of its own, though all nodes of a thread share one
//! interpreter.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::engine::Callback;
use super::flags::Flags;
use super::shebang;
use crate::wire::reply::Error;

/// A library's text and its functions.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Library {
    pub(in crate::engine) name: Bytes,
    /// The whole text, including its first line.
    pub(in crate::engine) code: Bytes,
    pub(in crate::engine) functions: BTreeMap<Bytes, Function>,
}

/// One function of a library.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Function {
    pub(in crate::engine) description: Option<Bytes>,
    pub(in crate::engine) flags: Flags,
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
        let functions = super::with_engine(|engine| engine.load_library(&code[len..]))?;
        if functions.is_empty() {
            return Err(Error::of("ERR No functions registered"));
        }
        Ok(Library {
            name: Bytes::from(name),
            code: Bytes::copy_from_slice(code),
            functions,
        })
    }
}
