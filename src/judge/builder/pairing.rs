//! Finds the return of each call, and what each line says of which lock.

use std::collections::{BTreeMap, BTreeSet};

use locklab_history::Name;

use super::{Line, Numbered};
use crate::history::{Access, Call, KeyHistory, ONLY_KEY, Outcome, What};
use crate::models::Act;
use crate::raw::{Bad, F, Type};

/// Finds the return of each call.
pub(super) struct Pairing {
    /// Processes and owners.
    names: Vec<Name>,
    keys: Numbered,
    /// How many lines each key has if all have as many: room for one lock's history at once.
    lines: usize,
    histories: Vec<KeyHistory>,
    /// Per key: the numbers that processes and owners have in its history.
    numbers: Vec<BTreeMap<u32, u32>>,
    /// Per process: its call that has not returned yet, as key and index.
    open: Vec<Option<(usize, usize)>>,
    /// Per process: when it sent the access that has not been answered yet.
    asked_ns: Vec<Option<u64>>,
    /// Per key: the last access, as time and line.
    accessed: Vec<Option<(u64, u32)>>,
    /// Per process: the keys in which it appears.
    appears: Vec<BTreeSet<usize>>,
    /// Per process and key, where it has named an owner: for whom it calls.
    owners: BTreeMap<(u32, usize), Owners>,
}

/// The owners for whom a process has called.
#[derive(Default)]
struct Owners {
    /// The last.
    now: u32,
    /// Those for whom it has asked for the lock, and not called release since.
    asked: Vec<u32>,
}

impl Pairing {
    pub(super) fn new(names: Vec<Name>, keys: Numbered, lines: usize) -> Pairing {
        let processes = names.len();
        let mut pairing = Pairing {
            names,
            lines: lines / keys.names.len().max(1),
            keys,
            histories: Vec::new(),
            numbers: Vec::new(),
            open: vec![None; processes],
            asked_ns: vec![None; processes],
            accessed: Vec::new(),
            appears: vec![BTreeSet::new(); processes],
            owners: BTreeMap::new(),
        };
        pairing.make_room();
        pairing
    }

    fn make_room(&mut self) {
        for name in &self.keys.names[self.histories.len()..] {
            self.accessed.push(None);
            self.numbers.push(BTreeMap::new());
            self.histories.push(KeyHistory {
                key: (**name).into(),
                points: Vec::with_capacity(self.lines),
                calls: Vec::with_capacity(self.lines / 2),
                ..KeyHistory::default()
            });
        }
    }

    fn key(&mut self, line: &Line) -> usize {
        let key = line.key.unwrap_or_else(|| self.keys.of(ONLY_KEY)) as usize;
        self.make_room();
        self.appears[line.process as usize].insert(key);
        key
    }

    /// The number of a process, or of an owner, in the history of a key.
    fn number(&mut self, key: usize, name: u32) -> u32 {
        let names = &mut self.histories[key].names;
        let number = self.numbers[key].entry(name).or_insert_with(|| {
            names.push(self.names[name as usize].clone());
            names.len() as u32 - 1
        });
        *number
    }

    /// The number of the holder that a line is about.
    fn holder(&mut self, key: usize, line: &Line) -> u32 {
        let last = || self.owners.get(&(line.process, key)).map(|it| it.now);
        let owner = line.rare().owner.or_else(last);
        self.number(key, owner.unwrap_or(line.process))
    }

    pub(super) fn take(&mut self, line: &Line) -> Result<(), Bad> {
        let act = match line.f {
            F::Acquire => Act::Acquire,
            F::Release => Act::Release,
            F::Extend => Act::Extend,
            F::Read | F::Write => {
                self.access(line);
                return Ok(());
            }
            F::Lost => {
                let key = self.key(line);
                self.lose(key, line);
                return Ok(());
            }
            F::Crash => {
                for key in self.appears[line.process as usize].clone() {
                    let owners = self.owners.get_mut(&(line.process, key));
                    let asked = owners.map(|it| std::mem::take(&mut it.asked));
                    for owner in asked.unwrap_or_default() {
                        let holder = self.number(key, owner);
                        push(&mut self.histories[key], line, holder, What::Lost);
                    }
                    let holder = self.number(key, line.process);
                    push(&mut self.histories[key], line, holder, What::Lost);
                }
                self.open[line.process as usize] = None;
                return Ok(());
            }
        };
        match line.kind {
            Type::Invoke => self.invoke(line, act),
            _ => self.complete(line, act),
        }
    }

    fn invoke(&mut self, line: &Line, act: Act) -> Result<(), Bad> {
        let process = line.process as usize;
        if let Some((key, call)) = self.open[process] {
            let open = &self.histories[key].calls[call];
            return Err(Bad::at(
                line.line,
                format!(
                    "this process calls {} before its call of line {} has returned; a process does one \
                     thing at a time: give each thread a name of its own, or log the return as \"info\"",
                    line.f.name(),
                    open.invoked_line,
                ),
            ));
        }
        let key = self.key(line);
        self.note_owner(key, line, act);
        let holder = self.holder(key, line);
        let number = self.number(key, line.process);
        let history = &mut self.histories[key];
        let call = history.calls.len();
        history.calls.push(Call {
            process: number,
            holder,
            act,
            invoked_ns: line.at_ns,
            invoked_line: line.line,
            returned: None,
            outcome: Outcome::Unknown,
            token: line.rare().token,
            deadline: line.deadline,
            shared: line.shared,
            permits: line.rare().permits.unwrap_or(1),
        });
        push(history, line, holder, What::Invoked(call as u32));
        self.open[process] = Some((key, call));
        Ok(())
    }

    /// Notes for whom a call is.
    fn note_owner(&mut self, key: usize, line: &Line, act: Act) {
        let place = (line.process, key);
        if let Some(owner) = line.rare().owner {
            self.owners.entry(place).or_default().now = owner;
        }
        let Some(owners) = self.owners.get_mut(&place) else {
            return;
        };
        match act {
            Act::Acquire => owners.asked.push(owners.now),
            Act::Release => {
                let place = owners.asked.iter().rposition(|&it| it == owners.now);
                place.map(|place| owners.asked.swap_remove(place));
            }
            Act::Extend => {}
        }
    }

    fn complete(&mut self, line: &Line, act: Act) -> Result<(), Bad> {
        let Some((key, index)) = self.open[line.process as usize].take() else {
            return Err(Bad::at(
                line.line,
                format!(
                    "this {} has no call before it; log a line with \"type\":\"invoke\" when the process calls",
                    line.f.name()
                ),
            ));
        };
        let names = &self.keys.names;
        let history = &mut self.histories[key];
        let call = &mut history.calls[index];
        if call.act != act {
            let what = format!(
                "a return of {}, but the call of line {} is another operation",
                line.f.name(),
                call.invoked_line
            );
            return Err(Bad::at(line.line, what));
        }
        if let Some(other) = line
            .key
            .filter(|&other| *names[other as usize] != *history.key)
        {
            let what = format!(
                "a return for the lock \"{}\", but the call of line {} is for \"{}\"",
                names[other as usize], call.invoked_line, history.key
            );
            return Err(Bad::at(line.line, what));
        }
        if let Some(owner) = line.rare().owner
            && self.numbers[key].get(&owner) != Some(&call.holder)
        {
            let what = format!(
                "a return for the owner \"{}\", but the call of line {} is for \"{}\"; write \"owner\" on the \
                 line of the call",
                self.names[owner as usize], call.invoked_line, history.names[call.holder as usize]
            );
            return Err(Bad::at(line.line, what));
        }
        call.outcome = match line.kind {
            Type::Ok => Outcome::Ok,
            Type::Fail => Outcome::Failed,
            Type::Info | Type::Invoke => Outcome::Unknown,
        };
        // An operation of unknown outcome may take effect after this line.
        if call.outcome != Outcome::Unknown {
            call.returned = Some((line.at_ns, line.line));
        }
        call.token = line.rare().token.or(call.token);
        call.deadline = line.deadline.or(call.deadline);
        call.shared |= line.shared;
        call.permits = line.rare().permits.unwrap_or(call.permits);
        let holder = call.holder;
        push(history, line, holder, What::Returned(index as u32));
        Ok(())
    }

    fn lose(&mut self, key: usize, line: &Line) {
        let holder = self.holder(key, line);
        push(&mut self.histories[key], line, holder, What::Lost);
    }

    fn access(&mut self, line: &Line) {
        let process = line.process as usize;
        if line.kind == Type::Invoke {
            self.asked_ns[process] = Some(line.at_ns);
            return;
        }
        let key = self.key(line);
        let from_ns = self.asked_ns[process].take().unwrap_or(line.at_ns);
        let history = &mut self.histories[key];
        if line.kind == Type::Info {
            history.accesses_doubt.get_or_insert_with(|| {
                format!(
                    "nobody knows whether the {} of line {} took effect",
                    line.f.name(),
                    line.line
                )
            });
            return;
        }
        let overlapped = self.accessed[key].filter(|&(at_ns, _)| from_ns < at_ns);
        if let Some((_, last_line)) = overlapped {
            history.accesses_doubt.get_or_insert_with(|| {
                format!(
                    "the accesses of lines {last_line} and {} overlap in time, so their order is \
                     unknown; log accesses where the resource serves them",
                    line.line
                )
            });
        }
        self.accessed[key] = Some((line.at_ns, line.line));
        let holder = self.holder(key, line);
        let access = Access {
            writes: line.f == F::Write,
            accepted: line.kind == Type::Ok,
            token: line.rare().token,
            version: line.rare().version,
            based_on: line.rare().based_on,
        };
        let history = &mut self.histories[key];
        let what = What::Access(history.accesses.len() as u32);
        history.accesses.push(access);
        push(history, line, holder, what);
    }

    pub(super) fn finish(mut self) -> Vec<KeyHistory> {
        self.histories.iter_mut().for_each(KeyHistory::note_clocks);
        self.histories
    }
}

/// Adds a point to a history.
fn push(history: &mut KeyHistory, line: &Line, holder: u32, what: What) {
    history.push(line.at_ns, line.line, holder, line.rare().shown, what);
}
