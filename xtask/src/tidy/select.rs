//! Checks that `select!` polls its branches in order, and never in a random order.

use crate::source::{File, Finding, places};

/// Every `select!` must start with `biased;`.
pub fn biased(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (line, start) in places(&file.code, "select!") {
            let body = file.code[start + "select!".len()..].trim_start();
            let first = body.strip_prefix(['{', '(', '[']).unwrap_or(body);
            if !first.trim_start().starts_with("biased;") {
                let remedy = "begin with `biased;`: tokio draws the order at random otherwise";
                findings.push(file.finding(line, "select", remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn biased_comes_first() {
        check(
            biased,
            &[
                (
                    "a.rs",
                    "tokio::select! {\n    // First.\n    biased;\n    _ = x => {}\n}",
                ),
                ("b.rs", "// select! {}\nfn select() {}"),
                ("c.rs", "\ntokio::select! {\n    _ = x => {}\n}"),
                ("d.rs", "select!(_ = x => { biased; })"),
                (
                    "e.rs",
                    "tokio::select! {\n    // biased;\n    _ = x => {}\n}",
                ),
            ],
            &["c.rs:2: select", "d.rs:1: select", "e.rs:1: select"],
        );
    }
}
