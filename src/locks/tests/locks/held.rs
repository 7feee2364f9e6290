//! What every lock on Redis tells its holder, while the nodes hold it and when they do not.

use std::rc::Rc;

use locklab_locks::{LockError, LockSpec, Servers};

use crate::parameters::forms;
use crate::stage::{attempt, call, lock, on_servers};

/// Every form of the locks on Redis, and the number of its nodes.
fn on_redis() -> Vec<(String, usize)> {
    let spec = |form: &str| -> LockSpec { toml::from_str(form).expect("a form of the catalogue") };
    let mut forms = forms();
    forms.retain(|(form, _)| matches!(spec(form).servers(), Servers::Redis));
    assert!(forms.len() > 20);
    forms
}

#[test]
fn a_lock_that_its_nodes_have_lost_is_not_held() {
    for (form, nodes) in on_redis() {
        let text: Rc<str> = form.as_str().into();
        on_servers(&form, nodes, move |env, names| {
            let text = text.clone();
            async move {
                let lock = lock(&env, &names, &text);
                let grant = attempt(&lock).await.expect("the lock is free");
                match lock.is_held(&grant).await {
                    Ok(held) => assert!(held, "{text}"),
                    Err(LockError::Unsupported(_)) => return,
                    Err(other) => panic!("{text}: {other}"),
                }
                for node in &names {
                    call(&env, node, &["FLUSHALL"]).await;
                }
                let held = lock.is_held(&grant).await;
                assert!(!held.expect("the nodes answer"), "{text}");
                let released = lock.release(&grant).await;
                assert!(!matches!(released, Ok(1..)), "{text}: {released:?}");
            }
        });
    }
}

#[test]
fn a_release_says_that_it_deleted_the_lock_and_frees_it() {
    for (form, nodes) in on_redis() {
        let text: Rc<str> = form.as_str().into();
        on_servers(&form, nodes, move |env, names| {
            let text = text.clone();
            async move {
                let one = lock(&env, &names, &text);
                let grant = attempt(&one).await.expect("the lock is free");
                let other = lock(&env, &names, &text);
                assert!(attempt(&other).await.is_err(), "{text}");
                let released = one.release(&grant).await;
                assert!(matches!(released, Ok(1..)), "{text}: {released:?}");
                let next = attempt(&other).await;
                assert!(next.is_ok(), "{text}: {next:?}");
            }
        });
    }
}
