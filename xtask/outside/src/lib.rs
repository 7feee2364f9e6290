//! A counter in Redis, as an application has one. It knows a URL, and not whose server is
//! behind it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;

/// Counts visits.
pub struct Visits(BufReader<TcpStream>);

impl Visits {
    /// Connects to the server of a URL such as `redis://127.0.0.1:6379`.
    ///
    /// # Errors
    ///
    /// If nobody listens there, or the URL has another form.
    pub fn connect(url: &str) -> io::Result<Self> {
        let address = url.strip_prefix("redis://");
        let address = address.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Visits(BufReader::new(TcpStream::connect(address)?)))
    }

    /// One more; how many there were within the last minute of visits.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or the server answers anything but a number.
    pub fn count(&mut self) -> io::Result<u64> {
        const SCRIPT: &str =
            "redis.call('EXPIRE', KEYS[1], 60); return redis.call('INCR', KEYS[1])";
        writeln!(self.0.get_mut(), "EVAL \"{SCRIPT}\" 1 visits")?;
        let mut reply = String::new();
        self.0.read_line(&mut reply)?;
        let number = reply.trim_end().strip_prefix(':');
        let number = number.and_then(|number| number.parse().ok());
        number.ok_or_else(|| io::Error::other(format!("not a number: {reply:?}")))
    }
}
