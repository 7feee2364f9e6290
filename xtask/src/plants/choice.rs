//! Which mistakes are planted: by default those that the last commits may concern, and a share of
//! the others.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::data::{self, FOLDER, Plant};
use crate::tool::{git, share};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// Those that the last commits may concern, and a share of the others: what CI plants.
    Recent,
    /// All whose catchers start no real servers.
    Simulated,
    /// All.
    All,
    /// These.
    Named(&'a [String]),
}

/// The mistakes to plant.
#[derive(Debug)]
pub struct Choice<'a> {
    pub plants: Vec<&'a Plant>,
    /// How many of how many, and why these, in one line.
    pub why: String,
}

/// So many commits count as recent. A push has fewer; what it had come from, CI does not know.
const RECENT: usize = 8;

/// One mistake in this many is planted though nothing recent concerns it. A share has neighbours in the order of
/// their catchers, so that it needs few test binaries.
const SHARES: usize = 32;

/// What git says of the recent commits.
struct Recent {
    /// The id of the last commit.
    head: String,
    /// The files that differ, and the mistakes of then; `None` if the history has one commit only,
    /// as a shallow clone may.
    before: Option<Before>,
}

struct Before {
    /// How many commits ago.
    commits: usize,
    touched: BTreeSet<String>,
    plants: Vec<Plant>,
}

/// Chooses mistakes.
pub fn choose<'a>(which: Which, plants: &'a [Plant]) -> Result<Choice<'a>> {
    let all = plants.len();
    let (chosen, why): (Vec<&Plant>, String) = match which {
        Which::Recent => return Ok(recent(plants, &Recent::read()?)),
        Which::All => (plants.iter().collect(), "all".into()),
        Which::Simulated => {
            let simulated = plants.iter().filter(|plant| !plant.is_real());
            (simulated.collect(), "all without real servers".into())
        }
        Which::Named(names) => {
            for name in names {
                let is_known = plants.iter().any(|plant| plant.name == *name);
                ensure!(is_known, "unknown mistake `{name}`; see {FOLDER}");
            }
            let named = plants.iter().filter(|p| names.contains(&p.name));
            (named.collect(), "as named".into())
        }
    };
    let why = format!("planting {} of {all} mistakes: {why}", chosen.len());
    Ok(Choice {
        plants: chosen,
        why,
    })
}

/// The choice of CI; the same for the same commit.
fn recent<'a>(plants: &'a [Plant], recent: &Recent) -> Choice<'a> {
    let all = plants.len();
    let mut simulated: Vec<&Plant> = plants.iter().filter(|plant| !plant.is_real()).collect();
    let Some(before) = &recent.before else {
        let why = format!(
            "planting {} of {all} mistakes: all without real servers, since the history has one \
             commit only",
            simulated.len()
        );
        return Choice {
            plants: simulated,
            why,
        };
    };
    let is_known = |plant: &Plant| before.plants.iter().any(|known| known.is_same(plant));
    let is_recent = |plant: &Plant| before.touched.contains(&plant.file) || !is_known(plant);
    simulated.sort_by_cached_key(|plant| plant.caught_by().ok());
    let share = share(&recent.head, SHARES as u64);
    let count = simulated.len();
    let due = simulated.into_iter().enumerate();
    let due =
        due.filter(|(index, plant)| is_recent(plant) || (index * SHARES / count) as u64 == share);
    let chosen: Vec<&Plant> = due.map(|(_, plant)| plant).collect();
    let concerned = chosen.iter().filter(|plant| is_recent(plant)).count();
    let why = format!(
        "planting {} of {all} mistakes: {concerned} that the last {} commits concern, and of the \
         others share {} of {SHARES}, by the id of the last commit",
        chosen.len(),
        before.commits,
        share + 1,
    );
    Choice {
        plants: chosen,
        why,
    }
}

impl Recent {
    fn read() -> Result<Recent> {
        let most = format!("--max-count={}", RECENT + 1);
        let commits = git(&["rev-list", "--first-parent", &most, "HEAD"])?;
        let commits: Vec<&str> = commits.lines().collect();
        let head = commits.first().context("a repository has commits")?;
        let before = match commits[..] {
            [_] => None,
            [.., base] => Some(Before::read(base, commits.len() - 1)?),
            [] => None,
        };
        let head = (*head).to_owned();
        Ok(Recent { head, before })
    }
}

impl Before {
    /// Changes that are not committed count as well.
    fn read(base: &str, commits: usize) -> Result<Before> {
        let touched = git(&["diff", "--name-only", "--no-renames", base])?;
        let listed = git(&["ls-tree", "--name-only", base, FOLDER])?;
        let mut plants = Vec::new();
        for path in listed.lines().filter(|path| path.ends_with(".toml")) {
            let text = git(&["show", &format!("{base}:{path}")])?;
            // If the form of the data has changed, its mistakes are new.
            plants.append(&mut data::read(path, &text).unwrap_or_default());
        }
        Ok(Before {
            commits,
            touched: touched.lines().map(str::to_owned).collect(),
            plants,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 mistakes in files of their own, `m0` in `f0` and so on, and one on real servers.
    fn plants() -> Vec<Plant> {
        let entry = |(index, test): (usize, &str)| {
            format!(
                "[[plant]]\nname = \"m{index}\"\nwhat = \"w\"\nfile = \"f{index}\"\nfind = \"a\"\n\
                 put = \"b\"\ntest = \"{test}\"\n"
            )
        };
        let simulated = (0..32).map(|index| (index, "p --lib x"));
        let entries = simulated.chain([(32, "p --test agreement x")]).map(entry);
        data::read("p.toml", &entries.collect::<String>()).expect("valid")
    }

    #[track_caller]
    fn check(head: &str, touched: &[&str], known: usize, expected: &[&str], why: &str) {
        let plants = plants();
        let before = Before {
            commits: RECENT,
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
            plants: plants[..known].to_vec(),
        };
        let head = head.to_owned();
        let before = Some(before);
        let choice = recent(&plants, &Recent { head, before });
        let chosen: Vec<&str> = choice.plants.iter().map(|plant| &*plant.name).collect();
        assert_eq!(chosen, expected);
        assert!(choice.why.contains(why), "{}", choice.why);
    }

    #[test]
    fn what_is_touched_or_new_is_planted_and_a_share_by_the_commit() {
        let id = "0000000000000030aaaa";
        let why = "planting 1 of 33 mistakes: 0 that the last 8 commits concern, and of the \
                   others share 4 of 32";
        check(id, &[], 33, &["m3"], why);
        let other = "0000000000000050aaaa";
        check(other, &[], 33, &["m5"], "share 6 of 32");
        let why = "planting 2 of 33 mistakes: 1 that";
        check(id, &["f7", "other"], 33, &["m3", "m7"], why);
        check(id, &[], 31, &["m3", "m31"], "1 that");
        check(id, &["f32"], 33, &["m3"], "0 that");
    }

    #[test]
    fn a_share_has_neighbours_in_the_order_of_their_catchers() {
        let entry = |index: usize| {
            let test = ["--lib x", "--test t x"][index % 2];
            format!(
                "[[plant]]\nname = \"m{index}\"\nwhat = \"w\"\nfile = \"f\"\nfind = \"a\"\n\
                 put = \"b\"\ntest = \"p {test}\"\n"
            )
        };
        let entries: String = (0..4 * SHARES).map(entry).collect();
        let plants = data::read("p.toml", &entries).expect("valid");
        let of = |head: &str| {
            let before = Some(Before {
                commits: RECENT,
                touched: BTreeSet::new(),
                plants: plants.clone(),
            });
            let head = head.to_owned();
            let choice = recent(&plants, &Recent { head, before });
            let chosen = choice.plants.iter().map(|plant| plant.name.clone());
            chosen.collect::<Vec<_>>()
        };
        assert_eq!(of("0000000000000000aaaa"), ["m0", "m2", "m4", "m6"]);
        let all = (0..SHARES).flat_map(|share| of(&format!("{:016x}aaaa", share << 4)));
        assert_eq!(all.collect::<BTreeSet<_>>().len(), plants.len());
    }

    #[test]
    fn without_a_history_all_are_planted_but_those_on_real_servers() {
        let (plants, head) = (plants(), "30".to_owned());
        let choice = recent(&plants, &Recent { head, before: None });
        assert_eq!(choice.plants.len(), 32);
    }

    #[test]
    fn a_mistake_is_chosen_by_its_name() {
        let plants = plants();
        let choice = choose(Which::Named(&["m2".into(), "m32".into()]), &plants).expect("known");
        let names: Vec<&str> = choice.plants.iter().map(|plant| &*plant.name).collect();
        assert_eq!(names, ["m2", "m32"]);
        let error = choose(Which::Named(&["m".into()]), &plants).expect_err("unknown");
        assert_eq!(error.to_string(), "unknown mistake `m`; see tests/plants/");
    }
}
