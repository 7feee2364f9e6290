//! Finds a shipped scenario by its name, a part of it, or its claim.

use super::shipped::SHIPPED;

/// The reason why a name does not identify a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookupError {
    /// No scenario matches.
    None,
    /// Several scenarios match.
    Several(Vec<String>),
}

/// Decides whether the wanted name means a scenario with this name and text.
type Matcher<'a> = &'a dyn Fn(&str, &str) -> bool;

/// Returns name and text of the shipped scenario with this name, or else with this last part of its
/// name, or else with this number of its claim, if it is the only one. Ignores case.
pub(super) fn find(wanted: &str) -> Result<(&'static str, &'static str), LookupError> {
    let by_name = |name: &str, _: &str| name.eq_ignore_ascii_case(wanted);
    let by_last_part = |name: &str, _: &str| {
        let last = name.rsplit('/').next();
        last.is_some_and(|last| last.eq_ignore_ascii_case(wanted))
    };
    let by_claim = |_: &str, text: &str| {
        let claim = text.lines().find_map(|line| line.strip_prefix("claim = "));
        claim.is_some_and(|claim| claim.trim_matches('"').eq_ignore_ascii_case(wanted))
    };
    let matchers: [Matcher<'_>; 3] = [&by_name, &by_last_part, &by_claim];
    for is_called in matchers {
        let found = SHIPPED.iter().filter(|(name, text)| is_called(name, text));
        match found.copied().collect::<Vec<_>>()[..] {
            [] => {}
            [only] => return Ok(only),
            ref several => {
                let names = several.iter().map(|(name, _)| (*name).into());
                return Err(LookupError::Several(names.collect()));
            }
        }
    }
    Err(LookupError::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, expected: Result<&str, &[&str]>) {
        let found = find(wanted).map(|(name, _)| name);
        let several = |names: &[&str]| match names {
            [] => LookupError::None,
            names => LookupError::Several(names.iter().map(|name| (*name).into()).collect()),
        };
        assert_eq!(found, expected.map_err(several), "{wanted}");
    }

    #[test]
    fn a_name_is_found_in_any_case_and_by_its_last_part() {
        for wanted in ["kleppmann/k1", "Kleppmann/K1", "k1", "K1"] {
            check(wanted, Ok("kleppmann/k1"));
        }
        check("crash", Err(&["problems/crash", "redisson/crash"]));
        check("k99", Err(&[]));
        check("kleppmann", Err(&[]));
        check("", Err(&[]));
    }

    #[test]
    fn unique_claim_selects_its_scenario() {
        check("b16", Ok("redisson/watchdog-retries-too-late"));
        check("b23", Err(&["baselines/unique", "baselines/unique-crash"]));
    }

    /// `claim` is found without parsing every scenario.
    #[test]
    fn every_claim_is_found() {
        for (name, text) in SHIPPED {
            let scenario = crate::scenario::load(name, &[]).expect("it ships");
            let Some(claim) = scenario.claim else {
                assert!(!text.contains("\nclaim"), "{name}");
                continue;
            };
            match find(&claim) {
                Ok(_) => {}
                Err(LookupError::Several(names)) => {
                    assert!(names.iter().any(|other| other == name))
                }
                Err(LookupError::None) => panic!("{name}: {claim}"),
            }
        }
    }
}
