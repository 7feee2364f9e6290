//! The form of a stream of commands, for replicas and for files.

use bytes::BytesMut;

use crate::resp;
use crate::store::effects::Op;

/// Appends a command to a stream of commands, which has selected a database, or none so far.
pub(super) fn put(op: &Op, selected: &mut Option<usize>, out: &mut BytesMut) {
    if let Some(db) = op.db.filter(|db| *selected != Some(*db)) {
        *selected = Some(db);
        resp::put_command(&["SELECT", &db.to_string()], out);
    }
    resp::put_command(&op.words, out);
}
