//! Writes the table of client libraries as a page and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::{Deadline, Row, Seen, Servers};

const FOLDER: &str = "reports/clients";

/// The scenarios that repeat violations.
pub const AGAIN: &str = "reports/clients/again";

const HEAD: &str = "\
# Real client libraries under faults

Written by `cargo xtask clients` from the runs that it made; [reports/README.md](../README.md) says how. Each row is one
lock of a library, in the way its documentation uses it, on real Redis. Two runs of one seed are not equal, so the list
below says how often the command came to the same violation. Of `attack/drawn` it runs a file in `again/`:
faults of the same seed before the violation, placed after what the clients had done, in place of times.

How to read it:

- `belief`: two workers had the lock at the same time. `resource`, `stale-write`, `lost-update`: a worker wrote after
  another had taken over. **Any lease without fencing tokens allows these** if a worker is paused for longer than its
  lease, so in `attack/pause` they tell nothing about a library.
- `lease`: a worker still could rely on the lock, by its own clock, when another was granted it. If the deadline is
  *told* or *derived*, a pause of a worker alone cannot cause this. If it is *none*, the library renews the lease and
  tells its user no deadline: then `lease` says the same as `belief`, and follows from the pause too.
- `attack/drawn` also crashes nodes, steps clocks and cuts links. One node that restarts without its keys, or whose
  clock steps, ends a lease early, with any library. Several nodes are to survive one such fault. Programs in Go have the
  clocks of the machine, so their rows have no wrong clock and no suspension of a worker, and compare with no other row.
- *3 of 4*: it was violated in 3 of the 4 runs that say whether it is. In other runs nothing could have violated it.
  A property that is not named was violated in no run. These are too few runs to say that it holds.
- deadline: *told* by the library; *derived*, the lease counted from before the request; *none*, renewed until released.

";

const CLUSTER: &str = "\
# Lock libraries in a Redis Cluster

Written by `cargo xtask clients --cluster` from the runs that it made, on real Redis: three masters with a replica each,
which notice a failure after a second. Each row is one lock of a library, held for four seconds at a time.

- `attack/cluster-behind`: the master of the lock's slot dies before its replica has the lock, and the replica is elected.
- `attack/cluster-minority`: the master and its client are cut off from all others. It goes on for its time-out.
- `attack/cluster-moves`: an operator moves the slot to another master, step by step, while the lock is held.

`lease`: a worker still could rely on the lock, by its own clock, when another was granted it. *3 of 4*: it was violated
in 3 of the 4 runs that say whether it is; in other runs nothing could have violated it: a lock that was not granted was
not lost. These are too few runs to say that what was not violated holds. What was violated in the first two columns is
no fault of the library's: replication is asynchronous, and a lock on one key is as safe as its last replica.

";

/// Makes the folders, without the scenarios of earlier tables.
pub fn begin() -> Result<()> {
    if Path::new(AGAIN).is_dir() {
        std::fs::remove_dir_all(AGAIN)?;
    }
    Ok(std::fs::create_dir_all(AGAIN)?)
}

/// Writes a table as a page and as JSON: `clients`, or `cluster`.
pub fn write(rows: &[Row], servers: Servers, left_out: &BTreeMap<String, String>) -> Result<()> {
    let name = match servers {
        Servers::Apart => "clients",
        Servers::Cluster => "cluster",
    };
    std::fs::write(format!("{FOLDER}/{name}.md"), page(rows, servers, left_out))?;
    let mut json = serde_json::to_string_pretty(rows)?;
    json.push('\n');
    std::fs::write(format!("{FOLDER}/{name}.json"), json)?;
    Ok(())
}

fn page(rows: &[Row], servers: Servers, left_out: &BTreeMap<String, String>) -> String {
    let head = match servers {
        Servers::Apart => HEAD,
        Servers::Cluster => CLUSTER,
    };
    let (mut page, scenarios) = (head.to_owned(), servers.scenarios());
    page.push_str("| library | version | language | lock | nodes | deadline |");
    for (scenario, _) in scenarios {
        let _ = write!(page, " `{scenario}` |");
    }
    page.push_str("\n|---|---|---|---|--:|---|");
    page.push_str(&"---|".repeat(scenarios.len()));
    page.push('\n');
    for row in rows {
        let Row {
            library,
            version,
            language,
            title,
            nodes,
            ..
        } = row;
        let deadline = match row.deadline {
            Deadline::Told => "told",
            Deadline::Derived => "derived",
            Deadline::None => "none",
        };
        let _ = write!(
            page,
            "| {library} | {version} | {language} | {title} | {nodes} | {deadline} |"
        );
        for (scenario, _) in scenarios {
            let seen = row.scenarios.iter().find(|it| it.scenario == *scenario);
            let _ = write!(page, " {} |", seen.map_or("not run".to_owned(), cell));
        }
        page.push('\n');
    }
    page.push_str("\n## What breaks each\n\n");
    page.push_str("`cargo xtask clients` installs the libraries in `target/clients/`, where these commands find them.\n");
    for row in rows {
        let _ = write!(page, "\n**{}, {}**\n\n", row.library, row.title);
        for seen in &row.scenarios {
            page.push_str(&repetition(seen));
        }
    }
    if !left_out.is_empty() {
        page.push_str("\n## Left out\n\n");
        for (name, reason) in left_out {
            let _ = writeln!(page, "- {name}: {reason}");
        }
    }
    page
}

/// What was violated, as counts of runs.
fn cell(seen: &Seen) -> String {
    let of = seen.runs;
    if seen.violated.is_empty() {
        let nothing = format!("nothing in {of} runs");
        return match seen.tried {
            Some(tried) => format!("{nothing}; {tried} could have shown `lease`"),
            None => nothing,
        };
    }
    let counts = seen.violated.iter();
    let counts = counts.map(|it| format!("`{}` {} of {}", it.property, it.runs, it.of));
    counts.collect::<Vec<_>>().join("<br>")
}

/// The command that repeats a violation, and how often it did.
fn repetition(seen: &Seen) -> String {
    match &seen.again {
        None => format!(
            "- `{}`: nothing was violated in {} runs.\n",
            seen.scenario, seen.runs
        ),
        Some(again) => format!(
            "- `{}`: `{}` repeated {} of {}: `{}`\n",
            seen.scenario, again.property, again.times, again.of, again.command
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Again, Violated};
    use super::*;

    fn seen(violated: Vec<Violated>, again: Option<Again>) -> Seen {
        let scenario = "attack/pause".to_owned();
        Seen {
            scenario,
            runs: 5,
            tried: None,
            violated,
            again,
        }
    }

    #[test]
    fn counts_are_of_the_runs_that_say_it() {
        let violated = Violated {
            property: "lease".to_owned(),
            runs: 2,
            of: 4,
            seed: 3,
        };
        assert_eq!(cell(&seen(vec![violated], None)), "`lease` 2 of 4");
        let nothing = seen(vec![], None);
        assert_eq!(cell(&nothing), "nothing in 5 runs");
        let refused = Seen {
            tried: Some(0),
            ..nothing
        };
        assert_eq!(
            cell(&refused),
            "nothing in 5 runs; 0 could have shown `lease`"
        );
    }

    #[test]
    fn a_repetition_says_how_often_it_came_back() {
        let (property, command) = ("lease".to_owned(), "locklab attack".to_owned());
        let again = Again {
            property,
            command,
            times: 7,
            of: 10,
        };
        let told = repetition(&seen(vec![], Some(again)));
        assert_eq!(
            told,
            "- `attack/pause`: `lease` repeated 7 of 10: `locklab attack`\n"
        );
    }
}
