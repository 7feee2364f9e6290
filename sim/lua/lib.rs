//! Lua 5.1.5 for untrusted scripts.
//!
#![doc = include_str!("README.md")]

// Its declarations are of the functions in this crate's library.
use mlua_sys as _;
