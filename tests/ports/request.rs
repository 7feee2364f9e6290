//! Requests in the lines of MONITOR: commands, and scripts with the commands that they called.

/// A line of MONITOR.
#[derive(Debug, Eq, PartialEq)]
pub struct Line {
    /// When the server executed it, in microseconds of its wall clock.
    pub at_us: u64,
    /// Whether a script called it.
    pub is_of_script: bool,
    /// The command and its arguments; bytes that are no text are escaped, as in the line.
    pub words: Vec<String>,
}

/// A request of a client.
#[derive(Debug, Eq, PartialEq)]
pub struct Request {
    /// When the server executed it, in microseconds of its wall clock.
    pub at_us: u64,
    /// One command; or those that a script called.
    pub commands: Vec<Vec<String>>,
    /// Whether it is a script.
    pub is_script: bool,
}

/// Commands with which a client sets up, keeps or ends its connection; UNSUBSCRIBE, since the ports close the
/// connection on which they listened. INFO and CONFIG are questions about the server.
const SETUP: [&str; 15] = [
    "hello",
    "client",
    "ping",
    "select",
    "auth",
    "info",
    "command",
    "config",
    "echo",
    "monitor",
    "script",
    "quit",
    "flushall",
    "readonly",
    "unsubscribe",
];

impl Line {
    /// Reads `+1700000000.123456 [0 127.0.0.1:50000] "get" "lock"`.
    pub fn read(line: &str) -> Option<Self> {
        let (seconds, rest) = line.strip_prefix('+')?.split_once(" [")?;
        let (source, words) = rest.split_once("] ")?;
        let (seconds, micros) = seconds.split_once('.')?;
        Some(Self {
            at_us: seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?,
            is_of_script: source.ends_with(" lua"),
            words: words_of(words)?,
        })
    }
}

/// The words in quotes.
fn words_of(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => continue,
            '"' => {}
            _ => return None,
        }
        let mut word = String::new();
        loop {
            match letters.next()? {
                '"' => break,
                '\\' => match letters.next()? {
                    escaped @ ('"' | '\\') => word.push(escaped),
                    escaped => word.extend(['\\', escaped]),
                },
                letter => word.push(letter),
            }
        }
        words.push(word);
    }
    Some(words)
}

impl Request {
    /// The requests in these lines, without those that only set up a connection. A script that the
    /// server did not know by its hash called nothing, and is not counted: the client sends it again.
    pub fn of(lines: Vec<Line>) -> Vec<Self> {
        let mut requests: Vec<Self> = Vec::new();
        for line in lines {
            let name = line.words[0].to_lowercase();
            match requests.last_mut() {
                Some(script) if line.is_of_script => script.commands.push(line.words),
                _ if SETUP.contains(&&*name) => {}
                _ => {
                    let is_script = ["eval", "evalsha"].contains(&&*name);
                    requests.push(Self {
                        at_us: line.at_us,
                        commands: if is_script {
                            Vec::new()
                        } else {
                            vec![line.words]
                        },
                        is_script,
                    });
                }
            }
        }
        requests.retain(|request| !request.commands.is_empty());
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(lines: &[&str]) -> Vec<Vec<Vec<String>>> {
        let lines = lines
            .iter()
            .map(|line| Line::read(line).expect("it is a line"));
        let requests = Request::of(lines.collect());
        requests
            .into_iter()
            .map(|request| request.commands)
            .collect()
    }

    #[test]
    fn scripts_are_the_commands_that_they_call() {
        let seen = requests(&[
            r#"+1.000001 [0 127.0.0.1:1] "HELLO" "3""#,
            r#"+1.000002 [0 127.0.0.1:1] "EVALSHA" "abc" "1" "lock""#,
            r#"+1.000003 [0 127.0.0.1:1] "EVAL" "return \"\\n\"" "1" "lock""#,
            r#"+1.000004 [0 lua] "exists" "lock""#,
            r#"+1.000005 [0 lua] "set" "lock" "\x00a""#,
            r#"+1.000006 [0 127.0.0.1:1] "GET" "lock""#,
        ]);
        let expected = [
            vec![vec!["exists", "lock"], vec!["set", "lock", r"\x00a"]],
            vec![vec!["GET", "lock"]],
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["+OK", "-ERR", r#"+1.5 [0 1] "open"#, "+1.5 [0 1] bare"] {
            assert_eq!(Line::read(line), None, "{line}");
        }
    }
}
