//! What was seen in an experiment, by name, and the rules over it.

use std::cmp::Ordering;

use locklab_vecmap::VecMap;
use serde::{Serialize, Serializer};

use super::experiment::{Comparison, Condition, Rule};

/// A word or a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A word.
    Word(String),
    /// A number.
    Number(f64),
}

impl Fact {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Fact::Number(number) => Some(*number),
            Fact::Word(_) => None,
        }
    }

    /// How it compares to a number or a word; `None` if one is a number and the other is not.
    fn compared(&self, other: &Fact) -> Option<Ordering> {
        match (self, other) {
            (Fact::Word(one), Fact::Word(other)) => Some(one.cmp(other)),
            (Fact::Number(one), Fact::Number(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fact::Word(word) => serializer.serialize_str(word),
            Fact::Number(number) => serializer.serialize_f64(*number),
        }
    }
}

impl From<&str> for Fact {
    fn from(word: &str) -> Fact {
        Fact::Word(word.into())
    }
}

impl From<String> for Fact {
    fn from(word: String) -> Fact {
        Fact::Word(word)
    }
}

impl From<f64> for Fact {
    fn from(number: f64) -> Fact {
        Fact::Number(number)
    }
}

/// What was seen: `after.whose`, `take.ms`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Facts(VecMap<String, Fact>);

impl Facts {
    /// Notes a fact.
    pub fn note(&mut self, of: &str, what: &str, fact: impl Into<Fact>) {
        self.0.insert(format!("{of}.{what}"), fact.into());
    }

    /// The fact of this name.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Fact)> {
        self.0.iter()
    }

    /// The number of this name, or that is written here.
    fn number(&self, text: &str) -> Option<f64> {
        match self.get(text) {
            Some(fact) => fact.number(),
            None => text.parse().ok(),
        }
    }

    /// The difference of two numbers, `take.ms - 1000`; `None` if one was not seen.
    pub fn difference(&self, text: &str) -> Option<f64> {
        let (one, other) = text.split_once(" - ")?;
        Some(self.number(one)? - self.number(other)?)
    }

    /// Whether a condition is true. One about something that was not seen is not, unless it asks for a difference.
    pub fn are(&self, condition: &Condition) -> bool {
        let Condition { fact, is, than } = condition;
        let known = self.get(than).cloned();
        let than = known.unwrap_or_else(|| match than.parse() {
            Ok(number) => Fact::Number(number),
            Err(_) => Fact::Word(than.clone()),
        });
        let compared = self.get(fact).and_then(|fact| fact.compared(&than));
        match is {
            Comparison::Equal => compared == Some(Ordering::Equal),
            Comparison::Different => compared != Some(Ordering::Equal),
            Comparison::Less => compared == Some(Ordering::Less),
            Comparison::Greater => compared == Some(Ordering::Greater),
        }
    }

    /// The verdict: that of the first rule that applies.
    pub fn judged<'r>(&self, rules: &'r [Rule]) -> Option<&'r Rule> {
        let applies = |rule: &&Rule| rule.when.iter().all(|condition| self.are(condition));
        rules.iter().find(applies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_words_numbers_and_facts() {
        let mut facts = Facts::default();
        facts.note("after", "whose", "another");
        facts.note("take", "ms", 12.5);
        facts.note("a", "token", 7.0);
        facts.note("b", "token", 8.0);
        let check = |text: &str, expected: bool| {
            let condition = text.parse().expect("it is a condition");
            assert_eq!(facts.are(&condition), expected, "{text}");
        };
        check("after.whose = another", true);
        check("after.whose = own", false);
        check("after.whose != own", true);
        check("take.ms < 2000", true);
        check("take.ms > 12.5", false);
        check("take.ms = another", false);
        check("b.token > a.token", true);
        check("a.token > b.token", false);
        check("unseen.r = ok", false);
        check("unseen.ms < 5", false);
        check("unseen.r != ok", true);
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in ["after.whose", "after.whose ~ own", ""] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }
}
