//! Random schedules against Raft's guarantees (figure 3 of the paper): one leader in a
//! term, and no committed entry ever lost or changed, on any member.
//!
//! Members here call each other through a list of pending calls, from which the next is drawn
//! at random: calls overtake each other, arrive after they were given up, or never arrive;
//! members restart with their saved state. To show that the campaign would detect a broken
//! rule, one is broken without a change to the code: on the disk.

use bytes::Bytes;
use locklab_vecmap::VecMap;

use super::*;
use locklab_values::random::Stream;

use locklab_values::units::NS_PER_MS as MS;

/// The state of the disk after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Disk {
    Honest,
    ForgetsVotes,
    /// The last record is lost.
    LosesTheEnd,
}

/// A pending call, or its answer.
struct Message {
    from: Member,
    to: Member,
    sent: Sent,
    is_given_up: bool,
    content: Content,
}

enum Content {
    Call(Request),
    Answer(Answer),
}

struct Cluster {
    chance: Stream,
    disk: Disk,
    now_ns: u64,
    rafts: Vec<Raft>,
    files: Vec<Vec<Record>>,
    messages: Vec<Message>,
    leaders: VecMap<u64, Member>,
    /// The committed entries, as reported by the first member that knew of each.
    committed: Vec<Entry>,
    /// The index up to which each member's log was compared with `committed`.
    compared: Vec<u64>,
}

/// Whether faults occur.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Faulty,
    Healthy,
}

impl Cluster {
    fn new(seed: u64, size: usize, disk: Disk) -> Self {
        let mut cluster = Cluster {
            chance: Stream::new(seed, "campaign"),
            disk,
            now_ns: 0,
            rafts: Vec::new(),
            files: vec![Vec::new(); size],
            messages: Vec::new(),
            leaders: VecMap::new(),
            committed: Vec::new(),
            compared: vec![0; size],
        };
        cluster.rafts = (0..size).map(|me| cluster.start(me)).collect();
        cluster
    }

    fn start(&mut self, me: Member) -> Raft {
        let durable = Durable::replay(self.files[me].iter().cloned());
        let mut stream = Stream::new(self.chance.below(u64::MAX), "member");
        let random = Box::new(move |n| stream.below(n));
        let size = self.files.len();
        Raft::new(me, size, Timing::default(), random, durable, self.now_ns)
    }

    fn some_member(&mut self) -> Member {
        self.chance.below(self.files.len() as u64) as usize
    }

    /// Executes one random step.
    fn step(&mut self, network: Network) -> Result<(), String> {
        let faults = if network == Network::Faulty { 4 } else { 0 };
        match self.chance.below(96 + faults) {
            0..10 => {
                self.now_ns += self.chance.below(40 * MS);
                let now_ns = self.now_ns;
                self.rafts.iter_mut().for_each(|raft| raft.tick(now_ns));
            }
            10..20 => {
                let member = self.some_member();
                let command = Bytes::from(self.chance.below(u64::MAX).to_string());
                self.rafts[member].propose(command);
            }
            20..58 => self.call(),
            58..96 => self.deliver(),
            96..98 => self.give_up(),
            _ => self.restart(),
        }
        for (raft, file) in self.rafts.iter_mut().zip(&mut self.files) {
            file.extend(raft.take_unsaved());
        }
        self.check()
    }

    fn call(&mut self) {
        let (from, to) = (self.some_member(), self.some_member());
        let is_busy = |m: &Message| (m.from, m.to, m.is_given_up) == (from, to, false);
        if from == to || self.messages.iter().any(is_busy) {
            return;
        }
        if let Some((request, sent)) = self.rafts[from].request_for(to, self.now_ns) {
            self.messages.push(Message {
                from,
                to,
                sent,
                is_given_up: false,
                content: Content::Call(request),
            });
        }
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let which = self.chance.below(self.messages.len() as u64) as usize;
        let mut message = self.messages.swap_remove(which);
        match message.content {
            Content::Call(request) => {
                let answer = self.rafts[message.to].answer(request, self.now_ns);
                message.content = Content::Answer(answer);
                self.messages.push(message);
            }
            Content::Answer(answer) if !message.is_given_up => {
                self.rafts[message.from].answered(message.to, message.sent, answer, self.now_ns);
            }
            Content::Answer(_) => {}
        }
    }

    /// A member stops waiting for an answer; the call may still arrive.
    fn give_up(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let which = self.chance.below(self.messages.len() as u64) as usize;
        let message = &mut self.messages[which];
        if !std::mem::replace(&mut message.is_given_up, true) {
            self.rafts[message.from].unanswered(message.to);
        }
    }

    fn restart(&mut self) {
        let member = self.some_member();
        for message in &mut self.messages {
            message.is_given_up |= message.from == member;
        }
        match self.disk {
            Disk::Honest => {}
            Disk::ForgetsVotes => {
                for record in &mut self.files[member] {
                    if let Record::Term(_, vote) = record {
                        *vote = None;
                    }
                }
            }
            Disk::LosesTheEnd => drop(self.files[member].pop()),
        }
        self.rafts[member] = self.start(member);
        self.compared[member] = 0;
    }

    fn check(&mut self) -> Result<(), String> {
        for (member, raft) in self.rafts.iter().enumerate() {
            if let Some(term) = raft.leads_in() {
                let leader = *self.leaders.entry(term).or_insert(member);
                if leader != member {
                    return Err(format!("{leader} and {member} both lead in term {term}"));
                }
            }
            for index in self.compared[member] + 1..=raft.commit() {
                let Some(entry) = raft.durable().log().get(index) else {
                    return Err(format!("{member} lacks {index}, which is committed"));
                };
                match self.committed.get(index as usize - 1) {
                    None => self.committed.push(entry.clone()),
                    Some(committed) if committed == entry => {}
                    Some(_) => return Err(format!("{member} has another {index}")),
                }
                self.compared[member] = index;
            }
        }
        Ok(())
    }

    /// A period with faults, then one without, after which every member has all entries.
    fn run(&mut self) -> Result<(), String> {
        for _ in 0..2_000 {
            self.step(Network::Faulty)?;
        }
        let before = self.committed.len();
        for _ in 0..3_000 {
            self.step(Network::Healthy)?;
        }
        // Compare from the beginning again: the committed entries must still be there.
        self.compared.fill(0);
        self.check()?;
        let fewest = self.rafts.iter().map(Raft::commit).min().unwrap_or(0);
        if fewest as usize <= before {
            return Err(format!("nothing new after {before}"));
        }
        Ok(())
    }
}

/// The violations in this number of runs, by seed.
fn violations(runs: u64, disk: Disk) -> Vec<String> {
    let run = |seed| {
        let size = if seed % 2 == 0 { 3 } else { 5 };
        let outcome = Cluster::new(seed, size, disk).run();
        outcome.err().map(|what| format!("seed {seed}: {what}"))
    };
    (0..runs).filter_map(run).collect()
}

#[test]
fn raft_guarantees_hold_under_random_schedules() {
    assert_eq!(violations(300, Disk::Honest), Vec::<String>::new());
}

#[test]
fn the_campaign_notices_a_disk_that_forgets() {
    for disk in [Disk::ForgetsVotes, Disk::LosesTheEnd] {
        assert_ne!(violations(300, disk), Vec::<String>::new(), "{disk:?}");
    }
}
