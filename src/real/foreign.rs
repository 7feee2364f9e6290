//! Clients that are programs of others: any command, in any language, instead of Locklab's own
//! client process.
//!
//! Such a program finds the servers in its environment ([`environment`]). It *shows* what it does
//! under its lock by a resource that speaks Redis's protocol ([`shown`]), and *tells* when it holds
//! the lock in lines of JSON ([`told`]), which become records of the history ([`records`]). Of one that does
//! neither, the wire shows what it was granted ([`inferred`]); of one that tells when it releases its lock, the wire
//! shows what that deleted ([`removals`]). Faults strike the former by [`mute`]. One whose clock cannot be wrong is
//! refused where it would have to be ([`untranslated`]).
//!
//! A client may be a program of somebody else (`Clients::Foreign`, `locklab attack`): the same process
//! that would run our client waits for the beginning, and then becomes that program (`real/foreign/`).
//! It does not bind its connections, so the proxy cannot tell by their source whose they are: each
//! client has ports of its own at every server, its *gates* (`real/addresses.rs`). The preloaded library
//! could bind them instead, as ZooKeeper's, but not those of a statically linked program; it is loaded
//! only where a Sentinel tells other addresses, or clocks are wrong. A program that it does not reach is
//! refused where its clock would have to be wrong (`untranslated.rs`). Behind its gate to the resource a
//! program needs no name either, so that any client of Redis can use it (`shown.rs`). What a program
//! tells of its lock is written at a time that is known within bounds (`told.rs`): after the pipe was
//! last seen empty, before the line was read. Beliefs are recorded as far as they are certain, and calls
//! only with exact times (`records.rs`), so the checks need not know of bounds. Of a program that
//! neither shows nor tells anything, the requests are executed again (`replay.rs`), and what they
//! changed gives such records too (`inferred.rs`): the rules are `src/history/wire.rs`, a pure function.
//! `tests/wire.rs` holds it to the simulator, where the beliefs are known: none may be inferred that no
//! client had. What the wire cannot show is a reason beside the history (`Run::unshown`, in the
//! recording), by which everything but a violation is inconclusive; `resource` is not even predicted
//! where no run could show it (`src/experiments/unshown.rs`). A fault that waits until a client has
//! acquired its lock strikes such a program by its second grant on the wire (`mute.rs`): at the first
//! nobody knows yet that it will say nothing. A program that leaves its process group is found by the
//! run in its environment (`leftovers.rs`).

pub(super) mod environment;
pub(super) mod inferred;
pub(super) mod leftovers;
pub(super) mod moments;
pub(super) mod mute;
pub(super) mod records;
pub(super) mod removals;
pub(super) mod shown;
pub(super) mod told;
pub(super) mod untranslated;
