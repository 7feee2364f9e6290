//! A TCP proxy between the processes of a real run.
//!
//! Every host of a run has a loopback address of its own, and every process binds its outgoing
//! connections to that address: the peer's address tells the proxy which host connects. A program
//! that does not do so connects to public addresses of its own, its *gates*. A server
//! listens on a *real* address that only the proxy knows, and the proxy listens on its *public*
//! address. All data between hosts therefore passes the proxy, which treats it as the simulated
//! network does: both use the links of `locklab_link`, with their latency, loss, partitions and
//! TCP's retransmission. The module `model` has connections over these links, without sockets;
//! `relay` connects it to sockets.
//!
//! A server of the same process may serve a host's connections itself while no fault is in force
//! ([`Direct`]). When one begins, the proxy takes these connections, with what is under way on them, and
//! keeps them.
//!
//! The data of one read, up to 64 KiB, is one segment: it arrives whole or is lost whole.
//!
//! # Time
//!
//! Times are nanoseconds of the machine's `CLOCK_MONOTONIC`. Data never arrives before it is
//! due. It arrives later by the time that the machine needs to run the proxy's thread: on Linux
//! some 50 µs on an idle machine, more under load. tokio's timers, which round up to whole
//! milliseconds, are used only where Linux's `timerfd` is missing. The time that the data spends
//! in the machine's own loopback is added to the drawn latency.
//!
//! # Differences from a real network
//!
//! - For the connector, the kernel's `connect` succeeds immediately. A host with
//!   [`Greeting::Waits`] learns from one byte when the connection is established; any other host
//!   sees no data flow until then.
//! - A withdrawn server refuses connections immediately, even if the link to it is cut.
//! - Where a real sender would see `ETIMEDOUT`, it sees `ECONNRESET`.
//! - A process can always write as much as its own socket and the proxy's hold: some megabytes.

mod clock;
mod direct;
mod model;
mod options;
mod proxy;
mod relay;
mod watch;

pub use direct::Direct;
pub use model::{Dropped, MAX_MESSAGE_BYTES, MAX_MESSAGES, Segment};
pub use options::{Greeting, Host, Keep, Options};
pub use proxy::Proxy;
pub use watch::{Passing, Ruling, Watch};
