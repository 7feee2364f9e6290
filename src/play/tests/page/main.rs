//! The published page: its module says what this build says, byte for byte, and a reader can play with it.

mod browser;
mod driver;
mod engines;
mod firefox;
mod texts;

/// The published page, or that which `LOCKLAB_PAGE` names from the root of the repository.
fn page() -> std::path::PathBuf {
    let named = std::env::var_os("LOCKLAB_PAGE");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(named.unwrap_or_else(|| "reports/play/index.html".into()))
}

/// The lines of the answer to a request, from this build.
fn answer(request: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut lines = Vec::new();
    locklab_play::answer(&request.to_string(), &mut |line| {
        lines.push(serde_json::from_str(line).expect("a line is JSON"));
    });
    lines
}
