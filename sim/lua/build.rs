//! Builds the C of `lua-5.1.5/`.

use std::env;
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let folder = Path::new("lua-5.1.5");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut build = cc::Build::new();
    build.include(folder).warnings(false).cargo_metadata(false);
    // The order in which files are compiled, and so the library, is the same on every machine.
    let mut files = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.retain(|file| file.extension().is_some_and(|end| end == "c"));
    build.files(files);
    // Where a sum of ints overflows, a comparison after it still sees that.
    build.flag_if_supported("-fwrapv");
    if env::var_os("CARGO_CFG_UNIX").is_some() {
        // `_longjmp` saves no signal mask: each `pcall` would be two system calls.
        build.define("LUA_USE_ULONGJMP", None);
    }
    if env::var("CARGO_CFG_SANITIZE").is_ok_and(|kinds| kinds.split(',').any(|it| it == "address"))
    {
        // `cargo xtask fuzz --libfuzzer`: what C does is checked as well.
        build
            .flag("-fsanitize=address")
            .flag("-fno-omit-frame-pointer");
    }
    build.try_compile("locklab_lua").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    println!("cargo::rustc-link-search=native={out}");
    // All of it, since mlua-sys, which needs it, may come later on the linker's command line.
    println!("cargo::rustc-link-lib=static:+whole-archive=locklab_lua");
    Ok(())
}
