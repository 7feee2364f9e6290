//! What can be installed without a compiler of Rust: one program, linked statically, as a tar.gz, a wheel, an npm package and
//! a Debian package, with a Containerfile, a bill of materials and checksums. Made again from the same commit by the same
//! tools, they have the same bytes.

use std::env;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;

use crate::tool::{
    cargo, files_below, git, has_target, install, is_on_path, perform, said, unnamed,
};

mod sbom;
mod trial;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMS: &str = "SHA256SUMS";
const ABOUT: &str = "A laboratory for distributed locks on Redis";

/// What a package holds beside program, pages and completions.
const TEXTS: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Where each shell looks for completions, below `share/`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/locklab"),
    ("fish", "fish/vendor_completions.d/locklab.fish"),
    ("zsh", "zsh/site-functions/_locklab"),
];

/// C of the allocator is compiled for musl.
const MUSL: [&str; 4] = [
    "apt-get update",
    "apt-get install --yes musl-tools",
    "dnf install --assumeyes musl-gcc",
    "apk add musl-dev",
];

/// The options of the chore.
#[derive(Args)]
pub struct Options {
    /// The folder of the artefacts
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// Pack this program, and build none
    #[arg(long, value_name = "FILE", conflicts_with = "twice")]
    program: Option<PathBuf>,
    /// Install each artefact in an empty environment, and try it there
    #[arg(long)]
    test: bool,
    /// Build the program once more in another folder, and compare the two
    #[arg(long)]
    twice: bool,
}

/// Builds the program, and makes the artefacts.
/// Fails if the program cannot be linked statically, something cannot be made again with the same bytes, or does not work
/// where it is installed.
pub fn run(options: &Options) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "the artefacts are for Linux");
    let target = target()?;
    let program = match &options.program {
        Some(program) => absolute(program)?,
        None => built(Path::new(""), Path::new("target"), &target)?,
    };
    if options.twice {
        same_elsewhere(&program, &target)?;
    }
    let out = absolute(&options.out)?;
    make(&program, &target, &out)?;
    for file in files_below(&out)? {
        let bytes = out.join(&file).metadata()?.len();
        println!("  {bytes:>9}  {}", options.out.join(file).display());
    }
    if options.test {
        same_again(&program, &target, &out)?;
        trial::run(&out)?;
    }
    Ok(())
}

/// musl, which is linked statically as a whole. Where it cannot be had, glibc, which is nearly so.
fn target() -> Result<String> {
    let musl = format!("{ARCH}-unknown-linux-musl");
    let is_there = || is_on_path("musl-gcc") || cfg!(target_env = "musl");
    if has_target(&musl)? && (is_there() || install(&MUSL).is_ok() && is_there()) {
        return Ok(musl);
    }
    println!("linked with glibc, for want of musl-gcc or of `rustup target add {musl}`");
    Ok(format!("{ARCH}-unknown-linux-gnu"))
}

/// Builds the program from the sources in this folder. It names no folder of this machine.
fn built(sources: &Path, target_folder: &Path, target: &str) -> Result<PathBuf> {
    let target_folder = absolute(target_folder)?;
    let here = env::current_dir()?.join(sources);
    let line = "build --locked --profile fast --package locklab --bin locklab --target";
    let mut build = cargo(&format!("{line} {target}"));
    build.arg("--target-dir").arg(&target_folder);
    build.current_dir(&here);
    let folders = [&*here, &*target_folder];
    let unnamed_rust = unnamed("--remap-path-prefix", &folders)?;
    let flags = format!("-C target-feature=+crt-static {unnamed_rust}");
    build.env("RUSTFLAGS", flags);
    build.env("CFLAGS", unnamed("-ffile-prefix-map", &folders)?);
    // `locklab new` would offer the sources in this folder.
    build.env("LOCKLAB_SOURCES", ".");
    let mut describe = Command::new("git");
    describe.arg("-C").arg(&here);
    let commit = said(describe.args(["describe", "--always", "--dirty", "--abbrev=12"]))?;
    build.env("LOCKLAB_COMMIT", commit.trim());
    // mimalloc says when it was compiled.
    let mut time = Command::new("git");
    time.arg("-C").arg(&here);
    let time = said(time.args(["log", "-1", "--format=%ct"]))?;
    build.env("SOURCE_DATE_EPOCH", time.trim());
    perform(build)?;
    Ok(target_folder.join(target).join("fast/locklab"))
}

/// Builds the last commit in another folder.
fn same_elsewhere(program: &Path, target: &str) -> Result<()> {
    let clone = env::temp_dir().join(format!("locklab-dist-{}", std::process::id()));
    let path = clone.to_string_lossy();
    git(&["clone", "--quiet", ".", &path])?;
    let again = built(&clone, &clone.join("target"), target).and_then(|it| Ok(fs::read(it)?));
    fs::remove_dir_all(&clone)?;
    let (again, first) = (again?, fs::read(program)?);
    if again != first {
        let kept = program.with_extension("elsewhere");
        fs::write(&kept, &again)?;
        let differs = { again.iter().zip(&first) }.position(|(one, other)| one != other);
        bail!(
            "the last commit gives another program in another folder: from byte {} on; see {}",
            differs.unwrap_or(again.len().min(first.len())),
            kept.display()
        );
    }
    println!("the program: the same bytes in another folder");
    Ok(())
}

/// Makes the artefacts once more from the same program.
fn same_again(program: &Path, target: &str, out: &Path) -> Result<()> {
    let again = out.with_extension("again");
    make(program, target, &again)?;
    let compared = files_below(out)?;
    ensure!(
        compared == files_below(&again)?,
        "other artefacts when made again"
    );
    for file in &compared {
        let is_same = fs::read(out.join(file))? == fs::read(again.join(file))?;
        ensure!(is_same, "{}: other bytes when made again", file.display());
    }
    fs::remove_dir_all(&again)?;
    println!("{} files: the same bytes when made again", compared.len());
    Ok(())
}

/// The name of the tar.gz without its ending, which is the name of the folder in it.
fn name() -> String {
    format!("locklab-{VERSION}-{ARCH}-linux")
}

/// Makes the artefacts in this folder, which is emptied before.
fn make(program: &Path, target: &str, out: &Path) -> Result<()> {
    ensure!(
        !out.exists() || out.join(SUMS).is_file(),
        "{} has other files; choose another folder",
        out.display()
    );
    let _ = fs::remove_dir_all(out);
    let stage = out.with_extension("stage");
    let _ = fs::remove_dir_all(&stage);
    fs::create_dir_all(out)?;
    let epoch = git(&["log", "-1", "--format=%ct"])?;
    let epoch = epoch.trim();

    let tree = stage.join("tar").join(name());
    fill(&tree, program)?;
    let pack = |folder: &Path, file: &str| -> Result<()> {
        let mut pack = Command::new("python3");
        pack.arg("xtask/src/dist/pack.py");
        pack.arg(out.join(file)).arg(folder).arg(epoch);
        perform(pack)
    };
    pack(&stage.join("tar"), &format!("{}.tar.gz", name()))?;
    let tag = format!("py3-none-{}", platform(&fs::read(program)?));
    wheel(&stage.join("wheel"), &tree, &tag)?;
    pack(
        &stage.join("wheel"),
        &format!("locklab-{VERSION}-{tag}.whl"),
    )?;
    npm(&stage.join("npm"), &tree)?;
    pack(&stage.join("npm"), &format!("locklab-{VERSION}.tgz"))?;
    match is_on_path("dpkg-deb") {
        true => deb(&stage.join("deb"), &tree, out, epoch)?,
        false => println!("skipped: a Debian package, since there is no dpkg-deb"),
    }
    fs::write(out.join("Containerfile"), containerfile())?;
    fs::write(
        out.join(format!("locklab-{VERSION}.cdx.json")),
        sbom::of("locklab", target)?,
    )?;
    fs::remove_dir_all(&stage)?;

    let mut sums = Command::new("sha256sum");
    sums.current_dir(out).args(files_below(out)?);
    fs::write(out.join(SUMS), said(&mut sums)?)?;
    Ok(())
}

/// Fills a folder with what is installed below `/usr`: program, pages, completions, texts.
fn fill(tree: &Path, program: &Path) -> Result<()> {
    let bin = tree.join("bin");
    fs::create_dir_all(&bin)?;
    fs::copy(program, bin.join("locklab")).with_context(|| program.display().to_string())?;
    // By its name, which the completions call.
    let locklab = |words: &[&str]| {
        let mut command = Command::new("locklab");
        command.args(words).env("PATH", &bin);
        said(&mut command)
    };
    let share = tree.join("share");
    locklab(&[
        "setup",
        "man",
        "--into",
        &share.join("man/man1").to_string_lossy(),
    ])?;
    for (shell, path) in COMPLETIONS {
        let path = share.join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        fs::write(path, locklab(&["setup", "completions", shell])?)?;
    }
    let texts = share.join("doc/locklab");
    fs::create_dir_all(&texts)?;
    for text in TEXTS {
        fs::copy(text, texts.join(text)).with_context(|| text.to_owned())?;
    }
    Ok(())
}

fn copied(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().context("a file is in a folder")?)?;
        fs::copy(from.join(file), target)?;
    }
    Ok(())
}

/// The tag of a wheel says on which systems pip installs it. The program needs no C library, but what it preloads into the
/// programs under attack needs the glibc whose symbols it names.
fn platform(program: &[u8]) -> String {
    let name = b"GLIBC_2.";
    let found = program.windows(name.len() + 3).filter_map(|at| {
        let version = at.strip_prefix(name)?;
        let digits = version.iter().take_while(|it| it.is_ascii_digit());
        str::from_utf8(&version[..digits.count()])
            .ok()?
            .parse()
            .ok()
    });
    let newest: u32 = found.max().unwrap_or_default();
    format!("manylinux_2_{newest}_{ARCH}")
}

fn wheel(folder: &Path, tree: &Path, tag: &str) -> Result<()> {
    let data = folder.join(format!("locklab-{VERSION}.data"));
    copied(&tree.join("bin"), &data.join("scripts"))?;
    copied(&tree.join("share"), &data.join("data/share"))?;
    let info = folder.join(format!("locklab-{VERSION}.dist-info"));
    fs::create_dir_all(&info)?;
    let readme = fs::read_to_string(TEXTS[0])?;
    let metadata = format!(
        "Metadata-Version: 2.4\nName: locklab\nVersion: {VERSION}\nSummary: {ABOUT}\n\
         License-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    );
    fs::write(info.join("METADATA"), metadata)?;
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    fs::write(info.join("WHEEL"), wheel)?;
    Ok(())
}

fn npm(folder: &Path, tree: &Path) -> Result<()> {
    let package = folder.join("package");
    copied(tree, &package)?;
    for text in TEXTS {
        fs::copy(text, package.join(text))?;
    }
    let processor = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let manifest = json!({
        "name": "locklab", "version": VERSION, "description": ABOUT, "license": "MIT OR Apache-2.0",
        "bin": { "locklab": "bin/locklab" }, "directories": { "man": "share/man/man1" },
        "os": ["linux"], "cpu": [processor],
    });
    let manifest = serde_json::to_string_pretty(&manifest)? + "\n";
    fs::write(package.join("package.json"), manifest)?;
    Ok(())
}

fn deb(folder: &Path, tree: &Path, out: &Path, epoch: &str) -> Result<()> {
    copied(tree, &folder.join("usr"))?;
    // Debian has the functions of packages for zsh in a folder of their own.
    let zsh = folder.join("usr/share/zsh");
    fs::rename(zsh.join("site-functions"), zsh.join("vendor-completions"))?;
    let texts = folder.join("usr/share/doc/locklab");
    fs::rename(texts.join("LICENSE-MIT"), texts.join("copyright"))?;
    let processor = said(Command::new("dpkg").arg("--print-architecture"))?;
    let processor = processor.trim();
    let control = format!(
        "Package: locklab\nVersion: {VERSION}\nArchitecture: {processor}\nSection: devel\nPriority: optional\n\
         Maintainer: The Locklab authors <nobody@invalid>\nRecommends: redis-server\nDescription: {ABOUT}\n"
    );
    fs::create_dir_all(folder.join("DEBIAN"))?;
    fs::write(folder.join("DEBIAN/control"), control)?;
    // Whatever the umask is.
    let mut modes = Command::new("chmod");
    modes.args(["-R", "u=rwX,go=rX"]).arg(folder);
    perform(modes)?;
    let mut build = Command::new("dpkg-deb");
    // The bytes of xz would depend on the number of cores.
    build.args(["--root-owner-group", "-Zgzip", "--build"]);
    build.arg(folder);
    build.arg(out.join(format!("locklab_{VERSION}_{processor}.deb")));
    build.env("SOURCE_DATE_EPOCH", epoch);
    said(&mut build)?;
    Ok(())
}

/// An image of the program alone: it simulates, judges and serves. For an attack, unpack the tar.gz in the image of the
/// program under attack, beside a redis-server.
fn containerfile() -> String {
    let name = name();
    format!(
        "FROM scratch\nADD {name}.tar.gz /opt/\nENTRYPOINT [\"/opt/{name}/bin/locklab\"]\nCMD [\"--help\"]\n"
    )
}
