//! The hosts in a history, their roles and their order.

use std::collections::BTreeMap;

use super::window::Window;
use locklab_history::{Event, History, Point};

/// The role of a host in the picture, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Client,
    Node,
    Resource,
}

/// A host with a life line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Host<'a> {
    pub(super) name: &'a str,
    pub(super) role: Role,
}

/// The hosts with events or messages in the window, from top to bottom.
pub(super) fn hosts(history: &History, window: Window) -> Vec<Host<'_>> {
    let mut roles: BTreeMap<&str, Role> = BTreeMap::new();
    let mut clients: Vec<&str> = Vec::new();
    for record in &history.records {
        match &record.event {
            Event::Access { client, .. } => {
                clients.push(client);
                roles.insert(&record.host, Role::Resource);
            }
            Event::Fault { .. } => {
                roles.entry(&record.host).or_insert(Role::Node);
            }
            // An event of a sentinel: `+switch-master`.
            Event::Reached {
                point: Point::Notice(_),
            } => {
                roles.entry(&record.host).or_insert(Role::Node);
            }
            _ => clients.push(&record.host),
        }
    }
    for message in &history.messages {
        for host in [&message.from, &message.to] {
            let role = match &**host {
                "resource" => Role::Resource,
                _ => Role::Node,
            };
            roles.entry(host).or_insert(role);
        }
    }
    for client in clients {
        roles.insert(client, Role::Client);
    }

    let mut hosts: Vec<Host> = roles
        .into_iter()
        .map(|(name, role)| Host { name, role })
        .filter(|host| has_part(history, window, host.name))
        .collect();
    hosts.sort_by_key(|host| (host.role, natural(host.name)));
    hosts
}

fn has_part(history: &History, window: Window, name: &str) -> bool {
    let records = history.records.iter().any(|record| {
        let asked = matches!(&record.event, Event::Access { client, .. } if **client == *name);
        window.contains(record.at_ns) && (asked || *record.host == *name)
    });
    records
        || history.messages.iter().any(|message| {
            window.shows(message) && (*message.from == *name || *message.to == *name)
        })
}

/// A sort key by which `n2` comes before `n10`.
fn natural(name: &str) -> (&str, u64, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or(0);
    (stem, number, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_numbers() {
        let mut names = ["n10", "c1", "n2", "resource"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["c1", "n2", "n10", "resource"]);
    }
}
