//! What is wrong about the lock of today: the mechanisms of reported bugs that its settings have.

use anyhow::Context;
use locklab_locks::LockSpec;
use locklab_model::scenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers::Answers;
use super::rules::{RARE_WORK, Rules};
use crate::museum::exhibits::{Exhibit, Museum};
use crate::problems::{meant, rows};
use crate::risk::model::{Time, without_replica};

/// The lock of today.
#[derive(Debug, Clone)]
pub(crate) struct Today {
    /// The lock, or one of its forms.
    pub lock: String,
    /// Its lease.
    pub lease: Time,
    /// Its settings, as overrides of a scenario.
    pub sets: Vec<String>,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Mistake {
    /// What is wrong, in a sentence.
    pub what: String,
    /// What mends it.
    pub mended_by: String,
    /// The arguments of the command that shows it.
    pub shown_by: Vec<String>,
    /// How many bugs with this mechanism were reported.
    pub reported: usize,
}

impl Today {
    /// What is wrong about it.
    ///
    /// # Errors
    ///
    /// If there is no such lock, or a setting is invalid.
    pub fn mistakes(&self, answers: &Answers) -> anyhow::Result<Vec<Mistake>> {
        let spec = self.spec()?;
        let museum = Museum::shipped();
        // Another lock is no remedy where this one is advised to somebody.
        let name = spec["name"].as_str().unwrap_or_default();
        let is_advised = Rules::shipped().sheet(name).is_ok();
        let has = |exhibit: &&Exhibit| {
            let lock = exhibit.sets.iter().find_map(|set| locked(set));
            let takes_another = exhibit.mended.iter().any(|set| set.starts_with("lock="));
            lock.is_some_and(|lock| is_part(&lock, &spec))
                && !self.is_mended(exhibit, answers)
                && !(is_advised && takes_another)
        };
        let mistakes = museum.exhibits.iter().filter(has).map(|exhibit| Mistake {
            what: exhibit.what.clone(),
            mended_by: exhibit.mended_by.clone(),
            shown_by: vec!["study".into(), "museum".into(), exhibit.name.clone()],
            reported: museum.bugs_of(exhibit).count(),
        });
        let mut mistakes: Vec<Mistake> = mistakes.collect();
        if self.is_too_short(&spec, answers) {
            mistakes.push(Mistake {
                what: "The lease is shorter than the work, and is not renewed.".into(),
                mended_by: "a longer lease, or a renewal".into(),
                shown_by: vec!["run".into(), "problems/short-lease".into()],
                reported: 0,
            });
        }
        Ok(mistakes)
    }

    /// The lock with its settings.
    fn spec(&self) -> anyhow::Result<Value> {
        #[derive(Serialize, Deserialize)]
        struct Written<Lock> {
            lock: Lock,
        }
        let (all, name) = (rows(), without_replica(&self.lock));
        let by_label = all.iter().find(|row| row.label == name);
        let row = by_label.or_else(|| all.iter().find(|row| row.entry.name == name));
        let row = row.with_context(|| {
            let labels: Vec<String> = all.iter().map(|row| row.label.clone()).collect();
            format!("unknown lock \"{}\"{}", self.lock, meant(&name, &labels))
        })?;
        let lock = row.table(self.lease.0.round() as u64);
        let lock = lock.map_err(anyhow::Error::msg)?;
        let sets = self.sets.iter().filter(|set| set.starts_with("lock."));
        let sets: Vec<String> = sets.cloned().collect();
        let text = toml::to_string(&Written { lock })?;
        let Written { lock } = scenario::read::<Written<LockSpec>>("--today", &text, &sets)?;
        Ok(serde_json::to_value(lock)?)
    }

    /// Whether these settings, or the resource, mend a mechanism.
    fn is_mended(&self, exhibit: &Exhibit, answers: &Answers) -> bool {
        let is_there = |set: &String| match set.split_once('=') {
            Some(("resource.fencing", _)) => answers.tokens,
            _ => self.sets.contains(set),
        };
        exhibit.mended.iter().all(is_there)
    }

    /// Whether one work in a thousand outlasts the lease.
    fn is_too_short(&self, spec: &Value, answers: &Answers) -> bool {
        let is_renewed = spec.get("watchdog_ms").is_some() || spec.get("session_ms").is_some();
        let extends = |set: &String| set.starts_with(super::EXTENDS);
        let has_lease = spec.get("ttl_ms").is_some() || spec.get("lease_ms").is_some();
        has_lease
            && !is_renewed
            && !self.sets.iter().any(extends)
            && answers.work.at_tail_ms(RARE_WORK) >= self.lease.0
    }
}

/// The lock that an override of a scenario puts in.
fn locked(set: &str) -> Option<Value> {
    let table: toml::Table = set.starts_with("lock=").then(|| set.parse().ok())??;
    serde_json::to_value(table.get("lock")?).ok()
}

/// Whether a lock has all of these parameters, whatever its lease.
fn is_part(part: &Value, whole: &Value) -> bool {
    let parameters = part.as_object().into_iter().flatten();
    let mut others = parameters.filter(|(name, _)| !name.ends_with("_ms"));
    others.all(|(name, value)| whole.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::answers::{Given, Protects, Server};

    /// Of work that takes two seconds.
    fn answers() -> Answers {
        let given = Given {
            protects: Some(Protects::Efficiency),
            servers: vec![Server::Redis],
            work: Some("2s".into()),
            ..Given::default()
        };
        given.complete(None::<&[u8]>).expect("all is said")
    }

    fn found(lock: &str, lease: &str, sets: &[&str]) -> Vec<String> {
        let today = Today {
            lock: lock.into(),
            lease: Time::parse(lease).expect("a time"),
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        };
        let mistakes = today.mistakes(&answers()).expect("it is a lock");
        let names = mistakes
            .into_iter()
            .filter_map(|it| it.shown_by.last().cloned());
        names.collect()
    }

    #[test]
    fn settings_have_the_mechanisms_of_reported_bugs() {
        let looks = "workload.check=deadline";
        let none: [&str; 0] = [];
        assert_eq!(found("set-nx-px", "10s", &[looks]), none);
        assert_eq!(found("set-nx-px", "10s", &[]), ["unnoticed-loss"]);
        for (lock, sets, expected) in [
            (
                "set-nx-px (release del)",
                &[looks][..],
                "unconditional-release",
            ),
            (
                "set-nx-px",
                &[looks, "lock.release=del"],
                "unconditional-release",
            ),
            (
                "set-nx-px",
                &[looks, "lock.extend=expire"],
                "unconditional-renewal",
            ),
            ("redlock (no elapsed check)", &[looks], "expired-grant"),
            ("setnx", &[looks], "no-lease"),
            ("setnx-expire", &[looks], "non-atomic-acquire"),
        ] {
            assert_eq!(found(lock, "10s", sets), [expected], "{lock} {sets:?}");
        }
    }

    #[test]
    fn lock_that_there_is_not_is_refused_before_any_run() {
        let today = Today {
            lock: "redis-py".into(),
            lease: Time(1000.0),
            sets: vec![],
        };
        let planned = crate::advise::Advise::plan(answers(), Some(today), 100).map(drop);
        let told = planned.expect_err("it is a library").to_string();
        assert_eq!(
            told,
            "unknown lock \"redis-py\"; redis-py is a library, and its lock is here set-nx-px"
        );
        assert_eq!(
            found("set-nx-px+replica", "10s", &["workload.check=deadline"]),
            [""; 0]
        );
    }

    #[test]
    fn lease_shorter_than_the_work_is_a_mistake_unless_it_is_renewed() {
        let looks = "workload.check=deadline";
        assert_eq!(found("set-nx-px", "2s", &[looks]), ["problems/short-lease"]);
        let renews = "workload.extend_every_ms=600";
        let none: [&str; 0] = [];
        assert_eq!(found("set-nx-px", "2s", &[looks, renews]), none);
        assert_eq!(found("redisson", "1s", &[]), none);
    }
}
