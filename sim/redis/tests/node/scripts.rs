//! Scripts of several nodes on one thread: the shared interpreter does not leak state from
//! one node to another.

use locklab_redis::{ConnId, Effect, Node, NodeConfig};

struct Client {
    node: Node,
    conn: ConnId,
}

impl Client {
    fn new() -> Self {
        let mut node = Node::new(NodeConfig::default());
        let conn = node.accept();
        Client { node, conn }
    }

    /// Sends an inline command; returns the raw reply.
    fn send(&mut self, command: &str) -> String {
        let mut effects = Vec::new();
        let line = format!("{command}\r\n");
        self.node
            .receive(self.conn, line.as_bytes(), 1_000_000, &mut effects);
        match &effects[..] {
            [Effect::Send { bytes, .. }] => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{command}: {other:?}"),
        }
    }

    fn eval(&mut self, script: &str) -> String {
        self.send(&format!("EVAL \"{script}\" 0"))
    }
}

#[test]
fn a_script_leaves_nothing_in_the_interpreter() {
    let attempts = [
        "leak = 1",
        "_G.leak = 1",
        "rawset(_G, 'leak', 1)",
        "string.leak = 1",
        "rawset(string, 'leak', 1)",
        "getmetatable('').__index.leak = 1",
        "getmetatable('').leak = 1",
        "setmetatable(string, {__index = {leak = 1}})",
        "getmetatable(_G).__index = {leak = 1}",
        "redis.call = nil",
        "table.sort = nil",
        "coroutine.wrap(function() leak = 1 end)()",
        "loadstring('leak = 1')()",
        "KEYS.leak = 1",
        "local _, t = pairs(string) t.leak = 1",
        "local _, t = pairs(_G) t.leak = 1",
        "table.insert(string, 'leak')",
        "table.insert(_G, 'leak')",
        "table.insert(string, 'leak') error('over')",
        "rawget(table, 'insert')(string, 'leak')",
        "for name, f in pairs(table) do if name == 'insert' then f(string, 'leak') end end",
        "coroutine.wrap(function() table.insert(string, 'leak') end)()",
        "for name, library in pairs(_G) do if type(library) == 'table' then library.leak = 1 end end",
    ];
    let look = "return {tostring(rawget(_G, 'leak')), tostring(string.leak), tostring(('').leak), \
        tostring(KEYS.leak), tostring(redis.leak), type(redis.call), type(table.sort), \
        tostring(string[1]), tostring(rawget(_G, 1))}";
    let clean = Client::new().eval(look);
    for attempt in attempts {
        Client::new().eval(attempt);
        assert_eq!(Client::new().eval(look), clean, "after {attempt}");
    }
}
