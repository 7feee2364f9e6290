//! What reaches a server, from its command MONITOR.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::request::{Line, Request};

/// The longest wait for a line that has to come.
const LONGEST: Duration = Duration::from_secs(10);

/// A server that reports its requests.
pub struct Monitor {
    lines: BufReader<TcpStream>,
    control: BufReader<TcpStream>,
    /// The number of the last mark.
    marks: u32,
}

impl Monitor {
    /// Begins to listen.
    pub fn start(server: SocketAddr) -> Self {
        let connect = || {
            let stream = TcpStream::connect(server).expect("the server listens");
            stream
                .set_read_timeout(Some(LONGEST))
                .expect("a time above zero");
            BufReader::new(stream)
        };
        let mut monitor = Self {
            lines: connect(),
            control: connect(),
            marks: 0,
        };
        monitor
            .lines
            .get_mut()
            .write_all(b"MONITOR\r\n")
            .expect("it is open");
        assert_eq!(monitor.line(), "+OK");
        monitor
    }

    /// Empties the server.
    pub fn flush(&mut self) {
        self.call("FLUSHALL");
    }

    /// The requests since the last call.
    pub fn requests(&mut self) -> Vec<Request> {
        self.marks += 1;
        let mark = format!("mark-{}", self.marks);
        self.call(&format!("ECHO {mark}"));
        let mut lines = Vec::new();
        loop {
            let line = self.line();
            let line = Line::read(&line).unwrap_or_else(|| panic!("no line of MONITOR: {line}"));
            if line.words == ["ECHO", &mark] {
                return Request::of(lines);
            }
            lines.push(line);
        }
    }

    /// Sends a command with one line of reply, or an ECHO.
    pub fn call(&mut self, command: &str) {
        let sent = self
            .control
            .get_mut()
            .write_all(format!("{command}\r\n").as_bytes());
        sent.expect("it is open");
        let mut reply = String::new();
        self.control.read_line(&mut reply).expect("it answers");
        if reply.starts_with('$') {
            self.control.read_line(&mut reply).expect("it answers");
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the server reports");
        line.trim_end().to_owned()
    }
}
