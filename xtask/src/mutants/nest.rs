//! Puts mutants into a text as switches, one within another.
//!
//! A mutant may lie within another: an operator in a condition in a function. So each switch has its
//! mutants' texts as they were, and in the last branch what stood there, with the switches within.

use std::ops::Range;

use super::generate::{Edit, Mutant};

/// A text with switches.
#[derive(Debug, Default)]
pub struct Nested {
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

/// The text with these mutants of it, each with its number. A mutant that overlaps one before it and is
/// not within is left out. `chosen` is an expression that tells whether a mutant is chosen.
pub fn nested(
    text: &str,
    mutants: &[(usize, &Mutant)],
    chosen: &dyn Fn(usize) -> String,
) -> Nested {
    let mut out = Nested::default();
    let mut sorted = mutants.to_vec();
    sorted.sort_by_key(|(number, mutant)| {
        (mutant.at.start, std::cmp::Reverse(mutant.at.end), *number)
    });
    write(text, 0..text.len(), &sorted, chosen, &mut out);
    out
}

fn write(
    text: &str,
    within: Range<usize>,
    mutants: &[(usize, &Mutant)],
    chosen: &dyn Fn(usize) -> String,
    out: &mut Nested,
) {
    let mut done = within.start;
    let mut rest = mutants;
    while let Some((_, first)) = rest.first() {
        let at = first.at.clone();
        let same = rest.iter().take_while(|(_, it)| it.at == at).count();
        let (here, others) = rest.split_at(same);
        let inner = others
            .iter()
            .take_while(|(_, it)| it.at.start < at.end)
            .count();
        let (inner, behind) = others.split_at(inner);
        let inner: Vec<_> = inner
            .iter()
            .filter(|(_, it)| it.at.end <= at.end)
            .copied()
            .collect();
        rest = behind;
        if at.start < done {
            continue;
        }
        out.text += &text[done..at.start];
        done = at.end;
        switch(text, at, here, &inner, chosen, out);
    }
    out.text += &text[done..within.end];
}

fn switch(
    text: &str,
    at: Range<usize>,
    mutants: &[(usize, &Mutant)],
    inner: &[(usize, &Mutant)],
    chosen: &dyn Fn(usize) -> String,
    out: &mut Nested,
) {
    let start = out.text.len();
    let mut puts = Vec::new();
    let no_match = mutants.iter().find(|(_, it)| it.edit == Edit::NoMatch);
    if let Some((number, _)) = no_match {
        let has_guard = !at.is_empty();
        out.text += if has_guard { "(" } else { " if " };
        write_all(text, at, mutants, inner, chosen, out, &mut puts);
        out.text += if has_guard { ") && " } else { "" };
        let begun = out.text.len();
        out.text += &format!("!{}", chosen(*number));
        puts.push((*number, begun..out.text.len()));
    } else {
        out.text += "({ ";
        write_all(text, at, mutants, inner, chosen, out, &mut puts);
        out.text += " })";
    }
    let whole = start..out.text.len();
    let place = |(mutant, put)| Place {
        mutant,
        put,
        switch: whole.clone(),
    };
    out.places.extend(puts.into_iter().map(place));
}

/// The branches of those that put something, and what stood here.
fn write_all(
    text: &str,
    at: Range<usize>,
    mutants: &[(usize, &Mutant)],
    inner: &[(usize, &Mutant)],
    chosen: &dyn Fn(usize) -> String,
    out: &mut Nested,
    puts: &mut Vec<(usize, Range<usize>)>,
) {
    let mut is_switched = false;
    for (number, mutant) in mutants {
        let Edit::Put(put) = &mutant.edit else {
            continue;
        };
        out.text += &format!("if {} {{ ", chosen(*number));
        let begun = out.text.len();
        out.text += put;
        puts.push((*number, begun..out.text.len()));
        out.text += " } else ";
        is_switched = true;
    }
    out.text += if is_switched { "{ " } else { "" };
    write(text, at, inner, chosen, out);
    out.text += if is_switched { " }" } else { "" };
}

#[cfg(test)]
mod tests {
    use super::super::generate::mutants;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = mutants("a.rs", text);
        let numbered: Vec<_> = found.iter().enumerate().collect();
        let nested = nested(text, &numbered, &|number| format!("m{number}"));
        assert_eq!(nested.text, expected);
        for place in &nested.places {
            let put = &nested.text[place.put.clone()];
            match &found[place.mutant].edit {
                Edit::Put(text) => assert_eq!(put, text),
                Edit::NoMatch => assert!(put.starts_with("!m")),
            }
        }
    }

    #[test]
    fn a_switch_stands_within_another() {
        check(
            "fn f() { a < b && c }",
            "fn f() { ({ if m0 { () } else if m1 { a < b || c } else { ({ if m2 { a <= b } else \
             if m3 { a > b } else { a < b } }) && c } }) }",
        );
    }

    #[test]
    fn an_arm_gets_a_guard_or_another_condition_in_its_own() {
        check(
            "fn f() -> ! { match a { B => c, D if e == g => h, _ => i } }",
            "fn f() -> ! { match a { B if !m0 => c, D if (if m2 { e != g } else { e == g }) && !m1 => \
             h, _ => i } }",
        );
    }
}
