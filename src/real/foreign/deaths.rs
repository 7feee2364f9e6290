//! The processes that a program has told as those of its holders: a belief ends with its process, also if that
//! is a child of the program, whose own end is what the testbed sees.

use locklab_values::units::NS_PER_MS;
use locklab_vecmap::VecMap;

use super::processes::stat;

/// Watches processes until they end.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    alive: VecMap<u32, Seen>,
    /// What was found at the last look.
    found: Vec<(u32, u64, u64)>,
    /// When it looks next: a look at each reading of a pipe would take a share of the processor.
    next_ns: u64,
}

/// How long it is from one look to the next, in nanoseconds.
const EVERY_NS: u64 = 20 * NS_PER_MS;

/// A process that was alive.
#[derive(Debug)]
struct Seen {
    /// When it began, in ticks since the machine did: its number may go to another process.
    began: String,
    /// At this time of the machine's monotonic clock, in nanoseconds.
    at_ns: u64,
}

impl Deaths {
    /// Watches this process, which was alive at this time. One that cannot be seen, as in another namespace, is not
    /// watched.
    pub(crate) fn watch(&mut self, process: u32, at_ns: u64) {
        if !self.alive.contains_key(&process)
            && let Some(began) = began(process)
        {
            self.alive.insert(process, Seen { began, at_ns });
        }
    }

    /// The processes that had ended at the look before: everything that they have told is read by now. Each with
    /// the last time at which it was alive, and the first at which it was not.
    pub(crate) fn look(&mut self, now_ns: u64) -> Vec<(u32, u64, u64)> {
        if now_ns < self.next_ns {
            return vec![];
        }
        self.next_ns = now_ns + EVERY_NS;
        let found = &mut self.found;
        let known = std::mem::take(found);
        self.alive.retain(|process, seen| {
            let lives = began(*process).as_ref() == Some(&seen.began);
            match lives {
                true => seen.at_ns = now_ns,
                false => found.push((*process, seen.at_ns, now_ns)),
            }
            lives
        });
        known
    }
}

/// When a process began; `None` if it has ended, waited for or not.
fn began(process: u32) -> Option<String> {
    const BEGAN: usize = 19;
    let stat = stat(process);
    let is_alive = !matches!(stat.first().map(String::as_str), None | Some("Z" | "X"));
    stat.into_iter().nth(BEGAN).filter(|_| is_alive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use nix::unistd::Pid;

    #[test]
    fn the_end_of_a_process_is_known_at_the_look_after_it() {
        let mut deaths = Deaths::default();
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        let process = child.id();
        let [first, second, third, fourth] = [1, 2, 3, 4].map(|nth| nth * EVERY_NS);
        deaths.watch(process, 10);
        deaths.watch(u32::MAX, 10);
        assert_eq!(deaths.look(first), []);
        // It has ended, and nobody has waited for it.
        child.kill().expect("it lives");
        let id = Id::Pid(Pid::from_raw(process.cast_signed()));
        waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).expect("it ends");
        assert_eq!(deaths.look(second), []);
        assert_eq!(deaths.look(second + 1), []);
        assert_eq!(deaths.look(third), [(process, first, second)]);
        assert_eq!(deaths.look(fourth), []);
        child.wait().expect("it has ended");
    }
}
