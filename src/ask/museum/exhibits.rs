//! Bugs of lock libraries that were really reported, as data: an *exhibit* is a mechanism with a lock of
//! the catalogue that has it, and a bug names its exhibit, or says why the catalogue has none. This crate
//! runs nothing.

use std::collections::{BTreeMap, BTreeSet};

use locklab_check::Property;
use locklab_situations::Situation;
use serde::{Deserialize, Serialize};

/// All exhibits and bugs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Museum {
    /// The exhibits, in the order of a reader.
    #[serde(rename = "exhibit")]
    pub exhibits: Vec<Exhibit>,
    /// The bugs.
    #[serde(rename = "bug")]
    pub bugs: Vec<Bug>,
}

/// A mechanism, and a lock of the catalogue that has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exhibit {
    /// Its name: `unconditional-release`.
    pub name: String,
    /// The mechanism in a sentence.
    pub what: String,
    /// The property that it violates.
    pub property: Property,
    /// A shipped scenario that shows it; without one, faults are placed at every step of a run of two
    /// clients.
    pub scenario: Option<String>,
    /// The only kind of fault that is placed, as `place` calls it; absent: all.
    pub fault: Option<String>,
    /// What happens in each run that shows it; without it, another mechanism violates the property.
    pub meets: Option<Situation>,
    /// Overrides that make the lock have it.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Further overrides, with which the lock does not have it.
    pub mended: Vec<String>,
    /// The change in words.
    pub mended_by: String,
}

/// A bug that was reported.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    /// The threads in which it was reported, or mended: `redisson/redisson#775`, or a CVE.
    pub threads: Vec<String>,
    /// In which versions, as far as the thread says.
    pub version: Option<String>,
    /// What it does to a lock; our classification.
    pub harm: Harm,
    /// What happened, in a sentence.
    pub what: String,
    /// The exhibit with the same mechanism.
    pub exhibit: Option<String>,
    /// Why no lock of the catalogue has it.
    pub absent: Option<Absent>,
}

/// What a bug does to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// Two clients have it, or something wrong happens under it.
    Safety,
    /// Somebody waits for it in vain, or too long.
    Liveness,
}

/// Why no lock of the catalogue has a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// It is in the threads, tasks or objects of a client library, not in what it sends.
    Program,
    /// It is in a library's connections or pools: replies that are shifted, subscriptions that are lost.
    Connections,
    /// It needs Redis Cluster, or a proxy before it.
    Cluster,
    /// It is a server's.
    Server,
    /// It is in a unit, an overflow or an argument.
    Arithmetic,
    /// The catalogue's form of the lock does it right, and has no parameter for the mistake.
    Form,
    /// It takes an operator who deletes keys.
    Operator,
}

impl Harm {
    /// Its name: `safety`.
    pub fn name(self) -> &'static str {
        match self {
            Harm::Safety => "safety",
            Harm::Liveness => "liveness",
        }
    }
}

impl Absent {
    /// The reason in words.
    pub fn why(self) -> &'static str {
        match self {
            Absent::Program => "in the threads or objects of the client's program",
            Absent::Connections => "in the connections of the client library",
            Absent::Cluster => "needs Redis Cluster, or a proxy before it",
            Absent::Server => "in the server",
            Absent::Arithmetic => "in a unit or an argument",
            Absent::Form => "no lock of the catalogue has a parameter for it",
            Absent::Operator => "takes an operator who deletes keys",
        }
    }
}

impl Museum {
    /// The museum that ships.
    pub fn shipped() -> Museum {
        Museum::parse(include_str!("bugs.toml")).expect("a test reads the museum that ships")
    }

    /// Reads a museum from TOML.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in one or more lines.
    pub fn parse(text: &str) -> Result<Museum, String> {
        let museum: Museum = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut names = BTreeSet::new();
        for exhibit in &museum.exhibits {
            if !names.insert(&*exhibit.name) {
                return Err(format!("two exhibits are called {:?}", exhibit.name));
            }
        }
        let mut seen = BTreeSet::new();
        for bug in &museum.bugs {
            let Some(first) = bug.threads.first() else {
                return Err(format!("no thread: {:?}", bug.what));
            };
            let problem = match (&bug.exhibit, bug.absent) {
                (Some(name), None) if !names.contains(&**name) => {
                    format!("there is no exhibit {name:?}")
                }
                (Some(_), Some(_)) | (None, None) => {
                    "give either its `exhibit`, or why it is `absent`".to_owned()
                }
                _ => match bug.threads.iter().find(|thread| !seen.insert(&***thread)) {
                    Some(twice) => format!("{twice} has two bugs"),
                    None => continue,
                },
            };
            return Err(format!("{first}: {problem}"));
        }
        let shown: BTreeSet<&str> = { museum.bugs.iter() }
            .filter_map(|bug| bug.exhibit.as_deref())
            .collect();
        if let Some(name) = names.into_iter().find(|name| !shown.contains(name)) {
            return Err(format!("no bug has the exhibit {name:?}"));
        }
        Ok(museum)
    }

    /// The bugs of an exhibit.
    pub fn bugs_of<'a>(&'a self, exhibit: &'a Exhibit) -> impl Iterator<Item = &'a Bug> {
        { self.bugs.iter() }.filter(|bug| bug.exhibit.as_deref() == Some(&*exhibit.name))
    }

    /// The bugs that no lock of the catalogue has, by the reason.
    pub fn absent(&self) -> BTreeMap<Absent, Vec<&Bug>> {
        let mut absent: BTreeMap<Absent, Vec<&Bug>> = BTreeMap::new();
        for bug in &self.bugs {
            if let Some(why) = bug.absent {
                absent.entry(why).or_default().push(bug);
            }
        }
        absent
    }
}

#[cfg(test)]
mod tests {
    use locklab_model::scenario::load;

    use super::*;

    #[test]
    fn each_exhibit_is_a_scenario_in_both_forms() {
        for exhibit in Museum::shipped().exhibits {
            let name = &exhibit.name;
            if let Some(scenario) = &exhibit.scenario {
                let mended = [exhibit.sets.clone(), exhibit.mended.clone()].concat();
                for sets in [&exhibit.sets, &mended] {
                    load(scenario, sets).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let told = |bugs: &str| {
            let exhibit = "[[exhibit]]\nname = \"e\"\nwhat = \"\"\nproperty = \"lease\"\nmended = []\n\
                           mended_by = \"\"\n";
            Museum::parse(&format!("{exhibit}{bugs}")).err()
        };
        let bug = |threads: &str, rest: &str| {
            format!("[[bug]]\nthreads = [{threads}]\nharm = \"safety\"\nwhat = \"w\"\n{rest}\n")
        };
        let one = bug("\"a/b#1\"", "exhibit = \"e\"");
        assert_eq!(told(&one), None);
        for (other, expected) in [
            (bug("", "absent = \"server\""), "no thread: \"w\""),
            (
                bug("\"a/b#1\"", "absent = \"server\""),
                "a/b#1: a/b#1 has two bugs",
            ),
            (
                bug("\"a/b#2\"", "exhibit = \"f\""),
                "a/b#2: there is no exhibit \"f\"",
            ),
            (
                bug("\"a/b#2\"", ""),
                "a/b#2: give either its `exhibit`, or why it is `absent`",
            ),
        ] {
            assert_eq!(told(&format!("{one}{other}")).as_deref(), Some(expected));
        }
        assert_eq!(
            told(&bug("\"a/b#1\"", "absent = \"server\"")).as_deref(),
            Some("no bug has the exhibit \"e\"")
        );
    }
}
