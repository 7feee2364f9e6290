//! Checks that every planted mistake still fits the source.

use crate::plants;
use crate::source::{File, Finding};

/// The text that a mistake replaces occurs exactly once.
pub fn fit(files: &[File]) -> Vec<Finding> {
    let finding = |(path, line, remedy)| Finding {
        path,
        line,
        rule: "plants",
        remedy,
    };
    plants::stale(files).into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn the_text_of_a_mistake_is_in_its_file_exactly_once() {
        let entry = "[[plant]]\nname = \"late\"\nwhat = \"w\"\nfile = \"a.rs\"\nfind = \"x > 1\"\n\
                     put = \"true\"\nscenario = \"s\"\n";
        let plants = ("tests/plants/a.toml", entry);
        check(fit, &[plants, ("a.rs", "if x > 1 {}")], &[]);
        let red = ["tests/plants/a.toml:2: plants"];
        check(fit, &[plants, ("a.rs", "if x > 2 {}")], &red);
        check(fit, &[plants, ("a.rs", "if x > 1 && x > 1 {}")], &red);
        check(fit, &[plants], &red);
        let twice = ("tests/plants/b.toml", entry);
        check(
            fit,
            &[plants, twice, ("a.rs", "x > 1")],
            &["tests/plants/:1: plants"],
        );
    }

    /// `cargo test` says so, too, not only `cargo xtask tidy`.
    #[test]
    fn every_planted_mistake_fits_the_source() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let files = crate::source::files_below(root).expect("a git checkout");
        let findings: Vec<String> = fit(&files).iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }
}
