//! A search in another process, which has a mistake that this one has not.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

use super::sighting::Sighting;

/// The sightings that another process writes, a line of JSON each. It is killed when nobody wants more.
pub(super) struct Elsewhere {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Elsewhere {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// If that is not possible.
    pub(super) fn begin(mut command: Command) -> anyhow::Result<Elsewhere> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn();
        let mut child = child.with_context(|| format!("cannot start {command:?}"))?;
        let stdout = child.stdout.take().context("its output is a pipe")?;
        let lines = BufReader::new(stdout).lines();
        Ok(Elsewhere { child, lines })
    }

    fn sighting(&mut self) -> anyhow::Result<Option<Sighting>> {
        let Some(line) = self.lines.next() else {
            let status = self.child.wait().context("wait for the search")?;
            ensure!(status.success(), "the search ended with {status}");
            return Ok(None);
        };
        let line = line.context("read what the search found")?;
        let sighting = serde_json::from_str(&line).with_context(|| line.clone());
        Ok(Some(sighting.context("not a sighting")?))
    }
}

impl Iterator for Elsewhere {
    type Item = anyhow::Result<Sighting>;

    fn next(&mut self) -> Option<Self::Item> {
        self.sighting().transpose()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str) -> anyhow::Result<Vec<Sighting>> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Elsewhere::begin(command)?.collect()
    }

    const LINE: &str = r#"{"seed":7,"cost":{"runs":3,"cpu_ns":5},"faults":{"faults":[]},"at_their_times":{"faults":[]}}"#;

    #[test]
    fn each_line_is_a_sighting() {
        let sightings = said(&format!("echo '{LINE}'; echo '{LINE}'")).expect("valid");
        assert_eq!(sightings.len(), 2);
        assert_eq!((sightings[1].seed, sightings[1].cost.runs), (7, 3));
    }

    /// Otherwise a search that broke off would have found nothing.
    #[test]
    fn a_process_that_fails_is_an_error() {
        let error = said(&format!("echo '{LINE}'; exit 3")).expect_err("it fails");
        assert!(
            error.to_string().contains("the search ended with"),
            "{error}"
        );
        said("echo nonsense").expect_err("it is no sighting");
    }

    #[test]
    fn a_process_of_which_nobody_wants_more_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo '{LINE}'; exec sleep 1000")]);
        let mut elsewhere = Elsewhere::begin(command).expect("it starts");
        assert!(elsewhere.next().is_some());
        drop(elsewhere);
    }
}
