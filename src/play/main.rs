//! The engine as a program: one request on standard input, its answers on standard output, a line each. As WebAssembly it
//! is the module of the page; as a native program it gives the same lines.

use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut request = String::new();
    let mut out = io::stdout();
    let read = io::stdin().lock().read_to_string(&mut request);
    let said = read.and_then(|_| {
        let mut failed = Ok(());
        locklab_play::answer(&request, &mut |line| {
            // A line is shown as soon as it is there.
            let written = writeln!(out, "{line}").and_then(|()| out.flush());
            if failed.is_ok() {
                failed = written;
            }
        });
        failed
    });
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
