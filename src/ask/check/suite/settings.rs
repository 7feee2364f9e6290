//! `locklab.toml`: default options of `locklab check`, by profile.
//!
//! ```toml
//! [profile.default]
//! paths = ["scenarios", "regressions"]
//!
//! [profile.nightly]
//! budget = "30m"
//! seed-from = "HEAD"
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;

/// The name of the file, in the current folder.
const FILE: &str = "locklab.toml";

/// The profile of which every other one has what it does not say itself.
const DEFAULT: &str = "default";

/// Options of `locklab check`; those of the command line come first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Profile {
    /// Scenarios, recordings and folders; see [`find`](super::find).
    pub paths: Vec<String>,
    /// An expression; see [`Filter`](super::Filter).
    pub filter: Option<String>,
    /// How long it may take: `90s`, `5m`, `1h`.
    pub budget: Option<String>,
    /// A commit, or any text, from which seeds are made.
    pub seed_from: Option<String>,
    /// The baseline to compare with.
    pub baseline: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
}

/// The profile of this name in `locklab.toml`, `default` if none is given. Without the file, and
/// without a name, nothing is set.
///
/// # Errors
///
/// If the file cannot be read, or there is no such profile.
pub fn profile(name: Option<&str>) -> anyhow::Result<Profile> {
    let path = Path::new(FILE);
    if !path.exists() {
        return match name {
            None => Ok(Profile::default()),
            Some(name) => Err(anyhow!(
                "there is no {FILE} in this folder with a profile {name}"
            )),
        };
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {FILE}"))?;
    read(&text, name)
}

fn read(text: &str, name: Option<&str>) -> anyhow::Result<Profile> {
    let file: File = toml::from_str(text).map_err(|error| anyhow!("{FILE}: {error}"))?;
    let profiles = file.profile;
    let default = profiles.get(DEFAULT).cloned().unwrap_or_default();
    let Some(name) = name.filter(|name| *name != DEFAULT) else {
        return Ok(default);
    };
    let Some(own) = profiles.get(name).cloned() else {
        let names: Vec<&str> = profiles.keys().map(String::as_str).collect();
        bail!("{FILE} has no [profile.{name}], only {}", names.join(", "));
    };
    Ok(Profile {
        paths: match own.paths.is_empty() {
            true => default.paths,
            false => own.paths,
        },
        filter: own.filter.or(default.filter),
        budget: own.budget.or(default.budget),
        seed_from: own.seed_from.or(default.seed_from),
        baseline: own.baseline.or(default.baseline),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        [profile.default]
        paths = [\"mine\"]
        filter = \"lock(redlock)\"
        [profile.nightly]
        budget = \"1h\"
        filter = \"claim(K*)\"
    ";

    #[test]
    fn a_profile_has_what_it_says_and_the_rest_of_the_default() {
        let nightly = read(TEXT, Some("nightly")).expect("it is there");
        assert_eq!(nightly.paths, ["mine"]);
        assert_eq!(nightly.filter.as_deref(), Some("claim(K*)"));
        assert_eq!(nightly.budget.as_deref(), Some("1h"));
        let default = read(TEXT, None).expect("it is there");
        assert_eq!(default.filter.as_deref(), Some("lock(redlock)"));
        assert_eq!(default.budget, None);
        assert_eq!(read("", None).expect("empty"), Profile::default());
    }

    #[test]
    fn what_is_not_there_is_told() {
        let told = |text, name| read(text, name).expect_err("not there").to_string();
        assert_eq!(
            told(TEXT, Some("daily")),
            "locklab.toml has no [profile.daily], only default, nightly"
        );
        assert!(told("[profile.a]\nbugdet = 1", None).contains("unknown field `bugdet`"));
    }
}
