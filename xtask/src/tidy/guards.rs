//! Checks that no let chain holds a mutex for its whole body, which clippy's `significant_drop_in_scrutinee` does not.

use crate::source::{File, Finding, places};

/// The condition of an `if` or `while` with a let chain must not lock a mutex.
pub fn dropped_early(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let conditions = ["if", "while"].into_iter();
        for (line, start) in conditions.flat_map(|word| places(&file.code, word)) {
            let condition = file.code[start..].split('{').next().unwrap_or_default();
            let is_chain = condition.contains("let ") && condition.contains("&&");
            if is_chain && places(condition, "lock(").next().is_some() {
                let remedy = "lock before the condition: a guard in it is held for the whole body";
                findings.push(file.finding(line, "guards", remedy));
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
    fn let_chain_holds_no_mutex() {
        check(
            dropped_early,
            &[
                (
                    "a.rs",
                    "while let Some(end) = *lock(&it.end)\n    && end > now()\n{}",
                ),
                (
                    "b.rs",
                    "if is_late && let Some(end) = it.end.lock().take() {}",
                ),
                (
                    "c.rs",
                    "let end = || *lock(&it.end);\nwhile let Some(end) = end() && end > now() {}",
                ),
                (
                    "d.rs",
                    "if let Some(end) = unlock() && end > now() { lock(&it.end); }",
                ),
                ("e.rs", "if *lock(&it.end) > now() && is_late {}"),
            ],
            &["a.rs:1: guards", "b.rs:1: guards"],
        );
    }
}
