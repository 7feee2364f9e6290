//! The Redis client that the locks use.

use std::time::Duration;

use locklab_env::redis::{Client, Error, Reply};

use crate::stage::on_nodes;

#[test]
fn a_client_knows_whether_its_command_may_have_been_executed() {
    on_nodes(2, 1, async |env, names| {
        let down = Client::new(env.clone(), names[1].clone(), None);
        let refused = down.call(&[b"PING"]).await;
        assert!(matches!(refused, Err(Error::NotSent { .. })), "{refused:?}");
        // Connected within 10 ms, but no reply can come within 1 ms.
        let hasty = Client::new(
            env.clone(),
            names[0].clone(),
            Some(Duration::from_millis(1)),
        );
        let patient = Client::new(env.clone(), names[0].clone(), None);
        patient.connect().await.expect("the node listens");
        let unsent = hasty.call(&[b"SET", b"k", b"v"]).await;
        assert!(matches!(unsent, Err(Error::NotSent { .. })), "{unsent:?}");
        let wrong = patient.call(&[b"NOPE"]).await;
        assert!(matches!(wrong, Err(Error::Refused { .. })), "{wrong:?}");
        assert_eq!(
            patient.call(&[b"EXISTS", b"k"]).await.expect("answers"),
            Reply::Integer(0)
        );
    });
}
