//! Requests in words that two implementations can share: random values by the order of their appearance,
//! times by what they are.

use crate::LEASE_MS;
use crate::request::Request;
use crate::rounds::Timed;

/// The words of one side, which remember its random values.
pub struct Words {
    /// The key of the lock, which the other side may call otherwise.
    key: String,
    /// The random values, in the order of their appearance.
    values: Vec<String>,
}

/// The options of commands, which may be written in capitals.
const OPTIONS: [&str; 8] = ["nx", "xx", "px", "ex", "get", "keepttl", "pxat", "ifeq"];

/// Commands that change nothing.
const READS: [&str; 18] = [
    "exists", "get", "getrange", "hexists", "hget", "hgetall", "hkeys", "hlen", "lindex", "llen",
    "lrange", "mget", "pttl", "time", "ttl", "type", "zrange", "zscore",
];

/// How long a run of letters and digits is random.
const RANDOM: usize = 16;

/// Milliseconds since 1970, if a number is so large.
const WALL_CLOCK: u64 = 1_500_000_000_000;

impl Words {
    /// No value is known yet.
    pub fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            values: Vec::new(),
        }
    }

    /// A request in words. Implementations look at different keys before they do the same, so a script that
    /// writes is what it writes. Commands with any text of `without` are left out.
    pub fn of(&mut self, request: &Request, without: &[&str]) -> Timed {
        let commands = request.commands.iter().map(|command| self.command(command));
        let mut commands: Vec<String> = commands.collect();
        commands.retain(|command| !without.iter().any(|text| command.contains(text)));
        let in_words = |commands: &[String]| match request.is_script && !commands.is_empty() {
            true => format!("script({})", commands.join("; ")),
            false => commands.join("; "),
        };
        let writes: Vec<String> = commands.iter().filter(|it| !is_read(it)).cloned().collect();
        Timed {
            at_us: request.at_us,
            whole: in_words(&commands),
            words: in_words(if writes.is_empty() {
                &commands
            } else {
                &writes
            }),
        }
    }

    fn command(&mut self, words: &[String]) -> String {
        let mut words: Vec<String> = { words.iter().enumerate() }
            .map(|(index, word)| match index {
                0 => word.to_lowercase(),
                _ => self.word(word),
            })
            .collect();
        // SET takes its options in any order.
        if words[0] == "set" && words.len() > 3 {
            let options = words.split_off(3);
            let has = |option: &str| options.iter().any(|it| it == option);
            let mut sorted: Vec<String> = Vec::new();
            sorted.extend(
                ["nx", "xx"]
                    .into_iter()
                    .filter(|it| has(it))
                    .map(String::from),
            );
            let rest = options.iter().filter(|it| !["nx", "xx"].contains(&&***it));
            sorted.extend(rest.cloned());
            // How long a key of one request is kept follows from how often the client sends it again.
            if words[1].ends_with('*') && sorted.first().is_some_and(|it| it == "px") {
                sorted.truncate(1);
            }
            words.extend(sorted);
        }
        words.join(" ")
    }

    fn word(&mut self, word: &str) -> String {
        let lower = word.to_lowercase();
        if OPTIONS.contains(&&*lower) {
            return lower;
        }
        if let Ok(number) = word.parse::<u64>() {
            return match number {
                // ShedLock subtracts what has passed since it was asked.
                _ if (LEASE_MS * 99 / 100..=LEASE_MS).contains(&number) => "lease".to_owned(),
                // What is left of a lease when a script looks at it depends on the machine.
                _ if (LEASE_MS / 10..LEASE_MS).contains(&number) => "rest".to_owned(),
                _ if (LEASE_MS..2 * LEASE_MS).contains(&number) => "lease and rest".to_owned(),
                WALL_CLOCK.. => "now".to_owned(),
                _ => word.to_owned(),
            };
        }
        let renamed = word.replace(&self.key, "lock");
        if renamed.starts_with("lock") || renamed.contains("{lock}") {
            return without_random(&renamed);
        }
        match is_random(word) {
            true => self.value(word),
            false => renamed,
        }
    }

    /// `v1` for the first value.
    fn value(&mut self, word: &str) -> String {
        let known = self.values.iter().position(|value| value == word);
        let index = known.unwrap_or_else(|| {
            self.values.push(word.to_owned());
            self.values.len() - 1
        });
        format!("v{}", index + 1)
    }
}

/// Whether a command changes nothing.
pub fn is_read(command: &str) -> bool {
    let name = command.split(' ').next().unwrap_or_default();
    READS.contains(&name)
}

fn is_random(word: &str) -> bool {
    word.contains("\\x")
        || word
            .split(|letter| !is_of_random(letter))
            .any(is_random_run)
}

fn is_random_run(run: &str) -> bool {
    let has = |of: fn(&u8) -> bool| run.bytes().any(|byte| of(&byte));
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    run.len() >= RANDOM && (has(u8::is_ascii_digit) || is_mixed)
}

fn is_of_random(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ['+', '/', '=', '-', '_'].contains(&letter)
}

/// A name with a star in the place of each random part, and of the number of a thread after it.
fn without_random(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split(':') {
        let is_thread = part.bytes().all(|byte| byte.is_ascii_digit());
        match is_random_run(part) {
            true => parts.push("*"),
            false if is_thread && parts.last() == Some(&"*") => {}
            false => parts.push(part),
        }
    }
    parts.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(commands: &[&str], expected: &[&str]) {
        let mut words = Words::new("jobs:lock");
        let seen = commands.iter().map(|command| {
            let command: Vec<String> = command.split(' ').map(String::from).collect();
            let request = Request {
                at_us: 0,
                commands: vec![command],
                is_script: false,
            };
            words.of(&request, &[]).words
        });
        assert_eq!(seen.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn values_are_numbered_and_times_are_named() {
        check(
            &[
                "SET jobs:lock 0123456789abcdef0123 PX 3000 NX",
                "set jobs:lock \\x00\\xff nx px 3000",
                "PEXPIRE jobs:lock 2900",
                "PEXPIRE jobs:lock 5900",
                "PEXPIRE jobs:lock 100",
                "GET jobs:lock",
                "zadd q 1790000000000 0123456789abcdef0123",
                "set jobs:lock 5lEExpWSaBo_46BFqsvBGw nx px 3000",
            ],
            &[
                "set lock v1 nx px lease",
                "set lock v2 nx px lease",
                "pexpire lock rest",
                "pexpire lock lease and rest",
                "pexpire lock 100",
                "get lock",
                "zadd q now v1",
                "set lock v3 nx px lease",
            ],
        );
    }

    #[test]
    fn a_script_that_writes_is_what_it_writes() {
        let commands = |texts: &[&str]| Request {
            at_us: 0,
            commands: { texts.iter() }
                .map(|text| text.split(' ').map(String::from).collect())
                .collect(),
            is_script: true,
        };
        let of = |texts: &[&str], without: &[&str]| {
            Words::new("lock").of(&commands(texts), without).words
        };
        assert_eq!(of(&["EXISTS lock", "DEL lock"], &[]), "script(del lock)");
        assert_eq!(
            of(&["EXISTS lock", "PTTL lock"], &[]),
            "script(exists lock; pttl lock)"
        );
        assert_eq!(
            of(&["DEL lock", "SET latch 1"], &["latch"]),
            "script(del lock)"
        );
        assert_eq!(of(&["SET latch 1"], &["latch"]), "");
    }

    #[test]
    fn random_parts_of_names_are_stars() {
        check(
            &[
                "DEL latch:{lock}:0123456789abcdef0123",
                "PUBLISH c:{lock}:12345678-1234-4123:7 0",
            ],
            &["del latch:{lock}:*", "publish c:{lock}:* 0"],
        );
    }
}
