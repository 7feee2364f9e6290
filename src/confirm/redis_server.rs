//! Finding and starting a Redis server.

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::ConfirmError;

/// The version that a Redis server reports: `7.0.15`.
pub(super) fn version(program: &Path) -> Result<String, ConfirmError> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|source| ConfirmError::NoRedis {
        program: program.into(),
        source,
    })?;
    let answer = String::from_utf8_lossy(&output.stdout);
    find_version(&answer).ok_or_else(|| ConfirmError::NotRedis {
        program: program.into(),
        answer: answer.lines().next().unwrap_or_default().into(),
    })
}

/// Arguments for a server on this address that keeps nothing on disk and logs to standard
/// output.
pub(super) fn arguments(address: SocketAddr) -> Vec<OsString> {
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let options = [
        ["--bind", &ip],
        ["--port", &port],
        ["--save", ""],
        ["--appendonly", "no"],
        ["--daemonize", "no"],
        ["--logfile", ""],
    ];
    let options = options.as_flattened().iter().map(OsString::from);
    options
        .chain(["--dir".into(), env::temp_dir().into()])
        .collect()
}

/// Whether this line of a server's log says that it is ready. The wording has been the same
/// since Redis 1.0, sometimes with a capital R, sometimes with more text after it.
pub(super) fn is_ready(log_line: &str) -> bool {
    log_line
        .to_ascii_lowercase()
        .contains("ready to accept connections")
}

fn find_version(answer: &str) -> Option<String> {
    let mut words = answer.split_whitespace();
    words.find_map(|word| Some(word.strip_prefix("v=")?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_redis_and_its_relatives() {
        let check = |answer, version: Option<&str>| {
            assert_eq!(find_version(answer).as_deref(), version);
        };
        check(
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d8ff",
            Some("7.0.15"),
        );
        check("Valkey server v=8.0.1 sha=00000000:0", Some("8.0.1"));
        check("cat (GNU coreutils) 9.4", None);
    }

    #[test]
    fn the_log_line_of_a_server_that_is_ready() {
        let check = |line, ready| assert_eq!(is_ready(line), ready, "{line}");
        check("7:M 21 Nov 2026 08:00 * Ready to accept connections", true);
        check(
            "7:M 21 Nov 2026 08:00 * Ready to accept connections tcp",
            true,
        );
        check(
            "* The server is now ready to accept connections on port 6379",
            true,
        );
        check("* Server initialized", false);
    }
}
