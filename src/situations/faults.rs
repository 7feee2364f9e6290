//! The faults of a run as periods: which host stands still, and which link is cut, at a time.

use locklab_history::{Event, FaultKind, FaultyLinks, History, Name, PacketFault, Phase, Span};
use locklab_vecmap::VecMap;

/// The faults of a run that stop hosts or cut links.
pub(super) struct Faults<'a>(Vec<Period<'a>>);

/// A fault on one host while it lasts.
pub struct Period<'a> {
    /// The name of the fault.
    pub fault: &'a Name,
    /// The host.
    pub host: &'a Name,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The links, if it is a fault of links.
    pub links: Option<&'a FaultyLinks>,
    /// When it began, in nanoseconds of true time.
    pub from_ns: u64,
    /// When it ended: `u64::MAX` if it did not, and when it began if it is momentary.
    pub until_ns: u64,
}

/// All faults of a history that took effect, on each of their hosts.
pub fn periods(history: &History) -> Vec<Period<'_>> {
    let mut periods: Vec<Period> = Vec::new();
    let mut open: VecMap<(&Name, &Name), usize> = VecMap::new();
    for record in &history.records {
        let Event::Fault {
            fault,
            kind,
            phase,
            links,
        } = &record.event
        else {
            continue;
        };
        match phase {
            Phase::Begins => {
                open.insert((fault, &record.host), periods.len());
                periods.push(Period {
                    fault,
                    host: &record.host,
                    kind: *kind,
                    links: links.as_deref(),
                    from_ns: record.at_ns,
                    until_ns: match kind.span() {
                        Span::Momentary => record.at_ns,
                        Span::Lasting | Span::Down => u64::MAX,
                    },
                });
            }
            Phase::Ends => {
                if let Some(place) = open.remove(&(fault, &record.host)) {
                    periods[place].until_ns = record.at_ns;
                }
            }
            Phase::Before | Phase::Missed => {}
        }
    }
    periods
}

impl<'a> Faults<'a> {
    /// Those of a history.
    pub(super) fn of(history: &'a History) -> Self {
        Faults(periods(history))
    }

    fn at(&self, at_ns: u64) -> impl Iterator<Item = &Period<'a>> {
        let periods = self.0.iter();
        periods.filter(move |it| it.from_ns <= at_ns && at_ns <= it.until_ns)
    }

    /// Whether the process or the machine of this host stands still.
    pub(super) fn is_stopped(&self, host: &Name, at_ns: u64) -> bool {
        let stops = |it: &Period| it.kind.stands_still();
        self.at(at_ns).any(|it| it.host == host && stops(it))
    }

    /// Whether no packet gets through from one of these hosts to the other, or back. Either is enough:
    /// no request is answered.
    pub(super) fn is_cut(&self, one: &str, other: &str, at_ns: u64) -> bool {
        self.at(at_ns).any(|it| {
            it.links.is_some_and(|links| {
                links.packets == PacketFault::Cut
                    && (is_between(links, one, other) || is_between(links, other, one))
            })
        })
    }
}

/// Whether the links lead from one host to the other, in the direction that is named or in both.
fn is_between(links: &FaultyLinks, from: &str, to: &str) -> bool {
    let has = |side: &[Name], host: &str| side.iter().any(|it| &**it == host);
    has(&links.from, from) && has(&links.to, to)
}
