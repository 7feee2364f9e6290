//! Access to a key's value: of the required type, or WRONGTYPE.

use bytes::Bytes;

use crate::Imitated;
use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::store::db::Overdue;
use crate::store::keyspace::Entry;
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

    /// The value of a key for modification, if there is one. The caller reports the change with
    /// [`Call::changed`].
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

    /// Like [`Call::edit`], but creates an empty collection if the key is missing: the caller has
    /// to add an element.
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

    /// Reports that a key's value was changed in place; deletes a collection that is empty now.
    /// Returns whether it was deleted.
    pub(in crate::engine) fn changed(&mut self, key: &[u8]) -> bool {
        self.state.db.changed(key)
    }

    /// Like [`Call::changed`], with a keyspace notification.
    pub(in crate::engine) fn changed_by(&mut self, class: Class, event: &'static str, key: &[u8]) {
        let gone = self.changed(key);
        self.notify(class, event, key);
        if gone {
            self.notify(Class::Generic, "del", key);
        }
    }

    /// Like [`Call::changed_by`], for a command that leaves no collection empty.
    pub(in crate::engine) fn filled_by(&mut self, class: Class, event: &'static str, key: &[u8]) {
        self.state.db.touch(key);
        self.notify(class, event, key);
    }

    /// Whether a time to live that is over deletes its key at once: not on a replica (`checkAlreadyExpired`).
    pub(in crate::engine) fn deletes_at_once(&self, until_ms: i64) -> bool {
        let deletes = matches!(self.state.db.overdue, Overdue::Delete | Overdue::Hide);
        until_ms <= self.live_ms() && deletes
    }

    /// Deletes a key that was given a time which is over, if it exists. For Valkey it has expired.
    pub(in crate::engine) fn delete_at_once(&mut self, key: &[u8]) {
        let now_ms = self.now_ms();
        if self.state.db.remove(key, now_ms).is_none() {
            return;
        }
        match self.state.imitated {
            Imitated::Valkey9_0 => {
                self.state.db.expired_keys += 1;
                self.notify(Class::Expired, "expired", key);
            }
            _ => self.notify(Class::Generic, "del", key),
        }
        self.propagate_as(&[b"DEL", key]);
    }

    /// Sets a key to a string, without a time to live.
    pub(in crate::engine) fn set_string(&mut self, key: &[u8], text: impl Into<Bytes>) {
        let entry = Entry::new(Value::String(text.into()), None);
        let now_ms = self.now_ms();
        self.state.db.set(key, entry, now_ms);
        self.notify(Class::String, "set", key);
    }
}
