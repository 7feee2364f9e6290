//! The running fingerprint of a run.
//!
//! Every event that the world processes is mixed into one hash, in order. Two runs of one seed
//! have equal hashes; if they do not, the optional log shows at which event they diverge.

use xxhash_rust::xxh3::Xxh3;

/// One processed event, as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// Virtual time in nanoseconds.
    pub at_ns: u64,
    /// The kind of event.
    pub what: &'static str,
    /// Two numbers that identify it: hosts, ports, a fault's number.
    pub which: (u64, u64),
    /// The running hash after it, with its contents mixed in.
    pub hash: u64,
}

/// The hashed numbers of an event: its time, its two identifying numbers, and the length of its
/// contents.
const HEAD: usize = 32;

/// Longer kinds of events are hashed in two pieces.
const MAX_KIND: usize = 16;

/// The running fingerprint.
pub struct Trace {
    hasher: Xxh3,
    events: u64,
    log: Option<Vec<TraceEvent>>,
}

impl Trace {
    /// An empty trace; with `keep_log` it remembers every event.
    pub fn new(keep_log: bool) -> Self {
        Self {
            hasher: Xxh3::new(),
            events: 0,
            log: keep_log.then(Vec::new),
        }
    }

    /// Mixes in one event.
    pub fn event(&mut self, at_ns: u64, what: &'static str, which: (u64, u64), contents: &[u8]) {
        let mut head = [0; HEAD + MAX_KIND];
        head[..8].copy_from_slice(&at_ns.to_le_bytes());
        head[8..16].copy_from_slice(&which.0.to_le_bytes());
        head[16..24].copy_from_slice(&which.1.to_le_bytes());
        head[24..HEAD].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        // In one piece, if it fits: the hasher takes as long for a piece as for its bytes.
        match head.get_mut(HEAD..HEAD + what.len()) {
            Some(place) => {
                place.copy_from_slice(what.as_bytes());
                self.hasher.update(&head[..HEAD + what.len()]);
            }
            None => {
                self.hasher.update(&head[..HEAD]);
                self.hasher.update(what.as_bytes());
            }
        }
        if !contents.is_empty() {
            self.hasher.update(contents);
        }
        self.events += 1;
        if let Some(log) = &mut self.log {
            log.push(TraceEvent {
                at_ns,
                what,
                which,
                hash: self.hasher.digest(),
            });
        }
    }

    /// The hash of all events so far.
    pub fn hash(&self) -> u64 {
        self.hasher.digest()
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The log, if it was kept.
    pub fn into_log(self) -> Vec<TraceEvent> {
        self.log.unwrap_or_default()
    }
}

/// The number of the first event in which two logs differ, counted from 0.
pub fn first_difference(one: &[TraceEvent], other: &[TraceEvent]) -> Option<usize> {
    if one == other {
        return None;
    }
    let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    Some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace_of(events: &[(u64, &[u8])]) -> Trace {
        let mut trace = Trace::new(true);
        for (at_ns, contents) in events {
            trace.event(*at_ns, "test", (1, 2), contents);
        }
        trace
    }

    #[test]
    fn hash_covers_time_contents_and_boundaries() {
        let base = trace_of(&[(1, b"ab"), (2, b"c")]).hash();
        assert_eq!(base, trace_of(&[(1, b"ab"), (2, b"c")]).hash());
        assert_ne!(base, trace_of(&[(1, b"ab"), (3, b"c")]).hash());
        assert_ne!(base, trace_of(&[(1, b"a"), (2, b"bc")]).hash());
    }

    #[test]
    fn log_shows_where_two_runs_diverge() {
        let one = trace_of(&[(1, b"a"), (2, b"b"), (3, b"c")]).into_log();
        let other = trace_of(&[(1, b"a"), (2, b"x"), (3, b"c")]).into_log();
        assert_eq!(first_difference(&one, &other), Some(1));
        assert_eq!(first_difference(&one, &one[..2]), Some(2));
        assert_eq!(first_difference(&one, &one), None);
    }
}
