//! Clients that are programs of others: any command, in any language, instead of Locklab's own
//! client process (`Clients::Foreign`, `locklab attack`).
//!
//! The process that would run our client waits for the beginning, and then becomes that program. It finds
//! the servers in its environment ([`environment`]). It does not bind its connections, so the proxy cannot
//! tell by their source whose they are: each client has ports of its own at every server, its *gates*
//! (`addresses.rs`). The preloaded library could bind them instead, as ZooKeeper's, but not those of a
//! statically linked program; it is loaded only where a Sentinel tells other addresses, or clocks are wrong.
//! A program that it does not reach is refused where its clock would have to be wrong ([`untranslated`]). A
//! process that leaves its group is adopted by `locklab attack`, or found by the run in its environment
//! (`leftovers.rs`).
//!
//! A program *shows* what it does under its lock by a resource that speaks Redis's protocol ([`shown`]);
//! behind its gate it needs no name, so that any client of Redis can use it. It *tells* when it holds the
//! lock in lines of JSON ([`told`]), each at a time that is known within bounds: after the pipe was last
//! seen empty, before the line was read. They become records of the history ([`records`]), beliefs as far as
//! they are certain, and calls only with exact times, so the checks need not know of bounds.
//!
//! Of a program that neither shows nor tells anything, the requests are executed again (`replay.rs`), and
//! what they changed gives such records too ([`inferred`]): the rules are `src/history/wire.rs`, a pure
//! function. `tests/wire.rs` holds it to the simulator, where the beliefs are known: none may be inferred
//! that no client had. What the wire cannot show is a reason beside the history (`Run::unshown`, in the
//! recording), by which everything but a violation is inconclusive; `resource` is not even predicted where no
//! run could show it (`src/ask/run/foreign/unshown.rs`). A fault that waits until a client has acquired its lock
//! strikes such a program by its second grant on the wire ([`mute`]): at the first nobody knows yet that it
//! will say nothing. Of a program that tells when it releases its lock, the wire shows what that deleted
//! ([`removals`]).

pub(super) mod answers;
pub(super) mod deaths;
pub(super) mod environment;
pub(super) mod inferred;
pub(super) mod leftovers;
pub(super) mod locks;
pub(super) mod moments;
pub(super) mod mute;
pub(super) mod processes;
pub(super) mod records;
pub(super) mod removals;
pub(super) mod shown;
pub(super) mod told;
pub(super) mod untranslated;
