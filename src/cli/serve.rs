//! `locklab serve`: Redis nodes for any client.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;

mod servers;
mod topology;

use self::servers::Event;
use self::topology::{Place, Topology};
use super::Exit;
use super::number::whole;
use locklab_experiments::output::{self, status};
use locklab_redis::Imitated;

const EXAMPLES: &str = "\
Examples:
  locklab serve               a Redis on 127.0.0.1:6379
  locklab serve --nodes 5     five independent ones, for Redlock: 6379 to 6383
  locklab serve --replicas 2 --sentinels 3
                              a master on 6379, its replicas on 6380 and 6381,
                              and sentinels on 6382 to 6384 that fail it over
  locklab serve --port 0      on a free port; it is printed
  redis-cli -p 6382 SENTINEL GET-MASTER-ADDR-BY-NAME mymaster
                              the master as a sentinel knows it; those of
                              further nodes are mymaster2, mymaster3 and so on
  redis-cli -p 6379 SHUTDOWN  ends that node only; the program ends with the
                              last one

Standard output has a line for each server: its address and its initial role.

Data is kept in memory and is lost when the node ends. A client may have 64 MB
of an incomplete request, or of unread replies; one that exceeds this is
disconnected. A data set of more than 256 MB does not reach a replica.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// How many nodes, each on its own port and with its own data
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = whole::<u16>(1..=256))]
    nodes: u16,
    /// How many replicas each node has
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = whole::<u16>(0..=16))]
    replicas: u16,
    /// How many sentinels monitor the nodes
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = whole::<u16>(0..=16))]
    sentinels: u16,
    /// How long a node must be silent before a sentinel considers it down
    #[arg(long, value_name = "MS", default_value_t = 5_000,
          value_parser = whole::<u32>(1..=u32::MAX.into()))]
    down_after_ms: u32,
    /// Port of the first node; the other nodes, replicas and sentinels use the ports after
    /// it. 0: any free ports
    #[arg(long, value_name = "P", default_value_t = 6379, value_parser = whole::<u16>(0..=65535))]
    port: u16,
    /// Loopback address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", value_parser = loopback)]
    bind: IpAddr,
    /// Most connections that a node accepts at a time
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = whole::<u32>(1..=u32::MAX.into()))]
    maxclients: u32,
    /// Server to imitate: redis-7.0, redis-8.4 (adds DELEX) or valkey-9.0 (adds DELIFEQ)
    #[arg(long, value_name = "SERVER", default_value = "redis-7.0")]
    imitate: Imitated,
}

/// Parses an address that is reachable only from this machine.
fn loopback(text: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = text
        .parse()
        .map_err(|_| "an IP address is needed, such as 127.0.0.1 or ::1".to_owned())?;
    match ip.is_loopback() {
        true => Ok(ip),
        false => Err(
            "this is not a loopback address: the nodes are for tests, and any client that \
             reaches them can run scripts and fill this machine's memory"
                .to_owned(),
        ),
    }
}

pub(super) fn serve(options: &Options) -> anyhow::Result<Exit> {
    ensure!(
        options.sentinels == 0 || options.replicas > 0,
        "--sentinels {} needs at least one replica; add --replicas 1",
        options.sentinels
    );
    let (sender, events) = mpsc::channel();
    let interrupts = sender.clone();
    ctrlc::set_handler(move || {
        // If the receiver is gone, the program is about to end.
        let _ = interrupts.send(Event::Interrupted);
    })
    .context("cannot listen for Ctrl-C")?;
    let places = topology::listen(&Topology {
        ip: options.bind,
        port: options.port,
        nodes: options.nodes,
        replicas: options.replicas,
        sentinels: options.sentinels,
    })?;
    let lines = places
        .iter()
        .map(|Place { address, role, .. }| format!("{address} {role}\n"));
    output::print(&lines.collect::<String>())?;
    status!("Serving until Ctrl-C, or SHUTDOWN.");
    let down_after = Duration::from_millis(options.down_after_ms.into());
    let max_clients = NonZeroU32::new(options.maxclients).context("--maxclients is above 0")?;
    let events = (sender, events);
    servers::serve(places, max_clients, options.imitate, down_after, events)?;
    // Either way the command succeeded, as with `redis-server`.
    Ok(Exit::AsPredicted)
}
