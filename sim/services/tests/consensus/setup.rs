//! A world with members of the service and clients.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use locklab_services::consensus::Timing;
use locklab_services::disk::Disk;
use locklab_services::serve::consensus::{Setup, consensus};
use locklab_values::random::Stream;
use locklab_world::{Config, Host, HostConfig, HostId, World};

use super::client::Client;

pub const PORT: u16 = 2181;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// A service in a world, and hosts for its clients.
pub struct Cluster {
    pub world: World,
    pub members: Rc<[(String, HostId)]>,
    pub disks: Vec<Rc<RefCell<Disk>>>,
    pub clients: Vec<HostId>,
}

impl Cluster {
    /// A world with this many members, called `n1` and so on, and this many hosts for clients.
    pub fn new(seed: u64, members: usize, clients: usize) -> Self {
        let config = Config {
            seed,
            ..Config::default()
        };
        let mut world = World::new(config, &vec![HostConfig::default(); members + clients]);
        let hosts = world.hosts();
        let named = (1..).zip(&hosts[..members]);
        let members: Rc<[_]> = named.map(|(n, host)| (format!("n{n}"), *host)).collect();
        let mut disks = Vec::new();
        for (name, host) in members.iter() {
            let disk = Rc::<RefCell<Disk>>::default();
            disks.push(disk.clone());
            let setup = Setup {
                name: name.clone(),
                members: members.clone(),
                timing: Timing::default(),
                disk,
                random: Stream::new(seed, name),
            };
            world.start(*host, move |host| consensus(host, setup.clone(), PORT));
        }
        Cluster {
            world,
            clients: hosts[members.len()..].to_vec(),
            members,
            disks,
        }
    }

    /// Runs a client's program on the `index`th client host.
    pub fn client<F, Fut>(&mut self, index: usize, program: F)
    where
        F: Fn(Host, Client) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let members = self.members.clone();
        let program = Rc::new(program);
        self.world.start(self.clients[index], move |host| {
            let client = Client::new(host.clone(), members.clone());
            let program = program.clone();
            async move { program(host, client).await }
        });
    }
}
