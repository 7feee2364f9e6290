//! The world as the programs on its hosts see it. Every time is virtual, so every
//! bound is exact: links take 3 ms one way unless a test says otherwise.

mod clocks;
mod course;
mod determinism;
mod links;
mod processes;
mod programs;
mod setup;
mod streams;
