//! The user for servers that refuse to run as root.

use nix::unistd::{User, geteuid};
use serde::{Deserialize, Serialize};

/// The user that Debian's package makes, and one that every system has.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// The one for servers that refuse to run as root; `None` if this process is not root's.
    pub(super) fn unprivileged() -> Option<Account> {
        if !geteuid().is_root() {
            return None;
        }
        let known = |name: &&str| User::from_name(name).ok().flatten();
        let user = USERS.iter().find_map(known)?;
        Some(Account {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        })
    }
}
