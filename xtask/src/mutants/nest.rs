//! Puts mutants into a text as switches, one within another.
//!
//! A mutant may lie within another: an operator in a condition in a function. So each switch has its
//! mutants' texts as they were, and in the last branch what stood there, with the switches within.

use std::ops::Range;

use super::generate::{Edit, Mutant};

/// A mutant with its number.
type Numbered<'a> = (usize, &'a Mutant);

/// A text with switches.
#[derive(Debug)]
pub struct Nested<'a> {
    from: &'a str,
    pub text: String,
    /// Where the text of each mutant is now.
    pub places: Vec<Place>,
}

/// Where a mutant is in a text with switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub mutant: usize,
    /// Its own text.
    pub put: Range<usize>,
    /// The whole switch.
    pub switch: Range<usize>,
}

/// The text with these mutants of it. A mutant that overlaps one before it and is not within is left out.
pub fn nested<'a>(from: &'a str, mutants: &[Numbered]) -> Nested<'a> {
    let mut nested = Nested {
        from,
        text: String::new(),
        places: Vec::new(),
    };
    let mut sorted = mutants.to_vec();
    sorted.sort_by_key(|(number, it)| (it.at.start, std::cmp::Reverse(it.at.end), *number));
    nested.write(0..from.len(), &sorted);
    nested
}

/// An expression that tells whether a mutant is chosen.
fn on(number: usize) -> String {
    format!("crate::mutant_switch::on({number})")
}

impl Nested<'_> {
    fn write(&mut self, within: Range<usize>, mutants: &[Numbered]) {
        let mut done = within.start;
        let mut rest = mutants;
        while let Some((_, first)) = rest.first() {
            let at = first.at.clone();
            let same = rest.iter().take_while(|(_, it)| it.at == at).count();
            let (here, others) = rest.split_at(same);
            let begun = { others.iter() }
                .take_while(|(_, it)| it.at.start < at.end)
                .count();
            let (begun, behind) = others.split_at(begun);
            let is_inner = |it: &&Numbered| it.1.at.end <= at.end;
            let inner: Vec<Numbered> = begun.iter().filter(is_inner).copied().collect();
            rest = behind;
            if at.start < done {
                continue;
            }
            self.text += &self.from[done..at.start];
            done = at.end;
            self.switch(at, here, &inner);
        }
        self.text += &self.from[done..within.end];
    }

    fn switch(&mut self, at: Range<usize>, mutants: &[Numbered], inner: &[Numbered]) {
        let start = self.text.len();
        let mut puts = Vec::new();
        let no_match = mutants.iter().find(|it| it.1.edit == Edit::NoMatch);
        self.text += match no_match {
            None => "({ ",
            Some(_) if at.is_empty() => " if ",
            Some(_) => "(",
        };
        for (number, mutant) in mutants {
            if let Edit::Put(put) = &mutant.edit {
                self.text += &format!("if {} {{ ", on(*number));
                puts.push((*number, self.put(put)));
                self.text += " } else ";
            }
        }
        let has_branches = !puts.is_empty();
        self.text += if has_branches { "{ " } else { "" };
        self.write(at.clone(), inner);
        self.text += if has_branches { " }" } else { "" };
        match no_match {
            None => self.text += " })",
            Some((number, _)) => {
                self.text += if at.is_empty() { "" } else { ") && " };
                puts.push((*number, self.put(&format!("!{}", on(*number)))));
            }
        }
        let switch = start..self.text.len();
        let place = |(mutant, put)| Place {
            mutant,
            put,
            switch: switch.clone(),
        };
        self.places.extend(puts.into_iter().map(place));
    }

    /// Appends a text; returns its place.
    fn put(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text += text;
        start..self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::mutants;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = mutants("a.rs", text);
        let numbered: Vec<_> = found.iter().enumerate().collect();
        let nested = nested(text, &numbered);
        assert_eq!(
            nested.text.replace("crate::mutant_switch::on", "m"),
            expected
        );
        for place in &nested.places {
            let put = &nested.text[place.put.clone()];
            match &found[place.mutant].edit {
                Edit::Put(text) => assert_eq!(put, text),
                Edit::NoMatch => assert!(put.starts_with("!crate")),
            }
        }
    }

    #[test]
    fn a_switch_stands_within_another() {
        check(
            "fn f() { a < b && c }",
            "fn f() { ({ if m(0) { () } else if m(1) { a < b || c } else { ({ if m(2) { a <= b } else \
             if m(3) { a > b } else { a < b } }) && c } }) }",
        );
    }

    #[test]
    fn an_arm_gets_a_guard_or_another_condition_in_its_own() {
        check(
            "fn f() -> ! { match a { B => c, D if e == g => h, _ => i } }",
            "fn f() -> ! { match a { B if !m(0) => c, D if (if m(2) { e != g } else { e == g }) && !m(1) => \
             h, _ => i } }",
        );
    }
}
