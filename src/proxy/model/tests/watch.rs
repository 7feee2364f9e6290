//! What a watch lets wait arrives when its receiver is woken, once and in order.

use std::cell::RefCell;
use std::rc::Rc;

use super::fixture::{Fixture, MS, Seen};
use crate::model::end::Side;
use crate::watch::{Passing, Ruling, Watch};

/// Lets the first segment to `c1` wait, and notes what it sees.
struct Once {
    notes: Rc<RefCell<Vec<String>>>,
    has_waited: bool,
}

impl Once {
    fn note(&self, what: &str, passing: Passing<'_>) {
        let text = String::from_utf8_lossy(passing.payload);
        let mut notes = self.notes.borrow_mut();
        notes.push(format!("{text} {what}"));
    }
}

impl Watch for Once {
    fn leaves(&mut self, passing: Passing<'_>) {
        self.note("leaves", passing);
    }

    fn arrives(&mut self, passing: Passing<'_>) -> Ruling {
        self.note("arrives", passing);
        match **passing.to == *"c1" && !std::mem::replace(&mut self.has_waited, true) {
            true => Ruling::Waits,
            false => Ruling::Arrives,
        }
    }
}

#[test]
fn what_waits_arrives_when_its_receiver_is_woken() {
    let mut net = Fixture::new(5.0);
    let id = net.established();
    let notes = Rc::default();
    let watch = Once {
        notes: Rc::clone(&notes),
        has_waited: false,
    };
    net.act(|network, _| network.watch(Box::new(watch)));
    net.on_write(id.server(), "one");
    net.run_for(MS);
    net.on_write(id.server(), "two");
    net.run_for(100 * MS);
    assert_eq!(net.take(), []);
    net.act(|network, now_ns| network.wake(&"c1".into(), now_ns));
    net.run_for(100 * MS);
    let got = ["one", "two"].map(|text| Seen::Got(Side::Connector, text.into()));
    assert_eq!(net.take(), got);
    let expected = [
        "one leaves",
        "two leaves",
        "one arrives",
        "one arrives",
        "two arrives",
    ];
    assert_eq!(*notes.borrow(), expected);
}
