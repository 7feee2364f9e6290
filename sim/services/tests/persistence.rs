//! The data on a node's disk after a restart, a kill or a power loss: the transcripts in `tests/persistence/`, whose
//! format is in `tests/testing/src/transcript.rs`.
//!
//! A section begins with a node without parameters. Line breaks are shown as `⏎`. Commands:
//!
//! | | |
//! |---|---|
//! | `9500 starts appendonly=yes` | a new machine, whose node has these parameters, at these milliseconds |
//! | `10000 SET k v⏎GET k` | the client sends lines; `other 10000 …` is another client, which is not shown |
//! | `connects` | the client connects again |
//! | `10300 restarts` | the process has ended, for any reason, and another starts; the client connects again |
//! | `10300 power fails` | what the disk had not synced is lost |
//! | `tears` | the file of commands has lost its last byte |
//! | `11000 wakes`, `next` | the node does what is due; when it wants to be woken |

use std::path::Path;

use locklab_redis::{ConnId, Effect, Files, Node, NodeConfig, Parameters};
use locklab_services::disk::Disk;
use locklab_testing::{check_transcript, transcripts};

/// A node with a disk.
struct Machine {
    node: Node,
    client: ConnId,
    disk: Disk,
    parameters: Parameters,
    /// The files that the next process finds, if not those of the disk.
    torn: Option<Files>,
}

impl Machine {
    fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        Machine {
            client: node.accept(),
            node,
            disk: Disk::default(),
            parameters: Parameters::default(),
            torn: None,
        }
    }

    fn tell(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split(' ').collect();
        let ms = |word: &str| word.parse::<u64>().expect("milliseconds");
        let heard = match words[..] {
            ["next"] => match self.node.next_wake_us() {
                Some(us) => (us / 1000).to_string(),
                None => "never".into(),
            },
            ["connects"] => {
                self.client = self.node.accept();
                String::new()
            }
            ["tears"] => {
                let mut files = self.disk.files().clone();
                files.aof.pop();
                self.torn = Some(files);
                String::new()
            }
            [at_ms, "starts", ref parameters @ ..] => {
                *self = Machine::new();
                let parameters: Vec<(&str, String)> = { parameters.iter() }
                    .map(|it| it.split_once('=').expect("a parameter and its value"))
                    .map(|(name, value)| (name, value.replace('_', " ")))
                    .collect();
                let parameters = parameters.iter().map(|(name, value)| (*name, &**value));
                self.parameters = Parameters::new(parameters).expect("sound parameters");
                self.restart(ms(at_ms))
            }
            [at_ms, "restarts"] => self.restart(ms(at_ms)),
            [at_ms, "wakes"] => {
                let mut effects = Vec::new();
                self.node.wake(ms(at_ms) * 1000, &mut effects);
                self.carry_out(effects, ms(at_ms))
            }
            [at_ms, "power", "fails"] => {
                self.disk.lose_power(ms(at_ms) * 1_000_000);
                String::new()
            }
            ["other", at_ms, ref line @ ..] => {
                let other = self.node.accept();
                self.say(other, ms(at_ms), &line.join(" "))
            }
            [at_ms, ref line @ ..] => self.say(self.client, ms(at_ms), &line.join(" ")),
            [] => panic!("no command"),
        };
        let lines = [heard.replace("\r\n", "⏎")].into_iter();
        lines.filter(|line| !line.is_empty()).collect()
    }

    fn restart(&mut self, now_ms: u64) -> String {
        self.node = Node::new(NodeConfig::default());
        let written = self.disk.files().config.as_ref();
        self.node.configure_all(written.unwrap_or(&self.parameters));
        let files = self.torn.as_ref().unwrap_or(self.disk.files());
        self.node.load(files, now_ms * 1000);
        self.client = self.node.accept();
        String::new()
    }

    fn say(&mut self, from: ConnId, now_ms: u64, lines: &str) -> String {
        let mut effects = Vec::new();
        let lines = lines.replace('⏎', "\r\n") + "\r\n";
        self.node
            .receive(from, lines.as_bytes(), now_ms * 1000, &mut effects);
        self.carry_out(effects, now_ms)
    }

    /// What the client hears.
    fn carry_out(&mut self, effects: Vec<Effect>, now_ms: u64) -> String {
        let mut heard = String::new();
        for effect in effects {
            match effect {
                Effect::Send { conn, bytes } if conn == self.client => {
                    heard.push_str(&String::from_utf8_lossy(&bytes));
                }
                Effect::Disk(write) => self.disk.write(write, now_ms * 1_000_000),
                _ => {}
            }
        }
        heard
    }
}

fn check(path: &Path) {
    check_transcript(path, &["$ "], Machine::new, |machine, _, command| {
        machine.tell(command)
    });
}

transcripts! {
    "tests/persistence", check:
    files
    waitaof
}
