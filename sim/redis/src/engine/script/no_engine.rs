//! Replaces the Lua interpreter if the crate is built without the feature `lua`.

use super::{Invocation, Reading};
use crate::engine::command::Call;
use crate::engine::state::Sha;
use crate::wire::reply::{Answer, Error};

/// The error of a script that is ended from outside: never used.
pub(super) const KILLED: &str = "";

/// An interpreter: never constructed.
pub(super) enum Engine {}

impl Engine {
    /// # Errors
    ///
    /// Always.
    pub(super) fn new() -> Result<Self, &'static str> {
        Err("build locklab-redis with its feature 'lua'")
    }

    pub(super) fn script(&mut self, _sha: &Sha, _body: &[u8]) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn run(
        &mut self,
        _call: &mut Call<'_>,
        _invocation: &Invocation<'_>,
    ) -> Result<(Answer, Reading), Error> {
        match *self {}
    }
}

/// The error of a script: never used.
pub(super) fn error_in(_sha: &Sha, text: &[u8], _position: Option<&str>) -> Error {
    Error::new(text.to_vec())
}
