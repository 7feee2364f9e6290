//! Histories of Jepsen: EDN, one operation after the other, or a vector of them.
//!
//! An operation is a map with `:process`, `:type`, `:f`, `:value` and `:time` (nanoseconds). A lock's
//! name is in `:key`, or is the first of two elements of `:value`, as in `jepsen.independent`. All
//! other fields of the schema are read as keywords of the same name, from the operation or from a map
//! in `:value`; `:fence` is a token, and with the model `fenced` so is a number in `:value`. Operations
//! of the nemesis are passed over, and so are keywords that this reader does not know.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use crate::amount::Amount;
use crate::builder::Builder;
use crate::edn::{self, Value};
use crate::history::{Access, Clock, LockHistory, Outcome, Point, What};
use crate::models::{Act, ModelName};
use crate::raw::{Bad, F, Header, InputError, RawEvent, Text, Type};

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
pub fn read(file: &[u8], path: &Path, header: Header) -> Result<LockHistory, InputError> {
    events(file, header).map_err(|bad| bad.of(path))
}

fn events(file: &[u8], header: Header) -> Result<LockHistory, Bad> {
    let text = str::from_utf8(file).map_err(|error| {
        let before = &file[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32;
        Bad::at(line, "not a text file: invalid UTF-8")
    })?;
    let values = edn::read(text).map_err(|error| Bad::at(error.line, error.what))?;
    let model = header.model;
    let mut builder = Builder::new(header);
    for (line, value) in &values {
        match event(&Operation(value), model).map_err(|what| Bad::at(*line, what))? {
            Some(event) => builder.push(*line, &event)?,
            None => builder.skipped += 1,
        }
    }
    builder.finish()
}

struct Operation<'v>(&'v Value);

impl<'v> Operation<'v> {
    /// A keyword of the operation, or of the map in its value.
    fn get(&self, keyword: &str) -> Option<&'v Value> {
        let own = self.0.get(keyword);
        let own = own.or_else(|| self.value()?.get(keyword));
        own.filter(|value| **value != Value::Nil)
    }

    /// The value, without the key of `jepsen.independent`.
    fn value(&self) -> Option<&'v Value> {
        match self.0.get("value")? {
            Value::Sequence(pair) if pair.len() == 2 => pair.last(),
            value => Some(value),
        }
    }

    fn key(&self) -> Option<&'v Value> {
        self.get("key").or_else(|| match self.0.get("value")? {
            Value::Sequence(pair) if pair.len() == 2 => pair.first(),
            _ => None,
        })
    }

    fn name(&self, keyword: &str) -> Result<Option<Text<'v>>, String> {
        self.get(keyword)
            .map(|value| name(keyword, value))
            .transpose()
    }

    fn number(&self, keyword: &str) -> Result<Option<u64>, String> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Integer(number)) if *number >= 0 => Ok(Some(*number as u64)),
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

fn name<'v>(keyword: &str, value: &'v Value) -> Result<Text<'v>, String> {
    match value {
        Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => {
            Ok(Text(Cow::Borrowed(text)))
        }
        Value::Integer(number) => Ok(Text(Cow::Owned(number.to_string()))),
        _ => Err(format!(":{keyword} is a name or a whole number")),
    }
}

/// The line of an operation; `None` if it is the nemesis's, or logs something.
fn event<'v>(operation: &Operation<'v>, model: ModelName) -> Result<Option<RawEvent<'v>>, String> {
    if !matches!(operation.0, Value::Map(_)) {
        return Err("an operation is a map: {:process 0, :type :invoke, :f :acquire, …}".into());
    }
    let process = match operation.0.get("process") {
        Some(Value::Keyword(_)) => return Ok(None),
        Some(process) => name("process", process)?,
        None => return Err("this operation has no :process".into()),
    };
    let word = |keyword: &str| match operation.0.get(keyword) {
        Some(Value::Keyword(word)) => Ok(word.as_str()),
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
    let token = match operation.value() {
        Some(Value::Integer(token @ 0..)) if model == ModelName::Fenced && kind == Type::Ok => {
            Some(*token as u64)
        }
        _ => None,
    };
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
    Ok(Some(RawEvent {
        process,
        kind,
        f,
        time: operation.amount("time")?,
        key: operation.key().map(|key| name("key", key)).transpose()?,
        owner: operation.name("owner")?,
        token: operation
            .number("token")?
            .or(operation.number("fence")?)
            .or(token),
        deadline: operation.amount("deadline")?,
        clock,
        validity: operation.amount("validity")?,
        shared: operation.get("shared") == Some(&Value::Bool(true)),
        permits: permits.map_err(|_| ":permits is too large")?,
        wall: operation.amount("wall")?,
        mono: operation.amount("mono")?,
        version: operation.number("version")?,
        based_on: operation.number("based_on")?,
        note: None,
    }))
}

/// The history in this form, an operation a line, in the order of time.
pub fn write(history: &LockHistory) -> String {
    let mut points: Vec<(usize, &Point)> = Vec::new();
    for (key, of_key) in history.keys.iter().enumerate() {
        let told = of_key
            .points
            .iter()
            .filter(|point| point.what != What::Clocks);
        points.extend(told.map(|point| (key, point)));
    }
    points.sort_by_key(|(_, point)| (point.at_ns, point.line));
    let mut text = String::new();
    for (index, (key, point)) in points.iter().enumerate() {
        write_operation(&mut text, history, *key, point, index);
    }
    text
}

fn write_operation(
    text: &mut String,
    history: &LockHistory,
    key: usize,
    point: &Point,
    index: usize,
) {
    let of_key = &history.keys[key];
    let name = |number: u32| {
        let name = &*of_key.names[number as usize];
        match name.parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) => edn::quoted(name),
        }
    };
    let (process, kind, f) = match point.what {
        What::Invoked(call) | What::Returned(call) => {
            let returns = matches!(point.what, What::Returned(_));
            let call = &of_key.calls[call];
            let kind = match call.outcome {
                _ if !returns => "invoke",
                Outcome::Ok => "ok",
                Outcome::Failed => "fail",
                Outcome::Unknown => "info",
            };
            let f = match call.act {
                Act::Acquire => "acquire",
                Act::Release => "release",
                Act::Extend => "extend",
            };
            (call.process, kind, f)
        }
        What::Lost | What::Clocks => (point.holder, "info", "lost"),
        What::Access(Access {
            writes, accepted, ..
        }) => {
            let kind = if accepted { "ok" } else { "fail" };
            (point.holder, kind, if writes { "write" } else { "read" })
        }
    };
    // Nothing fails that writes to memory.
    let _ = write!(
        text,
        "{{:index {index}, :process {}, :type :{kind}, :f :{f}, :value nil, :time {}",
        name(process),
        point.at_ns,
    );
    let mut put = |keyword: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, ", :{keyword} {value}");
        }
    };
    put("key", Some(edn::quoted(&of_key.key)));
    put("wall", point.wall_ns.map(|ns| ns.to_string()));
    put("mono", point.mono_ns.map(|ns| ns.to_string()));
    match point.what {
        What::Invoked(call) | What::Returned(call) => {
            let returns = matches!(point.what, What::Returned(_));
            let call = &of_key.calls[call];
            put(
                "owner",
                (call.holder != call.process).then(|| name(call.holder)),
            );
            put("shared", call.shared.then(|| "true".into()));
            put(
                "permits",
                (call.permits != 1).then(|| call.permits.to_string()),
            );
            if returns {
                put("token", call.token.map(|token| token.to_string()));
                put(
                    "deadline",
                    call.deadline.map(|deadline| deadline.at_ns.to_string()),
                );
                let clock = call.deadline.map(|deadline| match deadline.clock {
                    Clock::Time => ":time",
                    Clock::Wall => ":wall",
                    Clock::Mono => ":mono",
                });
                put("clock", clock.map(String::from));
            }
        }
        What::Access(access) => {
            put("token", access.token.map(|token| token.to_string()));
            put("version", access.version.map(|version| version.to_string()));
            put(
                "based_on",
                access.based_on.map(|version| version.to_string()),
            );
        }
        What::Lost | What::Clocks => {}
    }
    text.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(text: &str, model: ModelName) -> Result<LockHistory, String> {
        let path = Path::new("history.edn");
        read(text.as_bytes(), path, Header::of(model)).map_err(|error| error.to_string())
    }

    const TWO: &str = "\
        {:process 0, :type :invoke, :f :acquire, :value [\"a\" nil], :time 5, :index 0}\n\
        {:process :nemesis, :type :info, :f :kill, :value nil, :time 6}\n\
        {:process 1, :type :invoke, :f :lock, :value [\"b\" nil], :time 7}\n\
        {:process 0, :type :ok, :f :acquire, :value [\"a\" {:fence 3}], :time 8}\n\
        {:process 1, :type :info, :f :lock, :value [\"b\" nil], :time 9, :error :timeout}\n";

    #[test]
    fn operations_of_jepsen_are_read_line_by_line_and_as_a_vector() {
        let lines = history(TWO, MODEL).unwrap();
        let vector = history(&format!("[{TWO}]"), MODEL).unwrap();
        for history in [lines, vector] {
            assert_eq!(history.skipped, 1);
            let [a, b] = [&history.keys[0], &history.keys[1]];
            assert_eq!((a.key.as_str(), b.key.as_str()), ("a", "b"));
            assert_eq!(a.calls[0].token, Some(3));
            assert_eq!(a.calls[0].returned, Some((3, 4)));
            assert_eq!(b.calls[0].outcome, Outcome::Unknown);
        }
    }

    #[test]
    fn a_number_is_a_token_in_the_fenced_model_only() {
        let text = "{:process 0, :type :invoke, :f :acquire}\n\
                    {:process 0, :type :ok, :f :acquire, :value 12}";
        let token = |model| history(text, model).unwrap().keys[0].calls[0].token;
        assert_eq!(token(ModelName::Fenced), Some(12));
        assert_eq!(token(ModelName::Mutex), None);
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let first = history(TWO, MODEL).unwrap();
        let written = write(&first);
        let again = history(&written, MODEL).unwrap();
        assert_eq!(write(&again), written);
        assert_eq!(again.keys.len(), first.keys.len());
        for (one, other) in first.keys.iter().zip(&again.keys) {
            let outline = |key: &crate::KeyHistory| -> Vec<_> {
                let calls = key.calls.iter();
                calls
                    .map(|call| {
                        let returned = call.returned.map(|(at_ns, _)| at_ns);
                        (call.invoked_ns, returned, call.outcome, call.token)
                    })
                    .collect()
            };
            assert_eq!(outline(one), outline(other));
        }
    }

    #[test]
    fn what_is_no_operation_is_told_with_its_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(history(text, MODEL).unwrap_err(), expected);
        };
        check(
            "\n{:type :ok}",
            "history.edn:2: this operation has no :process",
        );
        check(
            "{:process 0 :type :done :f :acquire}",
            "history.edn:1: unknown :type :done; there are :invoke, :ok, :fail, :info",
        );
        check(
            "{:process 0 :type :ok :f :cas}",
            "history.edn:1: unknown :f :cas; there are :acquire, :release, :extend, :read, :write, \
             :lost, :crash",
        );
        check(
            "{:process 0",
            "history.edn:1: this has no end: `}` is missing; is the file truncated?",
        );
        check(
            "[7]",
            "history.edn:1: an operation is a map: {:process 0, :type :invoke, :f :acquire, …}",
        );
    }
}
