//! Conversion between Lua's values and Redis's (`src/script_lua.c`).

use std::cell::Cell;

use bytes::Bytes;

use super::lua::{self, Lua, Table, Text, Value, before_zero, truncate};
use super::{error, memory};
use crate::wire::float::general;
use crate::wire::reply::MAX_OUT_BYTES;
use crate::wire::reply::{Error, Reply, Resp};

/// The maximum nesting of tables in a script's value. (Redis is limited by the Lua stack, to a
/// few thousand.)
const MAX_DEPTH: usize = 500;

/// The maximum size of a script's reply. A table may hold the same text, or the same table, a
/// million times; a reply contains a copy for each.
pub(super) const MAX_REPLY_BYTES: usize = MAX_OUT_BYTES;

/// The arguments of `redis.call`.
pub(super) struct Arguments(Vec<Argument>);

enum Argument {
    String(Text),
    Number(Vec<u8>),
}

impl Arguments {
    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// One of them is no argument, or there is none: an error for the script.
    pub(super) fn read(values: &[Value]) -> Result<Arguments, Error> {
        let mut arguments = Vec::with_capacity(values.len());
        for value in values {
            arguments.push(match *value {
                Value::Str(text) => Argument::String(text),
                Value::Int(number) => Argument::Number(shortest_17(number as f64)),
                Value::Float(number) => Argument::Number(shortest_17(number)),
                _ => {
                    return Err(Error::of(
                        "ERR Lua redis lib command arguments must be strings or integers",
                    ));
                }
            });
        }
        if arguments.is_empty() {
            return Err(Error::of(
                "ERR Please specify at least one argument for this redis lib call",
            ));
        }
        Ok(Arguments(arguments))
    }

    /// Their length in bytes.
    pub(super) fn bytes(&self) -> usize {
        let len = |argument: &Argument| match argument {
            Argument::String(text) => text.len(),
            Argument::Number(text) => text.len(),
        };
        self.0.iter().map(len).sum()
    }

    pub(super) fn as_slices(&self) -> Vec<&[u8]> {
        self.0
            .iter()
            .map(|argument| match argument {
                Argument::String(text) => text.as_bytes(),
                Argument::Number(text) => text,
            })
            .collect()
    }
}

/// C's `%.17g`.
fn shortest_17(number: f64) -> Vec<u8> {
    // The first integer that needs an exponent.
    const WITHOUT_EXPONENT: f64 = 1e17;
    if number.fract() == 0.0 && number.abs() < WITHOUT_EXPONENT && number != 0.0 {
        return (number as i64).to_string().into_bytes();
    }
    general(number, 17).into_bytes()
}

/// The size of a reply.
#[derive(Default)]
pub(super) struct Size {
    /// The number of elements, at any depth.
    pub(super) items: usize,
    /// The bytes of its texts.
    pub(super) bytes: usize,
}

/// The size of a reply.
pub(super) fn size(reply: &Reply) -> Size {
    let mut size = Size::default();
    size.add(reply);
    size
}

impl Size {
    fn add(&mut self, reply: &Reply) {
        match reply {
            Reply::Array(items)
            | Reply::Set(items)
            | Reply::Push(items)
            | Reply::Several(items) => self.add_items(items),
            Reply::Map(pairs) | Reply::Pairs(pairs) => {
                self.add_items(pairs.iter().flat_map(|(key, value)| [key, value]));
            }
            Reply::Bulk(text) | Reply::Verbatim { text, .. } => self.bytes += text.len(),
            _ => {}
        }
    }

    fn add_items<'a>(&mut self, items: impl IntoIterator<Item = &'a Reply>) {
        for item in items {
            self.items += 1;
            self.add(item);
        }
    }
}

/// `redisProtocolToLuaType`: the value that a script sees under this protocol.
pub(super) fn from_reply(lua: &mut Lua, reply: &Reply, resp: Resp) -> lua::Result<Value> {
    match (reply, resp) {
        (Reply::Status(text), _) => {
            let text = lua::string(lua, text)?;
            fields(lua, [("ok", text)])
        }
        (Reply::Error(reply), _) => error::table_of_command(lua, reply.text()).map(Value::Table),
        (Reply::Integer(number), _) => Ok(Value::Float(*number as f64)),
        (Reply::Bulk(bytes), _) => lua::string(lua, bytes),
        (Reply::Nil | Reply::NilArray, Resp::V2) => Ok(Value::Bool(false)),
        (Reply::Nil | Reply::NilArray, Resp::V3) => Ok(Value::Nil),
        (Reply::Bool(value), Resp::V2) => Ok(lua::number(i32::from(*value))),
        (Reply::Bool(value), Resp::V3) => Ok(Value::Bool(*value)),
        (Reply::Double(number), Resp::V2) => lua::string(lua, general(*number, 17).as_bytes()),
        (Reply::Double(number), Resp::V3) => fields(lua, [("double", Value::Float(*number))]),
        (Reply::BigNumber(digits), Resp::V2) => lua::string(lua, digits),
        (Reply::BigNumber(digits), Resp::V3) => {
            let digits = lua::string(lua, digits)?;
            fields(lua, [("big_number", digits)])
        }
        (Reply::Verbatim { text, .. }, Resp::V2) => lua::string(lua, text),
        (Reply::Verbatim { format, text }, Resp::V3) => {
            let (format, text) = (lua::string(lua, format)?, lua::string(lua, text)?);
            let parts = fields(lua, [("format", format), ("string", text)])?;
            fields(lua, [("verbatim_string", parts)])
        }
        (Reply::Map(pairs), Resp::V3) => {
            let table = lua::table(lua, 0)?;
            for (key, value) in pairs {
                let value = from_reply(lua, value, resp)?;
                let key = from_reply(lua, key, resp)?;
                lua::set(lua, &table, key, value)?;
            }
            fields(lua, [("map", Value::Table(table))])
        }
        (Reply::Set(items), Resp::V3) => {
            let table = lua::table(lua, 0)?;
            for item in items {
                let item = from_reply(lua, item, resp)?;
                lua::set(lua, &table, item, Value::Bool(true))?;
            }
            fields(lua, [("set", Value::Table(table))])
        }
        (Reply::Pairs(pairs), Resp::V3) => {
            let pairs = pairs.iter().cloned();
            let arrays = pairs.map(|(one, other)| Reply::Array(vec![one, other]));
            from_reply(lua, &Reply::Array(arrays.collect()), resp)
        }
        (Reply::Map(pairs) | Reply::Pairs(pairs), Resp::V2) => {
            let items = pairs.iter().flat_map(|(key, value)| [key, value]);
            array(lua, items, resp)
        }
        (
            Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items),
            _,
        ) => array(lua, items.iter(), resp),
    }
}

fn fields<const COUNT: usize>(lua: &mut Lua, fields: [(&str, Value); COUNT]) -> lua::Result<Value> {
    let table = lua::table(lua, 0)?;
    for (name, value) in fields {
        lua::set_field(lua, &table, name, value)?;
    }
    Ok(Value::Table(table))
}

fn array<'a>(
    lua: &mut Lua,
    items: impl Iterator<Item = &'a Reply>,
    resp: Resp,
) -> lua::Result<Value> {
    let table = lua::table(lua, items.size_hint().0)?;
    for (index, item) in items.enumerate() {
        let item = from_reply(lua, item, resp)?;
        lua::set_index(lua, &table, index + 1, item)?;
    }
    Ok(Value::Table(table))
}

/// `luaReplyToRedisReply`: the reply for the value of a script that uses this protocol. The
/// client's protocol is independent of it.
pub(super) fn to_reply(lua: &Lua, value: Value, resp: Resp) -> Reply {
    let room_bytes = memory::MAX_BYTES.saturating_sub(memory::used(lua));
    let converter = Converter {
        resp,
        left_bytes: Cell::new(MAX_REPLY_BYTES.min(room_bytes)),
    };
    let reply = converter.value(value, MAX_DEPTH);
    match converter.left_bytes.get() {
        0 => Error::of("ERR the script's value is too large for a reply").into(),
        _ => reply,
    }
}

struct Converter {
    resp: Resp,
    /// The remaining conversion budget; 0 once it was exceeded.
    left_bytes: Cell<usize>,
}

impl Converter {
    fn value(&self, value: Value, depth: usize) -> Reply {
        if !self.spend(size_of::<Reply>()) {
            return Reply::Nil;
        }
        match value {
            Value::Str(text) => Reply::Bulk(Bytes::from(self.text(text))),
            Value::Bool(value) if self.resp == Resp::V3 => Reply::Bool(value),
            Value::Bool(true) => Reply::Integer(1),
            Value::Int(number) => Reply::Integer(number),
            Value::Float(number) => Reply::Integer(truncate(number)),
            Value::Table(table) => self.table(&table, depth),
            _ => Reply::Nil,
        }
    }

    /// Whether a reply may still take this many bytes.
    fn spend(&self, bytes: usize) -> bool {
        let left_bytes = self.left_bytes.get().saturating_sub(bytes);
        self.left_bytes.set(left_bytes);
        left_bytes > 0
    }

    /// A copy of a text; empty if there is no room for it.
    fn text(&self, text: Text) -> Vec<u8> {
        let text = text.as_bytes();
        match self.spend(text.len()) {
            true => text.to_vec(),
            false => Vec::new(),
        }
    }

    fn table(&self, table: &Table, depth: usize) -> Reply {
        if depth == 0 {
            return Error::of("ERR reached lua stack limit").into();
        }
        if let Some(reply) = self.marked(table, depth) {
            return reply;
        }
        // An array ends at its first nil.
        let items = (1..).map_while(|index| match table.get_int(index) {
            Value::Nil => None,
            item => Some(self.value(item, depth - 1)),
        });
        Reply::Array(self.while_room(items))
    }

    /// The elements of a reply, as far as there is room for them.
    fn while_room<T>(&self, converted: impl Iterator<Item = T>) -> Vec<T> {
        converted
            .take_while(|_| self.left_bytes.get() > 0)
            .collect()
    }

    /// The reply for a table with one of the fields that define its type.
    fn marked(&self, table: &Table, depth: usize) -> Option<Reply> {
        let field = |name: &str| table.get_str_bytes(name.as_bytes());
        if let Value::Str(error) = field("err") {
            return Some(Error::new(before_zero(&self.text(error)).to_vec()).into());
        }
        if let Value::Str(status) = field("ok") {
            let status = self.text(status);
            return Some(Reply::Status(one_line(before_zero(&status))));
        }
        match field("double") {
            Value::Int(number) => return Some(Reply::Double(number as f64)),
            Value::Float(number) => return Some(Reply::Double(number)),
            _ => {}
        }
        if let Value::Table(map) = field("map") {
            let convert = |(key, value)| (self.value(key, depth - 1), self.value(value, depth - 1));
            let converted = pairs(map).map(convert);
            return Some(Reply::Map(self.while_room(converted)));
        }
        if let Value::Table(set) = field("set") {
            let members = pairs(set).map(|(key, _)| self.value(key, depth - 1));
            return Some(Reply::Set(self.while_room(members)));
        }
        if let Value::Str(number) = field("big_number") {
            return Some(Reply::BigNumber(one_line(&self.text(number))));
        }
        if let Value::Table(verbatim) = field("verbatim_string") {
            let part = |name: &str| verbatim.get_str_bytes(name.as_bytes());
            let (Value::Str(format), Value::Str(text)) = (part("format"), part("string")) else {
                return None;
            };
            let mut padded = *b"   ";
            for (to, from) in padded.iter_mut().zip(format.as_bytes()) {
                *to = *from;
            }
            return Some(Reply::Verbatim {
                format: padded,
                text: Bytes::from(self.text(text)),
            });
        }
        None
    }
}

/// The keys of a table with their values, in the interpreter's order of iteration.
pub(super) fn pairs(table: Table) -> impl Iterator<Item = (Value, Value)> {
    let next = move |(key, _): &(Value, Value)| table.next_pair(key);
    let first = table.next_pair(&Value::Nil);
    std::iter::successors(first, next)
}

fn one_line(text: &[u8]) -> Bytes {
    let bytes = text.iter().map(|byte| match byte {
        b'\r' | b'\n' => b' ',
        other => *other,
    });
    bytes.collect()
}
