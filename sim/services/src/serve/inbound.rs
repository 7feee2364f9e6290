//! The buffer into which the nodes of a thread receive.
//!
//! With a buffer of its own the task of each connection would have four kilobytes, which are cleared
//! and moved when a connection begins: a thirtieth of a short run.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::ready;

use tokio::io::{AsyncRead, ReadBuf};
use turmoil_net::shim::tokio::net::tcp::OwnedReadHalf;

thread_local! {
    static BUFFER: RefCell<[u8; 4096]> = const { RefCell::new([0; 4096]) };
}

/// Waits for bytes, and returns how many there are; none at the end of the stream. They have to be
/// taken with [`with`] before anything else is awaited.
pub(super) async fn receive(reader: &mut OwnedReadHalf) -> io::Result<usize> {
    poll_fn(|cx| {
        BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut *reader).poll_read(cx, &mut buffer))?;
            Ok(buffer.filled().len()).into()
        })
    })
    .await
}

/// Passes the first `count` bytes of the buffer on.
pub(super) fn with(count: usize, take: impl FnOnce(&[u8])) {
    BUFFER.with_borrow(|buffer| take(&buffer[..count]));
}
