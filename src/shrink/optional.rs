//! What a scenario can do without: settings of the surroundings that make nothing safer.

use serde_json::Value;

use crate::json::pointer;

/// The settings that may be left out. None of them protects anything: without a limit of memory or
/// other clients' writes a node keeps more, and a client that never gives up waits longer.
pub(crate) const OPTIONAL: [&[&str]; 8] = [
    &["bound_ms"],
    &["node", "other_writes_bytes"],
    &["node", "other_writes_every_ms"],
    &["node", "maxmemory_policy"],
    &["node", "maxmemory"],
    &["node", "maxclients"],
    &["workload", "give_up_ms"],
    &["clocks", "timers_late_ms"],
];

/// Tables of hosts, of each of which a setting may be left out.
pub(crate) const OF_HOSTS: [&[&str]; 2] = [&["workload", "client"], &["clocks", "host"]];

/// What the nodes keep on disk protects a lock where a process ends, and nowhere else.
pub(crate) const PERSISTENCE: &[&str] = &["node", "persistence"];

/// When a run has settled; only the property `recovery` needs it.
pub(crate) const SETTLED: &[&str] = &["settle_ms"];

/// How many of them a scenario has, counted by the lines that they take.
pub(crate) fn present(value: &Value) -> usize {
    let at = |path: &[&str]| value.pointer(&pointer(path)).map_or(0, lines);
    let node = value.pointer(&pointer(PERSISTENCE));
    let persists = node.is_some_and(|kept| kept != "none");
    let one_way = value["fault"].as_object().into_iter().flatten();
    let one_way = one_way.filter(|(_, fault)| fault["direction"] == "one-way");
    let settings = OPTIONAL.iter().chain(&OF_HOSTS).chain([&SETTLED]);
    settings.map(|path| at(path)).sum::<usize>() + usize::from(persists) + one_way.count()
}

fn lines(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Object(table) => table.values().map(lines).sum(),
        _ => 1,
    }
}
