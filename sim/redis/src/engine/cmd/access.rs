//! How commands reach a key's value: of the type they need, or WRONGTYPE.

use bytes::Bytes;

use crate::engine::table::Call;
use crate::store::changes::Class;
use crate::store::db::Entry;
use crate::store::value::{Kind, Value};
use crate::wire::reply::Error;

const WRONG_TYPE: Error =
    Error::of("WRONGTYPE Operation against a key holding the wrong kind of value");

impl Call<'_> {
    /// The value of a key, if there is one.
    ///
    /// # Errors
    ///
    /// WRONGTYPE.
    pub(in crate::engine) fn read<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&T>, Error> {
        let now_ms = self.now_ms();
        match self.state.db.get(key, now_ms) {
            None => Ok(None),
            Some(entry) => T::of(&entry.value).map(Some).ok_or(WRONG_TYPE),
        }
    }

    /// The value of a key for a change, if there is one. Whoever changes it says so
    /// with [`Call::changed`].
    ///
    /// # Errors
    ///
    /// WRONGTYPE.
    pub(in crate::engine) fn edit<T: Kind>(&mut self, key: &[u8]) -> Result<Option<&mut T>, Error> {
        let now_ms = self.now_ms();
        match self.state.db.get_mut(key, now_ms) {
            None => Ok(None),
            Some(value) => T::of_mut(value).map(Some).ok_or(WRONG_TYPE),
        }
    }

    /// As [`Call::edit`], with an empty collection where there is no key: the
    /// caller puts something into it.
    ///
    /// # Errors
    ///
    /// WRONGTYPE.
    pub(in crate::engine) fn edit_or_create<T: Kind>(
        &mut self,
        key: &[u8],
    ) -> Result<&mut T, Error> {
        let now_ms = self.now_ms();
        let value = self.state.db.get_or_insert(key, now_ms, T::empty);
        T::of_mut(value).ok_or(WRONG_TYPE)
    }

    /// A key's value changed in place; a collection that is empty now goes. Says
    /// whether it went.
    pub(in crate::engine) fn changed(&mut self, key: &[u8]) -> bool {
        self.state.db.changed(key)
    }

    /// As [`Call::changed`], by something that subscribers may hear of.
    pub(in crate::engine) fn changed_by(&mut self, class: Class, event: &'static str, key: &[u8]) {
        let gone = self.changed(key);
        self.notify(class, event, key);
        if gone {
            self.notify(Class::Generic, "del", key);
        }
    }

    /// As [`Call::changed_by`], for a command that tells what it took out, replies, and
    /// only then looks whether anything is left.
    pub(in crate::engine) fn drawn_by(&mut self, class: Class, event: &'static str, key: &[u8]) {
        self.notify(class, event, key);
        self.reply_goes_here();
        if self.state.db.remove_if_empty(key) {
            self.notify(Class::Generic, "del", key);
        }
        self.state.db.touch(key);
    }

    /// Sets a key to a string, without a time to live.
    pub(in crate::engine) fn set_string(&mut self, key: &[u8], text: impl Into<Bytes>) {
        let entry = Entry {
            value: Value::String(text.into()),
            expires_at_ms: None,
        };
        let now_ms = self.now_ms();
        self.state.db.set(key, entry, now_ms);
        self.notify(Class::String, "set", key);
    }
}
