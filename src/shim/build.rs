//! Compiles the preloaded library. Elsewhere than on Linux it is an empty file, which
//! `install` refuses.

use std::path::PathBuf;
use std::{env, fs};

const SOURCES: [&str; 10] = [
    "preload/address.c",
    "preload/clock.c",
    "preload/disk.c",
    "preload/family.c",
    "preload/lookup.c",
    "preload/stall.c",
    "preload/synced.c",
    "preload/syscall.c",
    "preload/timer.c",
    "preload/wait.c",
];

fn main() {
    println!("cargo::rerun-if-changed=preload");
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let library = PathBuf::from(out).join("liblocklab_shim.so");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return fs::write(&library, []).expect("the output folder is writable");
    }
    // Programs are loaded by the C library of their system, also where ours has its own within, linked statically.
    let variable = |name| env::var(name).expect("Cargo sets it");
    let (host, target) = (variable("HOST"), variable("TARGET"));
    let system = match host.ends_with("-gnu") {
        true => target.replace("-musl", "-gnu"),
        false => target,
    };
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .target(&system)
        .opt_level(2)
        .debug(false)
        .get_compiler();
    let status = compiler
        .to_command()
        .args(["-std=gnu99", "-O2", "-shared", "-fPIC"])
        .args(["-fvisibility=hidden", "-Wl,-z,now"])
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&library)
        .args(SOURCES)
        .arg("-ldl")
        .status();
    let status = status.expect("a C compiler starts");
    assert!(status.success(), "the C compiler failed: {status}");
}
