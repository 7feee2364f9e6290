//! The environment of a foreign program: where its servers are, and who it is.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use locklab_env::redis::MASTER;

/// The variable that marks all processes of a run; its value is the folder of the run.
pub(in crate::foreign) const RUN: &str = "LOCKLAB_RUN";

/// The variable that names the host.
pub(in crate::foreign) const HOST: &str = "LOCKLAB_HOST";

/// What a foreign program is told about its run.
pub(crate) struct Surroundings<'a> {
    /// The name of its host.
    pub(crate) host: &'a str,
    /// Where it reaches the nodes.
    pub(crate) nodes: Vec<SocketAddr>,
    /// Where it reaches the sentinels.
    pub(crate) sentinels: Vec<SocketAddr>,
    /// Whether the nodes are one Redis Cluster.
    pub(crate) is_cluster: bool,
    /// The certificate of the nodes, if it speaks TLS with them.
    pub(crate) certificate: Option<PathBuf>,
    /// Where it reaches the resource, if there is one.
    pub(crate) resource: Option<SocketAddr>,
    /// The lease of the scenario's lock, in milliseconds, if it has one.
    pub(crate) lease_ms: Option<u64>,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// The folder of the run.
    pub(crate) folder: &'a Path,
}

/// The variables. `docs/attack.md` describes them.
pub(crate) fn environment(around: &Surroundings<'_>) -> Vec<(OsString, OsString)> {
    let url = |address: &SocketAddr| format!("redis://{address}");
    let of_node = |address: &SocketAddr| match around.certificate {
        Some(_) => format!("rediss://{address}"),
        None => url(address),
    };
    let joined = |texts: Vec<String>| texts.join(",");
    let mut variables = vec![
        (
            "REDIS_URLS",
            joined(around.nodes.iter().map(of_node).collect()),
        ),
        (HOST, around.host.to_owned()),
        ("LOCKLAB_SEED", around.seed.to_string()),
        (RUN, around.folder.display().to_string()),
    ];
    if let Some(resource) = &around.resource {
        variables.push(("LOCKLAB_RESOURCE", url(resource)));
    }
    if let Some(first) = around.nodes.first() {
        variables.push(("REDIS_URL", of_node(first)));
    }
    if let Some(certificate) = &around.certificate {
        variables.push(("LOCKLAB_TLS_CA", certificate.display().to_string()));
    }
    if !around.sentinels.is_empty() {
        let addresses = around.sentinels.iter().map(SocketAddr::to_string);
        variables.push(("REDIS_SENTINELS", joined(addresses.collect())));
        variables.push(("REDIS_SENTINEL_MASTER", MASTER.to_owned()));
    }
    if around.is_cluster {
        let addresses = around.nodes.iter().map(SocketAddr::to_string);
        variables.push(("REDIS_CLUSTER", joined(addresses.collect())));
    }
    if let Some(lease_ms) = around.lease_ms {
        variables.push(("LOCKLAB_LEASE_MS", lease_ms.to_string()));
    }
    let in_os = |(name, value): (&str, String)| (name.into(), value.into());
    variables.into_iter().map(in_os).collect()
}
