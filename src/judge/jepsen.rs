//! Histories of Jepsen: EDN, one operation after the other, or a vector of them.
//!
//! An operation is a map with `:process`, `:type`, `:f`, `:value` and `:time` (nanoseconds). A lock's
//! name is in `:key`, or is the first of two elements of `:value`, as in `jepsen.independent`. All
//! other fields of the schema are read as keywords of the same name, from the operation or from a map
//! in `:value`; `:fence` is a token, unless it is 0, which is none, and with the model `fenced` so is a number in
//! `:value`. An operation that returned `:ok` with the value `false` was refused. Operations of the nemesis are passed
//! over. What else this reader does not use is listed in [`LockHistory::notes`].
//!
//! Jepsen's JSON, an array of objects with the same names, is read too.

mod write;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::amount::Amount;
use crate::builder::Builder;
use crate::edn::{self, Value};
use crate::history::{Clock, LockHistory};
use crate::json_lines;
use crate::models::ModelName;
use crate::raw::{Bad, F, Given, Header, InputError, Pairs, RawEvent, Text, Type};

pub use self::write::write;

/// The model of a history without one: Jepsen's own.
pub const MODEL: ModelName = ModelName::Mutex;

/// Whether a file begins like a history in this form.
pub fn is_one(file: &[u8]) -> bool {
    let start = file.trim_ascii_start();
    let start = start.strip_prefix(b"{").unwrap_or(start).trim_ascii_start();
    matches!(start.first(), Some(b':' | b'[' | b'(' | b'#' | b';'))
}

/// Reads a history from the bytes of the file at `path`, which is named in errors only.
///
/// # Errors
///
/// If it is not a history; the error has the line.
pub fn read(file: Vec<u8>, path: &Path, given: &Given) -> Result<LockHistory, InputError> {
    let builder = events(&file, given);
    drop(file);
    let history = builder.and_then(Builder::finish);
    history.map_err(|bad| bad.of(path))
}

/// What begins the line of our own header, a comment to everybody else.
const HEADER: &str = ";; lock-history ";

fn events(file: &[u8], given: &Given) -> Result<Builder, Bad> {
    let text = str::from_utf8(file).map_err(|error| {
        let before = &file[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32;
        Bad::at(line, "not a text file: invalid UTF-8")
    })?;
    let header = match text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(HEADER))
    {
        Some(header) => json_lines::header(1, header.as_bytes())?,
        None => Header::of(MODEL),
    };
    let header = given.over(header).map_err(|what| Bad::at(1, what))?;
    let mut reader = Reader {
        model: header.model,
        pairs: given.pairs,
        refused: 0,
        unused: Default::default(),
        unused_values: 0,
    };
    let mut builder = Builder::new(header, file.len());
    edn::read(text, |line, value| {
        match reader.event(&value).map_err(|what| Bad::at(line, what))? {
            Some(event) => builder.push(line, &event)?,
            None => builder.skipped += 1,
        }
        Ok(())
    })?;
    builder.notes = reader.notes();
    Ok(builder)
}

/// Reads operations, and remembers what it did not use.
struct Reader {
    model: ModelName,
    /// What the first of a pair in a `:value` is; as soon as one has no second, it is the lock.
    pairs: Option<Pairs>,
    /// How many operations returned `false`.
    refused: u64,
    /// In how many operations a keyword was passed over, by its name: of the operation, and of the map in its value.
    unused: [BTreeMap<String, u64>; 2],
    /// In how many operations the value was.
    unused_values: u64,
}

impl Reader {
    fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.refused > 0 {
            let times = locklab_values::count::times(self.refused);
            notes.push(format!(
                "read as refused, since :ok came with the value false: {times}"
            ));
        }
        let [of_operations, of_values] = self.unused;
        let of_operations = of_operations
            .iter()
            .map(|(name, count)| times(&format!(":{name}"), *count));
        let of_values = of_values
            .iter()
            .map(|(name, count)| times(&format!(":{name} in :value"), *count));
        let mut unused: Vec<String> = of_operations.chain(of_values).collect();
        if self.unused_values > 0 {
            unused.push(times(":value", self.unused_values));
        }
        if !unused.is_empty() {
            notes.push(format!("passed over: {}", unused.join(", ")));
        }
        notes
    }

    /// Notes what of an operation was not asked for.
    fn note_unused(&mut self, operation: &Operation) {
        let value = operation.value();
        let maps = [Some(operation.map), value];
        for ((map, asked), unused) in maps.into_iter().zip(&operation.asked).zip(&mut self.unused) {
            let Some(Value::Map(entries)) = map else {
                continue;
            };
            for (place, (key, _)) in entries.iter().enumerate() {
                let name = match key {
                    Value::Keyword(name) => name,
                    _ => "(no keyword)",
                };
                if asked.has(place) {
                    continue;
                }
                match unused.get_mut(name) {
                    Some(count) => *count += 1,
                    None => drop(unused.insert(name.to_owned(), 1)),
                }
            }
        }
        let is_used = match value {
            None | Some(Value::Nil | Value::Bool(_) | Value::Map(_)) => true,
            Some(Value::Integer(_)) => self.model == ModelName::Fenced,
            Some(_) => false,
        };
        self.unused_values += u64::from(!is_used);
    }
}

/// `:index (5 times)`.
fn times(what: &str, count: u64) -> String {
    format!("{what} ({})", locklab_values::count::times(count))
}

/// The entries of a map that were asked for, by their places; of more than 64 entries those behind are taken for not
/// asked for.
#[derive(Default)]
struct Asked(Cell<u64>);

impl Asked {
    fn add(&self, place: usize) {
        self.0
            .set(self.0.get() | 1_u64.checked_shl(place as u32).unwrap_or(0));
    }

    fn has(&self, place: usize) -> bool {
        1_u64
            .checked_shl(place as u32)
            .is_some_and(|bit| self.0.get() & bit != 0)
    }
}

struct Operation<'v> {
    map: &'v Value<'v>,
    /// The lock and the value of `jepsen.independent`.
    pair: Option<(&'v Value<'v>, &'v Value<'v>)>,
    /// What was asked for of the operation, and of the map in its value.
    asked: [Asked; 2],
}

impl<'v> Operation<'v> {
    /// # Errors
    ///
    /// If it is no operation, or a pair of which nobody knows what it is.
    fn of(map: &'v Value<'v>, pairs: Option<Pairs>) -> Result<Operation<'v>, String> {
        if !matches!(map, Value::Map(_)) {
            return Err(
                "an operation is a map: {:process 0, :type :invoke, :f :acquire, …}".into(),
            );
        }
        if map.get("lock-history").is_some() {
            return Err("a header begins JSON lines, an event on each; of an array --model says what it says".into());
        }
        let pair = match map.get("value") {
            Some(Value::Sequence(pair)) if pair.len() == 2 && map.get("key").is_none() => {
                Some((&pair[0], &pair[1]))
            }
            _ => None,
        };
        let pair = match (pair, pairs) {
            (_, Some(Pairs::Value)) => None,
            (Some((first, second)), None) if !first.is_collection() && may_be_name(second) => {
                return Err(
                    "of the two in :value the first may be the lock, as jepsen.independent writes it, or something \
                     of the only lock, a client with an id, say; say which with --pairs lock or --pairs value"
                        .into(),
                );
            }
            (pair, _) => pair,
        };
        Ok(Operation {
            map,
            pair,
            asked: Default::default(),
        })
    }

    /// A keyword of the operation, or of the map in its value.
    fn get(&self, keyword: &str) -> Option<&'v Value<'v>> {
        let found = self.own(keyword).or_else(|| {
            let (place, value) = self.value()?.entry(keyword)?;
            self.asked[1].add(place);
            Some(value)
        });
        found.filter(|value| **value != Value::Nil)
    }

    /// A keyword of the operation itself.
    fn own(&self, keyword: &str) -> Option<&'v Value<'v>> {
        let (place, value) = self.map.entry(keyword)?;
        self.asked[0].add(place);
        Some(value)
    }

    /// The value, without the key of `jepsen.independent`.
    fn value(&self) -> Option<&'v Value<'v>> {
        let own = self.own("value");
        self.pair.map(|(_, value)| value).or(own)
    }

    fn key(&self) -> Option<&'v Value<'v>> {
        self.get("key").or(self.pair.map(|(key, _)| key))
    }

    fn name(&self, keyword: &str) -> Result<Option<Text<'v>>, String> {
        self.get(keyword)
            .map(|value| name(keyword, value))
            .transpose()
    }

    fn number(&self, keyword: &str) -> Result<Option<u64>, String> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Integer(number)) if *number >= 0 => match u64::try_from(*number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(format!(":{keyword} is too large")),
            },
            Some(_) => Err(format!(":{keyword} is a whole number that is not negative")),
        }
    }

    fn amount(&self, keyword: &str) -> Result<Option<Amount>, String> {
        match self.get(keyword) {
            Some(Value::Fraction(text)) => match text.parse() {
                Ok(amount) => Ok(Some(amount)),
                Err(expected) => Err(format!(":{keyword} is {expected}")),
            },
            _ => Ok(self.number(keyword)?.map(Amount::from)),
        }
    }
}

/// Whether a value may be a name: of jepsen.independent's two the second is what the operation itself has as its value,
/// nothing, a map, or whether it was granted the lock.
fn may_be_name(value: &Value) -> bool {
    matches!(
        value,
        Value::Text(_)
            | Value::Keyword(_)
            | Value::Symbol(_)
            | Value::Integer(_)
            | Value::Fraction(_)
    )
}

fn name<'v>(keyword: &str, value: &'v Value<'v>) -> Result<Text<'v>, String> {
    match value {
        Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => {
            Ok(Text(Cow::Borrowed(text)))
        }
        Value::Integer(number) => Ok(Text(Cow::Owned(number.to_string()))),
        _ => Err(format!(":{keyword} is a name or a whole number")),
    }
}

impl Reader {
    /// The line of an operation; `None` if it is the nemesis's, or logs something.
    fn event<'v>(&mut self, map: &'v Value<'v>) -> Result<Option<RawEvent<'v>>, String> {
        match map.get("process") {
            Some(Value::Keyword(_)) => return Ok(None),
            // As JSON has it.
            Some(Value::Text(name)) if name == "nemesis" => return Ok(None),
            _ => {}
        }
        let operation = Operation::of(map, self.pairs)?;
        // A call without a value of its own is jepsen.independent's, and its grant may have a number.
        if operation.pair.is_some() {
            self.pairs = Some(Pairs::Lock);
        }
        let process = match operation.own("process") {
            Some(process) => name("process", process)?,
            None => return Err("this operation has no :process".into()),
        };
        let word = |keyword: &str| match operation.own(keyword) {
            Some(Value::Keyword(word) | Value::Text(word)) => Ok(&**word),
            _ => Err(format!("this operation has no :{keyword}")),
        };
        let kind = match word("type")? {
            "invoke" => Type::Invoke,
            "ok" => Type::Ok,
            "fail" => Type::Fail,
            "info" => Type::Info,
            other => {
                return Err(format!(
                    "unknown :type :{other}; there are :invoke, :ok, :fail, :info"
                ));
            }
        };
        let f = match word("f")? {
            "acquire" | "lock" => F::Acquire,
            "release" | "unlock" => F::Release,
            "extend" => F::Extend,
            "read" => F::Read,
            "write" => F::Write,
            "lost" => F::Lost,
            "crash" => F::Crash,
            other => {
                return Err(format!(
                    "unknown :f :{other}; there are :acquire, :release, :extend, :read, :write, :lost, :crash"
                ));
            }
        };
        let is_call = matches!(f, F::Acquire | F::Release | F::Extend);
        let kind = match (kind, operation.value()) {
            (Type::Ok, Some(Value::Bool(false))) if is_call => {
                self.refused += 1;
                Type::Fail
            }
            (kind, _) => kind,
        };
        let token = match operation.value() {
            Some(Value::Integer(token @ 0..))
                if self.model == ModelName::Fenced && kind == Type::Ok =>
            {
                Some(u64::try_from(*token).map_err(|_| "the token in :value is too large")?)
            }
            _ => None,
        };
        // Hazelcast's fences begin at 1.
        let fence = operation.number("fence")?.filter(|fence| *fence > 0);
        let clock = match operation.name("clock")?.as_ref().map(|clock| &*clock.0) {
            None => None,
            Some("time") => Some(Clock::Time),
            Some("wall") => Some(Clock::Wall),
            Some("mono") => Some(Clock::Mono),
            Some(other) => {
                return Err(format!(
                    "unknown :clock :{other}; there are :time, :wall, :mono"
                ));
            }
        };
        let permits = operation.number("permits")?.map(u32::try_from).transpose();
        let event = RawEvent {
            process,
            kind,
            f,
            time: operation.amount("time")?,
            key: operation.key().map(|key| name("key", key)).transpose()?,
            owner: operation.name("owner")?,
            token: operation.number("token")?.or(fence).or(token),
            deadline: operation.amount("deadline")?,
            clock,
            validity: operation.amount("validity")?,
            shared: match operation.get("shared") {
                None => false,
                Some(Value::Bool(is_shared)) => *is_shared,
                Some(_) => return Err(":shared is true or false".into()),
            },
            permits: permits.map_err(|_| ":permits is too large")?,
            wall: operation.amount("wall")?,
            mono: operation.amount("mono")?,
            version: operation.number("version")?,
            based_on: operation.number("based_on")?,
            _note: None,
        };
        self.note_unused(&operation);
        Ok(Some(event))
    }
}
