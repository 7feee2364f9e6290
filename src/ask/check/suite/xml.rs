//! Text in XML 1.0: without markup, terminal escape sequences and control characters.

/// The text of an element.
pub(super) fn text(text: &str) -> String {
    escape(text, &['\r'])
}

/// The value of an attribute, in its quotes.
pub(crate) fn quoted(value: &str) -> String {
    format!("\"{}\"", escape(value, &['\t', '\n', '\r']))
}

/// Replaces markup and `spaces` by references. A parser reads a carriage return that is written as
/// itself as a line feed, and any such space in an attribute as a blank (sections 2.11 and 3.3.3).
fn escape(text: &str, spaces: &[char]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c if spaces.contains(&c) => escaped.push_str(&format!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Where in a terminal's escape sequence (ECMA-48) a character stands.
#[derive(Clone, Copy)]
enum State {
    Outside,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes, as in `ESC ( B`.
    Intermediate,
    /// After `ESC [`: up to the final byte, as in `ESC [ 31 m`.
    Control,
    /// After `ESC ]`: up to BEL or the next ESC.
    SystemCommand,
    /// Another string of a device: up to the next ESC.
    Device,
}

/// Removes escape sequences, and characters that XML 1.0 does not allow (section 2.2) or that only
/// control a terminal. A sequence that does not end reaches to the end of the text.
fn printable(text: &str) -> String {
    let mut state = State::Outside;
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        state = match (state, c) {
            (_, '\u{1b}') => State::Escape,
            // CAN and SUB cancel a sequence.
            (_, '\u{18}' | '\u{1a}') => State::Outside,
            (State::Outside, c) => {
                let removed = c.is_control() && !matches!(c, '\t' | '\n' | '\r');
                if !removed && !matches!(c, '\u{fffe}' | '\u{ffff}') {
                    kept.push(c);
                }
                State::Outside
            }
            // A terminal begins a new line even within these.
            (State::Escape | State::Intermediate | State::Control, '\n') => {
                kept.push('\n');
                state
            }
            (State::Escape, '[') => State::Control,
            (State::Escape, ']') => State::SystemCommand,
            (State::Escape, 'P' | 'X' | '^' | '_') => State::Device,
            (State::Escape, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, '0'..='~')
            | (State::Control, '@'..='~')
            | (State::SystemCommand, '\u{7}') => State::Outside,
            (state, _) => state,
        };
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: &str) {
        assert_eq!(printable(raw), expected, "{raw:?}");
    }

    #[test]
    fn escape_sequences_are_removed_whole() {
        check("\u{1b}[1;31mred\u{1b}[0m", "red");
        check("\u{1b}]0;a title\u{7}after", "after");
        check("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check("\u{1b}(Bafter", "after");
        check("\u{1b}cafter", "after");
        check("\u{1b}Pq#0\u{7}\u{1b}\\after", "after");
        check("\u{1b}[3\u{18}after", "after");
        check("before\u{1b}[31", "before");
        check("a\u{1b}[\n31mb", "a\nb");
    }

    #[test]
    fn characters_that_xml_forbids_are_removed() {
        check(
            "a\0b\u{1}c\u{b}d\u{c}e\u{1f}f\u{fffe}g\u{ffff}h",
            "abcdefgh",
        );
        check("a\u{7f}b\u{85}c\u{9f}d", "abcd");
        check(
            "\t\r\n é\u{a0}\u{fffd}\u{10ffff}",
            "\t\r\n é\u{a0}\u{fffd}\u{10ffff}",
        );
    }

    #[test]
    fn a_parser_reads_the_same_text() {
        const HOSTILE: &str = "]]> <script> ' \" & &amp; &#0; <!-- <![CDATA[ -->\t\n\r\r\n  ";
        let document = format!("<e a={}>{}</e>", quoted(HOSTILE), text(HOSTILE));
        let document = roxmltree::Document::parse(&document).expect("well-formed");
        let element = document.root_element();
        assert_eq!(element.attribute("a"), Some(HOSTILE));
        assert_eq!(element.text(), Some(HOSTILE));
        assert_eq!(element.children().count(), 1, "text and nothing else");
    }
}
