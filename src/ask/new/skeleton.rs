//! Programs to begin with, in several languages: a drill for `locklab score` and a worker for `locklab attack`. Each uses
//! the lock of a real library, to be replaced.

use clap::ValueEnum;

/// The language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// With redis-py
    Python,
    /// With redlock, on Node.js
    #[value(alias = "node")]
    Javascript,
    /// With bsm/redislock
    Go,
    /// A drill with lock4j, a worker with Spring Integration
    Java,
    /// With rslock
    Rust,
}

/// A file of a client in `tests/clients`, or what helps it in `docs`, by its path within the new folder.
macro_rules! file {
    ($folder:literal, $path:literal) => {
        (
            $path,
            include_str!(concat!("../../../tests/clients/", $folder, "/", $path)),
        )
    };
    (help $path:literal, $file:literal) => {
        ($path, include_str!(concat!("../../../docs/", $file)))
    };
}

/// A file by its path within the new folder, and its text.
pub(super) type File = (&'static str, &'static str);

/// What makes a program, and runs it.
pub(super) struct Skeleton {
    pub(super) files: &'static [File],
    /// The commands that install it.
    pub(super) install: &'static str,
    /// Its command line.
    pub(super) run: &'static str,
    /// The image of a container in which CI installs it.
    image: &'static str,
}

/// The files for CI, as they are for the worker in Python.
const CI: [File; 2] = [
    file!(help ".github/workflows/locks.yml", "ci/attack.yml"),
    file!(help ".gitlab-ci.yml", "ci/gitlab.yml"),
];

impl Skeleton {
    /// The files with which CI installs and attacks this worker.
    pub(super) fn ci(&self) -> [(&'static str, String); 2] {
        let python = Language::Python.worker();
        CI.map(|(path, text)| {
            let text = text.replace(python.install, self.install);
            let text = text.replace(python.run, self.run);
            (path, text.replace(python.image, self.image))
        })
    }
}

impl Language {
    /// Examines the lock for `locklab score`.
    pub(super) fn drill(self) -> Skeleton {
        match self {
            Language::Python => Skeleton {
                files: &[
                    file!("redis-py", "drill.py"),
                    file!("redis-py", "requirements.txt"),
                    file!(help "locklab_drill.py", "score/locklab_drill.py"),
                ],
                install: "python3 -m venv . && bin/pip install -r requirements.txt",
                run: "bin/python drill.py",
                ..self.worker()
            },
            Language::Javascript => Skeleton {
                files: &[
                    file!("redlock", "drill.mjs"),
                    file!("redlock", "package.json"),
                    file!("redlock", "package-lock.json"),
                    file!(help "locklab_drill.mjs", "score/locklab_drill.mjs"),
                ],
                run: "node drill.mjs",
                ..self.worker()
            },
            Language::Go => Skeleton {
                files: &[
                    file!("redislock", "drill/main.go"),
                    file!("redislock", "go.mod"),
                    file!("redislock", "go.sum"),
                    file!(help "score/locklab_drill.go", "score/locklab_drill.go"),
                ],
                install: "go build -o driller ./drill",
                run: "./driller",
                ..self.worker()
            },
            Language::Java => Skeleton {
                files: &[
                    file!("lock4j", "src/main/java/Drill.java"),
                    file!("lock4j", "pom.xml"),
                    file!(help "src/main/java/LocklabDrill.java", "score/LocklabDrill.java"),
                ],
                run: "java -cp 'target/classes:target/dependency/*' Drill",
                ..self.worker()
            },
            Language::Rust => Skeleton {
                files: &[
                    file!("rslock", "src/bin/drill.rs"),
                    file!("rslock", "Cargo.toml"),
                    file!("rslock", "Cargo.lock"),
                    file!(help "src/locklab_drill.rs", "score/locklab_drill.rs"),
                ],
                run: "target/release/drill",
                ..self.worker()
            },
        }
    }

    /// Uses the lock under `locklab attack`.
    pub(super) fn worker(self) -> Skeleton {
        match self {
            Language::Python => Skeleton {
                files: &[
                    file!("redis-py", "worker.py"),
                    file!("redis-py", "requirements.txt"),
                    file!(help "locklab_tell.py", "attack/locklab_tell.py"),
                ],
                install: "python3 -m venv venv && venv/bin/pip install -r requirements.txt",
                run: "venv/bin/python worker.py",
                image: "python:3",
            },
            Language::Javascript => Skeleton {
                files: &[
                    file!("redlock", "worker.mjs"),
                    file!("redlock", "package.json"),
                    file!("redlock", "package-lock.json"),
                    file!(help "locklab_tell.mjs", "attack/locklab_tell.mjs"),
                ],
                install: "npm ci",
                run: "node worker.mjs",
                image: "node:22",
            },
            Language::Go => Skeleton {
                files: &[
                    file!("redislock", "main.go"),
                    file!("redislock", "go.mod"),
                    file!("redislock", "go.sum"),
                    file!(help "tell/locklab_tell.go", "attack/locklab_tell.go"),
                ],
                install: "go build -o worker .",
                run: "./worker",
                image: "golang:1",
            },
            Language::Java => Skeleton {
                files: &[
                    file!("spring-integration", "src/main/java/Worker.java"),
                    file!("spring-integration", "pom.xml"),
                    file!(help "src/main/java/LocklabTell.java", "attack/LocklabTell.java"),
                ],
                install: "mvn -q compile dependency:copy-dependencies",
                run: "java -XX:TieredStopAtLevel=1 -cp 'target/classes:target/dependency/*' Worker",
                image: "maven:3",
            },
            Language::Rust => Skeleton {
                files: &[
                    file!("rslock", "src/main.rs"),
                    file!("rslock", "Cargo.toml"),
                    file!("rslock", "Cargo.lock"),
                ],
                install: "cargo build --release",
                run: "target/release/worker",
                image: "rust:1",
            },
        }
    }
}
