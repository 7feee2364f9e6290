//! The resource accepted nothing it should not have; the worst of its three parts.

use super::Verdict;

/// The earliest violation among the parts; the first doubt if there is none.
pub(super) fn check(parts: [&Verdict; 3]) -> Verdict {
    let violations = parts.iter().filter_map(|part| match part {
        Verdict::Violated(violation) => Some(violation),
        _ => None,
    });
    if let Some(first) = violations.min_by_key(|violation| violation.at_ns) {
        return Verdict::Violated(first.clone());
    }
    let doubt = parts
        .into_iter()
        .find(|part| matches!(part, Verdict::Inconclusive { .. }));
    doubt.cloned().unwrap_or(Verdict::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Violation;

    fn violated(at_ns: u64) -> Verdict {
        Verdict::Violated(Violation {
            at_ns,
            until_ns: at_ns,
            clients: vec!["c1".into()],
            what: format!("at {at_ns}"),
        })
    }

    fn doubtful() -> Verdict {
        Verdict::Inconclusive { why: "why".into() }
    }

    #[test]
    fn the_earliest_violation_wins_then_doubt_then_holds() {
        let holds = Verdict::Holds;
        assert_eq!(check([&violated(7), &holds, &violated(3)]), violated(3));
        assert_eq!(check([&doubtful(), &holds, &violated(3)]), violated(3));
        assert_eq!(check([&holds, &doubtful(), &holds]), doubtful());
        assert_eq!(check([&holds, &holds, &holds]), holds);
    }
}
