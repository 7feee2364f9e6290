//! CLIENT, AUTH, RESET.

use super::check;

/// Whether a script waits depends on the flags that it declares, also in a transaction.
#[test]
fn a_pause_of_writes_lets_scripts_through_that_do_not_write() {
    const PLAIN: &str = "return 1";
    const WRITES: &str = "#!lua\\nreturn 1";
    const READS: &str = "#!lua flags=no-writes\\nreturn 1";
    // Their SHA-1s, in this order.
    const SHAS: [&str; 3] = [
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
        "cb70127618f0b0be70c53cf6bfcfa54a29d9b0c0",
        "77f21361171213377cb083e2ffc2ae24ffdff8fb",
    ];
    let mut requests = Vec::new();
    for script in [PLAIN, WRITES, READS] {
        for command in ["EVAL", "EVAL_RO"] {
            requests.push(format!("{command} \"{script}\" 0"));
        }
        requests.push(format!("SCRIPT LOAD \"{script} + 1\""));
    }
    for sha in SHAS
        .iter()
        .chain(&["ffffffffffffffffffffffffffffffffffffffff"])
    {
        requests.push(format!("EVALSHA {sha} 0"));
        requests.push(format!("EVALSHA_RO {sha} 0"));
    }
    let more = ["SCRIPT FLUSH", "SCRIPT EXISTS x", "PUBLISH a x"];
    requests.extend(more.map(str::to_owned));
    let cases: Vec<String> = requests
        .iter()
        .map(|request| {
            format!(
                "SCRIPT LOAD \"{PLAIN}\"
                 SCRIPT LOAD \"{WRITES}\"
                 SCRIPT LOAD \"{READS}\"
                 3: MULTI
                 3: {request}
                 CLIENT PAUSE 100000 WRITE
                 2: {request}
                 3: EXEC
                 4: MULTI
                 4: {request}
                 4: EXEC
                 CLIENT UNPAUSE"
            )
        })
        .collect();
    check(&cases.iter().map(String::as_str).collect::<Vec<_>>());
    // A transaction has the requirements of its commands when they were queued.
    check(&[&format!(
        "2: MULTI
         2: EVALSHA {sha} 0
         SCRIPT LOAD \"{READS}\"
         CLIENT PAUSE 100000 WRITE
         2: EXEC
         3: EVALSHA {sha} 0
         CLIENT UNPAUSE
         SCRIPT FLUSH",
        sha = SHAS[2]
    )]);
}
