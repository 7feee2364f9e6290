//! Which cases of a suite run: an expression over what a scenario is about.
//!
//! ```text
//! claim(K10) | claim(K9)
//! lock(redlock*) & !fault(pause)
//! property(lease) & on(redis)
//! ```
//!
//! `!` binds strongest, then `&`, then `|`. An argument is compared without regard to case; `*`
//! stands for any characters. That of `name` need only be a part of the name.

use std::str::FromStr;

use locklab_check::Property;
use locklab_history::FaultKind;
use locklab_model::scenario::Scenario;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Both.
    And(Box<Filter>, Box<Filter>),
    /// At least one.
    Or(Box<Filter>, Box<Filter>),
    /// The opposite.
    Not(Box<Filter>),
    /// What a predicate says of a scenario.
    Is(Predicate, Pattern),
}

/// What is asked of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predicate {
    /// Its name, or a part of it.
    Name,
    /// The number of its claim.
    Claim,
    /// The name of its lock.
    Lock,
    /// The kind of one of its faults.
    Fault,
    /// A property for which it has a prediction.
    Property,
    /// Where it can run: `world` or `redis`.
    On,
}

/// A word in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    fn new(text: &str) -> Self {
        Pattern(text.to_lowercase())
    }

    /// Whether it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        fn rest(pattern: &str, text: &str) -> bool {
            match pattern.split_once('*') {
                None => pattern == text,
                Some((before, after)) => text.strip_prefix(before).is_some_and(|text| {
                    let starts = text.char_indices().map(|(start, _)| start);
                    { starts }
                        .chain([text.len()])
                        .any(|start| rest(after, &text[start..]))
                }),
            }
        }
        rest(&self.0, &text.to_lowercase())
    }
}

impl Filter {
    /// Whether a scenario is among the chosen ones.
    pub fn accepts(&self, scenario: &Scenario) -> bool {
        match self {
            Filter::And(one, other) => one.accepts(scenario) && other.accepts(scenario),
            Filter::Or(one, other) => one.accepts(scenario) || other.accepts(scenario),
            Filter::Not(filter) => !filter.accepts(scenario),
            Filter::Is(predicate, pattern) => predicate.holds(pattern, scenario),
        }
    }
}

impl Predicate {
    const ALL: [(&'static str, Predicate); 6] = [
        ("name", Predicate::Name),
        ("claim", Predicate::Claim),
        ("lock", Predicate::Lock),
        ("fault", Predicate::Fault),
        ("property", Predicate::Property),
        ("on", Predicate::On),
    ];

    fn holds(self, pattern: &Pattern, scenario: &Scenario) -> bool {
        match self {
            Predicate::Name => Pattern(format!("*{}*", pattern.0)).matches(&scenario.name),
            Predicate::Claim => {
                let claim = scenario.claim.as_deref();
                claim.is_some_and(|claim| pattern.matches(claim))
            }
            Predicate::Lock => pattern.matches(scenario.lock.entry().name),
            Predicate::Fault => {
                let drawn = scenario.campaign.iter().flat_map(|drawn| &drawn.faults);
                let stated = scenario.fault.values().map(|fault| fault.kind().name());
                { stated }
                    .chain(drawn.map(FaultKind::name))
                    .any(|kind| pattern.matches(kind))
            }
            Predicate::Property => {
                let predicted = scenario.expect.keys();
                { predicted }.any(|property| pattern.matches(property.name()))
            }
            Predicate::On => {
                let is_real = || locklab_real::why_not(scenario).is_none();
                pattern.matches("world") || pattern.matches("redis") && is_real()
            }
        }
    }

    /// The names that a pattern may match; empty if there is no list of them.
    fn names(self) -> Vec<String> {
        let names: Vec<&str> = match self {
            Predicate::Name | Predicate::Claim => vec![],
            Predicate::Lock => { locklab_locks::catalogue().into_iter() }
                .map(|entry| entry.name)
                .collect(),
            Predicate::Fault => { FaultKind::ALL.iter() }.map(FaultKind::name).collect(),
            Predicate::Property => Property::ALL.iter().map(|p| p.name()).collect(),
            Predicate::On => vec!["world", "redis"],
        };
        names.into_iter().map(String::from).collect()
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text };
        let filter = parser.either()?;
        match parser.rest.trim_start() {
            "" => Ok(filter),
            rest => Err(format!(
                "unexpected `{rest}`; join two expressions with & or |"
            )),
        }
    }
}

/// Recursive descent, a method for each strength of binding.
struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn either(&mut self) -> Result<Filter, String> {
        let mut filter = self.both()?;
        while self.takes("|") {
            filter = Filter::Or(Box::new(filter), Box::new(self.both()?));
        }
        Ok(filter)
    }

    fn both(&mut self) -> Result<Filter, String> {
        let mut filter = self.one()?;
        while self.takes("&") {
            filter = Filter::And(Box::new(filter), Box::new(self.one()?));
        }
        Ok(filter)
    }

    fn one(&mut self) -> Result<Filter, String> {
        if self.takes("!") {
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        if self.takes("(") {
            let filter = self.either()?;
            return match self.takes(")") {
                true => Ok(filter),
                false => Err("a parenthesis is not closed".into()),
            };
        }
        let word = self.until(|c| !c.is_alphanumeric());
        let known = Predicate::ALL.iter().find(|(name, _)| *name == word);
        let Some((name, predicate)) = known else {
            let names = Predicate::ALL
                .map(|(name, _)| format!("{name}(…)"))
                .join(", ");
            return Err(match word {
                "" => format!("a predicate is missing: {names}"),
                word => format!("there is no predicate `{word}`, only {names}"),
            });
        };
        if !self.takes("(") {
            return Err(format!("write {name}(…), with what it has to be"));
        }
        let argument = self.until(|c| c == ')').trim();
        if !self.takes(")") {
            return Err(format!("the parenthesis of {name}( is not closed"));
        }
        let pattern = Pattern::new(argument);
        let names = predicate.names();
        if !names.is_empty() && !names.iter().any(|name| pattern.matches(name)) {
            return Err(format!(
                "{name}({argument}) matches none of {}",
                names.join(", ")
            ));
        }
        Ok(Filter::Is(*predicate, pattern))
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn until(&mut self, is_end: impl Fn(char) -> bool) -> &'t str {
        let text = self.rest.trim_start();
        let end = text.find(is_end).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locklab_model::scenario::load;

    #[track_caller]
    fn check(filter: &str, expected: &[&str]) {
        let filter: Filter = filter.parse().expect(filter);
        let all = [
            "kleppmann/k1",
            "kleppmann/k9",
            "kleppmann/k16",
            "redis-docs/r5",
        ];
        let accepted: Vec<&str> = { all.into_iter() }
            .filter(|name| filter.accepts(&load(name, &[]).expect("it ships")))
            .collect();
        assert_eq!(accepted, expected);
    }

    #[test]
    fn what_a_scenario_is_about() {
        check("claim(k9)", &["kleppmann/k9"]);
        check("name(k1)", &["kleppmann/k1", "kleppmann/k16"]);
        check("name(*docs/*)", &["redis-docs/r5"]);
        check(
            "fault(pause)",
            &["kleppmann/k1", "kleppmann/k16", "redis-docs/r5"],
        );
        check("lock(redlock)", &["kleppmann/k16"]);
        check("property(recovery)", &["kleppmann/k16"]);
        check("on(redis) & !claim(*)", &[]);
    }

    #[test]
    fn not_binds_stronger_than_and_and_and_than_or() {
        check("claim(K1) | claim(K9) & fault(pause)", &["kleppmann/k1"]);
        check("(claim(K1) | claim(K9)) & !fault(pause)", &["kleppmann/k9"]);
        check("!claim(K*)|name(k16)", &["kleppmann/k16", "redis-docs/r5"]);
    }

    #[test]
    fn what_cannot_be_meant_is_told() {
        let told = |filter: &str| filter.parse::<Filter>().expect_err(filter);
        insta::assert_snapshot!(told("lokc(redlock)"), @"there is no predicate `lokc`, only name(…), claim(…), lock(…), fault(…), property(…), on(…)");
        insta::assert_snapshot!(told("claim(K1) &"), @"a predicate is missing: name(…), claim(…), lock(…), fault(…), property(…), on(…)");
        insta::assert_snapshot!(told("claim(K1"), @"the parenthesis of claim( is not closed");
        insta::assert_snapshot!(told("(claim(K1)"), @"a parenthesis is not closed");
        insta::assert_snapshot!(told("claim K1"), @"write claim(…), with what it has to be");
        insta::assert_snapshot!(told("claim(K1) claim(K2)"), @"unexpected `claim(K2)`; join two expressions with & or |");
        insta::assert_snapshot!(told("on(valkey)"), @"on(valkey) matches none of world, redis");
    }
}
