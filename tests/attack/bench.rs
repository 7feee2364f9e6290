//! One run with a script of Bash as the program of every client.

use locklab_model::scenario::parse;
use locklab_real::series::run_undisturbed;
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

/// Runs a script for each client; `scenario` is what stands beside its title, lock and topology. `None` if
/// there is no Bash here.
pub fn try_run(clients: u32, scenario: &str, script: &str) -> Option<Result<Run, ConfirmError>> {
    if !std::path::Path::new("/bin/bash").exists() {
        eprintln!("skipped: there is no /bin/bash");
        return None;
    }
    let scenario = scenario_of(clients, scenario);
    let drawn = scenario.drawn(1);
    let programs = Programs {
        locklab: env!("CARGO_BIN_EXE_locklab").into(),
        ..Programs::find().expect("this program has a path")
    };
    let real = RealRedis {
        clients: Clients::Foreign(Program {
            name: "/bin/bash".into(),
            arguments: vec!["-c".into(), format!("{PRELUDE}\n{script}")],
        }),
        ..RealRedis::new(programs)
    };
    let keep = Keep::MESSAGES;
    Some(run_undisturbed(&real, &scenario, 1, &drawn.schedule, keep))
}

/// The same, where the run has a result.
pub fn run(clients: u32, scenario: &str, script: &str) -> Option<Run> {
    try_run(clients, scenario, script).map(|run| run.expect("the run ends"))
}

/// Judges a run.
pub fn judged(clients: u32, scenario: &str, run: Run) -> JudgedRun {
    let scenario = scenario_of(clients, scenario);
    let schedule = scenario.drawn(1).schedule;
    JudgedRun::of(run, schedule, &scenario)
}

fn scenario_of(clients: u32, rest: &str) -> locklab_model::scenario::Scenario {
    let text = format!(
        r#"
        title = "a program of somebody else"
        lock = {{ name = "set-nx-px", ttl_ms = 1000 }}
        topology = {{ nodes = 1, clients = {clients} }}
        {rest}
        "#
    );
    parse("t.toml", &text, &[]).expect("a sound scenario")
}
