//! A drill for `locklab score` to begin with, in several languages: one that examines a real library, to be replaced.

use clap::ValueEnum;

/// The language of a drill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// With redis-py
    Python,
    /// With redlock, on Node.js
    Javascript,
    /// With bsm/redislock
    Go,
    /// With lock4j
    Java,
    /// With rslock
    Rust,
}

/// A file of a drill in `tests/clients`, or what helps it in `docs/score`, by its path within the new folder.
macro_rules! file {
    ($folder:literal, $path:literal) => {
        (
            $path,
            include_str!(concat!("../../../tests/clients/", $folder, "/", $path)),
        )
    };
    (help $path:literal, $file:literal) => {
        ($path, include_str!(concat!("../../../docs/score/", $file)))
    };
}

/// What makes the drill of a language, and examines its lock.
pub(super) struct Drill {
    /// The files, by their paths.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The commands that install it.
    pub(super) install: &'static str,
    /// Its command line.
    pub(super) run: &'static str,
}

impl Language {
    pub(super) fn drill(self) -> Drill {
        match self {
            Language::Python => Drill {
                files: &[
                    file!("redis-py", "drill.py"),
                    file!("redis-py", "requirements.txt"),
                    file!(help "locklab_drill.py", "locklab_drill.py"),
                ],
                install: "python3 -m venv . && bin/pip install -r requirements.txt",
                run: "bin/python drill.py",
            },
            Language::Javascript => Drill {
                files: &[
                    file!("redlock", "drill.mjs"),
                    file!("redlock", "package.json"),
                    file!("redlock", "package-lock.json"),
                    file!(help "locklab_drill.mjs", "locklab_drill.mjs"),
                ],
                install: "npm ci",
                run: "node drill.mjs",
            },
            Language::Go => Drill {
                files: &[
                    file!("redislock", "drill/main.go"),
                    file!("redislock", "go.mod"),
                    file!("redislock", "go.sum"),
                    file!(help "score/locklab_drill.go", "locklab_drill.go"),
                ],
                install: "go build -o driller ./drill",
                run: "./driller",
            },
            Language::Java => Drill {
                files: &[
                    file!("lock4j", "src/main/java/Drill.java"),
                    file!("lock4j", "pom.xml"),
                    file!(help "src/main/java/LocklabDrill.java", "LocklabDrill.java"),
                ],
                install: "mvn -q compile dependency:copy-dependencies",
                run: "java -cp 'target/classes:target/dependency/*' Drill",
            },
            Language::Rust => Drill {
                files: &[
                    file!("rslock", "src/bin/drill.rs"),
                    file!("rslock", "Cargo.toml"),
                    file!("rslock", "Cargo.lock"),
                    file!(help "src/locklab_drill.rs", "locklab_drill.rs"),
                ],
                install: "cargo build --release",
                run: "target/release/drill",
            },
        }
    }
}
