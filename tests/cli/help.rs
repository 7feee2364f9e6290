//! Help and completion: output that needs no run.

use insta::assert_snapshot;

use crate::bench::Bench;

/// What the program prints on standard output.
fn printed(arguments: &[&str]) -> String {
    let done = Bench::new(&arguments.join("-")).locklab(arguments);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    done.out
}

/// The commands in the list of `--help`.
pub fn commands() -> Vec<String> {
    let all = printed(&["--help"]);
    let (_, list) = all.split_once("Commands").expect("a list of commands");
    let (list, _) = list.split_once("Options:").expect("its end");
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.map(String::from).collect()
}

/// The list itself is in the first of the snapshots.
#[test]
fn help_of_every_command() {
    assert_snapshot!("help", printed(&["--help"]));
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for command in &commands {
        let help = printed(&[command, "--help"]);
        let (_, list) = help.split_once("\nCommands:\n").unwrap_or_default();
        let (list, _) = list.split_once("\n\n").unwrap_or_default();
        for line in list.lines().filter(|line| !line.starts_with("   ")) {
            let name = line.split_whitespace().next().expect("a command");
            if name != "help" {
                let help = printed(&[command, name, "--help"]);
                assert_snapshot!(format!("help_{command}_{name}"), help);
            }
        }
        assert_snapshot!(format!("help_{command}"), help);
    }
}

#[test]
fn help_is_a_command_too() {
    assert_eq!(printed(&["help"]), printed(&["--help"]));
    assert_eq!(printed(&["help", "run"]), printed(&["run", "--help"]));
}

#[test]
fn lists() {
    for what in ["locks", "faults", "properties", "scenarios"] {
        assert_snapshot!(format!("list_{what}"), printed(&["list", what]));
    }
}

#[test]
fn lists_are_data_too() {
    for (what, first) in [
        ("locks", "/0/name"),
        ("faults", "/kinds/0/0"),
        ("properties", "/0/source"),
        ("scenarios", "/0/about"),
    ] {
        let data: serde_json::Value =
            serde_json::from_str(&printed(&["list", what, "--json"])).expect(what);
        assert!(data.pointer(first).is_some_and(|v| v.is_string()), "{what}");
    }
}

/// The completions for the last of these words.
fn completed(words: &[&str]) -> Vec<String> {
    let bench = Bench::new(&words.join("-").replace('/', "-"));
    let index = (words.len() - 1).to_string();
    let done = bench
        .command(&[&["--"], words].concat())
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("the program runs");
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    text.lines().map(String::from).collect()
}

#[test]
fn shells_complete_commands_and_names() {
    assert_eq!(completed(&["locklab", "study", "sw"]), ["sweep"]);
    assert_eq!(
        completed(&["locklab", "run", "redis-docs/r5"]),
        [
            "redis-docs/r5",
            "redis-docs/r5-compared",
            "redis-docs/r5-delex",
            "redis-docs/r5-delifeq",
            "redis-docs/r5-get-del"
        ]
    );
    assert_eq!(
        completed(&["locklab", "study", "sweep", "kleppmann/k9-"]),
        ["kleppmann/k9-back"]
    );
    assert_eq!(
        completed(&["locklab", "study", "sweep", "--property", "fo"]),
        ["foreign-release"]
    );
    assert_eq!(
        completed(&["locklab", "attack", "--scenario", "attack/p"]),
        ["attack/pause"]
    );
    assert!(completed(&["locklab", "list", ""]).contains(&"scenarios".into()));
}

#[test]
fn shells_complete_what_can_be_set_in_a_scenario() {
    let of = |scenario, begun| completed(&["locklab", "run", scenario, "--set", begun]);
    let k1 = |begun| of("kleppmann/k1", begun);
    assert_eq!(k1("lock.tt"), ["lock.ttl_ms="]);
    // The names of faults are those of the scenario.
    assert_eq!(k1("fault.gc.dur"), ["fault.gc.duration_ms="]);
    assert_eq!(of("k10", "fault.jump.st"), ["fault.jump.step_ms="]);
    // K1 leaves these to their defaults.
    assert_eq!(k1("node.pers"), ["node.persistence="]);
    assert_eq!(k1("topology.rep"), ["topology.replicas="]);
    assert_eq!(
        k1("lock.release=de"),
        [
            "lock.release=del",
            "lock.release=delex",
            "lock.release=delifeq"
        ]
    );
    assert_eq!(k1("lock.fencing_token=t"), ["lock.fencing_token=true"]);
    assert_eq!(k1("lock.na"), ["lock.name="]);
    assert_eq!(k1("lock.name=getset-"), ["lock.name=getset-as-listed"]);
    assert_eq!(k1("lock.ttl_ms="), [""; 0]);
}

#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["setup", "completions", shell]);
        assert!(script.contains("COMPLETE"), "{shell}: {script}");
    }
}

/// What Bash replies to a line, which it has cut into these words.
#[cfg(unix)]
fn in_bash(words: &str) -> Option<String> {
    let bench = Bench::new(&format!("bash-{}", words.len()));
    let script = bench.locklab(&["setup", "completions", "bash"]).out;
    let line = format!(
        "{script}\nCOMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         _locklab locklab \"${{COMP_WORDS[COMP_CWORD]}}\" ''; echo \"${{COMPREPLY[*]}}\""
    );
    let mut bash = std::process::Command::new("bash");
    let done = { bash.args(["-c", &line]).env("HOME", &bench.folder) }.output();
    Some(
        String::from_utf8_lossy(&done.ok()?.stdout)
            .trim()
            .to_owned(),
    )
}

/// Bash takes `=` for a word of its own.
#[cfg(unix)]
#[test]
fn bash_completes_what_it_has_cut() {
    let of = |words: &str| in_bash(&format!("locklab run kleppmann/k1 --set {words}"));
    let Some(path) = of("lock.tt") else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert_eq!(path, "lock.ttl_ms=");
    assert_eq!(
        of("lock.name = getset-").as_deref(),
        Some("getset-as-listed")
    );
    let releases = of("lock.release =").expect("there is a bash");
    assert!(
        releases.split_whitespace().any(|it| it == "delex"),
        "{releases}"
    );
    let after = in_bash("locklab run --set lock.ttl_ms = 900 kleppmann/k9-");
    assert_eq!(after.as_deref(), Some("kleppmann/k9-back"));
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let page = printed(&["setup", "man", "check"]);
    assert!(page.contains(".TH locklab-check 1"), "{page}");
    assert!(printed(&["setup", "man"]).contains(".TH locklab 1"));
    let bench = Bench::new("manual");
    assert_eq!(
        bench.locklab(&["setup", "man", "--into", "man1"]).code,
        Some(0)
    );
    let pages = bench.files();
    for name in ["locklab", "locklab-check", "locklab-run"] {
        assert!(pages.contains(&format!("man1/{name}.1")), "{pages:?}");
    }
}
