//! Words that are banned in some part of the tree, in one table.

use crate::source::Finding;
use crate::source::{File, places};

struct Ban {
    rule: &'static str,
    /// The ban applies to paths that begin with one of these.
    within: &'static [&'static str],
    /// Exceptions: paths that begin with one of these.
    except: &'static [&'static str],
    part: Part,
    words: &'static [&'static str],
    remedy: &'static str,
}

enum Part {
    /// Rust code without comments and strings.
    Code,
    /// The whole text of every file, in any language.
    Text,
}

const BANS: &[Ban] = &[
    Ban {
        rule: "machine-time",
        within: &[
            "src/history/",
            "sim/link/",
            "sim/redis/src/",
            "sim/services/src/",
            "sim/world/src/",
            "src/values/",
        ],
        except: &["sim/redis/src/server.rs", "sim/redis/src/server/"],
        part: Part::Code,
        words: &["Instant", "SystemTime", "std::thread", "tokio::time"],
        remedy: "the world has only virtual time, in nanoseconds, and one thread",
    },
    Ban {
        rule: "lock-env",
        within: &["src/locks/"],
        except: &["src/locks/tests/"],
        part: Part::Code,
        words: &[
            "std::time",
            "std::thread",
            "std::net",
            "tokio::time",
            "tokio::net",
            "tokio::task",
            "tokio::spawn",
            "tokio::runtime",
        ],
        remedy: "a lock uses clocks, sockets, tasks and random numbers only through `Env`",
    },
    Ban {
        rule: "unfinished",
        within: &[""],
        except: &[],
        part: Part::Code,
        words: &["todo!", "unimplemented!", "dbg!"],
        remedy: "finish it, or return an error that says what is missing",
    },
    Ban {
        rule: "silenced",
        within: &[""],
        // If a feature is off, code used only by that feature is dead.
        except: &["sim/redis/src/lib.rs"],
        part: Part::Code,
        words: &[
            "#[ignore",
            "allow(dead_code",
            "expect(dead_code",
            "allow(unused",
            "expect(unused",
        ],
        remedy: "fix what is silenced, or delete it",
    },
    Ban {
        rule: "units",
        within: &["sim/services/src/", "sim/world/src/", "src/"],
        except: &["src/values/units.rs", "src/locks/tests/", "src/view/tests/"],
        part: Part::Code,
        words: &[
            "* 1_000_000",
            "/ 1_000_000",
            "* 1_000_000_000",
            "/ 1_000_000_000",
            "saturating_mul(1_000_000)",
            "/ 1e6",
            "/ 1e9",
        ],
        remedy: "`locklab_values::units` converts times",
    },
    Ban {
        rule: "unbounded",
        within: &["sim/", "src/"],
        except: &[
            "src/bounds/",
            "sim/redis/tests/",
            "sim/services/tests/",
            "src/locks/tests/",
        ],
        part: Part::Code,
        words: &["resp2::decode", "resp3::decode"],
        remedy: "this decoder recurses; `locklab_bounds::resp` refuses what nests too deep",
    },
    Ban {
        rule: "outside",
        within: &[""],
        except: &[],
        part: Part::Text,
        words: &[concat!("../", "shared")],
        remedy: "name nothing that lies outside the repository",
    },
];

/// Finds banned words where they are banned.
pub fn banned(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for ban in BANS {
            let starts = |start: &&str| file.path.starts_with(start);
            if !ban.within.iter().any(starts) || ban.except.iter().any(starts) {
                continue;
            }
            let text = match ban.part {
                Part::Code => &file.code,
                Part::Text => &file.text,
            };
            for word in ban.words {
                for (line, _) in places(text, word) {
                    let remedy = format!("`{word}`: {}", ban.remedy);
                    findings.push(file.finding(line, ban.rule, remedy));
                }
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
    fn the_world_has_no_machine_time() {
        let code =
            "use std::time::Duration;\nuse std::time::{Duration, Instant};\nstd::thread::spawn(f);";
        check(
            banned,
            &[
                ("sim/world/src/a.rs", code),
                ("src/env/a.rs", code),
                ("sim/redis/src/server/a.rs", code),
            ],
            &[
                "sim/world/src/a.rs:2: machine-time",
                "sim/world/src/a.rs:3: machine-time",
            ],
        );
    }

    #[test]
    fn a_lock_knows_no_machine() {
        check(
            banned,
            &[
                ("src/locks/a.rs", "//! Not `std::time`.\nuse std::rc::Rc;\n"),
                (
                    "src/locks/b.rs",
                    "use std::time::Duration;\nuse tokio::io;\nstd::thread::yield_now();",
                ),
                ("src/runner/simulated.rs", "use std::time::Instant;"),
            ],
            &["src/locks/b.rs:1: lock-env", "src/locks/b.rs:3: lock-env"],
        );
    }

    #[test]
    fn units_are_converted_in_one_place() {
        check(
            banned,
            &[
                (
                    "src/a.rs",
                    "let ns = ms * 1_000_000;\nlet most = 1_000_000;",
                ),
                (
                    "src/b.rs",
                    "let s = ns / 1_000_000_000;\nlet ppm = x * 1_000_000_007;",
                ),
                ("src/values/units.rs", "ms * 1_000_000"),
            ],
            &["src/a.rs:1: units", "src/b.rs:1: units"],
        );
    }

    #[test]
    fn foreign_bytes_are_decoded_within_bounds() {
        let code =
            "use redis_protocol::resp2::decode::decode;\nuse redis_protocol::resp2::types::F;";
        check(
            banned,
            &[
                ("src/bounds/resp.rs", code),
                ("src/view/resp.rs", code),
                ("src/locks/tests/a.rs", code),
            ],
            &["src/view/resp.rs:1: unbounded"],
        );
    }

    #[test]
    fn nothing_is_left_unfinished_or_silenced() {
        check(
            banned,
            &[
                ("a.rs", "// todo!() in a comment\nlet s = \"dbg!\";"),
                ("b.rs", "todo!()\n"),
                (
                    "c.rs",
                    "#[ignore = \"flaky\"]\n#[allow(dead_code)]\n#[ignored]",
                ),
            ],
            &["b.rs:1: unfinished", "c.rs:1: silenced", "c.rs:2: silenced"],
        );
    }

    #[test]
    fn nothing_outside_the_repository_is_named() {
        let outside = concat!("see ../", "shared/design.md");
        check(
            banned,
            &[("a.md", outside), ("b.md", "see ../sharedness")],
            &["a.md:1: outside"],
        );
    }
}
