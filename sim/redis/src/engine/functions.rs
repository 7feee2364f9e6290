//! The function libraries of a node (`src/functions.c`).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::script::{Function, Library};
use crate::wire::reply::Error;

/// Every library, and every function by its name.
#[derive(Clone, Default)]
pub(super) struct Functions {
    libraries: BTreeMap<Bytes, Library>,
    /// The library of each function, and its name there. Keys are in lower case.
    places: BTreeMap<Vec<u8>, (Bytes, Bytes)>,
}

/// What to do if a library of the same name exists.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Collision {
    Refuse,
    Replace,
}

impl Functions {
    /// FUNCTION LOAD: returns the name of the new library. A failure changes nothing.
    ///
    /// # Errors
    ///
    /// The text is not a valid library, or a name in it is taken.
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

    /// Loads the libraries of a snapshot.
    ///
    /// # Errors
    ///
    /// One of them is not a valid library, or a name in it is taken.
    pub(super) fn of(codes: &[Bytes]) -> Result<Self, Error> {
        Functions::default().with_all(codes, Collision::Refuse)
    }

    /// FUNCTION RESTORE: adds these functions.
    ///
    /// # Errors
    ///
    /// One of them is not a valid library, or a name in it is taken.
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

    /// FUNCTION DELETE: returns whether the library existed.
    pub(super) fn delete(&mut self, name: &[u8]) -> bool {
        self.places.retain(|_, (library, _)| library != name);
        self.libraries.remove(name).is_some()
    }

    /// Finds a function by its name, ignoring case; also returns its name as registered.
    pub(super) fn find(&self, name: &[u8]) -> Option<(&Bytes, &Function)> {
        let (library, name) = self.places.get(&name.to_ascii_lowercase())?;
        self.libraries.get(library)?.functions.get_key_value(name)
    }

    /// The libraries, sorted by name.
    pub(super) fn libraries(&self) -> impl Iterator<Item = &Library> {
        self.libraries.values()
    }

    /// The texts of the libraries, sorted by name.
    pub(super) fn codes(&self) -> impl Iterator<Item = &Bytes> {
        self.libraries().map(|library| &library.code)
    }

    /// The number of functions.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}
