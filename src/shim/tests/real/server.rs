//! A real server with the library, in a data folder that outlives it.

use std::fs;
use std::io::{self, BufRead, BufReader, Error, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use locklab_testing::{Process, free_ports, program, until};
use locklab_values::units::{NS_PER_S, NS_PER_US};

use crate::folder::Folder;

/// Whether there is a Redis server; says so if there is none.
pub fn is_there() -> bool {
    let found = Command::new(program())
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if let Err(error) = &found {
        let program = program().display().to_string();
        eprintln!("SKIPPED: {program} does not start: {error}");
    }
    found.is_ok()
}

/// How a server is started: which of the library's files it is given, and its options.
pub struct Plan {
    pub folder: Folder,
    pub clock: Option<PathBuf>,
    pub synced: Option<PathBuf>,
    pub options: Vec<&'static str>,
}

impl Plan {
    /// A server with neither a clock nor a log, and without persistence.
    pub fn new(test: &str) -> Plan {
        let folder = Folder::new(test);
        fs::create_dir(folder.join("data")).expect("a data folder");
        Plan {
            folder,
            clock: None,
            synced: None,
            options: vec!["--save", "", "--appendonly", "no"],
        }
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts a server and waits until it answers.
    pub fn start(&self) -> Server {
        self.start_from(&[])
    }

    /// The same, with a configuration file.
    pub fn start_with(&self, configuration: &Path) -> Server {
        self.start_from(&[configuration])
    }

    fn start_from(&self, configuration: &[&Path]) -> Server {
        let ports = (0..5).map(|_| free_ports::<1>()[0]);
        let mut started = ports.filter_map(|port| self.start_on(port, configuration));
        started
            .next()
            .expect("a server starts on one of five free ports")
    }

    fn start_on(&self, port: u16, configuration: &[&Path]) -> Option<Server> {
        let variables = locklab_shim::environment(
            &self.folder.library,
            self.clock.as_deref(),
            self.synced.as_deref(),
        );
        let mut command = Command::new(program());
        command
            .envs(variables)
            .current_dir(self.data())
            .args(configuration)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"])
            .arg(self.data())
            .args(&self.options);
        let process = Process::start(&mut command).expect("the server starts");
        let mut server = Server { process, port };
        let ours = until(|| match server.try_ask("INFO") {
            Ok(info) if info[0].contains("\nloading:1") => Err(Error::other("it loads its data")),
            Ok(info) => {
                let id = format!("process_id:{}", server.process.id());
                Ok(info[0].lines().any(|line| line == id))
            }
            Err(_) if server.process.has_ended() => Ok(false),
            Err(error) => Err(error),
        });
        ours.then_some(server)
    }
}

/// A running server. Dropping this kills it.
pub struct Server {
    process: Process,
    port: u16,
}

impl Server {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the server with SIGKILL.
    pub fn kill(mut self) {
        self.process.end();
    }

    /// The answer to a command as one would type it: its strings and numbers, one after the
    /// other; a nil is `(nil)`.
    pub fn ask(&self, command: &str) -> Vec<String> {
        self.try_ask(command)
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// The only element of the answer.
    pub fn ask_one(&self, command: &str) -> String {
        let [answer] = self.ask(command).try_into().expect("one element");
        answer
    }

    /// The only element of the answer, as a number.
    pub fn ask_number(&self, command: &str) -> i64 {
        let answer = self.ask_one(command);
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{command}: {answer}"))
    }

    /// The server's time of day, in microseconds since the Unix epoch.
    pub fn time_us(&self) -> u64 {
        let answer = self.ask("TIME");
        let [s, us] = [0, 1].map(|index| answer[index].parse::<u64>().expect("a number"));
        s * (NS_PER_S / NS_PER_US) + us
    }

    /// The value of a field of INFO.
    pub fn info(&self, field: &str) -> String {
        let info = self.ask_one("INFO everything");
        let start = format!("{field}:");
        let value = info.lines().find_map(|line| line.strip_prefix(&start));
        value.unwrap_or_else(|| panic!("no {field}")).to_owned()
    }

    /// The same, or the error that it answers.
    pub fn try_ask(&self, command: &str) -> io::Result<Vec<String>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut reader = BufReader::new(stream);
        let mut answer = Vec::new();
        read_answer(&mut reader, &mut answer)?;
        Ok(answer)
    }
}

fn read_answer(reader: &mut impl BufRead, answer: &mut Vec<String>) -> io::Result<()> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (kind, rest) = line.trim_end().split_at(1);
    let length = || rest.parse::<i64>().expect("a length");
    match kind {
        "*" => {
            for _ in 0..length() {
                read_answer(reader, answer)?;
            }
        }
        "$" if length() < 0 => answer.push("(nil)".into()),
        "$" => {
            let mut bytes = vec![0; length() as usize + 2];
            reader.read_exact(&mut bytes)?;
            bytes.truncate(length() as usize);
            answer.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        "-" => return Err(Error::other(rest.to_owned())),
        _ => answer.push(rest.to_owned()),
    }
    Ok(())
}
