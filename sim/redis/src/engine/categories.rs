//! The ACL categories of commands that do not follow from their flags (`src/acl.c`).

/// A category of commands, for COMMAND LIST.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Category {
    /// `admin`, of a command without that flag.
    Administration,
    Connection,
    /// `dangerous`, of a command without the flag of `admin`.
    Dangerous,
    Hash,
    Keyspace,
    List,
    Scripting,
    Set,
    SortedSet,
    /// `string`.
    Text,
    Transaction,
}

impl Category {
    /// The name in lower case.
    pub(super) fn name(self) -> &'static str {
        match self {
            Category::Administration => "admin",
            Category::Connection => "connection",
            Category::Dangerous => "dangerous",
            Category::Hash => "hash",
            Category::Keyspace => "keyspace",
            Category::List => "list",
            Category::Scripting => "scripting",
            Category::Set => "set",
            Category::SortedSet => "sortedset",
            Category::Text => "string",
            Category::Transaction => "transaction",
        }
    }
}
