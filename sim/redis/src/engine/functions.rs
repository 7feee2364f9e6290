//! The libraries of functions that a node has (`src/functions.c`).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::script::{Function, Library};
use crate::wire::reply::Error;

/// Every library, and every function by its name.
#[derive(Clone, Default)]
pub(super) struct Functions {
    libraries: BTreeMap<Bytes, Library>,
    /// In which library a function is, and as what: its name is the same in any case.
    places: BTreeMap<Vec<u8>, (Bytes, Bytes)>,
}

/// What becomes of a library with a name that there is already.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Collision {
    Refuse,
    Replace,
}

impl Functions {
    /// FUNCTION LOAD: the name of the new library. If it fails, nothing is changed.
    ///
    /// # Errors
    ///
    /// The text is no library, or a name in it is taken.
    pub(super) fn load(&mut self, code: &[u8], collision: Collision) -> Result<Bytes, Error> {
        let name = Library::name_in(code)?;
        if collision == Collision::Refuse && self.libraries.contains_key(&name) {
            return Err(Error::new(
                [b"ERR Library '", &name[..], b"' already exists"].concat(),
            ));
        }
        let library = Library::load(code)?;
        let taken = |function: &&Bytes| {
            let place = self.places.get(&function.to_ascii_lowercase());
            place.is_some_and(|(library, _)| *library != name)
        };
        if let Some(function) = library.functions.keys().find(taken) {
            return Err(Error::new(
                [b"ERR Function ", &function[..], b" already exists"].concat(),
            ));
        }
        self.delete(&name);
        for function in library.functions.keys() {
            let place = self.places.entry(function.to_ascii_lowercase());
            place.or_insert_with(|| (name.clone(), function.clone()));
        }
        self.libraries.insert(name.clone(), library);
        Ok(name)
    }

    /// The libraries of a snapshot.
    ///
    /// # Errors
    ///
    /// One of them is no library, or a name in it is taken.
    pub(super) fn of(codes: &[Bytes]) -> Result<Self, Error> {
        Functions::default().with_all(codes, Collision::Refuse)
    }

    /// FUNCTION RESTORE: these functions and more.
    ///
    /// # Errors
    ///
    /// One of them is no library, or a name in it is taken.
    pub(super) fn with_all(mut self, codes: &[Bytes], collision: Collision) -> Result<Self, Error> {
        for code in codes {
            let name = Library::name_in(code)?;
            if collision == Collision::Refuse && self.libraries.contains_key(&name) {
                let text = [b"ERR Library ", &name[..], b" already exists"].concat();
                return Err(Error::new(text));
            }
            self.load(code, collision)?;
        }
        Ok(self)
    }

    /// FUNCTION DELETE: whether there was such a library.
    pub(super) fn delete(&mut self, name: &[u8]) -> bool {
        self.places.retain(|_, (library, _)| library != name);
        self.libraries.remove(name).is_some()
    }

    /// A function by its name, in any case, and the name that it was given.
    pub(super) fn find(&self, name: &[u8]) -> Option<(&Bytes, &Function)> {
        let (library, name) = self.places.get(&name.to_ascii_lowercase())?;
        self.libraries.get(library)?.functions.get_key_value(name)
    }

    /// The libraries, by name.
    pub(super) fn libraries(&self) -> impl Iterator<Item = &Library> {
        self.libraries.values()
    }

    /// The texts of the libraries, by name.
    pub(super) fn codes(&self) -> impl Iterator<Item = &Bytes> {
        self.libraries().map(|library| &library.code)
    }

    /// How many functions there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}
