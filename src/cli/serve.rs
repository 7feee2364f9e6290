//! `locklab serve`: nodes for whoever speaks Redis.

use std::net::IpAddr;
use std::sync::mpsc;

use anyhow::{Context, bail};
use clap::Args;

use super::Exit;
use super::say::{self, tell};
use crate::serve::{self, Event, Limits};

const EXAMPLES: &str = "\
Examples:
  locklab serve                      a Redis on 127.0.0.1:6379
  locklab serve --nodes 5            five independent ones, for Redlock: 6379 to 6383
  locklab serve --port 0             on a free port; it is printed
  redis-cli -p 6379 SHUTDOWN         ends that node, and with the last one the program

What is stored is in memory and ends with the node. A client may keep 64 MB of an
incomplete request, or of replies that it does not read; one that exceeds this is
disconnected.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// How many nodes, each on its own port and with its own data
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    nodes: u16,
    /// The first node's port, the others follow; 0: any free ports
    #[arg(long, value_name = "P", default_value_t = 6379)]
    port: u16,
    /// Loopback address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", value_parser = loopback)]
    bind: IpAddr,
    /// Connections that a node accepts at a time
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    maxclients: u32,
    #[arg(long, value_name = "N", hide = true)]
    replicas: Option<u16>,
    #[arg(long, value_name = "N", hide = true)]
    sentinels: Option<u16>,
}

/// The addresses that only this machine reaches.
fn loopback(text: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = text
        .parse()
        .map_err(|_| "an IP address is needed, such as 127.0.0.1 or ::1".to_owned())?;
    match ip.is_loopback() {
        true => Ok(ip),
        false => Err(
            "only loopback addresses: the nodes are for tests, and let whoever reaches \
             them run scripts and fill this machine's memory"
                .to_owned(),
        ),
    }
}

pub(super) fn serve(options: &Options) -> anyhow::Result<Exit> {
    for (wanted, what) in [
        (options.replicas, "replicas"),
        (options.sentinels, "sentinels"),
    ] {
        if wanted.is_some_and(|count| count > 0) {
            bail!("`locklab serve` has no {what}: its nodes are independent of each other");
        }
    }
    let (sender, events) = mpsc::channel();
    let interrupts = sender.clone();
    ctrlc::set_handler(move || {
        // If nobody listens, the program is about to end.
        let _ = interrupts.send(Event::Interrupted);
    })
    .context("cannot listen for Ctrl-C")?;
    let listeners = serve::listen(options.bind, options.port, options.nodes)?;
    let mut addresses = String::new();
    for listener in &listeners {
        let address = listener.local_addr().context("a listener's address")?;
        addresses += &format!("{address}\n");
    }
    say::print(&addresses)?;
    tell!("Serving until Ctrl-C, or SHUTDOWN.");
    let limits = Limits {
        clients: options.maxclients as usize,
        ..Limits::default()
    };
    serve::serve(listeners, limits, (sender, events))?;
    // Either way it did what it was asked to do, as `redis-server` sees it too.
    Ok(Exit::AsPredicted)
}
