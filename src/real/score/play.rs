//! An experiment is played: its steps, one after the other, and the verdict that follows.

use std::time::Duration;

use locklab_history::{ClockKind, Name};
use locklab_values::units::NS_PER_MS;
use serde::Serialize;

use super::experiment::{Do, Experiment, Plan, Rule, Step};
use super::facts::{Fact, Facts};
use super::observer::Observer;
use super::protocol::{Answer, Ended, Line, Order, Word};
use super::stage::Stage;
use super::wire::Message;
use super::{Drill, Drilled, Event};
use crate::foreign::untranslated;
use crate::real_env::read_clock;
use crate::{ConfirmError, Programs};

/// The longest wait for an answer.
pub(super) const LONGEST: Duration = Duration::from_secs(20);

/// How often an order is tried before the first step.
const ATTEMPTS: u32 = 3;

/// How long the connections settle after the first lock.
const SETTLED: Duration = Duration::from_millis(100);

/// What one play of an experiment came to.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// The verdict.
    pub verdict: Verdict,
    /// What was seen.
    pub facts: Facts,
    /// What passed.
    pub wire: Vec<Passed>,
}

/// A message, at a time within the play.
#[derive(Debug, Clone, Serialize)]
pub struct Passed {
    /// Milliseconds since its first step.
    pub ms: f64,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// What is said of a library.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Verdict {
    /// By one of the rules.
    Is {
        /// In words.
        is: String,
        /// Whether that is what a user wants.
        good: Option<bool>,
        /// Its number.
        value: Option<f64>,
        /// The unit of that.
        unit: Option<String>,
    },
    /// The library has no such call.
    NotApplicable {
        /// What is missing.
        lacks: Vec<Word>,
    },
    /// The experiment did not take place.
    Undecided {
        /// What went otherwise.
        why: String,
    },
}

/// Why an experiment ended before its last step.
pub(super) enum Stopped {
    /// It did not take place.
    Otherwise(String),
    /// The library has no such call.
    Lacks(Word),
    /// It failed.
    Failed(ConfirmError),
}

impl From<ConfirmError> for Stopped {
    fn from(error: ConfirmError) -> Stopped {
        Stopped::Failed(error)
    }
}

/// What the library has a call for, as its drill says.
///
/// # Errors
///
/// If servers or processes cannot be started.
pub fn calls(programs: &Programs, drill: &Drill) -> Result<Vec<Word>, ConfirmError> {
    let stage = Stage::start(programs, &drill.is, (1, 1), drill.lease_ms, false)?;
    Ok(stage.can.can.clone())
}

/// Plays an experiment once, on servers of its own, with a library that has a call for these.
///
/// # Errors
///
/// If servers or processes cannot be started.
pub fn play(
    programs: &Programs,
    drill: &Drill,
    can: &[Word],
    experiment: &Experiment,
) -> Result<Played, ConfirmError> {
    let Some(plan) = fitting(experiment, can) else {
        return Ok(without_play(not_applicable(experiment, can)));
    };
    let is_clock = |step: &Step| matches!(step, Step::Clock(_));
    let is_clock_bent = plan.steps.iter().any(is_clock);
    if let Drilled::Program { name, .. } = &drill.is
        && is_clock_bent
        && let Some(why) = untranslated::of_program(name)
    {
        let why = format!("its clock cannot be set: it {}", why.words());
        return Ok(without_play(Verdict::Undecided { why }));
    }
    let lease_ms = (drill.lease_ms as f64 * plan.lease_factor) as u64;
    let hosts = (plan.nodes, plan.clients);
    let stage = Stage::start(programs, &drill.is, hosts, lease_ms, is_clock_bent)?;
    let mut play = Play {
        stage,
        plan,
        lease: Duration::from_millis(lease_ms),
        key: Vec::new(),
        form: String::new(),
        orders: Vec::new(),
        facts: Facts::default(),
        begun_ns: 0,
    };
    play.whole()
}

fn fitting<'e>(experiment: &'e Experiment, can: &[Word]) -> Option<&'e Plan> {
    let fits = |plan: &&Plan| plan.needs.iter().all(|word| can.contains(word));
    experiment.plans.iter().find(fits)
}

fn not_applicable(experiment: &Experiment, can: &[Word]) -> Verdict {
    let needs = experiment.plans.iter().flat_map(|plan| &plan.needs);
    let mut lacks: Vec<Word> = needs.filter(|word| !can.contains(word)).copied().collect();
    lacks.sort();
    lacks.dedup();
    Verdict::NotApplicable { lacks }
}

fn without_play(verdict: Verdict) -> Played {
    Played {
        verdict,
        facts: Facts::default(),
        wire: vec![],
    }
}

/// An order that was given.
pub(super) struct Given {
    /// The name of its answer.
    pub(super) name: Option<String>,
    pub(super) by: Name,
    pub(super) id: u32,
    word: Word,
    at_ns: u64,
    /// Whether the answer has been waited for.
    pub(super) is_over: bool,
}

/// This order, which is to be done at once.
pub(super) fn order(word: Word, by: &Name) -> Do {
    Do {
        word,
        by: by.to_string(),
        name: None,
        wait_ms: None,
        leases: None,
        begin: false,
    }
}

pub(super) struct Play<'p> {
    pub(super) stage: Stage,
    plan: &'p Plan,
    lease: Duration,
    key: Vec<u8>,
    /// The type of the key while it is held.
    form: String,
    pub(super) orders: Vec<Given>,
    pub(super) facts: Facts,
    begun_ns: u64,
}

fn now_ns() -> u64 {
    read_clock(ClockKind::Monotonic)
}

fn ms_between(from_ns: u64, to_ns: u64) -> f64 {
    (to_ns as f64 - from_ns as f64) / NS_PER_MS as f64
}

impl Play<'_> {
    fn whole(&mut self) -> Result<Played, ConfirmError> {
        let done = self.warm_up().and_then(|()| self.steps());
        let verdict = match done {
            Err(Stopped::Failed(error)) => return Err(error),
            Err(Stopped::Otherwise(why)) => Verdict::Undecided { why },
            Err(Stopped::Lacks(word)) => Verdict::NotApplicable { lacks: vec![word] },
            Ok(()) => match self.facts.judged(&self.plan.verdicts) {
                Some(rule) => self.verdict(rule),
                None => Verdict::Undecided {
                    why: "what was seen has no verdict".into(),
                },
            },
        };
        let passed = |message: Message| Passed {
            ms: ms_between(self.begun_ns, message.at_ns),
            message,
        };
        let wire = self.stage.wire.messages().into_iter();
        Ok(Played {
            verdict,
            facts: self.facts.clone(),
            wire: wire.map(passed).collect(),
        })
    }

    fn verdict(&self, rule: &Rule) -> Verdict {
        let value = rule.value.as_ref().and_then(|name| self.facts.get(name));
        Verdict::Is {
            is: rule.is.clone(),
            good: rule.good,
            value: value.and_then(Fact::number),
            unit: rule.unit.clone(),
        }
    }

    /// Every process takes the lock once and releases it: what a program does for the first time takes long, and
    /// shows which key is that of the lock.
    fn warm_up(&mut self) -> Result<(), Stopped> {
        let clients: Vec<Name> = self.stage.processes.keys().cloned().collect();
        for client in clients {
            self.first(&client, Word::Lock)?;
            self.learn()?;
            self.first(&client, Word::Unlock)?;
        }
        self.stage.sleep(SETTLED);
        self.stage
            .each(&[], |observer| observer.call(&["FLUSHALL"]).map(drop))?;
        self.stage.wire.begin_anew();
        self.orders.clear();
        self.begun_ns = now_ns();
        Ok(())
    }

    /// Orders something for the first time. A busy machine may make a server late, so it is tried again.
    fn first(&mut self, client: &Name, word: Word) -> Result<(), Stopped> {
        let step = order(word, client);
        let mut tried = self.order(&step);
        for _ in 1..ATTEMPTS {
            if !matches!(tried, Err(Stopped::Otherwise(_))) {
                break;
            }
            tried = self.order(&step);
        }
        tried
    }

    /// Learns the key of the lock, which is held, and its form: of those that the requests made, the first that is
    /// still there after a moment.
    fn learn(&mut self) -> Result<(), Stopped> {
        const MOMENT: Duration = Duration::from_millis(20);
        self.stage.sleep(MOMENT);
        for key in self.stage.wire.candidates() {
            for observer in self.stage.observers.values_mut() {
                let seen = observer.look(&key).map_err(ConfirmError::Load)?;
                if seen.whose != "nobody" {
                    self.stage.wire.set_key(&key);
                    (self.key, self.form) = (key, seen.form);
                    return Ok(());
                }
            }
        }
        let why = "no request of `lock` made a key that is a lock";
        Err(Stopped::Otherwise(why.into()))
    }

    fn steps(&mut self) -> Result<(), Stopped> {
        self.plan.steps.iter().try_for_each(|step| self.step(step))
    }

    fn leases(&self, leases: f64) -> Duration {
        self.lease.mul_f64(leases)
    }

    fn in_leases(&self, ms: f64) -> f64 {
        ms / (self.lease.as_secs_f64() * 1000.0)
    }

    fn step(&mut self, step: &Step) -> Result<(), Stopped> {
        match step {
            Step::Do(order) => self.order(order),
            Step::Await(it) => self.answer(&it.name),
            Step::Operator(it) => {
                let key = String::from_utf8_lossy(&self.key).into_owned();
                let words: Vec<String> = { it.operator.split(' ') }
                    .map(|word| word.replace("{key}", &key))
                    .collect();
                let at: Vec<Name> = it.at.iter().map(|at| Name::from(&**at)).collect();
                Ok(self
                    .stage
                    .each(&at, |observer| observer.call(&words).map(drop))?)
            }
            Step::Another(it) => {
                let lease_ms = self.leases(it.another).as_millis() as u64;
                let at: Vec<Name> = it.at.iter().map(|at| Name::from(&**at)).collect();
                let (key, form) = (&self.key, &self.form);
                let takes = |observer: &mut Observer| observer.take(key, form, lease_ms);
                Ok(self.stage.each(&at, takes)?)
            }
            Step::Look(it) => self.look(&it.look, &Name::from(&*it.at)),
            Step::Now(it) => self.now(&it.now),
            Step::Trap(it) => {
                self.stage.wire.set_trap(&Name::from(&*it.by), it.trap);
                Ok(())
            }
            Step::Sprung(it) => {
                let by = Name::from(&*it.sprung);
                let is_it =
                    |event: &Event| matches!(event, Event::Sprung { by: of, .. } if *of == by);
                let sprung = self.stage.find(LONGEST, is_it);
                sprung
                    .map(drop)
                    .ok_or_else(|| Stopped::Otherwise(format!("{by} was not granted the lock")))
            }
            Step::Sleep(it) => {
                let time = self.leases(it.sleep);
                self.stage.sleep(time);
                Ok(())
            }
            Step::Lost(it) => {
                let begun_ns = now_ns();
                let is_it = |event: &Event| match event {
                    Event::Said {
                        line: Line::Told(told),
                        ..
                    } => told.event == "lost",
                    Event::Ended { .. } => true,
                    _ => false,
                };
                let within = self.leases(it.within);
                match self.stage.find(within, is_it) {
                    Some(Event::Said {
                        line: Line::Told(told),
                        at_ns,
                        ..
                    }) => {
                        self.facts.note(&it.lost, "r", "told");
                        self.facts.note(&it.lost, "ms", ms_between(begun_ns, at_ns));
                        self.facts
                            .note(&it.lost, "at_ms", ms_between(self.begun_ns, at_ns));
                        if let Some(how) = told.how.and_then(|how| how.as_str().map(str::to_owned))
                        {
                            self.facts.note(&it.lost, "how", how);
                        }
                    }
                    Some(_) => self.facts.note(&it.lost, "r", "ended"),
                    None => self.facts.note(&it.lost, "r", "none"),
                }
                Ok(())
            }
            Step::Count(it) => {
                let (begun_ns, time) = (now_ns(), self.leases(it.leases));
                self.stage.sleep(time);
                let by = Name::from(&*it.by);
                let count = self.stage.wire.count(|message| {
                    message.at_ns >= begun_ns && message.from == by && message.about_key
                });
                let count = count as f64;
                self.facts.note(&it.count, "requests", count);
                self.facts.note(&it.count, "a_lease", count / it.leases);
                Ok(())
            }
            Step::Refused(it) => {
                let is_refused = |message: &Message| message.is_error;
                self.passes(it.refused_within, "no request was refused", is_refused)
            }
            Step::Asked(it) => {
                let clients: Vec<Name> = self.stage.processes.keys().cloned().collect();
                let is_asked =
                    |message: &Message| message.about_key && clients.contains(&message.from);
                self.passes(it.asked_within, "no request was made", is_asked)
            }
            Step::Slow(it) => {
                self.stage.slow(it.slow_ms, it.replies_only);
                Ok(())
            }
            Step::Clock(it) => Ok(self.stage.step_clock(&Name::from(&*it.clock), it.by_s)?),
            Step::Turns(it) => self.turns(it),
            Step::Let(it) => {
                if let Some(difference) = self.facts.difference(&it.is) {
                    self.facts.note(&it.name, "is", difference);
                }
                Ok(())
            }
        }
    }

    pub(super) fn order(&mut self, step: &Do) -> Result<(), Stopped> {
        let by = Name::from(&*step.by);
        let id = self.orders.len() as u32 + 1;
        let order = Order {
            id,
            word: step.word,
            wait_ms: step.wait_ms,
            ms: step
                .leases
                .map(|leases| self.leases(leases).as_millis() as u64),
        };
        self.orders.push(Given {
            name: step.name.clone(),
            by: by.clone(),
            id,
            word: step.word,
            at_ns: now_ns(),
            is_over: false,
        });
        if let Some(process) = self.stage.processes.get_mut(&by) {
            process.order(&order);
        }
        match step.begin {
            true => Ok(()),
            false => self.finish(self.orders.len() - 1),
        }
    }

    fn answer(&mut self, name: &str) -> Result<(), Stopped> {
        let is_it = |given: &Given| given.name.as_deref() == Some(name) && !given.is_over;
        match self.orders.iter().position(is_it) {
            Some(place) => self.finish(place),
            None => Err(Stopped::Otherwise(format!("no order is called {name}"))),
        }
    }

    /// Waits for the answer to an order, and notes it.
    fn finish(&mut self, place: usize) -> Result<(), Stopped> {
        let given = &mut self.orders[place];
        given.is_over = true;
        let (id, by, name) = (given.id, given.by.clone(), given.name.clone());
        let (word, begun_ns) = (given.word, given.at_ns);
        let is_it = |event: &Event| match event {
            Event::Said {
                by: of,
                line: Line::Answer(answer),
                ..
            } => *of == by && answer.id == id,
            Event::Ended { by: of } => *of == by,
            _ => false,
        };
        let found = self.stage.find(LONGEST, is_it);
        let (r, answer, at_ns) = match found {
            Some(Event::Said {
                line: Line::Answer(answer),
                at_ns,
                ..
            }) => (answer.r.to_string(), Some(answer), at_ns),
            Some(_) => ("ended".to_owned(), None, now_ns()),
            None => ("silent".to_owned(), None, now_ns()),
        };
        if answer
            .as_ref()
            .is_some_and(|answer| answer.r == Ended::None)
        {
            return Err(Stopped::Lacks(word));
        }
        let Some(name) = name else {
            let class = answer.as_ref().and_then(|answer| answer.class.clone());
            return match answer.map(|answer| answer.r) {
                Some(Ended::Ok) => Ok(()),
                _ => Err(Stopped::Otherwise(format!(
                    "{by} was to {word}, and the answer was {r}{}",
                    class.map(|class| format!(" ({class})")).unwrap_or_default()
                ))),
            };
        };
        self.facts.note(&name, "r", r);
        let ms = ms_between(begun_ns, at_ns);
        self.facts.note(&name, "ms", ms);
        self.facts.note(&name, "leases", self.in_leases(ms));
        self.facts
            .note(&name, "begun_ms", ms_between(self.begun_ns, begun_ns));
        let at_ms = ms_between(self.begun_ns, at_ns);
        self.facts.note(&name, "at_ms", at_ms);
        if let Some(Answer {
            class,
            valid_ms,
            token,
            ..
        }) = answer
        {
            let until_ms = valid_ms.map(|valid_ms| at_ms + valid_ms);
            let numbers = [
                ("valid_ms", valid_ms),
                ("until_ms", until_ms),
                ("token", token),
            ];
            for (what, number) in numbers {
                if let Some(number) = number {
                    self.facts.note(&name, what, number);
                }
            }
            if let Some(class) = class {
                self.facts.note(&name, "class", class);
            }
        }
        Ok(())
    }

    fn look(&mut self, name: &str, at: &Name) -> Result<(), Stopped> {
        let key = self.key.clone();
        let Some(observer) = self.stage.observers.get_mut(at) else {
            return Err(Stopped::Otherwise(format!("{at} is down")));
        };
        let seen = observer.look(&key).map_err(ConfirmError::Load)?;
        self.facts.note(name, "whose", seen.whose);
        self.facts.note(name, "form", seen.form);
        self.facts.note(name, "value", seen.value);
        let (ttl_ms, at_ms) = (seen.ttl_ms as f64, ms_between(self.begun_ns, now_ns()));
        self.facts.note(name, "ttl_ms", ttl_ms);
        self.facts.note(name, "leases", self.in_leases(ttl_ms));
        self.facts.note(name, "at_ms", at_ms);
        self.facts.note(name, "ends_ms", at_ms + ttl_ms);
        Ok(())
    }

    fn now(&mut self, text: &str) -> Result<(), Stopped> {
        let Some((what, host)) = text.split_once(' ') else {
            return Err(Stopped::Otherwise(format!(
                "`{text}` is not like `kill c1`"
            )));
        };
        let host = Name::from(host);
        match what {
            "kill" => self.stage.kill(&host),
            "stop" => self.stage.stop(&host),
            "go" => self.stage.resume(&host),
            "reset" => self.stage.reset(&host),
            "wake" => self.stage.wake(&host),
            _ => return Err(Stopped::Otherwise(format!("nothing is called `{what}`"))),
        }
        Ok(())
    }

    /// Waits until a message of this kind passes.
    fn passes(
        &mut self,
        within_leases: f64,
        otherwise: &str,
        is_it: impl Fn(&Message) -> bool,
    ) -> Result<(), Stopped> {
        const LOOK: Duration = Duration::from_millis(5);
        let (begun_ns, within) = (now_ns(), self.leases(within_leases));
        loop {
            let passed = |message: &Message| message.at_ns >= begun_ns && is_it(message);
            if self.stage.wire.count(passed) > 0 {
                return Ok(());
            }
            if now_ns().saturating_sub(begun_ns) > within.as_nanos() as u64 {
                return Err(Stopped::Otherwise(otherwise.into()));
            }
            self.stage.sleep(LOOK);
        }
    }
}
