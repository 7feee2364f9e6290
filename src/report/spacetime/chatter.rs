//! Background messages: between servers heartbeats, hellos, acknowledgements, and the answers
//! to all of them; the handshakes of foreign client libraries. They would drown everything else in a picture.

use super::hosts::{Host, Role};
use locklab_history::Message;

/// Words of requests and answers that do not change anything.
const IDLE_WORDS: [&str; 11] = [
    "PING", "PONG", "OK", "QUEUED", "INFO", "PUBLISH", "SELECT", "REPLCONF", "ACK", "CLIENT",
    "SETNAME",
];

/// Whether a message between two servers, or a handshake, is left out of the picture. Other messages from or to a
/// client or the resource never are.
pub(super) fn is_chatter(message: &Message, hosts: &[Host<'_>]) -> bool {
    let is_server = |name: &str| {
        let host = hosts.iter().find(|host| host.name == name);
        host.is_some_and(|host| host.role == Role::Node)
    };
    let is_heartbeat =
        || is_idle(&message.label) && is_server(&message.from) && is_server(&message.to);
    message.is_handshake() || is_heartbeat()
}

/// Whether the text contains neither a request nor a change.
pub fn is_idle(label: &str) -> bool {
    let mut words = label.split(' ');
    let is_command = |word: &&str| {
        let is_name = |byte: u8| byte.is_ascii_uppercase();
        word.len() > 1 && word.bytes().all(is_name)
    };
    match words.clone().find(is_command) {
        // Answers: numbers or text.
        None => true,
        // Raft's AppendEntries without an entry, and its answer.
        Some("APPEND") => words.skip(1).all(|word| word.parse::<u64>().is_ok()),
        Some("YES" | "NO") => true,
        // A message published by a lock is propagated to replicas; hellos come only from
        // sentinels.
        Some("PUBLISH") if !label.contains("__sentinel__") => false,
        Some(_) => !words.any(|word| is_command(&word) && !IDLE_WORDS.contains(&word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_are_idle_and_changes_are_not() {
        for idle in [
            "PING",
            "PONG 3",
            "OK OK OK",
            "3",
            "PING PUBLISH __sentinel__:hello s1,6379,…",
            "message __sentinel__:hello s2,6379,400b5…",
            "OK PONG # Server redis_version:7.0.15 re…",
            "REPLCONF ACK 3068",
            "CLIENT SETNAME sentinel-a34060bd-cmd PIN…",
            "APPEND 1 2 21 1 21",
            "1 YES",
        ] {
            assert!(is_idle(idle), "{idle}");
        }
        for telling in [
            "SET lock 5bda… NX PX 20000",
            "PING SELECT 0 SET lock 5bda…",
            "SLAVEOF n1r1 6379",
            "MULTI SLAVEOF NO ONE",
            "SENTINEL is-master-down-by-addr n1 6379",
            "FULLRESYNC 8371… 0",
            "PUBLISH redisson_lock__channel:lock 0",
            "APPEND 1 2 3 1 3 1 OPEN 1000",
            "VOTE 1 2 0 0",
        ] {
            assert!(!is_idle(telling), "{telling}");
        }
    }
}
