//! The function libraries of a node (`src/functions.c`).

use bytes::Bytes;

pub(super) use super::state::functions::{Functions, Library};
use crate::wire::reply::Error;

/// The handling of an existing library of the same name.
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
}
