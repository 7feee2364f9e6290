//! The small formal model of Redlock that claim J3 is about (danwt/specl, `redlock.specl`), all of
//! its states, with the two notions of holding a lock kept apart.
//!
//! Time is counted in ticks. A client asks the nodes one after the other, notes its own clock
//! before the first, and holds the lock if a majority granted it and less than the lease has passed by
//! its own clock, which may lag behind the true one. It holds it until it releases it (belief) or
//! until its deadline by its own clock (lease). The original knows the former only.

use std::collections::BTreeSet;

use super::is_long;

/// The original's `N=2 M=1 TTL=3 MaxTime=8`. Two ticks fewer have far fewer states, and all that the tests ask
/// for; `LOCKLAB_LONG=1` visits all.
const NODES: usize = 3;
const CLIENTS: usize = 2;
const TTL: u8 = 3;
const MAX_TIME: u8 = 8;
const MAJORITY: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Acquiring { next: usize },
    Holding,
    Released,
}

#[derive(Clone, Copy)]
struct Client {
    phase: Phase,
    clock: u8,
    /// Its clock when it began to acquire.
    asked: u8,
    granted: [bool; NODES],
}

#[derive(Clone, Copy)]
struct State {
    time: u8,
    clients: [Client; CLIENTS],
    /// Per node: the client that has its key, and when the key expires.
    keys: [Option<(usize, u8)>; NODES],
}

impl State {
    fn first() -> State {
        let client = Client {
            phase: Phase::Idle,
            clock: 0,
            asked: 0,
            granted: [false; NODES],
        };
        State {
            time: 0,
            clients: [client; CLIENTS],
            keys: [None; NODES],
        }
    }

    /// All states that one step leads to.
    fn next(&self, lag: u8, max_time: u8) -> Vec<State> {
        let mut states = Vec::new();
        // A tick, unless it would leave a clock further behind than it may be.
        let keeps_up = |client: &Client| self.time + 1 - client.clock <= lag.max(1);
        if self.time < max_time && self.clients.iter().all(keeps_up) {
            let mut state = *self;
            state.time += 1;
            if lag == 0 {
                state
                    .clients
                    .iter_mut()
                    .for_each(|client| client.clock += 1);
            }
            states.push(state);
        }
        for node in 0..NODES {
            if self.keys[node].is_some_and(|(_, expires)| self.time >= expires) {
                let mut state = *self;
                state.keys[node] = None;
                states.push(state);
            }
        }
        for me in 0..CLIENTS {
            states.extend(self.step(me));
        }
        states
    }

    /// The steps of one client.
    fn step(&self, me: usize) -> Vec<State> {
        let mut states = Vec::new();
        let mut with = |change: &dyn Fn(&mut State)| {
            let mut state = *self;
            change(&mut state);
            states.push(state);
        };
        let client = self.clients[me];
        if client.clock < self.time {
            with(&|state| state.clients[me].clock += 1);
        }
        match client.phase {
            Phase::Idle => with(&|state| {
                state.clients[me] = Client {
                    phase: Phase::Acquiring { next: 0 },
                    asked: client.clock,
                    granted: [false; NODES],
                    ..client
                };
            }),
            Phase::Acquiring { next } if next < NODES => with(&|state| {
                state.clients[me].phase = Phase::Acquiring { next: next + 1 };
                if state.keys[next].is_none() {
                    state.keys[next] = Some((me, state.time + TTL));
                    state.clients[me].granted[next] = true;
                }
            }),
            Phase::Acquiring { .. } => {
                let granted = client.granted.iter().filter(|granted| **granted).count();
                let in_time = client.clock - client.asked < TTL;
                let phase = match granted >= MAJORITY && in_time {
                    true => Phase::Holding,
                    false => Phase::Idle,
                };
                with(&|state| {
                    state.clients[me].phase = phase;
                    if phase == Phase::Idle {
                        state.unlock(me);
                    }
                });
            }
            Phase::Holding => with(&|state| {
                state.clients[me].phase = Phase::Released;
                state.unlock(me);
            }),
            Phase::Released => {}
        }
        states
    }

    /// One state for all that differ in nothing that any step depends on: what a client asked for that neither
    /// acquires nor holds, and which of the two clients is the first.
    fn canonical(mut self) -> State {
        for client in &mut self.clients {
            if matches!(client.phase, Phase::Idle | Phase::Released) {
                client.asked = 0;
                client.granted = [false; NODES];
            }
        }
        let mut swapped = self;
        swapped.clients.swap(0, 1);
        for (owner, _) in swapped.keys.iter_mut().flatten() {
            *owner = 1 - *owner;
        }
        match packed(&swapped) < packed(&self) {
            true => swapped,
            false => self,
        }
    }

    fn unlock(&mut self, me: usize) {
        for key in &mut self.keys {
            if key.is_some_and(|(owner, _)| owner == me) {
                *key = None;
            }
        }
    }
}

/// What a search through all states found.
struct Found {
    belief_violated: bool,
    /// By how many ticks are allowed for lagging clocks.
    lease_violated: [bool; 2],
    states: usize,
}

/// A state in one number, another for each: a set of numbers is searched several times as fast.
fn packed(state: &State) -> u64 {
    let mut packed = 0;
    let mut push = |digit: u8| {
        assert!(digit < DIGITS);
        packed = packed * u64::from(DIGITS) + u64::from(digit);
    };
    push(state.time);
    for client in &state.clients {
        push(match client.phase {
            Phase::Idle => 0,
            Phase::Holding => 1,
            Phase::Released => 2,
            Phase::Acquiring { next } => 3 + next as u8,
        });
        push(client.clock);
        push(client.asked);
        push(
            (0..)
                .zip(client.granted)
                .map(|(node, granted)| u8::from(granted) << node)
                .sum(),
        );
    }
    for key in &state.keys {
        let (owner, expires) = key.map_or((CLIENTS, 0), |(owner, expires)| (owner, expires));
        push(owner as u8);
        push(expires);
    }
    packed
}

/// The digits of a packed state go up to the last time at which a key may expire.
const DIGITS: u8 = MAX_TIME + TTL + 1;

/// Visits every state in which no client's clock lags by more than `lag` ticks.
fn search(lag: u8) -> Found {
    let believes = |client: &Client| client.phase == Phase::Holding;
    let relies = |client: &Client, allowed: u8| {
        believes(client) && client.clock + allowed < client.asked + TTL
    };
    let mut seen = BTreeSet::from([packed(&State::first())]);
    let mut open = vec![State::first()];
    let mut found = Found {
        belief_violated: false,
        lease_violated: [false; 2],
        states: 0,
    };
    let max_time = match is_long() {
        true => MAX_TIME,
        false => MAX_TIME - 2,
    };
    while let Some(state) = open.pop() {
        found.states += 1;
        found.belief_violated |= state.clients.iter().all(believes);
        for (allowed, violated) in (0..).zip(&mut found.lease_violated) {
            *violated |= state.clients.iter().all(|client| relies(client, allowed));
        }
        let next = state.next(lag, max_time).into_iter().map(State::canonical);
        open.extend(next.filter(|state| seen.insert(packed(state))));
    }
    found
}

/// Perfect clocks: the violation that the model reports is one of belief, and needs no wrong clock.
#[test]
fn belief_is_violated_with_perfect_clocks_and_the_lease_is_not() {
    let found = search(0);
    assert!(found.belief_violated);
    assert_eq!(found.lease_violated, [false, false]);
    assert!(found.states > 1000, "{} states are not all", found.states);
}

#[test]
fn with_clocks_off_by_a_tick_the_lease_holds_exactly_if_a_tick_is_allowed_for() {
    let found = search(1);
    assert!(found.belief_violated);
    assert_eq!(found.lease_violated, [true, false]);
}
