//! When the servers answered programs.

use locklab_history::{Name, RESOURCE};
use locklab_proxy::Segment;
use locklab_vecmap::VecMap;

/// The requests of programs to the servers of their lock, with the connection of each and when it left, and the answers
/// on each connection, with when they left and had arrived; in nanoseconds of the machine's monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a> {
    requests: VecMap<&'a Name, Vec<(u64, u64)>>,
    answers: VecMap<u64, Vec<(u64, u64)>>,
}

impl<'a> Answers<'a> {
    pub(crate) fn of(segments: &'a [Segment], is_client: impl Fn(&Name) -> bool) -> Self {
        let mut of = Answers::default();
        let to_servers =
            { segments.iter() }.filter(|it| *it.from != *RESOURCE && *it.to != *RESOURCE);
        for segment in to_servers {
            if is_client(&segment.from) {
                let requests = of.requests.entry(&segment.from).or_default();
                requests.push((segment.sent_ns, segment.connection));
            } else if let Some(arrived_ns) = segment.arrived_ns {
                let answers = of.answers.entry(segment.connection).or_default();
                answers.push((segment.sent_ns, arrived_ns));
            }
        }
        of.requests.values_mut().for_each(|all| all.sort_unstable());
        of.answers.values_mut().for_each(|all| all.sort_unstable());
        of
    }

    /// When the first request was answered that a program sent at `from_ns` or later; `None` if it was not by `by_ns`.
    pub(super) fn after(&self, host: &Name, from_ns: u64, by_ns: u64) -> Option<u64> {
        let requests = self.requests.get(host)?;
        let first = requests.partition_point(|(sent_ns, _)| *sent_ns < from_ns);
        let (sent_ns, connection) = requests.get(first)?;
        let answers = self.answers.get(connection)?;
        let first = answers.partition_point(|(answered_ns, _)| answered_ns < sent_ns);
        let (_, arrived_ns) = answers.get(first)?;
        (*arrived_ns <= by_ns).then_some(*arrived_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_on_its_connection() {
        let segment = |connection, from: &str, to: &str, sent_ns, arrived_ns| Segment {
            connection,
            from: from.into(),
            to: to.into(),
            sent_ns,
            arrived_ns: Some(arrived_ns),
            payload: vec![1].into(),
        };
        let segments = [
            segment(1, "c1", "n1", 10, 12),
            segment(2, "n1", "c1", 13, 14),
            segment(1, "n1", "c1", 15, 18),
            segment(3, "c1", "resource", 20, 21),
            segment(3, "resource", "c1", 22, 23),
            segment(1, "c1", "n1", 30, 32),
        ];
        let answers = Answers::of(&segments, |name| name.starts_with('c'));
        let after = |from_ns, by_ns| answers.after(&"c1".into(), from_ns, by_ns);
        assert_eq!(after(5, 18), Some(18));
        assert_eq!(after(10, 20), Some(18));
        assert_eq!(after(10, 17), None);
        assert_eq!(after(11, 100), None);
    }
}
