//! What runs say of a claim, apart from whether they came out as this project predicts them.
//!
//! A prediction may be that a claim does not hold, or holds on a condition: that it comes true is a check of
//! this build, and says nothing for the claim.

use locklab_evidence::Judgement;
use serde::Serialize;

use super::debate::Claim;

/// Where a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    Supported,
    /// The claim has the condition.
    SupportedWithConditions,
    /// The claim has the reason.
    NotReproduced,
    /// Runs were too few, or came out otherwise than predicted, so that they have to be read first.
    Undecided,
}

impl Standing {
    /// All of them, in this order.
    pub(super) const ALL: [Standing; 4] = [
        Standing::Supported,
        Standing::SupportedWithConditions,
        Standing::NotReproduced,
        Standing::Undecided,
    ];

    /// Where this claim stands by the verdict on its predictions; `None` if no scenario shows it.
    pub(super) fn of(claim: &Claim, verdict: Option<Judgement>) -> Option<Standing> {
        Some(match verdict? {
            Judgement::Inconclusive | Judgement::Differs => Standing::Undecided,
            Judgement::AsPredicted | Judgement::Unpredicted => match claim {
                Claim {
                    condition: Some(_), ..
                } => Standing::SupportedWithConditions,
                Claim {
                    not_reproduced: Some(_),
                    ..
                } => Standing::NotReproduced,
                _ => Standing::Supported,
            },
        })
    }

    /// A few words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Standing::Supported => "supported",
            Standing::SupportedWithConditions => "supported with conditions",
            Standing::NotReproduced => "not reproduced",
            Standing::Undecided => "undecided",
        }
    }

    /// The class in the page's style sheet.
    pub(super) fn look(self) -> &'static str {
        match self {
            Standing::Supported => "good",
            Standing::SupportedWithConditions => "partly",
            Standing::NotReproduced => "bad",
            Standing::Undecided => "open",
        }
    }

    /// Why the claim stands there, if it says so.
    pub(super) fn because(self, claim: &Claim) -> Option<&str> {
        match self {
            Standing::SupportedWithConditions => claim.condition.as_deref(),
            Standing::NotReproduced => claim.not_reproduced.as_deref(),
            Standing::Supported | Standing::Undecided => None,
        }
    }
}
