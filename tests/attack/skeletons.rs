//! The workers that `locklab new --attack` writes: each is installed and attacked as its user is told. Its lock is not blamed,
//! and it is when it has been made to release what is another's, or to take a refusal for a grant.

use std::fs;

use locklab_testing::{Skeleton, at_once, server};

use crate::bench::that_counts;

/// A worker: its language, what installs it, and a mistake in the file that has its lock.
struct Worker {
    language: &'static str,
    installer: &'static str,
    file: &'static str,
    find: &'static str,
    put: &'static str,
}

const WORKERS: [Worker; 5] = [
    Worker {
        language: "python",
        installer: "python3",
        file: "worker.py",
        find: "lock.release()",
        put: "servers.delete(lock.name)",
    },
    Worker {
        language: "node",
        installer: "npm",
        file: "worker.mjs",
        find: "lock.unlock()",
        put: "servers[0].del(\"counter-lock\")",
    },
    Worker {
        language: "go",
        installer: "go",
        file: "main.go",
        find: "lock.Release(ctx)",
        put: "connect(os.Getenv(\"REDIS_URL\")).Del(ctx, lock.Key())",
    },
    Worker {
        language: "java",
        installer: "mvn",
        file: "src/main/java/Worker.java",
        find: "release(lock);\n            LocklabTell.tell(\"released\"",
        put: "new Jedis(url).del(\"registry:counter\");\n            LocklabTell.tell(\"released\"",
    },
    Worker {
        language: "rust",
        installer: "cargo",
        file: "src/main.rs",
        find: "Err(_) => tell(\"refused\", \"\"),",
        put: "Err(_) => { tell(\"acquired\", \",\\\"ttl_ms\\\":900\"); let _ = increment(&mut resource).await; }",
    },
];

#[test]
fn workers_that_new_writes_are_attacked_as_it_says() {
    server();
    // CI has the first, which builds nothing.
    let (within_s, workers) = match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => ("900", &WORKERS[..]),
        None => ("60", &WORKERS[..1]),
    };
    // Most of an attack is waiting.
    at_once(2, workers, |worker| {
        if let Err(why) = attacked(worker, within_s) {
            println!("{}: skipped: {why}", worker.language);
        }
    });
}

/// Attacks it as it is written, and with its mistake. An error says why it cannot be installed here.
fn attacked(worker: &Worker, within_s: &'static str) -> Result<(), String> {
    let Worker {
        language,
        installer,
        file,
        find,
        put,
    } = worker;
    let locklab = env!("CARGO_BIN_EXE_locklab");
    let skeleton = Skeleton::new(locklab, "--attack", language, within_s);
    let Skeleton { install, run, .. } = &skeleton;
    for ci in [".github/workflows/locks.yml", ".gitlab-ci.yml"] {
        let text = fs::read_to_string(skeleton.folder.join(ci)).expect("it is written");
        for command in [install, run, "locklab check\n"] {
            assert!(text.contains(command), "{command} is not in {ci}:\n{text}");
        }
    }
    let check = skeleton.shell(&format!("'{locklab}' check"), "600");
    assert!(check.status.success(), "{check:?}");

    skeleton.install(installer)?;
    let attack = || {
        let done = skeleton.shell(&format!("'{locklab}' {run}"), "600");
        let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        Some((done.status.code(), told))
    };
    let ends = |expected: &[i32]| {
        let (code, told) = that_counts(attack).expect("it is attacked");
        let is_right = code.is_some_and(|code| expected.contains(&code));
        assert!(
            is_right,
            "{language} ends with {code:?}, not {expected:?}:\n{told}"
        );
    };
    ends(&[0, 3]);
    let path = skeleton.folder.join(file);
    let text = fs::read_to_string(&path).expect("it is written");
    assert_eq!(text.matches(find).count(), 1, "{find} in {file}");
    fs::write(&path, text.replace(find, put)).expect("it can be written");
    skeleton
        .install(installer)
        .expect("it was installed before");
    ends(&[2]);
    Ok(())
}
