//! Ends a script that a node has looked up from so often.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use locklab_redis::{Arrival, ConnId, OtherClients};

/// How often the node may still look up.
#[derive(Clone, Default)]
pub struct Patience(pub Rc<Cell<u32>>);

impl OtherClients for Patience {
    fn is_process_ended(&self) -> bool {
        let left = self.0.get().saturating_sub(1);
        self.0.set(left);
        left == 0
    }

    fn poll(&mut self, _: &dyn Fn(ConnId) -> bool) -> Option<Arrival> {
        None
    }

    fn accepted(&mut self, _: Option<ConnId>) {}

    fn send(&mut self, _: ConnId, _: Bytes) -> Bytes {
        Bytes::new()
    }
}
