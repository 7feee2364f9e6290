//! The page in which a reader plays with the debate: builds the engine as WebAssembly, and puts it with its scripts into
//! one file. What a build for WebAssembly needs beside the code stands here.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::tool::{cargo, has_target, perform, unnamed};

/// The published page.
pub const PAGE: &str = "reports/play/index.html";
const ASSETS: &str = "src/play/assets";
/// The scripts of the page, in loading order.
const SCRIPTS: &[&str] = &[
    "play.js",
    "lesson.js",
    "address.js",
    "shrink.js",
    "start.js",
];

/// What a program for WASI needs, and std has it ready.
const TARGET: &str = "wasm32-wasip1";
/// The page is read on phones.
const MOST_BYTES: usize = 3 << 20;

/// Builds the module, and writes the page to this file.
/// Fails if the target is missing and cannot be installed, or the module is too large.
pub fn run(out: &Path) -> Result<()> {
    ensure!(
        has_target(TARGET)?,
        "the standard library for {TARGET} is missing; install it with `rustup target add {TARGET}`"
    );
    let mut build = cargo(&format!(
        "build --profile page --package locklab-play --target {TARGET}"
    ));
    build.env("RUSTFLAGS", flags()?);
    perform(build)?;
    let module = format!("target/{TARGET}/page/locklab-play.wasm");
    let module = fs::read(&module).with_context(|| format!("read {module}"))?;
    let packed = compress_to_vec_zlib(&module, 10);
    ensure!(
        packed.len() <= MOST_BYTES,
        "the module has {} bytes compressed, and may have {MOST_BYTES}",
        packed.len()
    );
    let page = page(Path::new(""), &base64(&packed))?;
    fs::create_dir_all(out.parent().context("a file is in a folder")?)?;
    fs::write(out, &page).with_context(|| format!("write {}", out.display()))?;
    println!(
        "{}: {} bytes; the module has {}, {} compressed",
        out.display(),
        page.len(),
        module.len(),
        packed.len()
    );
    Ok(())
}

/// tokio's sockets, which no run uses, compile for WASI under this flag alone.
fn flags() -> Result<String> {
    let here = env::current_dir().context("the folder of the workspace")?;
    let unnamed = unnamed("--remap-path-prefix", &[&here])?;
    Ok(format!("--cfg tokio_unstable {unnamed}"))
}

/// The page with a module in base64.
fn page(root: &Path, module: &str) -> Result<String> {
    let asset = |name: &str| {
        let path = root.join(ASSETS).join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let mut scripts = format!(
        "\n<script id=\"engine\">\n{}</script>\n<script type=\"text/plain\" id=\"worker\">\n{}</script>",
        asset("engine.js")?,
        asset("worker.js")?
    );
    for name in SCRIPTS {
        scripts += &format!("\n<script>\n{}</script>", asset(name)?);
    }
    let html = asset("page.html")?;
    let html = html.replace("{style}", &asset("play.css")?);
    let html = html.replace("{scripts}", &scripts);
    Ok(html.replace("{module}", module))
}

/// Bytes as text (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for part in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..part.len()].copy_from_slice(part);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    /// Around its module; a test of `src/play` says whether that is of today.
    #[test]
    fn published_page_has_the_scripts_of_today() {
        let root = Path::new("..");
        let published = fs::read_to_string(root.join(PAGE)).expect("it is published");
        let begins = "id=\"module\">";
        let (_, rest) = published.split_once(begins).expect("a module");
        let (module, _) = rest.split_once("</script>").expect("its end");
        let of_today = page(root, module).expect("the assets can be read");
        assert!(
            published == of_today,
            "make it anew with `cargo xtask page`"
        );
    }
}
