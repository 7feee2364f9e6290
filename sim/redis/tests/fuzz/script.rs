//! Interprets bytes as a script that calls Lua's functions with extreme arguments, nests them, and
//! changes what they work on while they do.
//!
//! Shared by the test beside it and by a target in `fuzz/`, which lets libFuzzer find the bytes.
//! Almost every input is a script that compiles: random text seldom is one.

#[path = "patience.rs"]
mod patience;

use std::fmt::Write as _;

use locklab_redis::endpoint::Now;
use locklab_redis::resp::command;
use locklab_redis::{Effect, Node, NodeConfig};

use self::patience::Patience;

/// What a script can call, by name.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "string.byte", "string.char", "string.dump", "string.find", "string.format", "string.gmatch",
    "string.gsub", "string.len", "string.lower", "string.match", "string.rep", "string.reverse",
    "string.sub", "string.upper",
    "table.concat", "table.foreach", "table.foreachi", "table.getn", "table.insert", "table.maxn",
    "table.remove", "table.setn", "table.sort",
    "math.fmod", "math.frexp", "math.ldexp", "math.max", "math.modf", "math.random", "math.randomseed",
    "assert", "error", "getmetatable", "ipairs", "load", "loadstring", "next", "pairs", "pcall",
    "rawequal", "rawget", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "unpack",
    "xpcall", "collectgarbage",
    "coroutine.create", "coroutine.resume", "coroutine.running", "coroutine.status", "coroutine.wrap",
    "coroutine.yield",
    "redis.call", "redis.pcall", "redis.sha1hex", "redis.error_reply", "redis.status_reply",
    "redis.setresp", "redis.log", "redis.set_repl",
    "f", "g",
];

/// Values, among them those at which a check may be missing.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "0", "1", "-1", "2", "3", "7", "255", "256", "4095", "4097", "7999", "8000", "8001", "65536",
    "2147483646", "2147483647", "2147483648", "-2147483647", "-2147483648", "-2147483649", "4294967296",
    "9007199254740993", "9e18", "-9e18", "1e308", "-1e308", "0/0", "1/0", "-1/0", "0.5",
    "nil", "true", "false", "''", "'a'", "'abc'", "'\\0'", "'%'", "'%1'", "'[a-'", "'[^]'", "'%b()'",
    "'%f[a]'", "'(a*)*'", "'()'", "'a-b'", "'.-'", "'%99.99f'", "'%q'", "'%99s'", "'%-+ #099d'",
    "'s'", "'return ...'", "'return function() return f() end'", "'[=[a]=]'", "'--[==['",
    "'{\"a\":[1,{\"b\":null}]}'", "'\\221\\255\\255\\255\\255'", "'\\147\\1\\2\\3'", "'\\27Lua'", "'#'", "'*'",
    "'get'", "'set'", "'k'", "'lrange'", "'n'", "'__index'",
    "{}", "{1, 2, 3}", "{3, 1, 2, 5, 4}", "{a = 1, b = 2}", "{{}, {1}, {a = {}}}", "{[2147483647] = 1}",
    "{[-2147483648] = 1}", "t", "u", "m", "s", "p", "...", "_G", "string", "f", "g", "co", "k",
    "setmetatable({}, m)", "('a'):rep(300)", "('a?'):rep(300)", "('a*'):rep(9)", "('('):rep(250)",
    "('x'):rep(70000)", "function() return t end", "function(a, b) t[#t] = nil return a end",
    "function(...) return ... end", "function() error(t) end", "function(a) return f(a) end",
    "unpack({}, 1, 200)", "#t", "#s",
];

/// How deeply expressions and blocks are nested.
const MAX_DEPTH: u32 = 6;

/// The length of a script, in bytes, after which nothing is nested.
const MAX_SCRIPT_BYTES: usize = 3000;

/// How often a node looks up from a script before that is ended: some million instructions.
const LOOKS: u32 = 20;

/// Runs an input.
///
/// # Panics
///
/// If the node does not answer, or not as before afterwards.
pub fn play(input: &[u8]) {
    let script = script(input);
    let mut node = Node::new(NodeConfig::default());
    node.read_clock(Now::default);
    let patience = Patience::default();
    node.attend(patience.clone());
    let conn = node.accept();
    let mut say = |words: &[&[u8]]| {
        let mut effects = Vec::new();
        patience.0.set(LOOKS);
        node.receive(conn, &command(words), 0, &mut effects);
        effects
    };
    let effects = say(&[b"EVAL", &script, b"1", b"k", b"v"]);
    let text = script.escape_ascii();
    assert!(!effects.is_empty(), "no answer to {text}");
    match &say(&[b"EVAL", b"return #string.rep('ab', 5)", b"0"])[..] {
        [Effect::Send { bytes, .. }] if bytes == ":10\r\n" => {}
        other => panic!("{other:?} after {text}"),
    }
}

/// The script of an input.
fn script(input: &[u8]) -> Vec<u8> {
    let mut writer = Writer {
        input,
        text: String::new(),
    };
    // Names that expressions use. `f` and `g` call themselves through whatever calls them.
    writer.text.push_str(
        "local t, u, s, p, n = {5, 3, 1, 4, 2}, {}, ('ab'):rep(40), 'a*', 0 local f, g, co, m \
         m = {__index = function(...) return f(...) end, __newindex = rawset, \
         __tostring = function(...) return g(...) end, __concat = function(...) return f(...) end, \
         __lt = function(...) return f(...) end, __le = function() error() end, \
         __eq = function(...) return g(...) end, __call = function(...) return g(...) end, \
         __unm = function(...) return f(...) end, __add = function(...) return ... end}\n",
    );
    for name in ["f", "g"] {
        // A script of any input ends soon: after so many calls these only return.
        let _ = write!(
            writer.text,
            "{name} = function(...) local k = ... n = n + 1 if n > 2000 then return 1 end "
        );
        writer.block(0);
        writer.text.push_str("end\n");
    }
    writer.text.push_str("co = coroutine.create(f)\n");
    writer
        .text
        .push_str("local function main(...) local k = ... ");
    while !writer.input.is_empty() && writer.text.len() < MAX_SCRIPT_BYTES {
        writer.block(0);
    }
    writer
        .text
        .push_str("end return select('#', pcall(main, 1, 2, 3))");
    writer.text.into_bytes()
}

struct Writer<'a> {
    input: &'a [u8],
    text: String,
}

impl Writer<'_> {
    fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.input.split_first() else {
            return 0;
        };
        self.input = rest;
        usize::from(*first)
    }

    /// A choice that is 0 where nothing more may be nested.
    fn choice(&mut self, count: usize, depth: u32) -> usize {
        match depth >= MAX_DEPTH || self.text.len() > MAX_SCRIPT_BYTES || self.input.is_empty() {
            true => 0,
            false => self.byte() % count,
        }
    }

    fn word(&mut self, of: &[&str]) {
        let index = self.byte() % of.len();
        self.text.push_str(of[index]);
    }

    fn block(&mut self, depth: u32) {
        let statements = 1 + self.choice(3, depth);
        for _ in 0..statements {
            self.statement(depth);
            self.text.push(' ');
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.choice(10, depth) {
            0 => {
                self.text.push_str("pcall(");
                self.word(FUNCTIONS);
                self.arguments(depth);
            }
            1 => {
                self.word(&["t", "u", "s", "p"]);
                self.text.push_str(" = ");
                self.expression(depth + 1);
            }
            2 => {
                self.text.push_str("t[");
                self.expression(depth + 1);
                self.text.push_str("] = ");
                self.expression(depth + 1);
            }
            3 => {
                self.text.push_str("for i = 1, ");
                self.word(&["1", "3", "20", "300"]);
                self.text.push_str(" do ");
                self.block(depth + 1);
                self.text.push_str("end");
            }
            4 => {
                self.text.push_str("for a, b in pairs(");
                self.word(&["t", "u", "m", "{1, 2}", "_G"]);
                self.text.push_str(") do ");
                self.block(depth + 1);
                self.text.push_str("end");
            }
            5 => {
                self.text.push_str("if ");
                self.expression(depth + 1);
                self.text.push_str(" then ");
                self.block(depth + 1);
                self.text.push_str("else ");
                self.block(depth + 1);
                self.text.push_str("end");
            }
            6 => {
                self.text.push_str("pcall(coroutine.wrap(function(...) ");
                self.block(depth + 1);
                self.text.push_str("end)");
                self.text.push_str(", ...)");
            }
            7 => {
                self.text.push_str("do return ");
                self.expression(depth + 1);
                self.text.push_str(" end");
            }
            8 => {
                self.text.push_str("xpcall(function(...) ");
                self.text.push_str("local _ = ... ");
                self.block(depth + 1);
                self.text.push_str("end, ");
                self.word(&["f", "g", "error", "tostring", "pcall"]);
                self.text.push(')');
            }
            _ => {
                self.text.push_str("local k = ");
                self.expression(depth + 1);
            }
        }
    }

    /// The rest of a call, to the closing bracket.
    fn arguments(&mut self, depth: u32) {
        for _ in 0..self.byte() % 5 {
            self.text.push_str(", ");
            self.expression(depth + 1);
        }
        self.text.push(')');
    }

    fn expression(&mut self, depth: u32) {
        match self.choice(8, depth) {
            0 | 1 => self.word(VALUES),
            2 | 3 => {
                // What it returns, or the error.
                self.text.push_str("select(2, pcall(");
                self.word(FUNCTIONS);
                self.arguments(depth);
                self.text.push(')');
            }
            4 => {
                self.text.push('(');
                self.expression(depth + 1);
                self.word(&[
                    " .. ", " + ", " - ", " % ", " ^ ", " == ", " < ", " <= ", " and ", " or ",
                ]);
                self.expression(depth + 1);
                self.text.push(')');
            }
            5 => {
                self.text.push('{');
                self.expression(depth + 1);
                self.text.push_str(", [3] = ");
                self.expression(depth + 1);
                self.text.push('}');
            }
            6 => {
                self.text.push_str("(t)[");
                self.expression(depth + 1);
                self.text.push(']');
            }
            _ => {
                // A text of the input, which need not be valid in any way.
                let len = self.byte() % 24;
                let len = len.min(self.input.len());
                let (text, rest) = self.input.split_at(len);
                self.input = rest;
                self.text.push('\'');
                for byte in text {
                    let _ = write!(self.text, "\\{byte:03}");
                }
                self.text.push('\'');
            }
        }
    }
}
