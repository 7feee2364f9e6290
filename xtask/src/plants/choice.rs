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

/// The mistakes to plant, and why these.
type Choice<'a> = (Vec<&'a Plant>, String);

/// So many commits count as recent. A push has fewer; what it had come from, CI does not know.
const RECENT: usize = 8;

/// One mistake in this many is planted though nothing recent concerns it. A share has neighbours in the order of
/// their catchers, so that it needs few test binaries.
const SHARES: usize = 32;

/// What was before the recent commits.
struct Before {
    /// How many commits ago.
    commits: usize,
    /// The files that differ.
    touched: BTreeSet<String>,
    /// The mistakes of then.
    plants: Vec<Plant>,
}

/// Chooses mistakes; says in one line how many of how many, and why these.
pub fn choose<'a>(which: Which, plants: &'a [Plant]) -> Result<Choice<'a>> {
    let (chosen, why): Choice = match which {
        Which::Recent => {
            let most = format!("--max-count={}", RECENT + 1);
            let commits = git(&["rev-list", "--first-parent", &most, "HEAD"])?;
            let commits: Vec<&str> = commits.lines().collect();
            let head = commits.first().context("a repository has commits")?;
            // A shallow clone may have one commit only.
            let before = match commits[..] {
                [_, .., base] => Some(Before::read(base, commits.len() - 1)?),
                _ => None,
            };
            recent(plants, head, before.as_ref())
        }
        Which::All => (plants.iter().collect(), "all".into()),
        Which::Simulated => (simulated(plants), "all without real servers".into()),
        Which::Named(names) => {
            for name in names {
                let is_known = plants.iter().any(|plant| plant.name == *name);
                ensure!(is_known, "unknown mistake `{name}`; see {FOLDER}");
            }
            let named = plants.iter().filter(|p| names.contains(&p.name));
            (named.collect(), "as named".into())
        }
    };
    let (count, all) = (chosen.len(), plants.len());
    Ok((chosen, format!("planting {count} of {all} mistakes: {why}")))
}

fn simulated(plants: &[Plant]) -> Vec<&Plant> {
    plants.iter().filter(|plant| !plant.is_real()).collect()
}

/// The choice of CI; the same for the same commit.
fn recent<'a>(plants: &'a [Plant], head: &str, before: Option<&Before>) -> Choice<'a> {
    let mut simulated = simulated(plants);
    let Some(before) = before else {
        let why = "all without real servers, since the history has one commit only";
        return (simulated, why.to_owned());
    };
    let is_known = |plant: &Plant| before.plants.iter().any(|known| known.is_same(plant));
    let is_recent = |plant: &Plant| before.touched.contains(&plant.file) || !is_known(plant);
    simulated.sort_by_cached_key(|plant| plant.caught_by().ok());
    let share = share(head, SHARES as u64);
    let count = simulated.len();
    let due = simulated.into_iter().enumerate();
    let due =
        due.filter(|(index, plant)| is_recent(plant) || (index * SHARES / count) as u64 == share);
    let chosen: Vec<&Plant> = due.map(|(_, plant)| plant).collect();
    let concerned = chosen.iter().filter(|plant| is_recent(plant)).count();
    let why = format!(
        "{concerned} that the last {} commits concern, and of the others share {} of {SHARES}, by the id of \
         the last commit",
        before.commits,
        share + 1,
    );
    (chosen, why)
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

    /// Mistakes in files of their own, `m0` in `f0` and so on, with these tests.
    fn plants<'t>(tests: impl IntoIterator<Item = &'t str>) -> Vec<Plant> {
        let entry = |(index, test)| {
            format!(
                "[[plant]]\nname = \"m{index}\"\nwhat = \"w\"\nfile = \"f{index}\"\nfind = \"a\"\n\
                 put = \"b\"\ntest = \"p {test} x\"\n"
            )
        };
        let entries = tests.into_iter().enumerate().map(entry);
        data::read("p.toml", &entries.collect::<String>()).expect("valid")
    }

    /// 32 mistakes, and one on real servers.
    fn with_a_real_one() -> Vec<Plant> {
        plants([["--lib"; 32].as_slice(), &["--test agreement"]].concat())
    }

    fn names<'a>((chosen, _): &Choice<'a>) -> Vec<&'a str> {
        chosen.iter().map(|plant| &*plant.name).collect()
    }

    fn before(touched: &[&str], plants: &[Plant]) -> Before {
        Before {
            commits: RECENT,
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
            plants: plants.to_vec(),
        }
    }

    #[test]
    fn what_is_touched_or_new_is_planted_and_a_share_by_the_commit() {
        let plants = with_a_real_one();
        let check = |head: &str, touched: &[&str], known: usize, expected: &[&str], why: &str| {
            let before = before(touched, &plants[..known]);
            let choice = recent(&plants, head, Some(&before));
            assert_eq!(names(&choice), expected);
            assert!(choice.1.contains(why), "{}", choice.1);
        };
        let id = "0000000000000030aaaa";
        let why = "0 that the last 8 commits concern, and of the others share 4 of 32";
        check(id, &[], 33, &["m3"], why);
        check("0000000000000050aaaa", &[], 33, &["m5"], "share 6 of 32");
        check(id, &["f7", "other"], 33, &["m3", "m7"], "1 that");
        check(id, &[], 31, &["m3", "m31"], "1 that");
        check(id, &["f32"], 33, &["m3"], "0 that");
        let choice = recent(&plants, "30", None);
        assert_eq!(names(&choice).len(), 32);
    }

    #[test]
    fn a_share_has_neighbours_in_the_order_of_their_catchers() {
        let plants = plants((0..4 * SHARES).map(|index| ["--lib", "--test t"][index % 2]));
        let before = before(&[], &plants);
        let of = |head: &str| names(&recent(&plants, head, Some(&before)));
        assert_eq!(of("0000000000000000aaaa"), ["m0", "m2", "m4", "m6"]);
        let all = (0..SHARES).flat_map(|share| of(&format!("{:016x}aaaa", share << 4)));
        assert_eq!(all.collect::<BTreeSet<_>>().len(), plants.len());
    }

    #[test]
    fn a_mistake_is_chosen_by_its_name() {
        let plants = with_a_real_one();
        let named = ["m2", "m32"].map(str::to_owned);
        let choice = choose(Which::Named(&named), &plants).expect("known");
        assert_eq!(names(&choice), ["m2", "m32"]);
        assert_eq!(choice.1, "planting 2 of 33 mistakes: as named");
        let error = choose(Which::Named(&["m".into()]), &plants).expect_err("unknown");
        assert_eq!(error.to_string(), "unknown mistake `m`; see tests/plants/");
    }
}
