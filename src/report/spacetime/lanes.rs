//! The positions of the hosts' life lines on the page.

use super::hosts::{Host, Role};

/// The lanes of one picture, from top to bottom.
pub(super) struct Lanes<'a> {
    pub(super) lanes: Vec<Lane<'a>>,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// One host's part of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane<'a> {
    pub(super) host: Host<'a>,
    /// The position of the life line.
    pub(super) y: f64,
    /// Its index among the clients, for its colour; 0 for other hosts.
    pub(super) client: usize,
}

impl<'a> Lanes<'a> {
    /// Stacks the hosts below `top`.
    pub(super) fn new(hosts: &[Host<'a>], top: f64) -> Self {
        let mut y = top;
        let mut client = 0;
        let lanes = hosts.iter().map(|&host| {
            let (above, below) = host.role.room();
            let lane = Lane {
                host,
                y: y + above,
                client: if host.role == Role::Client { client } else { 0 },
            };
            y += above + below;
            client += usize::from(host.role == Role::Client);
            lane
        });
        let lanes = lanes.collect();
        Lanes {
            lanes,
            top,
            bottom: y + 14.0,
        }
    }

    /// The lane of a host, if it has one.
    pub(super) fn of(&self, name: &str) -> Option<&Lane<'a>> {
        self.lanes.iter().find(|lane| lane.host.name == name)
    }
}

impl Role {
    /// The space above and below the life line.
    fn room(self) -> (f64, f64) {
        match self {
            Role::Client => (46.0, 44.0),
            Role::Node => (32.0, 26.0),
            Role::Resource => (34.0, 58.0),
        }
    }

    /// How far from the line messages begin and end: half the height of what is drawn on it.
    pub(super) fn reach(self) -> f64 {
        match self {
            Role::Client => 7.0,
            Role::Node => 0.0,
            Role::Resource => 6.0,
        }
    }
}

impl Host<'_> {
    /// The text below its name. Sentinels are called `s1`, replicas `n1r1`.
    pub(super) fn caption(&self) -> &'static str {
        match self.role {
            Role::Client => "client",
            Role::Resource => "",
            Role::Node if self.name.starts_with('s') => "sentinel",
            Role::Node if self.name.contains('r') => "replica",
            Role::Node => "node",
        }
    }
}
