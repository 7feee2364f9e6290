//! Locklab's own recordings as histories of a lock. Their checks judge the recording itself; this form
//! is for the search.

use locklab_history::{ClockKind, Event, History, Name, Op, Outcome as Told};
use locklab_vecmap::VecMap;

use crate::history::{
    Call, Clock, Deadline, KeyHistory, LockHistory, ONLY_KEY, Outcome, Shown, What,
};
use crate::models::{Act, ModelName};
use crate::raw::Header;

/// The history of the lock in a recording. `servers` is on how many its key can be stored; without a
/// model it is that of a lock with leases, and of readers and writers where there are readers.
pub fn history(recorded: &History, servers: u32, model: Option<ModelName>) -> LockHistory {
    let mut pass = Pass::default();
    // The first line of the file is its header.
    for (line, record) in (2..).zip(&recorded.records) {
        let holder = pass.number(&record.host);
        let point = |pass: &mut Pass, what| {
            let shown = Shown {
                wall_ns: Some(record.wall_ns),
                mono_ns: Some(record.mono_ns),
            };
            pass.key.push(record.at_ns, line, holder, shown, what);
        };
        match &record.event {
            Event::Invoke { call: number, op } if act(*op).is_some() => {
                let act = act(*op).unwrap_or(Act::Acquire);
                let call = pass.invoke((holder, *number), act, record.at_ns, line);
                point(&mut pass, What::Invoked(call as u32));
            }
            Event::Complete {
                call: number,
                op,
                outcome,
                ..
            } if act(*op).is_some() => {
                let number = (holder, *number);
                if let Some(call) = pass.complete(number, *outcome, record.at_ns, line) {
                    point(&mut pass, What::Returned(call as u32));
                }
            }
            Event::BeliefBegins {
                deadline,
                token,
                shared,
                ..
            } => {
                if let Some(call) = pass.last(holder) {
                    call.token = *token;
                    call.shared = *shared;
                    call.deadline = deadline.map(|deadline| Deadline {
                        clock: match deadline.clock {
                            ClockKind::Wall => Clock::Wall,
                            ClockKind::Monotonic => Clock::Mono,
                        },
                        at_ns: deadline.at_ns,
                    });
                }
                // The deadline is watched from here.
                point(&mut pass, What::Clocks);
            }
            // It was answered, and found no lock to release.
            Event::Released { removed: 0, .. } => {
                if let Some(call) = pass.last(holder) {
                    call.outcome = Outcome::Failed;
                }
            }
            Event::Dropped { .. } => point(&mut pass, What::Lost),
            event if event.is_death() => {
                pass.open.retain(|&(host, _), _| host != holder);
                point(&mut pass, What::Lost);
            }
            _ => point(&mut pass, What::Clocks),
        }
    }
    pass.key.note_clocks();
    let has_readers = pass.key.calls.iter().any(|call| call.shared);
    let model = model.unwrap_or(match has_readers {
        true => ModelName::ReadWrite,
        false => ModelName::Renewal,
    });
    LockHistory {
        header: Header {
            servers,
            ..Header::of(model)
        },
        keys: vec![pass.key],
        skipped: 0,
        notes: vec![],
        told: locklab_history::Told::default(),
    }
}

fn act(op: Op) -> Option<Act> {
    match op {
        Op::Acquire => Some(Act::Acquire),
        Op::Release => Some(Act::Release),
        Op::Extend => Some(Act::Extend),
        Op::Read | Op::Write | Op::Add | Op::Members => None,
    }
}

struct Pass {
    numbers: VecMap<Name, u32>,
    key: KeyHistory,
    /// Calls that have not returned, by host and number.
    open: VecMap<(u32, u32), usize>,
    /// Per host: its last call that has.
    last: VecMap<u32, usize>,
}

impl Default for Pass {
    fn default() -> Self {
        Pass {
            numbers: VecMap::new(),
            key: KeyHistory {
                key: ONLY_KEY.into(),
                ..KeyHistory::default()
            },
            open: VecMap::new(),
            last: VecMap::new(),
        }
    }
}

impl Pass {
    fn number(&mut self, name: &Name) -> u32 {
        let next = self.key.names.len() as u32;
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.key.names.push(name.clone());
        }
        number
    }

    fn invoke(&mut self, number: (u32, u32), act: Act, at_ns: u64, line: u32) -> usize {
        let call = self.key.calls.len();
        self.key.calls.push(Call {
            process: number.0,
            holder: number.0,
            act,
            invoked_ns: at_ns,
            invoked_line: line,
            returned: None,
            outcome: Outcome::Unknown,
            token: None,
            deadline: None,
            shared: false,
            permits: 1,
        });
        self.open.insert(number, call);
        call
    }

    fn complete(&mut self, number: (u32, u32), told: Told, at_ns: u64, line: u32) -> Option<usize> {
        let index = self.open.remove(&number)?;
        self.last.insert(number.0, index);
        let call = &mut self.key.calls[index];
        call.outcome = match told {
            Told::Ok => Outcome::Ok,
            Told::Failed | Told::Unsupported => Outcome::Failed,
            Told::Unknown => Outcome::Unknown,
        };
        if told != Told::Unknown {
            call.returned = Some((at_ns, line));
        }
        Some(index)
    }

    /// The last call of a host that has returned.
    fn last(&mut self, holder: u32) -> Option<&mut Call> {
        let index = self.last.get(&holder)?;
        Some(&mut self.key.calls[*index])
    }
}
