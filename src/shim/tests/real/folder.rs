//! A folder for one test.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder with an installed library. Dropping this removes it.
pub struct Folder {
    path: PathBuf,
    pub library: PathBuf,
}

impl Folder {
    /// The folder of a test of this name.
    pub fn new(test: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("shim-{test}-{}-{count}", process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        let library = locklab_shim::install(&path).expect("the library is installed");
        Folder { path, library }
    }

    /// Compiles a file beside this one, with these further arguments, to a program or a library.
    pub fn compile(&self, source: &str, arguments: &[&str]) -> PathBuf {
        let name = Path::new(source).file_name().expect("a file");
        let compiled = self.join(&format!("{}.out", name.display()));
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
        let done = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
            .args([
                "-std=gnu99",
                "-pthread",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-o",
            ])
            .args([&compiled, &sources.join(source)])
            .args(arguments)
            .output()
            .expect("a C compiler, which compiled the library too");
        assert!(done.status.success(), "{done:?}");
        compiled
    }

    /// A path below.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
