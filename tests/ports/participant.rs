//! One process with the lock: orders go to it, and its answers come back.

use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The longest wait for an answer. The slowest exercise waits for a lease to end.
const LONGEST: Duration = Duration::from_secs(15);

/// The longest wait for a program to start: a virtual machine on a busy computer.
const STARTED: Duration = Duration::from_secs(90);

/// What a participant is taken to have said if it says nothing.
pub const NO_ANSWER: &str = "no answer";

/// What a participant is to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Take the lock, and wait for it if need be.
    Lock,
    /// Take the lock if it is free.
    Try,
    /// Give the lock a new lease.
    Extend,
    /// Release the lock.
    Unlock,
}

impl Order {
    /// The order as programs read it.
    pub fn word(self) -> &'static str {
        match self {
            Order::Lock => "lock",
            Order::Try => "try",
            Order::Extend => "extend",
            Order::Unlock => "unlock",
        }
    }
}

/// A participant. Dropping it ends it like a crash: it releases nothing.
pub struct Participant {
    /// Gives it an order.
    pub order: Box<dyn FnMut(Order)>,
    /// Its answers, one for each order: `ok`, `no`, or `error`; and a first one when it is ready.
    pub answers: Receiver<String>,
}

impl Participant {
    /// Gives an order, and waits for the answer.
    pub fn does(&mut self, order: Order) -> String {
        (self.order)(order);
        self.answer()
    }

    /// Waits until it says that it is ready.
    pub fn get_ready(&self) {
        let answer = self.answers.recv_timeout(STARTED);
        assert_eq!(
            answer.as_deref(),
            Ok("ready"),
            "its errors are on standard error"
        );
    }

    /// Waits for the answer to the last order.
    pub fn answer(&self) -> String {
        let answer = self.answers.recv_timeout(LONGEST);
        answer.unwrap_or_else(|_| NO_ANSWER.to_owned())
    }
}
