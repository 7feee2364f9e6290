//! Which libraries have a lock of this kind, from the published scorecard.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::published::{Row, SCORECARD, rows};

/// The lock of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Library {
    /// The library, its version and its lock: `redis-py 8.1.0, Lock`.
    pub name: String,
    /// Its language.
    pub language: String,
    /// By experiment, the verdict and whether it is good; not those that do not apply.
    #[serde(skip)]
    cells: BTreeMap<String, (String, Option<bool>)>,
    /// How many of the cells that matter are good.
    pub good: usize,
    /// Of the cells that matter, those that are bad: `A1 (orphan)`.
    pub bad: Vec<String>,
}

/// What a lock has to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// It is taken on a majority of several servers.
    pub has_majority: bool,
    /// Its grants have tokens.
    pub gives_tokens: bool,
    /// It is renewed while it is held.
    pub is_renewed: bool,
}

impl Wanted {
    /// The experiments that matter.
    pub fn cells(self) -> Vec<&'static str> {
        let mut cells = vec!["O1", "O2b", "A1", "L1", "S1", "S3"];
        if self.is_renewed {
            cells.extend(["O3", "O4", "O5", "L2"]);
        }
        if self.has_majority {
            cells.extend(["Q1", "Q1b", "Q2"]);
        }
        if self.gives_tokens {
            cells.push("I2");
        }
        cells
    }

    fn fits(self, library: &Library) -> bool {
        let has = |cell| library.cells.contains_key(cell);
        let gives_tokens = { library.cells.get("I2") }.is_some_and(|(_, good)| *good == Some(true));
        has("Q1") == self.has_majority
            && (!self.is_renewed || has("L2"))
            && (!self.gives_tokens || gives_tokens)
    }
}

/// The locks of this kind, by language and, in each, those with the most good cells first.
pub(crate) fn libraries(wanted: Wanted) -> Vec<Library> {
    let mut found: Vec<Library> = read();
    found.retain(|library| wanted.fits(library));
    for library in &mut found {
        let is_good = |cell: &str| matches!(library.cells.get(cell), Some((_, Some(true))));
        library.good = wanted.cells().iter().filter(|cell| is_good(cell)).count();
        let bad = wanted.cells().into_iter().filter_map(|cell| {
            let (verdict, good) = library.cells.get(cell)?;
            (*good == Some(false)).then(|| format!("{cell} ({verdict})"))
        });
        library.bad = bad.collect();
    }
    found.sort_by_key(|library| {
        let name = library.name.to_lowercase();
        let place = (usize::MAX - library.good, library.bad.len());
        (library.language.clone(), place, name)
    });
    found
}

/// All locks of libraries on the scorecard; the ports of the catalogue are none.
fn read() -> Vec<Library> {
    let mut locks: BTreeMap<(String, String), Library> = BTreeMap::new();
    let of_libraries = |row: &Row| row.get("port_of").is_none_or(|library| library.is_empty());
    for row in rows(SCORECARD).filter(of_libraries) {
        let field = |name: &str| row.get(name).cloned().unwrap_or_default();
        let [library, version, language] = ["library", "version", "language"].map(field);
        let [lock, cell, verdict, good] = ["lock", "experiment", "verdict", "good"].map(field);
        let name = format!("{library} {version}, {lock}");
        let key = (language.clone(), name.clone());
        let found = locks.entry(key).or_insert_with(|| Library {
            name,
            language,
            cells: BTreeMap::new(),
            good: 0,
            bad: vec![],
        });
        if verdict != NOT_APPLICABLE {
            found.cells.insert(cell, (verdict, good.parse().ok()));
        }
    }
    locks.into_values().collect()
}

/// The verdict on a library that has no such call.
const NOT_APPLICABLE: &str = "not-applicable";

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Wanted = Wanted {
        has_majority: false,
        gives_tokens: false,
        is_renewed: false,
    };

    fn names(wanted: Wanted) -> Vec<String> {
        let found = libraries(wanted).into_iter();
        found.map(|library| library.name).collect()
    }

    #[test]
    fn scorecard_is_read_with_all_its_cells() {
        let all = read();
        assert!(all.len() > 40, "{}", all.len());
        for library in &all {
            assert!(library.cells.contains_key("O1"), "{library:?}");
            assert!(!library.name.contains("its port"), "{library:?}");
        }
    }

    #[test]
    fn lock_on_several_servers_is_not_one_on_a_single_one() {
        let (one, several) = (
            names(PLAIN),
            names(Wanted {
                has_majority: true,
                ..PLAIN
            }),
        );
        let is_redsync = |name: &String| name.starts_with("redsync 4");
        assert!(several.iter().any(is_redsync) && !one.iter().any(is_redsync));
        assert!(one.iter().any(|name| name.starts_with("redislock ")));
    }

    #[test]
    fn lock_with_tokens_gives_some() {
        let found = names(Wanted {
            gives_tokens: true,
            ..PLAIN
        });
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|name| name.ends_with("RFencedLock")));
    }

    #[test]
    fn bad_cells_are_named_and_most_good_ones_come_first() {
        let found = libraries(PLAIN);
        let of = |language: &str| {
            let of = found.iter().filter(|it| it.language == language);
            of.map(|it| usize::MAX - it.good).collect::<Vec<_>>()
        };
        assert!(of("Python").is_sorted() && of("Java").is_sorted());
        let go = found.iter().find(|it| it.language == "Go");
        let cells = PLAIN.cells().len();
        assert_eq!(go.map(|it| (it.good, it.bad.len())), Some((cells, 0)));
        let redis_py = found.iter().find(|it| it.name == "redis-py 8.1.0, Lock");
        let bad = &redis_py.expect("it is there").bad;
        assert_eq!(bad[..], ["A1 (orphan)", "L1 (never)"]);
    }
}
