//! The function libraries that a node has loaded.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use locklab_vecmap::VecMap;

use crate::engine::script::Flags;

/// A function of a library. Like a compiled script it is kept in Lua's registry: there may be more
/// of them than the values that Rust can hold.
#[cfg(feature = "lua")]
pub(in crate::engine) type Callback = mlua::RegistryKey;
/// A function of a library: there are none.
#[cfg(not(feature = "lua"))]
pub(in crate::engine) type Callback = std::convert::Infallible;

/// Every library, and every function by its name.
#[derive(Clone, Default)]
pub(in crate::engine) struct Functions {
    pub(in crate::engine) libraries: VecMap<Bytes, Library>,
    /// The library of each function, and its name there. Keys are in lower case.
    pub(in crate::engine) places: VecMap<Vec<u8>, (Bytes, Bytes)>,
}

impl Functions {
    /// FUNCTION DELETE: returns whether the library existed.
    pub(in crate::engine) fn delete(&mut self, name: &[u8]) -> bool {
        self.places.retain(|_, (library, _)| library != name);
        self.libraries.remove(name).is_some()
    }

    /// Finds a function by its name, ignoring case; also returns its name as registered.
    pub(in crate::engine) fn find(&self, name: &[u8]) -> Option<(&Bytes, &Function)> {
        let (library, name) = self.places.get(&name.to_ascii_lowercase())?;
        self.libraries.get(library)?.functions.get_key_value(name)
    }

    /// The libraries, sorted by name.
    pub(in crate::engine) fn libraries(&self) -> impl Iterator<Item = &Library> {
        self.libraries.values()
    }

    /// The texts of the libraries, sorted by name.
    pub(in crate::engine) fn codes(&self) -> impl Iterator<Item = &Bytes> {
        self.libraries().map(|library| &library.code)
    }

    /// The number of functions.
    pub(in crate::engine) fn len(&self) -> usize {
        self.places.len()
    }
}

/// A library's text and its functions.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Library {
    pub(in crate::engine) name: Bytes,
    /// The whole text, including its first line.
    pub(in crate::engine) code: Bytes,
    pub(in crate::engine) functions: VecMap<Bytes, Function>,
}

/// One function of a library.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Function {
    pub(in crate::engine) description: Option<Bytes>,
    pub(in crate::engine) flags: Flags,
    pub(in crate::engine) closures: Rc<Closures>,
}

/// The closures of a library's functions, which share its local variables.
#[derive(Debug)]
pub(in crate::engine) struct Closures {
    /// The text that makes them, without its first line.
    pub(in crate::engine) code: Bytes,
    pub(in crate::engine) by_name: RefCell<VecMap<Bytes, Callback>>,
}
