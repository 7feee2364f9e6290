//! A program that `locklab new` writes, installed and run as its user is told.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The program, in a folder of its own that is deleted at the end.
pub struct Skeleton {
    /// The folder.
    pub folder: PathBuf,
    /// The commands that install it.
    pub install: String,
    /// The command of Locklab that uses it, without the program's name.
    pub run: String,
    within_s: &'static str,
}

impl Skeleton {
    /// Writes it with this option, `--drill` or `--attack`, in a language. Packages are to be had within so many seconds.
    ///
    /// # Panics
    ///
    /// If Locklab does not say how it is installed and run.
    pub fn new(locklab: &str, option: &str, language: &str, within_s: &'static str) -> Skeleton {
        let name = format!("skeleton{option}-{language}-{}", std::process::id());
        let mut new = Command::new(locklab);
        new.args(["new", &name, option, language]);
        let new = new.current_dir(std::env::temp_dir()).output();
        let said = String::from_utf8(new.expect("it starts").stdout).expect("it is text");
        let after = |start: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(start));
            line.unwrap_or_else(|| panic!("{said}")).to_owned()
        };
        Skeleton {
            folder: std::env::temp_dir().join(&name),
            install: after(&format!("Now: cd {name} && ")),
            run: after("Then: locklab "),
            within_s,
        }
    }

    /// Installs it.
    ///
    /// # Errors
    ///
    /// Why that cannot be done here, such as that there is no `installer`.
    pub fn install(&self, installer: &str) -> Result<(), String> {
        let found = self.shell(&format!("command -v {installer}"), self.within_s);
        if !found.status.success() {
            return Err(format!("there is no {installer}"));
        }
        let Skeleton {
            install, within_s, ..
        } = self;
        if !self.shell(install, within_s).status.success() {
            return Err(format!("`{install}` does not succeed within {within_s} s"));
        }
        Ok(())
    }

    /// Runs a line of a shell in its folder.
    ///
    /// # Panics
    ///
    /// If there is no shell.
    pub fn shell(&self, command: &str, within_s: &str) -> Output {
        let mut shell = Command::new("timeout");
        shell.args([within_s, "sh", "-c", command]);
        shell.current_dir(&self.folder).output().expect("it starts")
    }
}

impl Drop for Skeleton {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
