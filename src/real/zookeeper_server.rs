//! Real ZooKeeper servers: their arguments, their configuration, and what their log says.
//!
//! There are three, as in the simulator, and two implementations of a session for one lock
//! (`locks/consensus/session.rs`): `simulated.rs` for the service in `sim/services`, `env/zookeeper` for
//! ZooKeeper; `Env::coordination` chooses. One wire would be simpler, and the simulated service could
//! speak ZooKeeper's. But it differs in more than bytes: a client has one connection instead of three,
//! any member serves it instead of the leader, and a request that is repeated is found by the name of
//! its node instead of by its number. Every published time of `consensus` would move. What the two must
//! have in common is tested: the same test bodies run on both (`src/locks/tests/locks/zookeeper.rs`).
//!
//! ZooKeeper has no option for the source address of its connections, and members tell each other
//! under which address they listen. So all of them believe that they have the public addresses, and the
//! preloaded library puts them behind the proxy ([`locklab_shim::behind_proxy`]): a `bind` of the public
//! address gets the hidden one, a connection comes from the public one. A Redis server may see a connection
//! that is not open yet; a ZooKeeper that writes one message and closes would lose it, so the library also
//! waits for the proxy's greeting, in `connect` and in `poll`, where Java's sockets wait. A member is ready
//! when its ports are open; the clients start when all members have joined.
//!
//! Java's syncs pass the library as Redis's do, so a crash is the same: every file is cut to what was
//! synced. For that ZooKeeper may not allocate its log in advance (`preAllocSize=0`), and what it wrote
//! before the run is taken for durable: it does not sync the snapshot that it writes when it first
//! starts, and refuses to start with a log and without a snapshot.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::ZooKeeper;
use super::addresses::Addresses;
use locklab_env::zookeeper;
use locklab_history::{Name, RESOURCE};
use locklab_locks::{LockSpec, Shipped};
use locklab_proxy::Segment;
use locklab_runner::label;

/// The class that a member runs.
const MEMBER: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// What a session's timeout is in ticks. ZooKeeper allows 2 to 20. Sessions end at whole ticks, so the
/// more ticks, the more exactly.
const TICKS: u64 = 10;

/// How long a follower and its leader may be out of touch, in milliseconds; as long as a member of the
/// simulator's service waits on average before it stands for election.
const SYNC_MS: u64 = 500;

/// How long a follower may take to connect to a new leader and to get its state, in milliseconds.
const INIT_MS: u64 = 3000;

/// The arguments of Java to run a member with this configuration.
pub(super) fn arguments(zookeeper: &ZooKeeper, configuration: &Path) -> Vec<String> {
    let options = [
        // Three members of a run need little, and one that starts quickly.
        "-Xmx64m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Djava.net.preferIPv4Stack=true",
        "-Dorg.slf4j.simpleLogger.logFile=System.out",
        // Otherwise a log file is 64 MB of zeros, which are overwritten in place: a power loss could
        // not be told from a kill.
        "-Dzookeeper.preAllocSize=0",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-cp",
    ];
    let class_path = zookeeper.class_path.to_string_lossy();
    let mut arguments: Vec<String> = options.map(String::from).into();
    arguments.extend([
        class_path.into_owned(),
        MEMBER.into(),
        configuration.display().to_string(),
    ]);
    arguments
}

/// The ports of a member, counted from that of its address: for clients, for its followers if it leads,
/// and for elections.
pub(super) const PORTS: [u16; 3] = [0, 1, 2];

/// Writes the configuration of this member into `folder`, where it keeps its files; returns its path.
pub(super) fn configure(
    lock: &LockSpec,
    member: &Name,
    members: &[Name],
    addresses: &Addresses,
    folder: &Path,
) -> io::Result<PathBuf> {
    let session_ms = match lock {
        LockSpec::Shipped(Shipped::Consensus(lock)) => lock.session_ms,
        // No other lock is on ZooKeeper.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let tick_ms = (session_ms / TICKS).max(1);
    let own = addresses.public(member);
    let mut lines = vec![
        format!("tickTime={tick_ms}"),
        format!("initLimit={}", INIT_MS.div_ceil(tick_ms).max(2)),
        format!("syncLimit={}", SYNC_MS.div_ceil(tick_ms).max(2)),
        format!("minSessionTimeout={session_ms}"),
        format!("maxSessionTimeout={session_ms}"),
        format!("dataDir={}", folder.display()),
        format!("clientPortAddress={}", own.ip()),
        format!("clientPort={}", own.port()),
        // All clients of a scenario may come from one address.
        "maxClientCnxns=0".into(),
        "admin.enableServer=false".into(),
        // A service of one member elects its leader too.
        "standaloneEnabled=false".into(),
        "4lw.commands.whitelist=".into(),
    ];
    for (place, name) in (1..).zip(members) {
        let [_, followers, elections] = ports(addresses.public(name));
        lines.push(format!(
            "server.{place}={}:{}:{}",
            followers.ip(),
            followers.port(),
            elections.port()
        ));
        if name == member {
            fs::write(folder.join("myid"), format!("{place}\n"))?;
        }
    }
    let file = folder.join("zoo.cfg");
    fs::write(&file, lines.join("\n") + "\n")?;
    Ok(file)
}

/// The addresses of a member whose first one is this.
pub(super) fn ports(first: SocketAddr) -> [SocketAddr; 3] {
    PORTS.map(|port| (first.ip(), first.port() + port).into())
}

/// The variables that put a member behind the proxy.
pub(super) fn behind_proxy(member: &Name, addresses: &Addresses) -> Vec<(OsString, OsString)> {
    let v4 = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => Ipv4Addr::LOCALHOST,
    };
    let (known, hidden) = (addresses.public(member), addresses.hidden(member));
    locklab_shim::behind_proxy(v4(known), v4(hidden)).into()
}

/// The label of a message in a diagram: the request of a client or its answer; members speak to each other
/// in another protocol, and so does the resource.
pub(super) fn label(segment: &Segment) -> String {
    let between =
        |from: char, to: char| segment.from.starts_with(from) && segment.to.starts_with(to);
    if [&segment.from, &segment.to].contains(&&RESOURCE.into()) {
        return label::of(&segment.payload);
    }
    let word = match (between('c', 'n'), between('n', 'c')) {
        (true, _) => zookeeper::name_of_request(&segment.payload),
        (_, true) => zookeeper::name_of_answer(&segment.payload),
        _ => "zab",
    };
    word.into()
}

/// The meaning of a line of a member's log for the testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogLine {
    /// The member accepts connections of clients and of other members.
    Ready,
    /// It leads or follows, and serves clients.
    Joined,
    /// Something else.
    Other,
}

impl LogLine {
    /// Reads a line, in the wording of ZooKeeper 3.6 to 3.9.
    pub(super) fn read(line: &str) -> LogLine {
        // The port for elections is the last one that it opens.
        if line.contains("is accepting connections now, my election bind port") {
            return LogLine::Ready;
        }
        match line.split_once("Peer state changed: ") {
            Some((_, "leading - broadcast" | "following - broadcast")) => LogLine::Joined,
            _ => LogLine::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_logs() {
        let check = |line, expected| assert_eq!(LogLine::read(line), expected, "{line}");
        check(
            "744 [ListenerHandler-/127.9.9.1:3888] INFO org.apache.zookeeper.server.quorum.QuorumCnxManager \
             - 1 is accepting connections now, my election bind port: /127.9.9.1:3888",
            LogLine::Ready,
        );
        check(
            "2003 [QuorumPeer[myid=1]] INFO org.apache.zookeeper.server.quorum.QuorumPeer - Peer state \
             changed: following - broadcast",
            LogLine::Joined,
        );
        check(
            "1690 [QuorumPeer[myid=3]] INFO org.apache.zookeeper.server.quorum.QuorumPeer - Peer state \
             changed: leading - discovery",
            LogLine::Other,
        );
    }
}
