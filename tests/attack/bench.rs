//! One run with a script of Bash as the program of every client.

use std::iter;
use std::sync::{PoisonError, RwLock};

use locklab_history::wire::PATIENCE_NS;
use locklab_model::scenario::{Scenario, parse};
use locklab_real::series::{UNDISTURBED_NS, run_within};
use locklab_real::{Clients, ConfirmError, Program, Programs, RealRedis};
use locklab_runner::judged::JudgedRun;
use locklab_runner::run::Run;
use locklab_runner::simulate::Keep;

/// What every script begins with: `tell` writes a line of the protocol, `redis URL WORDS` sends a request and
/// sets `reply` to the first line of what comes back.
const PRELUDE: &str = r#"
tell() { echo "{\"locklab\":\"$1\"${2:+,$2}}" >&"$LOCKLAB_FD"; }
redis() {
    local address="${1#redis://}"; shift
    exec 9<>"/dev/tcp/${address%:*}/${address#*:}" || return
    { printf '*%d\r\n' $#; printf '$%d\r\n%s\r\n' $(for word; do echo ${#word} "$word"; done); } >&9
    IFS= read -r reply <&9
    case "$reply" in '$-1'*) ;; '$'*) IFS= read -r reply <&9 ;; esac
    reply="${reply%$'\r'}"
    exec 9>&-
}
"#;

/// `take KEY MS` sets the key on all nodes until more than half of them have granted it; `give KEY` deletes it where
/// it is the client's own.
pub const LOCK: &str = r#"
    take() {
        local url granted urls=(${REDIS_URLS//,/ })
        while :; do
            granted=0
            for url in "${urls[@]}"; do
                reply=
                redis "$url" SET "$1" "$LOCKLAB_HOST" NX PX "$2"
                [ "$reply" = +OK ] && granted=$((granted + 1))
            done
            [ $((2 * granted)) -gt ${#urls[@]} ] && return
            [ $granted = 0 ] || give "$1"
            sleep 0.03
        done
    }
    give() {
        local url
        for url in ${REDIS_URLS//,/ }; do
            redis "$url" GET "$1"
            [ "$reply" = "$LOCKLAB_HOST" ] && redis "$url" DEL "$1"
        done
    }
"#;

/// What surrounds the clients of a run.
#[derive(Clone, Copy)]
pub struct Bench {
    pub clients: u32,
    pub nodes: u32,
    /// The key of their lock, as the user names it.
    pub key: Option<&'static str>,
}

impl Bench {
    /// So many clients of one node.
    pub fn of(clients: u32) -> Bench {
        Bench {
            clients,
            nodes: 1,
            key: None,
        }
    }

    /// Runs a script for each client; `scenario` is what stands beside its title, lock and topology. `None` if
    /// there is no Bash here.
    pub fn try_run(self, scenario: &str, script: &str) -> Option<Result<Run, ConfirmError>> {
        self.try_within(UNDISTURBED_NS, scenario, script)
    }

    /// The same; the run is repeated if the machine stalls for longer than this, in nanoseconds.
    fn try_within(
        self,
        stall_ns: u64,
        scenario: &str,
        script: &str,
    ) -> Option<Result<Run, ConfirmError>> {
        if !std::path::Path::new("/bin/bash").exists() {
            eprintln!("skipped: there is no /bin/bash");
            return None;
        }
        let scenario = self.scenario(scenario);
        let drawn = scenario.drawn(1);
        let programs = Programs {
            locklab: env!("CARGO_BIN_EXE_locklab").into(),
            ..Programs::find().expect("this program has a path")
        };
        let real = RealRedis {
            clients: Clients::Foreign(Program {
                name: "/bin/bash".into(),
                arguments: vec!["-c".into(), format!("{PRELUDE}\n{script}")],
                key: self.key.map(str::to_owned),
            }),
            ..RealRedis::new(programs)
        };
        let keep = Keep::MESSAGES;
        let schedule = &drawn.schedule;
        Some(run_within(&real, &scenario, 1, schedule, keep, stall_ns))
    }

    /// Runs it and judges it by the wire, where a reply that is later gives nothing for certain.
    pub fn judge(self, scenario: &str, script: &str) -> Option<JudgedRun> {
        let run = self.try_within(PATIENCE_NS, scenario, script)?;
        let run = run.expect("the run ends");
        let schedule = self.scenario(scenario).drawn(1).schedule;
        Some(JudgedRun::of(run, schedule, &self.scenario(scenario)))
    }

    fn scenario(self, rest: &str) -> Scenario {
        let Bench { clients, nodes, .. } = self;
        let lock = if nodes == 1 { "set-nx-px" } else { "redlock" };
        let text = format!(
            r#"
            title = "a program of somebody else"
            lock = {{ name = "{lock}", ttl_ms = 1000 }}
            topology = {{ nodes = {nodes}, clients = {clients} }}
            {rest}
            "#
        );
        parse("t.toml", &text, &[]).expect("a sound scenario")
    }
}

/// What `locklab attack` with these options says of a script, with its exit code; `None` if there is no Bash here.
/// `out` is a folder of the test alone.
pub fn attack(out: &str, options: &[&str], script: &str) -> Option<(Option<i32>, String)> {
    if !std::path::Path::new("/bin/bash").exists() {
        eprintln!("skipped: there is no /bin/bash");
        return None;
    }
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(out);
    let script = format!("{PRELUDE}\n{script}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_locklab"));
    command.args(["attack", "--format", "svg", "--fresh", "--out"]);
    command
        .arg(out)
        .args(options)
        .args(["--", "/bin/bash", "-c"]);
    let output = command.arg(script).env("COLUMNS", "200").output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.code(), text + &errors))
}

/// Attacks side by side read it; one that is repeated writes it, and is alone.
static SIDE_BY_SIDE: RwLock<()> = RwLock::new(());

/// The same, again where no run counts.
pub fn attack_that_counts(
    out: &str,
    options: &[&str],
    script: &str,
) -> Option<(Option<i32>, String)> {
    that_counts(|| attack(out, options, script))
}

/// Attacks again where no run counts: on a machine with much to do every run may be discarded, which shows nothing.
/// What is repeated has no other such attack beside it.
pub fn that_counts(
    attack: impl Fn() -> Option<(Option<i32>, String)>,
) -> Option<(Option<i32>, String)> {
    let counts = |result: &(Option<i32>, String)| !result.1.contains("no run counts");
    let first = {
        let _beside = SIDE_BY_SIDE.read().unwrap_or_else(PoisonError::into_inner);
        attack()?
    };
    if counts(&first) {
        return Some(first);
    }
    let _alone = SIDE_BY_SIDE.write().unwrap_or_else(PoisonError::into_inner);
    let again = iter::repeat_with(attack);
    let result = again.flatten().take(10).find(counts);
    // A program of which nothing was seen is neither right nor wrong.
    Some(result.unwrap_or_else(|| panic!("{}", first.1)))
}

/// Runs it for clients of one node; `None` if there is no Bash here.
pub fn try_run(clients: u32, scenario: &str, script: &str) -> Option<Result<Run, ConfirmError>> {
    Bench::of(clients).try_run(scenario, script)
}

/// The same, where the run has a result.
pub fn run(clients: u32, scenario: &str, script: &str) -> Option<Run> {
    try_run(clients, scenario, script).map(|run| run.expect("the run ends"))
}

/// Judges a run.
pub fn judged(clients: u32, scenario: &str, run: Run) -> JudgedRun {
    let scenario = Bench::of(clients).scenario(scenario);
    let schedule = scenario.drawn(1).schedule;
    JudgedRun::of(run, schedule, &scenario)
}
