//! How the program ends.

use locklab_evidence::Judgement;

/// How the program ends. The numbers are part of its interface: the README has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Verdicts as predicted, and no violation where nothing is predicted; or there was
    /// nothing to judge.
    AsPredicted = 0,
    /// Asked for something that cannot be done.
    Usage = 1,
    /// A verdict differs from its prediction, or there is a violation that was not predicted.
    Differs = 2,
    /// No run could be judged where a verdict was predicted.
    Inconclusive = 3,
    /// A bug in Locklab (`EX_SOFTWARE` of sysexits.h).
    Bug = 70,
    /// Ended by Ctrl-C, as shells report it.
    Interrupted = 130,
}

impl Exit {
    /// The exit code after this judgement.
    pub fn of(judgement: Judgement) -> Exit {
        match judgement {
            Judgement::AsPredicted | Judgement::Unpredicted => Exit::AsPredicted,
            Judgement::Inconclusive => Exit::Inconclusive,
            Judgement::Differs => Exit::Differs,
        }
    }

    /// The worse of two exit codes: a difference outweighs an inconclusive result.
    #[must_use]
    pub fn worse(self, other: Exit) -> Exit {
        // Not the greater number: 3 is less serious than 2.
        match (self, other) {
            (Exit::AsPredicted, other) => other,
            (Exit::Inconclusive, Exit::Differs) => Exit::Differs,
            (one, _) => one,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_outweighs_an_inconclusive_result() {
        use Exit::{AsPredicted, Differs, Inconclusive};
        for (one, other, expected) in [
            (AsPredicted, AsPredicted, AsPredicted),
            (AsPredicted, Inconclusive, Inconclusive),
            (AsPredicted, Differs, Differs),
            (Inconclusive, Differs, Differs),
        ] {
            assert_eq!(one.worse(other), expected);
            assert_eq!(other.worse(one), expected);
        }
    }
}
