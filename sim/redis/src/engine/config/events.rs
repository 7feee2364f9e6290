//! `notify-keyspace-events`: which events of keys are made known.

use crate::store::changes::Class;

/// The events to publish, and their channels: `notify-keyspace-events`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::engine) struct Notify {
    /// The letters, as CONFIG GET shows them.
    pub(in crate::engine) letters: String,
}

/// The classes that `A` stands for, in the order in which CONFIG GET shows them.
/// `t`, `d` and `m` (streams, modules, misses) never happen here.
pub(in crate::engine) const ALL: &str = "g$lshzxetd";

impl Notify {
    /// Parses the letters of CONFIG SET; `None` if one of them is invalid.
    pub(in crate::engine) fn parse(text: &[u8]) -> Option<Self> {
        let known = |letter: &u8| *letter == b'A' || b"g$lshzxetdnKEm".contains(letter);
        if !text.iter().all(known) {
            return None;
        }
        let has = |letter: char| text.contains(&(letter as u8));
        let mut letters: String = match has('A') || ALL.chars().all(has) {
            true => "A".to_owned(),
            false => ALL.chars().filter(|letter| has(*letter)).collect(),
        };
        letters.extend("nKEm".chars().filter(|letter| has(*letter)));
        Some(Notify { letters })
    }

    /// The form that CONFIG GET shows: 7.0 omits `n` next to `A`, but obeys it.
    pub(in crate::engine) fn shown(&self) -> String {
        match self.letters.strip_prefix('A') {
            Some(rest) => format!("A{}", rest.replace('n', "")),
            None => self.letters.clone(),
        }
    }

    /// Whether no events are ever published.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Whether events of this class are published.
    pub(in crate::engine) fn includes(&self, class: Class) -> bool {
        let in_all = class != Class::New && self.has('A');
        let mut letters = Class::LETTERS.iter().filter(|(known, _)| *known == class);
        in_all || letters.any(|(_, letter)| self.has(*letter))
    }

    pub(in crate::engine) fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }
}

#[cfg(test)]
mod tests {
    use super::Notify;

    #[test]
    fn event_flags_are_printed_like_redis() {
        for (text, expected) in [
            ("", Some("")),
            ("KEA", Some("AKE")),
            ("KEAn", Some("AKE")),
            ("g$lshzxetdnmKE", Some("AKEm")),
            ("K$xn", Some("$xnK")),
            ("Kq", None),
        ] {
            let shown = Notify::parse(text.as_bytes()).map(|notify| notify.shown());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }
}
