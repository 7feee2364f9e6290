//! Installs each artefact in an empty environment, and tries it there; and the packages of `fixtures` with them.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, id};

use anyhow::{Context, Result, ensure};

use super::{VERSION, name};
use crate::tool::{is_on_path, perform, works};

/// Uses the program that is installed.
const TRIAL: &str = include_str!("trial.sh");

/// How an artefact is installed.
struct Installation {
    what: &'static str,
    /// The program that installs.
    by: &'static str,
    /// Lines of a shell that make the environment, in an empty folder where `target/dist` has the artefacts.
    before: &'static str,
    /// What the README says.
    line: &'static str,
    /// The line that is tried in its stead, where that one would change the machine.
    instead: Option<&'static str>,
    /// Where the program and its pages are then; `$NAME` is the name of the tar.gz.
    bin: &'static str,
    share: &'static str,
}

const INSTALLATIONS: [Installation; 4] = [
    Installation {
        what: "tar.gz",
        by: "tar",
        before: "",
        line: "tar -xzf target/dist/locklab-*-linux.tar.gz",
        instead: None,
        bin: "$NAME/bin",
        share: "$NAME/share",
    },
    Installation {
        what: "wheel",
        by: "python3",
        before: "python3 -m venv venv; PATH=$PWD/venv/bin:$PATH; export PIP_QUIET=1 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1",
        line: "pip install target/dist/locklab-*.whl",
        instead: None,
        bin: "venv/bin",
        share: "venv/share",
    },
    Installation {
        what: "npm package",
        by: "npm",
        before: "export npm_config_offline=true npm_config_loglevel=silent",
        line: "npm install ./target/dist/locklab-*.tgz",
        instead: None,
        bin: "node_modules/.bin",
        share: "node_modules/locklab/share",
    },
    Installation {
        what: "Debian package",
        by: "dpkg",
        before: "mkdir -p var/lib/dpkg/info var/lib/dpkg/updates; : >var/lib/dpkg/status",
        line: "apt-get install ./target/dist/locklab_*.deb",
        instead: Some(
            "dpkg --root=\"$PWD\" --force-not-root,bad-path --log=/dev/null --install target/dist/locklab_*.deb",
        ),
        bin: "usr/bin",
        share: "usr/share",
    },
];

/// A package for a test framework, tried with the program of an artefact and a library of others.
struct Fixture {
    /// Its folder in `fixtures`, of which the shell has a copy as `fixture`.
    name: &'static str,
    /// The programs that it needs.
    by: &'static [&'static str],
    /// Lines that install it; they need registries.
    installs: &'static str,
    /// Lines that run its tests.
    tests: &'static str,
}

const FIXTURES: [Fixture; 4] = [
    Fixture {
        name: "python",
        by: &["python3"],
        installs:
            "python3 -m venv venv
            venv/bin/pip install -q target/dist/locklab-*.whl ./fixture -r fixture/requirements.txt",
        tests: "PATH=$PWD/venv/bin:$PATH; cd fixture; pytest -p no:cacheprovider tests",
    },
    Fixture {
        name: "node",
        by: &["node", "npm"],
        installs: "npm install --silent ./target/dist/locklab-*.tgz; npm install --silent --no-save --prefix fixture",
        tests: "PATH=$PWD/node_modules/.bin:$PATH; cd fixture; npm test",
    },
    Fixture {
        name: "go",
        by: &["go"],
        installs: "tar -xzf target/dist/locklab-*-linux.tar.gz; go -C fixture/redsync mod download",
        tests: "PATH=$PWD/$NAME/bin:$PATH; cd fixture; go test .; go -C redsync test .",
    },
    Fixture {
        name: "java",
        by: &["java", "mvn"],
        installs: "tar -xzf target/dist/locklab-*-linux.tar.gz
            mvn -q -B -f fixture test-compile; mvn -q -B -f fixture surefire:help",
        tests: "PATH=$PWD/$NAME/bin:$PATH; mvn -B -f fixture test",
    },
];

/// The steps of the Containerfile with a folder as the root, as an engine does them. The image has no other file.
const CONTAINER: &str = r#"
archive=$(sed -n 's/^ADD \(.*\) .*/\1/p' target/dist/Containerfile)
folder=$(sed -n 's/^ADD .* //p' target/dist/Containerfile)
program=$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]/\1/p' target/dist/Containerfile)
mkdir -p "root$folder" root/proc
tar -xzf "target/dist/$archive" -C "root$folder"
$UNSHARE --root=root --mount-proc=/proc "$program" run kleppmann/k1 --out /results >told 2>&1 || { cat told; exit 1; }
ls root/results/kleppmann-k1/*.csv >told
"#;

/// Tries all artefacts in this folder; what is needed and missing is named.
/// Fails with the first that does not work.
pub fn run(out: &Path) -> Result<()> {
    let scratch = env::temp_dir().join(format!("locklab-trial-{}", id()));
    let tried = INSTALLATIONS
        .iter()
        .try_for_each(|it| it.tried(out, &scratch));
    let tried = tried.and_then(|()| container(out, &scratch));
    let tried = tried.and_then(|()| {
        let mut fixtures = FIXTURES.iter();
        fixtures.try_for_each(|it| it.tried(out, &scratch))
    });
    let _ = fs::remove_dir_all(&scratch);
    tried
}

impl Installation {
    fn tried(&self, out: &Path, scratch: &Path) -> Result<()> {
        let what = self.what;
        if !is_on_path(self.by) {
            println!("skipped: the {what}, since there is no {}", self.by);
            return Ok(());
        }
        let folder = scratch.join(what.replace(' ', "-"));
        let of = |path: &str| folder.join(path.replace("$NAME", &name()));
        let lines = format!("{}\n{}", self.before, self.instead.unwrap_or(self.line));
        perform(shell(&lines, out, &folder)?).with_context(|| format!("install the {what}"))?;
        let (bin, share) = (of(self.bin), of(self.share));
        let mut trial = shell(TRIAL, out, &folder.join("trial"))?;
        let path = env::var("PATH").context("there is a PATH")?;
        trial.env("PATH", format!("{}:{path}", bin.display()));
        trial.env("SHARE", share);
        let status = trial.status().context("start a shell")?;
        ensure!(
            status.success(),
            "the {what} does not work where it is installed"
        );
        println!("the {what}: installed, and it works");
        Ok(())
    }
}

impl Fixture {
    fn tried(&self, out: &Path, scratch: &Path) -> Result<()> {
        let name = self.name;
        if let Some(missing) = self.by.iter().find(|by| !is_on_path(by)) {
            println!("skipped: fixtures/{name}, since there is no {missing}");
            return Ok(());
        }
        let folder = scratch.join("fixtures").join(name);
        // Where registries are is said by the environment and by the home.
        let shell = |lines: &str| -> Result<Command> {
            let mut shell = in_folder(lines, out, &folder)?;
            shell.env_remove("LOCKLAB").env("NAME", super::name());
            Ok(shell)
        };
        super::copied(&Path::new("fixtures").join(name), &folder.join("fixture"))?;
        if !works(shell(self.installs)?) {
            println!("skipped: fixtures/{name}, since what it needs cannot be had");
            return Ok(());
        }
        let tests = shell(self.tests)?.output().context("start a shell")?;
        let told = String::from_utf8_lossy(&tests.stdout);
        ensure!(tests.status.success(), "fixtures/{name}: {told}");
        println!("fixtures/{name}: its tests pass with the program as it is installed");
        Ok(())
    }
}

/// In a folder that has nothing but what the Containerfile puts there.
fn container(out: &Path, scratch: &Path) -> Result<()> {
    let folder = scratch.join("container");
    if !works(shell("$UNSHARE --mount-proc true", out, &folder)?) {
        println!(
            "skipped: the Containerfile, since another root needs unshare, and namespaces of users"
        );
        return Ok(());
    }
    let status = shell(CONTAINER, out, &folder)?.status()?;
    ensure!(
        status.success(),
        "the program does not work in its container"
    );
    println!("the steps of the Containerfile: done in a folder, and the program works there");
    Ok(())
}

/// Lines of a shell in this folder, which is made. It has the artefacts where the README has them.
fn in_folder(lines: &str, out: &Path, folder: &Path) -> Result<Command> {
    let dist = folder.join("target/dist");
    if !dist.exists() {
        fs::create_dir_all(folder.join("target"))?;
        symlink(out, &dist)?;
    }
    let mut shell = Command::new("sh");
    shell.args(["-euc", lines]).current_dir(folder);
    Ok(shell)
}

/// The same in an empty environment, in which the folder is the home.
fn shell(lines: &str, out: &Path, folder: &Path) -> Result<Command> {
    let mut shell = in_folder(lines, out, folder)?;
    let path = env::var_os("PATH").unwrap_or_default();
    shell.env_clear().env("PATH", path).env("HOME", folder);
    shell.env("VERSION", VERSION);
    shell.env("UNSHARE", "unshare --map-root-user --mount --pid --fork");
    Ok(shell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_says_what_is_tried() {
        let readme = fs::read_to_string("../README.md").expect("it is there");
        for it in INSTALLATIONS {
            let line = format!("`{}`", it.line);
            assert!(readme.contains(&line), "{}: {line}", it.what);
        }
    }
}
