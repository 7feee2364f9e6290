//! The debate on Redis locks as data: who claims what, and which runs show it. It knows
//! scenarios by their names and runs none.

mod html;
pub mod page;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// All claims, and the texts that make them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Critique {
    /// The heading of the page; absent in the claims that ship.
    pub title: Option<String>,
    /// What the page is about, in a paragraph; absent in the claims that ship.
    pub about: Option<String>,
    /// The texts, by the key that a claim's `source` names.
    pub sources: BTreeMap<String, Source>,
    /// The claims, in the order of a reader.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A text that makes claims.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its title.
    pub title: String,
    /// Its author, or publisher.
    pub author: String,
    /// When it was published, as far as it says.
    pub date: String,
    /// Where it is to be read.
    pub url: String,
}

/// One claim, its prediction, and what shows whether it comes true.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its letter and number, as in the scenarios' `claim`: `K1`.
    pub id: String,
    /// The key of its [`Source`].
    pub source: String,
    /// Where the text makes it: mostly a heading.
    pub section: String,
    /// The text's own words, verbatim; absent where the text was not at hand.
    pub quote: Option<String>,
    /// The claim in one sentence of ours.
    pub says: String,
    /// What the runs are to show, in one sentence.
    pub prediction: String,
    /// If they show it, the claim is supported on this condition only.
    pub condition: Option<String>,
    /// If they show it, the claim is not reproduced, for this reason.
    pub not_reproduced: Option<String>,
    /// The scenarios that show it; the first is the one to picture.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// The scenario whose sweep belongs to the claim.
    pub sweep: Option<String>,
    /// What else shows it, in words.
    pub elsewhere: Option<String>,
}

/// Where claims stand in their text.
#[derive(Deserialize)]
struct Places {
    #[serde(rename = "claim")]
    claims: Vec<toml::Spanned<IgnoredAny>>,
}

impl Critique {
    /// The claims that ship.
    pub fn shipped() -> Critique {
        Critique::parse(include_str!("claims.toml")).expect("a test reads the claims that ship")
    }

    /// Reads claims from TOML.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in one or more lines, and before it the line and a colon.
    pub fn parse(text: &str) -> Result<Critique, String> {
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let critique: Critique = toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| line(span.start));
            format!("{line}: {}", error.message())
        })?;
        let Places { claims: places } = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut seen = BTreeSet::new();
        for (claim, place) in critique.claims.iter().zip(&places) {
            let Claim { id, source, .. } = claim;
            let is_letters_and_number = id.starts_with(|first: char| first.is_ascii_uppercase())
                && id
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
            let problem = if !is_letters_and_number {
                "an id is capital letters and a number, as in \"T1\"".to_owned()
            } else if !seen.insert(id) {
                "another claim has this id".to_owned()
            } else if !critique.sources.contains_key(source) {
                format!("there is no [sources.{source}]")
            } else if claim.scenarios.is_empty() && claim.elsewhere.is_none() {
                "nothing shows it: list `scenarios`, or say in `elsewhere` what does".to_owned()
            } else if claim.condition.is_some() && claim.not_reproduced.is_some() {
                "it has a `condition`, or is `not_reproduced`".to_owned()
            } else if !claim
                .sweep
                .iter()
                .all(|swept| claim.scenarios.contains(swept))
            {
                "its `sweep` is none of its `scenarios`".to_owned()
            } else {
                continue;
            };
            let line = line(place.span().start);
            return Err(format!("{line}: claim {id:?}: {problem}"));
        }
        Ok(critique)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::{SHIPPED, Scenario, load};

    /// The letters of the debate's claims. B, M and P number statements of blog texts, problems of
    /// memory, and the problems of the matrix.
    const LETTERS: &str = "KARVLSJF";

    fn scenario(name: &str) -> Scenario {
        load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn each_claim_is_shown_by_scenarios_that_ship_or_elsewhere() {
        let critique = Critique::shipped();
        for claim in &critique.claims {
            let id = &claim.id;
            for name in &claim.scenarios {
                scenario(name);
            }
            if let Some(name) = &claim.sweep {
                assert!(scenario(name).sweep.is_some(), "{id}: {name} has no sweep");
            }
        }
    }

    #[test]
    fn each_scenario_of_the_debate_stands_under_its_claim() {
        let critique = Critique::shipped();
        for (name, _) in SHIPPED {
            let id = scenario(name).claim.expect("each has a claim");
            if !LETTERS.contains(&id[..1]) {
                continue;
            }
            let claim = critique.claims.iter().find(|claim| claim.id == id);
            let claim = claim.unwrap_or_else(|| panic!("{name}: there is no claim {id}"));
            assert!(
                claim.scenarios.iter().any(|listed| listed == name),
                "{name} is not listed under {id}"
            );
        }
    }

    #[test]
    fn claims_that_cannot_be_shown_are_refused() {
        let told = |claim: &str| {
            let text = format!(
                "[sources.s]\ntitle = \"\"\nauthor = \"\"\ndate = \"\"\nurl = \"\"\n[[claim]]\nsection = \
                 \"\"\nsays = \"\"\nprediction = \"\"\n{claim}"
            );
            Critique::parse(&text).err()
        };
        let check = |claim, expected: Option<&str>| assert_eq!(told(claim).as_deref(), expected);
        check("id = \"T1\"\nsource = \"s\"\nscenarios = [\"a\"]", None);
        check(
            "id = \"t 1\"\nsource = \"s\"",
            Some("6: claim \"t 1\": an id is capital letters and a number, as in \"T1\""),
        );
        check(
            "id = \"T1\"\nsource = \"other\"",
            Some("6: claim \"T1\": there is no [sources.other]"),
        );
        check(
            "id = \"T1\"\nsource = \"s\"",
            Some(
                "6: claim \"T1\": nothing shows it: list `scenarios`, or say in `elsewhere` what does",
            ),
        );
        check(
            "id = \"T1\"\nsource = \"s\"\nscenarios = [\"a\"]\nsweep = \"b\"",
            Some("6: claim \"T1\": its `sweep` is none of its `scenarios`"),
        );
        check(
            "id = \"T1\"\nsource = \"s\"\nscenarios = [\"a\"]\ncondition = \"\"\nnot_reproduced = \"\"",
            Some("6: claim \"T1\": it has a `condition`, or is `not_reproduced`"),
        );
    }

    #[test]
    fn a_quotation_is_at_most_two_sentences() {
        for claim in Critique::shipped().claims {
            let Some(quote) = &claim.quote else { continue };
            let ends = quote.matches(['.', '!', '?']).count();
            assert!(!quote.is_empty() && quote.len() < 300, "{}", claim.id);
            assert!(ends <= 3, "{}: {quote}", claim.id);
        }
    }
}
