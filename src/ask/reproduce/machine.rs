//! How and on what a page was made.

use std::time::Duration;

use super::{On, Options, REAL_RUNS};
use locklab_lab::made_by;
use locklab_real::comparison::Runs;
use locklab_report::PRODUCER;
use locklab_results::recording::server_name;

/// The command line with these options.
pub(super) fn command(options: &Options) -> String {
    let mut command = "locklab reproduce".to_owned();
    if let Some(claims) = &options.claims {
        command += &format!(" --claims {}", claims.display());
    }
    if !options.only.is_empty() {
        command += &format!(" --only {}", options.only.join(","));
    }
    if options.quick {
        command += " --quick";
    }
    if let Some(seeds) = options.seeds {
        command += &format!(" --seeds {seeds}");
    }
    if options.on == On::Redis {
        command += " --on redis";
    }
    command
}

/// What a reader needs in order to repeat it.
pub(super) fn how(
    command: &str,
    redis: Option<&str>,
    took: Duration,
) -> Vec<(&'static str, String)> {
    let mut how = vec![("Program", PRODUCER.to_owned())];
    how.extend(made_by::commit().map(|commit| ("Commit", commit)));
    how.push((
        "Command",
        format!("{command}; locklab stands for “cargo run --release --” in a clone"),
    ));
    how.push((
        "Seeds",
        "from 0 on, for each scenario as many as its predictions need; in a sweep the same in \
         every cell"
            .into(),
    ));
    how.push((
        "Real servers",
        match redis {
            Some(version) => {
                let (server, Runs { least, most }) = (server_name(version), REAL_RUNS);
                format!("{server}, each scenario {least} to {most} times")
            }
            None => "none in this run; reports/confirm compares the simulation with Redis".into(),
        },
    ));
    how.push(("Machine", made_by::machine()));
    how.push(("Time", format!("{} s", took.as_secs())));
    how
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_all_options() {
        let none = Options {
            claims: None,
            only: vec![],
            quick: false,
            seeds: None,
            on: On::World,
        };
        assert_eq!(command(&none), "locklab reproduce");
        let all = Options {
            claims: Some("ours.toml".into()),
            only: vec!["T1".into(), "T2".into()],
            quick: true,
            seeds: Some(50),
            on: On::Redis,
        };
        let expected =
            "locklab reproduce --claims ours.toml --only T1,T2 --quick --seeds 50 --on redis";
        assert_eq!(command(&all), expected);
    }
}
