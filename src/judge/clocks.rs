//! The clocks of processes: what they show at each point of a history, and when they reach deadlines.

use locklab_history::timeline::reached;

use crate::history::{Call, Clock, Deadline, KeyHistory, Outcome, Point, Shown, What};
use crate::models::Act;

/// Per point, what the holder's wall clock and its monotonic clock show. A clock that no deadline of
/// the holder is on shows true time. A line without a reading has the last one and the time since.
pub(crate) fn readings(key: &KeyHistory) -> impl Iterator<Item = (u64, u64)> {
    let holders = key
        .points
        .iter()
        .map(|point| point.holder as usize + 1)
        .max();
    let mut last: Vec<[Option<(u64, u64)>; 2]> = vec![[None; 2]; holders.unwrap_or(0)];
    let mut shown = move |point: &Point, place: usize, clock: Clock, told: Option<u64>| {
        if !key.uses(point.holder, clock) {
            return point.at_ns;
        }
        let last = &mut last[point.holder as usize][place];
        if let Some(told) = told {
            *last = Some((point.at_ns, told));
        }
        last.map_or(0, |(at_ns, reading)| {
            reading.saturating_add(point.at_ns - at_ns)
        })
    };
    let mut told = key.shown.iter().peekable();
    let points = key.points.iter().enumerate();
    points.map(move |(place, point)| {
        let told = told.next_if(|(of, _)| **of == place);
        let told = told.map_or_else(Shown::default, |(_, shown)| *shown);
        let wall_ns = shown(point, 0, Clock::Wall, told.wall_ns);
        (wall_ns, shown(point, 1, Clock::Mono, told.mono_ns))
    })
}

/// Per call, the true time until which nobody else may be granted the lock by its grant or its extension, also one of
/// unknown outcome: when its process's own clock reached the deadline, or the process knew that it had lost
/// the lock. `None` if nothing ends it.
pub(crate) fn true_deadlines(key: &KeyHistory) -> Vec<Option<u64>> {
    let holders = key
        .points
        .iter()
        .map(|point| point.holder as usize + 1)
        .max();
    let mut states: Vec<Watched> = vec![Watched::default(); holders.unwrap_or(0)];
    let mut ends: Vec<Option<u64>> = vec![None; key.calls.len()];
    for (point, clocks) in key.points.iter().zip(readings(key)) {
        let state = &mut states[point.holder as usize];
        state.pass(point, clocks, &mut ends);
        match point.what {
            What::Returned(index) => {
                let index = index as usize;
                let call = &key.calls[index];
                match (call.act, call.outcome) {
                    (Act::Acquire | Act::Extend, Outcome::Ok) => {
                        state.watch(index, call, &mut ends)
                    }
                    (Act::Release, Outcome::Ok) => state.resolve(&mut ends),
                    _ => {}
                }
            }
            What::Lost => {
                for (index, _) in state.open.drain(..) {
                    let end = &mut ends[index];
                    *end = Some(end.unwrap_or(u64::MAX).min(point.at_ns));
                }
            }
            // It may have taken effect at once, or at any later time.
            What::Invoked(index) => {
                let index = index as usize;
                let call = &key.calls[index];
                if call.outcome == Outcome::Unknown
                    && call.act == Act::Extend
                    && call.deadline.is_some()
                {
                    state.watch(index, call, &mut ends);
                }
            }
            What::Access(_) | What::Clocks => {}
        }
    }
    for state in &mut states {
        state.resolve(&mut ends);
    }
    ends
}

/// The deadlines of a holder that its clocks have not reached.
#[derive(Default, Clone)]
struct Watched {
    /// The time of the last point, and the clocks then.
    last: Option<(u64, (u64, u64))>,
    open: Vec<(usize, Option<Deadline>)>,
}

impl Watched {
    fn watch(&mut self, index: usize, call: &Call, ends: &mut [Option<u64>]) {
        if let Some(deadline) = call
            .deadline
            .filter(|deadline| deadline.clock == Clock::Time)
        {
            ends[index] = Some(deadline.at_ns);
        }
        self.open.push((index, call.deadline));
        // What is over already ends at once.
        if let Some((at_ns, clocks)) = self.last {
            self.open.retain(|&(index, deadline)| {
                let is_over = deadline
                    .is_some_and(|deadline| shown(deadline.clock, at_ns, clocks) >= deadline.at_ns);
                if is_over {
                    ends[index] = Some(ends[index].unwrap_or(at_ns).min(at_ns));
                }
                !is_over
            });
        }
    }

    /// Goes on to a point, and ends what its clocks have reached since the last.
    fn pass(&mut self, point: &Point, clocks: (u64, u64), ends: &mut [Option<u64>]) {
        if let Some((last_ns, last)) = self.last {
            self.open.retain(|&(index, deadline)| {
                let Some(deadline) = deadline else {
                    return true;
                };
                let then = (last_ns, shown(deadline.clock, last_ns, last));
                let now = (point.at_ns, shown(deadline.clock, point.at_ns, clocks));
                let reached = reached(deadline.at_ns, then, now);
                if let Some(at_ns) = reached {
                    ends[index] = Some(at_ns);
                }
                reached.is_none()
            });
        }
        self.last = Some((point.at_ns, clocks));
    }

    /// Ends what is open where the clocks will show the deadline if they go on.
    fn resolve(&mut self, ends: &mut [Option<u64>]) {
        let Some((last_ns, last)) = self.last else {
            return;
        };
        for (index, deadline) in self.open.drain(..) {
            if let Some(deadline) = deadline {
                let left_ns = deadline
                    .at_ns
                    .saturating_sub(shown(deadline.clock, last_ns, last));
                ends[index] = Some(last_ns.saturating_add(left_ns));
            }
        }
    }
}

/// What a clock shows at this time, at which the wall clock and the monotonic clock show these.
pub(crate) fn shown(clock: Clock, at_ns: u64, (wall_ns, mono_ns): (u64, u64)) -> u64 {
    match clock {
        Clock::Time => at_ns,
        Clock::Wall => wall_ns,
        Clock::Mono => mono_ns,
    }
}
