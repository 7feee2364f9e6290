//! Clients that are programs of others: any command, in any language, instead of Locklab's own
//! client process.
//!
//! Such a program finds the servers in its environment ([`environment`]). It *shows* what it does
//! under its lock by a resource that speaks Redis's protocol ([`shown`]), and *tells* when it holds
//! the lock in lines of JSON ([`told`]), which become records of the history ([`records`]). Of one that does
//! neither, the wire shows what it was granted ([`inferred`]); of one that tells when it releases its lock, the wire
//! shows what that deleted ([`removals`]). Faults strike the former by [`mute`]. One whose clock cannot be wrong is
//! refused where it would have to be ([`untranslated`]).

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
