//! All of Locklab's commands, with our lock: `cargo run -- study matrix --lock team-lock`.

fn main() -> std::process::ExitCode {
    locklab::main(own_lock::LOCKS)
}
