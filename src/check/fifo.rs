//! No client is granted the lock ahead of a client that asked earlier and still waits.
//!
//! A history does not record in which order the nodes received the requests of two clients. It
//! proves that A asked before B in one case: A's first attempt had been refused when B made its
//! first. Clients whose first attempts overlap in time may get the lock in either order.
//!
//! A waits from that refusal until it is granted the lock, gives up (it reaches `giving-up`),
//! or dies. If A is in a call of `acquire` when B is granted the lock, the nodes may have
//! chosen A already, and the outcome of A's call decides: only if it is refused has B overtaken
//! A.
//!
//! A holder that takes the lock once more within its lease overtakes no one. An attempt that failed
//! because no node could be reached counts as a refusal; a history does not distinguish the two. A
//! run proves nothing in which the lock was never granted to one of two clients, of which one asked
//! while the other waited, and both still wanted it, while a fault mattered if there was one.

use super::effects::Effects;
use super::{Ms, Verdict, Violation};
use locklab_history::timeline::Timeline;
use locklab_history::{Event, Failpoint, Name, Op, Outcome};

pub(super) fn check(timeline: &Timeline, effects: &Effects) -> Verdict {
    let mut clients: Vec<Client> = Vec::new();
    clients.resize_with(timeline.hosts, Client::default);
    let mut first: Option<Violation> = None;
    let mut had_choice = false;
    for (index, host, record) in timeline.records() {
        match &record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => {
                let client = &mut clients[host];
                client.asked.get_or_insert(index);
                client.in_call = true;
            }
            Event::Complete {
                op: Op::Acquire,
                outcome,
                ..
            } => {
                let client = &mut clients[host];
                client.in_call = false;
                let suspicion = client.suspicion.take();
                if *outcome == Outcome::Failed {
                    client.name = Some(&record.host);
                    client.refused.get_or_insert((index, record.at_ns));
                    keep_earlier(&mut first, suspicion);
                }
            }
            Event::BeliefBegins { .. } => {
                let mut others = timeline.believed(host, index);
                let is_another = others.any(|held| held.lapses_ns > record.at_ns);
                let client = &mut clients[host];
                let refused = client.refused.take();
                if let Some(asked) = client.asked.take()
                    && !is_another
                {
                    let at_ns = record.at_ns;
                    let matters = effects.matter_at(index, at_ns);
                    had_choice |= matters && has_choice(&clients, asked, refused);
                    for passed in &mut clients {
                        if let Some(passing) = passed.passed_by(&record.host, asked, at_ns) {
                            match passed.in_call {
                                true => keep_earlier(&mut passed.suspicion, Some(passing)),
                                false => keep_earlier(&mut first, Some(passing)),
                            }
                        }
                    }
                }
            }
            event if event.is_reached(Failpoint::GivingUp) => {
                clients[host].asked = None;
                clients[host].refused = None;
            }
            event if event.is_death() => clients[host] = Client::default(),
            _ => {}
        }
    }
    match first {
        None if !had_choice => Verdict::Inconclusive {
            why: "the lock was never granted while an earlier and a later client waited".into(),
        },
        first => first.into(),
    }
}

#[derive(Default)]
struct Client<'h> {
    /// Its name, once it has been refused.
    name: Option<&'h Name>,
    /// The index of its first attempt in the history, if it requests the lock.
    asked: Option<usize>,
    /// The index and time of its first refusal in the history, if it waits.
    refused: Option<(usize, u64)>,
    in_call: bool,
    /// A client has overtaken it, unless its current call is granted.
    suspicion: Option<Violation>,
}

impl Client<'_> {
    /// The violation, if this client waits, that `other`, whose first attempt was at `asked`,
    /// is granted the lock.
    fn passed_by(&self, other: &Name, asked: usize, at_ns: u64) -> Option<Violation> {
        let (refused, refused_ns) = self.refused?;
        let name = self.name?;
        (refused < asked).then(|| Violation {
            at_ns,
            until_ns: at_ns,
            clients: vec![name.clone(), other.clone()],
            what: format!(
                "{other} was granted the lock at {} past {name}, which had been refused it at {} \
                 and still waited",
                Ms(at_ns),
                Ms(refused_ns),
            ),
        })
    }
}

/// Whether the grant to a client, which asked and was refused at these indices, could have gone to
/// another in a wrong order, or did: one asked while the other waited, and it still asks.
fn has_choice(clients: &[Client], asked: usize, refused: Option<(usize, u64)>) -> bool {
    clients.iter().any(|other| {
        let came_later = other
            .asked
            .is_some_and(|later| refused.is_some_and(|(refused, _)| refused < later));
        came_later || other.refused.is_some_and(|(earlier, _)| earlier < asked)
    })
}

fn keep_earlier(kept: &mut Option<Violation>, other: Option<Violation>) {
    if let Some(other) = other
        && kept.as_ref().is_none_or(|kept| other.at_ns < kept.at_ns)
    {
        *kept = Some(other);
    }
}
