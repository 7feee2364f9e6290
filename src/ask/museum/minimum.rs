//! The smallest scenario that shows an exhibit: with the mistake its run violates the property, and with the
//! mended lock the same run holds.

pub(super) mod table;

use locklab_check::Property;
use locklab_evidence::Tally;
use locklab_model::scenario::Scenario;
use locklab_runner::judged;
use locklab_runner::simulate::Keep;
use locklab_shrink::{
    Best, Counterexample, NotViolated, Size, Subject, USUAL_TRIES, overridden, tallies, toml,
};
use locklab_situations::{self as situations, met};
use serde::Serialize;

use super::Room;
use super::trial::{Trial, at_their_times};
use crate::shrink::{Shrink, written};
use locklab_lab::bug::Bug;
use locklab_lab::{Program, Session, Store, describe, recordings};

/// The smallest scenario that shows an exhibit.
#[derive(Serialize)]
pub(super) struct Minimum {
    /// The run from which it was made.
    pub(super) from: String,
    /// The seed of its own run.
    seed: u64,
    /// The size of that run.
    pub(super) before: Size,
    /// Its own.
    pub(super) after: Size,
    /// The runs that led to it.
    pub(super) runs: u64,
    /// Whether nothing is left that would make it smaller; otherwise there was no time.
    pub(super) is_minimal: bool,
    /// How often it violates the property, with many seeds.
    #[serde(serialize_with = "rates")]
    pub(super) violated: Option<Tally>,
    /// The overrides that mend its lock.
    mended_with: Vec<String>,
    /// How often it violates the property with the mended lock.
    #[serde(serialize_with = "rates")]
    pub(super) mended: Option<Tally>,
    /// What happens in its run, a sentence each.
    pub(super) story: Vec<String>,
    /// The file of the scenario, in the folder of the museum.
    pub(super) file: String,
}

fn rates<S: serde::Serializer>(tally: &Option<Tally>, serializer: S) -> Result<S::Ok, S::Error> {
    tally.as_ref().map(describe::rates).serialize(serializer)
}

/// How the faults of a run are placed in the scenario that is shrunk, which is the same for both locks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Placed {
    /// At the steps of the run, or after them.
    AsTheyWere,
    /// At the times at which they took effect, for a mended lock that has no such steps. At that instant they may
    /// strike before the step, and do something else.
    AtTheirTimes,
}

impl Room {
    /// Shrinks the run of a trial that shows the exhibit, and writes what is left: the scenario, its picture, and
    /// the picture of the same run with the mended lock. `None` if the run shows nothing when its faults are
    /// written as a scenario has them.
    pub(super) fn shrink(
        &self,
        number: u64,
        placed: Placed,
        session: &Session,
        folder: &Store,
    ) -> anyhow::Result<Option<Minimum>> {
        let (scenario, seed, schedule) = self.runs.sick(number);
        let property = self.exhibit.property;
        let schedule = match placed {
            Placed::AsTheyWere => schedule,
            Placed::AtTheirTimes => {
                let run = judged::run_schedule(&scenario, seed, schedule, Keep::default())?;
                at_their_times(&run)
            }
        };
        let shrink = Shrink {
            subject: Subject {
                scenario: self.titled(scenario.into_owned()),
                seed,
                schedule,
            },
            property: Some(property),
            tries: USUAL_TRIES,
        };
        let accepts = |best: &Best| self.is_mended(best) && self.meets(best);
        let minimum = match shrink.minimum(property, &accepts, session) {
            Ok(minimum) => minimum,
            Err(NotViolated::Run(error)) => return Err(error.into()),
            Err(NotViolated::Other { .. } | NotViolated::NotAccepted(_)) => return Ok(None),
        };
        let best = minimum.best.clone();
        let mended = self.mend(&best.scenario)?;
        let tally = self.tally(&mended, property, session)?;
        let name = &self.exhibit.name;
        let text = |found: &Counterexample, file: &str| {
            toml(&found.scenario, &self.comments(found, file, tally.as_ref()))
        };
        let shrunk = written(minimum, property, session, folder, name, &text)?;
        let beside = judged::record(&mended, best.seed)?;
        recordings::keep(
            folder,
            &format!("{name}-mended"),
            &mended,
            &beside,
            property,
        )?;
        Ok(Some(Minimum {
            from: self.runs.what(number),
            seed: best.seed,
            violated: shrunk.found.tally().cloned(),
            mended_with: self.exhibit.mended.clone(),
            mended: tally,
            file: shrunk.file(),
            story: shrunk.found.story,
            before: shrunk.found.minimum.before,
            after: shrunk.found.minimum.after,
            runs: shrunk.found.minimum.statistics.runs,
            is_minimal: shrunk.found.minimum.statistics.is_minimal,
        }))
    }

    /// Whether the same run with the mended lock could have violated the property, and does not.
    fn is_mended(&self, best: &Best) -> bool {
        // What is no scenario any more with the mended lock shows nothing; nor does a run without an end.
        let run = self.mend(&best.scenario).ok();
        let run = run.and_then(|mended| judged::run(&mended, best.seed, Keep::default()).ok());
        run.is_some_and(|run| Trial::of_mended(&run, self.exhibit.property) == Trial::Mended)
    }

    /// Whether what the exhibit is about happens in the run.
    fn meets(&self, best: &Best) -> bool {
        let Some(situation) = self.exhibit.meets else {
            return true;
        };
        let Ok(run) = judged::run(&best.scenario, best.seed, Keep::HELD) else {
            return false;
        };
        let met = met(&situations::Subject {
            history: &run.history,
            contents: run.contents.as_ref(),
            topology: &best.scenario.topology,
            lock: &best.scenario.lock,
        });
        met.contains(&situation)
    }

    /// The scenario with the mended lock.
    fn mend(&self, scenario: &Scenario) -> anyhow::Result<Scenario> {
        Ok(overridden(scenario, &self.exhibit.mended)?)
    }

    /// How often the mended lock violates the property, with many seeds.
    fn tally(
        &self,
        mended: &Scenario,
        property: Property,
        session: &Session,
    ) -> anyhow::Result<Option<Tally>> {
        let all = tallies(mended, property, session.threads, session.stop.flag());
        let all = all.map_err(|broken| {
            let command = session
                .program
                .line(&["study", "museum", &self.exhibit.name]);
            Bug::or_usage(broken, &self.exhibit.name, command)
        })?;
        Ok(all.and_then(|mut all| all.remove(&property)))
    }

    /// The lines with which the file begins.
    fn comments(&self, found: &Counterexample, file: &str, mended: Option<&Tally>) -> Vec<String> {
        let property = self.exhibit.property;
        let mut lines = vec![
            format!(
                "{}: the smallest scenario found in which only the mistake violates `{property}`,",
                self.exhibit.name
            ),
            format!("made by `locklab study museum`: {}.", found.size()),
            found.command(file),
        ];
        if let Some(mended) = mended {
            lines.push(format!(
                "Mended by: {}. Then {} of {} seeds violate it:",
                self.exhibit.mended_by,
                mended.violated,
                mended.runs()
            ));
        }
        let mut words = vec!["run", file];
        words.extend(self.exhibit.mended.iter().flat_map(|set| ["--set", set]));
        lines.push(Program::started_with("locklab").line(&words));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::museum::exhibits::Museum;
    use locklab_model::scenario::load;

    #[test]
    fn a_master_that_restarts_empty_is_no_failover() {
        let all = Museum::shipped().exhibits;
        let exhibit = all.iter().find(|it| it.name == "lost-at-failover");
        let room = Room::of(exhibit.expect("it ships")).expect("it is sound");
        let meets = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
            let scenario = load("problems/lost-master", &sets).expect("it is valid");
            let run = judged::run(&scenario, 0, Keep::default()).expect("it ends");
            assert!(run.violates(Property::Lease));
            room.meets(&Best {
                scenario,
                seed: 0,
                run,
            })
        };
        assert!(meets(&[]));
        let restart = "fault={ crash = { kind = \"crash\", on = \"n1\", after = \"c1 acquired\", duration_ms = 0 } }";
        assert!(!meets(&[restart, "topology.sentinels=0"]));
    }
}
