//! Scripts that want more than the interpreter has, or that would end or hang the process through the C
//! code of Lua. The node answers with an error at the most, and the next script runs as if nothing had
//! been.
//!
//! Each CVE of Lua in Redis has a test, and each class of such scripts. Where Redis's Lua is mended by
//! now, the expected answers are those of the mended versions.

mod client;
mod limits;
mod parser;
mod scripts;
mod shared;
