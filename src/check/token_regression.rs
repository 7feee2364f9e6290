//! No fencing token is accepted that is lower than one accepted before.
//!
//! Reads count as well as writes. Accesses that were refused, or that carried no token, do not
//! count.

use super::{Verdict, Violation};
use locklab_history::Event;
use locklab_history::timeline::{Holder, Timeline};

pub(super) fn check(timeline: &Timeline) -> Verdict {
    // The highest token accepted so far, its holder, and since when.
    let mut highest: Option<(u64, Holder, u64)> = None;
    for (_, _, record) in timeline.records() {
        let Event::Access {
            client,
            grant,
            access,
            token: Some(token),
            accepted: true,
        } = &record.event
        else {
            continue;
        };
        let holder = (client, *grant);
        match highest {
            Some((high, owner, since_ns)) if *token < high => {
                let access = access.name();
                return Verdict::Violated(Violation {
                    at_ns: record.at_ns,
                    until_ns: record.at_ns,
                    clients: timeline.clients([holder, owner]),
                    what: format!(
                        "the resource accepted {client}'s {access} with token {token} at {} \
                         after it had accepted token {high} of {} at {}",
                        timeline.at(record.at_ns),
                        owner.0,
                        timeline.at(since_ns),
                    ),
                });
            }
            Some((high, ..)) if *token == high => {}
            _ => highest = Some((*token, holder, record.at_ns)),
        }
    }
    Verdict::Holds
}

#[cfg(test)]
mod tests {
    use crate::Property::TokenRegression;
    use crate::history_builder::HistoryBuilder;

    fn two_holders() -> HistoryBuilder {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 33)
            .tries(20, "c2")
            .granted_with_token(30, "c2", 34)
    }

    #[test]
    fn rising_and_equal_tokens_hold() {
        two_holders()
            .reads(40, "c1", 0)
            .writes(41, "c1", 0)
            .reads(42, "c2", 1)
            .writes(43, "c2", 1)
            .expect_holds(TokenRegression);
    }

    /// Two counters may issue the same number; that is not a lower one.
    #[test]
    fn equal_tokens_of_two_holders_hold() {
        HistoryBuilder::default()
            .tries(0, "c1")
            .granted_with_token(10, "c1", 33)
            .tries(20, "c2")
            .granted_with_token(30, "c2", 33)
            .reads(40, "c1", 0)
            .writes(41, "c2", 0)
            .writes(42, "c1", 1)
            .expect_holds(TokenRegression);
    }

    #[test]
    fn a_lower_token_is_a_regression_in_a_write_and_in_a_read() {
        two_holders()
            .writes(40, "c2", 0)
            .writes(50, "c1", 1)
            .expect_violated(
                TokenRegression,
                (50, 50),
                "the resource accepted c1's write with token 33 at 50.0 ms after it had \
                 accepted token 34 of c2 at 40.0 ms",
            );
        two_holders()
            .reads(40, "c2", 0)
            .reads(50, "c1", 0)
            .expect_violated(
                TokenRegression,
                (50, 50),
                "the resource accepted c1's read with token 33 at 50.0 ms after it had \
                 accepted token 34 of c2 at 40.0 ms",
            );
    }

    #[test]
    fn the_highest_token_counts_from_its_first_access_on() {
        two_holders()
            .reads(40, "c1", 0)
            .writes(45, "c2", 0)
            .writes(46, "c2", 1)
            .writes(50, "c1", 2)
            .expect_violated(
                TokenRegression,
                (50, 50),
                "the resource accepted c1's write with token 33 at 50.0 ms after it had \
                 accepted token 34 of c2 at 45.0 ms",
            );
    }

    #[test]
    fn refused_token_neither_regresses_nor_raises_the_maximum() {
        two_holders()
            .writes(40, "c2", 0)
            .refused_writing(50, "c1", 0)
            .expect_holds(TokenRegression);
        two_holders()
            .refused_writing(40, "c2", 0)
            .writes(50, "c1", 0)
            .expect_holds(TokenRegression);
    }

    #[test]
    fn history_without_tokens_holds() {
        HistoryBuilder::default()
            .holds(10, "c1")
            .holds(20, "c2")
            .writes(30, "c2", 0)
            .writes(40, "c1", 1)
            .expect_holds(TokenRegression);
    }
}
