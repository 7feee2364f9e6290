//! INFO: the sections, and the fields that a fake node can fill in. Fields that only a machine
//! could measure are constant.

use std::fmt::Write as _;

use crate::Imitated;
use crate::engine::command::Call;
use crate::engine::state::State;
use crate::engine::tracking;
use crate::wire::reply::{Answer, Reply};

/// `INFO [section …]`: the sections and fields that apply to a fake node.
pub(in crate::engine) fn info(call: &mut Call<'_>) -> Answer {
    let wanted = &call.args[1..];
    call.state.run_due_cycles(call.wall_us);
    let mut text = String::new();
    for section in &SECTIONS {
        if section.is_wanted(wanted) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let _ = write!(text, "# {}\r\n", section.name);
            (section.body)(call.state, call.wall_us, &mut text);
        }
    }
    Ok(Reply::text(text))
}

struct Section {
    name: &'static str,
    when: When,
    body: fn(&State, u64, &mut String),
}

/// When a section that is not named is shown.
#[derive(Copy, Clone, PartialEq, Eq)]
enum When {
    Always,
    /// To `all`, and `everything`.
    All,
}

impl Section {
    fn is_wanted(&self, wanted: &[&[u8]]) -> bool {
        let named = |name: &str| {
            let is = |word: &&[u8]| word.eq_ignore_ascii_case(name.as_bytes());
            wanted.iter().any(is)
        };
        let by_default = wanted.is_empty() || named("default");
        named(self.name)
            || named("all")
            || named("everything")
            || (by_default && self.when == When::Always)
    }
}

const fn section(name: &'static str, when: When, body: fn(&State, u64, &mut String)) -> Section {
    Section { name, when, body }
}

const SECTIONS: [Section; 12] = [
    section("Server", When::Always, server),
    section("Clients", When::Always, clients),
    section("Memory", When::Always, memory),
    section("Persistence", When::Always, persistence),
    section("Stats", When::Always, stats),
    section("Replication", When::Always, |state, wall_us, text| {
        text.push_str(&super::replication::info(state, wall_us));
    }),
    section("CPU", When::Always, cpu),
    section("Modules", When::Always, |_, _, _| {}),
    section("Commandstats", When::All, |state, _, text| {
        text.push_str(&state.stats.describe_commands());
    }),
    section("Errorstats", When::Always, |state, _, text| {
        text.push_str(&state.stats.describe_errors());
    }),
    section("Cluster", When::Always, |_, _, text| {
        text.push_str("cluster_enabled:0\r\n");
    }),
    section("Keyspace", When::Always, keyspace),
];

fn server(state: &State, wall_us: u64, text: &mut String) {
    /// Nodes are no processes; the number is that of the first process of a machine.
    const PROCESS_ID: u32 = 1;
    let uptime_s = state.uptime_s(wall_us);
    let valkey = match state.imitated {
        Imitated::Valkey9_0 => format!(
            "server_name:valkey\r\nvalkey_version:{}\r\n",
            state.imitated.version()
        ),
        Imitated::Redis7_0 | Imitated::Redis8_4 => String::new(),
    };
    let _ = write!(
        text,
        "redis_version:{}\r\n{valkey}redis_git_sha1:00000000\r\nredis_git_dirty:0\r\n\
         redis_mode:standalone\r\narch_bits:64\r\nprocess_id:{PROCESS_ID}\r\nrun_id:{}\r\n\
         tcp_port:{}\r\nuptime_in_seconds:{uptime_s}\r\nuptime_in_days:{}\r\nhz:{hz}\r\n\
         configured_hz:{hz}\r\n",
        state.imitated.redis_version(),
        state.run_id,
        state.config.port(),
        uptime_s / (24 * 60 * 60),
        hz = state.config.hz(),
    );
    if let Some(pending_shutdown) = &state.pending_shutdown {
        let left_ms = pending_shutdown.until_ms - (wall_us / 1000) as i64;
        let _ = write!(text, "shutdown_in_milliseconds:{left_ms}\r\n");
    }
}

fn clients(state: &State, _: u64, text: &mut String) {
    let tracked = state.clients.values().filter(|c| c.tracking.is_some());
    let _ = write!(
        text,
        "connected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:{}\r\ntracking_clients:{}\r\n",
        state.clients.len() - state.repl.replicas.len(),
        state.config.max_clients(),
        state.waiting.len() + state.count_postponed(),
        tracked.count()
    );
}

fn memory(state: &State, _: u64, text: &mut String) {
    let _ = write!(
        text,
        "used_memory:{}\r\nnumber_of_cached_scripts:{}\r\nnumber_of_functions:0\r\n\
         number_of_libraries:0\r\nmaxmemory:{}\r\nmaxmemory_policy:{}\r\n\
         mem_allocator:jemalloc-5.3.0\r\nlazyfree_pending_objects:0\r\n",
        state.db.used_bytes(),
        state.scripts.len(),
        state.config.shown("maxmemory"),
        state.config.shown("maxmemory-policy"),
    );
}

fn persistence(state: &State, _: u64, text: &mut String) {
    let has_file = u8::from(state.config.append_only());
    let _ = write!(text, "loading:0\r\naof_enabled:{has_file}\r\n");
}

fn stats(state: &State, _: u64, text: &mut String) {
    let stats = &state.stats;
    let tracked = tracking::count(state);
    let _ = write!(
        text,
        "total_commands_processed:{}\r\nsync_full:{}\r\nsync_partial_ok:{}\r\n\
         sync_partial_err:{}\r\nexpired_keys:{}\r\nevicted_keys:{}\r\ntracking_total_keys:{}\r\n\
         tracking_total_items:{}\r\ntracking_total_prefixes:0\r\ntotal_error_replies:{}\r\n",
        stats.commands_processed,
        stats.full_syncs,
        stats.partial_syncs,
        stats.refused_partial_syncs,
        state.db.expired_keys,
        state.db.evicted_keys,
        tracked.keys,
        tracked.items,
        stats.error_replies,
    );
}

/// No command takes any time.
fn cpu(_: &State, _: u64, text: &mut String) {
    for name in [
        "sys",
        "user",
        "sys_children",
        "user_children",
        "sys_main_thread",
        "user_main_thread",
    ] {
        let _ = write!(text, "used_cpu_{name}:0.000000\r\n");
    }
}

fn keyspace(state: &State, _: u64, text: &mut String) {
    let spaces = state.db.spaces();
    for (index, space) in spaces.filter(|(_, space)| space.len() > 0) {
        let (keys, expires) = (space.len(), space.volatile_len());
        let _ = write!(
            text,
            "db{index}:keys={keys},expires={expires},avg_ttl=0\r\n"
        );
    }
}
