//! A node sends an invalid reply to a command. This is an error of the command, which may
//! have been executed; it is neither "no" nor 0.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use locklab_env::Env;
use locklab_env::redis::{Client, Error};
use locklab_history::{Name, Outcome};
use locklab_locks::{CATALOGUE, Grant, LockError, Mode, Owner, redlock_fenced};
use locklab_runner::workload::resource::{self, AccessError, Credentials};
use locklab_testing::check_transcript;

use crate::stage::{attempt, attempt_in, lock, on_answers};

/// The replies to commands.
type Answers = &'static [(&'static str, &'static str)];

/// Replies that are invalid for every command.
const NONSENSE: [&str; 2] = ["+WHAT\r\n", "*1\r\n*1\r\n+WHAT\r\n"];

const OK: &str = "+OK\r\n";
const YES: &str = ":1\r\n";

/// A grant of any of these locks.
fn grant() -> Grant {
    Grant {
        owner: Owner::ONLY,
        token: "t".into(),
        deadline: None,
        fencing_token: Some(1),
    }
}

/// The command that the error of this operation blames, as `nonsense.txt` has them.
fn blamed(case: &str) -> String {
    let (asked, answers) = case.split_once('\n').unwrap_or((case, ""));
    let (ask, parameters) = asked.split_once(": ").expect("an operation and a lock");
    let (ask, parameters) = (ask.to_owned(), parameters.replace(", ", "\n"));
    let answer = |line: &str| {
        let line: &'static str = line.replace('⏎', "\r\n").leak();
        line.split_once(' ').expect("a command and its reply")
    };
    let answers: Vec<(&str, &str)> = answers.lines().map(answer).collect();
    let answers: Answers = answers.leak();
    let found = Rc::<RefCell<Vec<String>>>::default();
    for nonsense in NONSENSE {
        let (ask, parameters, found) = (ask.clone(), parameters.clone(), found.clone());
        on_answers(answers, nonsense, move |env, nodes| {
            let (ask, parameters, found) = (ask.clone(), parameters.clone(), found.clone());
            async move {
                let lock = lock(&env, &nodes, &parameters);
                let failed = match &*ask {
                    "attempt" => attempt(&lock).await.map(drop),
                    "extend" => lock.extend(&grant()).await.map(drop),
                    "release" => lock.release(&grant()).await.map(drop),
                    _ => lock.is_held(&grant()).await.map(drop),
                };
                let Err(LockError::Unknown(error)) = failed else {
                    panic!("{parameters}, {ask}: {failed:?}");
                };
                assert_eq!(error.outcome(), Outcome::Unknown);
                let text = error.to_string();
                let blamed = text
                    .strip_prefix("n1 answered ")
                    .and_then(|it| it.split_once(" with "));
                found
                    .borrow_mut()
                    .push(blamed.expect("it blames a command").0.to_owned());
            }
        });
    }
    let mut found = found.take();
    found.dedup();
    found.join(" or ")
}

#[test]
fn is_blamed_on_its_command() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/locks/nonsense.txt");
    let run = |(): &mut (), _: &str, case: &str| vec![blamed(case)];
    check_transcript(path.as_ref(), &["$ "], || (), run);
}

#[track_caller]
fn assert_unexpected(error: &Error, by: &str, blamed: &str) {
    let text = error.to_string();
    let expected = format!("{by} answered {blamed} with ");
    assert!(text.starts_with(&expected), "{expected}…, but {text}");
    assert_eq!(error.outcome(), Outcome::Unknown);
}

/// The tests below check the command that the error names.
#[test]
fn of_every_lock_in_every_form() {
    for entry in CATALOGUE {
        let named = |(_, parameters): &(_, &str)| {
            let parameters = parameters.replace("LEASE", "1000");
            format!("name = \"{}\"\n{parameters}", entry.name)
        };
        let each = |parameters| NONSENSE.map(|nonsense| (parameters, nonsense));
        let forms: Vec<String> = entry.forms.iter().map(named).collect();
        for (parameters, nonsense) in forms.iter().flat_map(each) {
            let parameters = parameters.clone();
            on_answers(&[], nonsense, move |env, nodes| {
                let parameters = parameters.clone();
                async move {
                    let lock = lock(&env, &nodes, &parameters);
                    let patience = Some(Duration::from_secs(1));
                    let failed = attempt_in(&lock, Owner::ONLY, patience, Mode::Exclusive).await;
                    let Err(LockError::Unknown(_) | LockError::NotAcquired { .. }) = failed else {
                        panic!("{parameters}: {failed:?}");
                    };
                }
            });
        }
    }
}

/// Without an answer to its pings a client does not know that its session lives.
#[test]
fn of_a_ping() {
    const ANSWERS: Answers = &[
        ("SESSION", YES),
        ("CREATE", "*2\r\n$7\r\n/lock/c\r\n:1\r\n"),
        ("CHILDREN", "*2\r\n$7\r\n/lock/c\r\n:1\r\n"),
        ("DELETE", YES),
    ];
    on_answers(ANSWERS, NONSENSE[0], async |env, nodes| {
        let lock = lock(&env, &nodes, "name = \"consensus\"\nsession_ms = 300");
        let grant = attempt(&lock).await.expect("it is the lowest");
        env.sleep(Duration::from_millis(200)).await;
        let lost = lock.release(&grant).await;
        assert!(matches!(lost, Err(LockError::Lost(_))), "{lost:?}");
    });
}

/// A lock on many nodes treats a node with invalid replies as one that did not grant.
#[test]
fn of_the_locks_on_many_nodes() {
    for parameters in [
        "name = \"redlock\"\nttl_ms = 1000",
        "name = \"redlock-fenced\"\nttl_ms = 1000",
        "name = \"redisson-redlock\"\nlease_ms = 1000",
        "name = \"redisson-multi\"\nlease_ms = 1000",
    ] {
        on_answers(&[], NONSENSE[0], move |env, nodes| async move {
            let lock = lock(&env, &nodes, parameters);
            let patience = Some(Duration::from_secs(1));
            let failed = attempt_in(&lock, Owner::ONLY, patience, Mode::Exclusive).await;
            let Err(LockError::NotAcquired { .. }) = failed else {
                panic!("{parameters}: {failed:?}");
            };
        });
    }
    // The node grants the lock, but does not count.
    on_answers(&[("SET", OK)], NONSENSE[0], async |env, nodes| {
        let parameters = "name = \"redlock-fenced\"\nttl_ms = 1000\ncounter = \"majority\"";
        let failed = attempt(&lock(&env, &nodes, parameters)).await;
        let error = failed.expect_err("no number came").to_string();
        assert!(error.contains("0 of 1 nodes counted"), "{error}");
    });
}

#[test]
fn of_the_resource() {
    for nonsense in [NONSENSE[0], NONSENSE[1], ":-7\r\n"] {
        on_answers(&[], nonsense, async |env, nodes: Vec<Name>| {
            let client = Client::new(env, nodes[0].clone(), None);
            let token = redlock_fenced::token(&client).await;
            assert_unexpected(&token.expect_err("no number came"), "n1", "TOKEN");
            let credentials = Credentials {
                client: "c1".into(),
                grant: 1,
                token: None,
            };
            let read = resource::read(&client, &credentials).await;
            let written = resource::write(&client, &credentials, 1).await;
            for (accessed, command) in [(read, "READ"), (written, "WRITE")] {
                match accessed {
                    Err(AccessError::Failed(error)) => assert_unexpected(&error, "n1", command),
                    other => panic!("{command}: {other:?}"),
                }
            }
        });
    }
}
