//! The expected verdicts of a history under construction.

use super::{HistoryBuilder, MS};
use crate::effects::Effects;
use crate::{Property, Verdict, judge, rules};
use locklab_history::timeline::Timeline;

impl HistoryBuilder {
    fn verdict(&self, property: Property) -> Verdict {
        judge(&self.history, &self.bounds)[&property].clone()
    }

    /// Whether the history violates the property.
    pub fn violates(&self, property: Property) -> bool {
        matches!(self.verdict(property), Verdict::Violated(_))
    }

    /// The property holds, whether or not the history could have violated it.
    #[track_caller]
    pub fn expect_holds(&self, property: Property) {
        let timeline = Timeline::of(&self.history);
        let effects = Effects::of(&timeline, &self.bounds);
        let (verdict, _) = rules(&timeline, &self.bounds, &effects)(property).expect("it applies");
        assert_eq!(verdict, Verdict::Holds);
    }

    /// The property holds, and the history could have violated it.
    #[track_caller]
    pub fn expect_shown(&self, property: Property) {
        assert_eq!(self.verdict(property), Verdict::Holds);
    }

    /// The property is inconclusive, for this reason.
    #[track_caller]
    pub fn expect_inconclusive(&self, property: Property, why: &str) {
        let expected = Verdict::Inconclusive { why: why.into() };
        assert_eq!(self.verdict(property), expected);
    }

    /// The property is violated, first at this time.
    #[track_caller]
    pub fn expect_violation_at(&self, property: Property, at_ms: u64) {
        match self.verdict(property) {
            Verdict::Violated(violation) => assert_eq!(violation.at_ns, at_ms * MS),
            verdict => panic!("not violated: {verdict:?}"),
        }
    }

    /// The property is violated from and until these milliseconds, with this description.
    #[track_caller]
    pub fn expect_violated(&self, property: Property, span_ms: (u64, u64), what: &str) {
        match self.verdict(property) {
            Verdict::Violated(violation) => {
                assert_eq!(violation.what, what);
                let span_ns = (violation.at_ns, violation.until_ns);
                assert_eq!(span_ns, (span_ms.0 * MS, span_ms.1 * MS));
            }
            verdict => panic!("not violated: {verdict:?}"),
        }
    }
}
