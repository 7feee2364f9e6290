//! Libraries of functions: what FUNCTION LOAD makes of a text, and what FCALL finds in it.
//!
//! A function is a Lua closure, and what its library keeps in local variables lives as
//! long as the library. So each node has closures of its own, though all nodes of a thread
//! share one interpreter.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::engine::Callback;
use super::flags::Flags;
use super::shebang;
use crate::wire::reply::Error;

/// A text with functions, and these.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Library {
    pub(in crate::engine) name: Bytes,
    /// All of it, its first line included.
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
    /// The name that a library's text gives itself.
    ///
    /// # Errors
    ///
    /// Its first line is not that of a library in Lua.
    pub(in crate::engine) fn name_in(code: &[u8]) -> Result<Bytes, Error> {
        shebang::parse_library(code).map(|(name, _)| Bytes::from(name))
    }

    /// Runs a library's text, which registers its functions.
    ///
    /// # Errors
    ///
    /// As [`Library::name_in`]; or it is no Lua, fails, or registers nothing.
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
