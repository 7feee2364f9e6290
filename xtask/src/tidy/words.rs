//! Words that are banned in some part of the tree, in one table.

use crate::source::{File, Finding, places};

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
    fn a_word_is_banned_where_the_table_says() {
        let of = |path: &str, text: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|it| format!("{path}:{it}")).collect();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check(banned, &[(path, text)], &expected);
        };
        let time =
            "use std::time::Duration;\nuse std::time::{Duration, Instant};\nstd::thread::spawn(f);";
        of(
            "sim/world/src/a.rs",
            time,
            &["2: machine-time", "3: machine-time"],
        );
        of("src/env/a.rs", time, &[]);
        of("sim/redis/src/server/a.rs", time, &[]);

        of(
            "src/locks/a.rs",
            "//! Not `std::time`.\nuse std::rc::Rc;\n",
            &[],
        );
        let machine = "use std::time::Duration;\nuse tokio::io;\nstd::thread::yield_now();";
        of("src/locks/b.rs", machine, &["1: lock-env", "3: lock-env"]);
        of("src/runner/simulated.rs", "use std::time::Instant;", &[]);

        let units = "let ns = ms * 1_000_000;\nlet most = 1_000_000;";
        of("src/a.rs", units, &["1: units"]);
        of("src/values/units.rs", units, &[]);
        let seconds = "let s = ns / 1_000_000_000;\nlet ppm = x * 1_000_000_007;";
        of("src/b.rs", seconds, &["1: units"]);

        let decode =
            "use redis_protocol::resp2::decode::decode;\nuse redis_protocol::resp2::types::F;";
        of("src/view/resp.rs", decode, &["1: unbounded"]);
        of("src/bounds/resp.rs", decode, &[]);
        of("src/locks/tests/a.rs", decode, &[]);

        of("a.rs", "// todo!() in a comment\nlet s = \"dbg!\";", &[]);
        of("b.rs", "todo!()\n", &["1: unfinished"]);
        let silenced = "#[ignore = \"flaky\"]\n#[allow(dead_code)]\n#[ignored]";
        of("c.rs", silenced, &["1: silenced", "2: silenced"]);

        let outside = concat!("see ../", "shared/design.md");
        of("a.md", outside, &["1: outside"]);
        of("b.md", "see ../sharedness", &[]);
    }
}
