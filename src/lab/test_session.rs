//! For unit tests: a session in a folder of its own.

use std::fs;

use super::{Format, Program, Session, Store};

/// A session in a folder of its own, which is removed at the end.
pub struct Bench(pub Session);

impl Bench {
    /// One whose folder is named after a test.
    pub fn new(test: &str) -> Self {
        let folder = format!("locklab-lab-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let store = Store::at(&folder, &Format::DEFAULT).expect("the folder can be written");
        Bench(Session::new(Program::running(), store, 1))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A leftover folder among temporary ones does no harm.
        let _ = fs::remove_dir_all(self.0.store.path(""));
    }
}
