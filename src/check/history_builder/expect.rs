//! The expected verdicts of a history under construction.

use super::{HistoryBuilder, MS};
use crate::{Property, Verdict, judge};

impl HistoryBuilder {
    fn verdict(&self, property: Property) -> Verdict {
        judge(&self.history, &self.bounds)[&property].clone()
    }

    /// Whether the history violates the property.
    pub fn violates(&self, property: Property) -> bool {
        matches!(self.verdict(property), Verdict::Violated(_))
    }

    /// The property holds, and the run is conclusive: two clients contend at its very start,
    /// and when a fault begins.
    #[track_caller]
    pub fn expect_holds(&self, property: Property) {
        self.clone().contended().expect_holds_as_it_is(property);
    }

    /// The property holds, with the run ending where the history does.
    #[track_caller]
    pub fn expect_holds_as_it_is(&self, property: Property) {
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

    /// Puts attempts of two other clients, which fail immediately, before everything else and
    /// after the beginning of each fault.
    fn contended(mut self) -> HistoryBuilder {
        let strangers = |at_ns: u64| {
            let ms = at_ns / MS;
            let builder = HistoryBuilder::default().tries(ms, "c8").tries(ms, "c9");
            builder.fails(ms, "c8").fails(ms, "c9").history.records
        };
        let mut records = strangers(0);
        for record in self.history.records {
            let (at_ns, begins) = (record.at_ns, record.event.is_fault_beginning());
            records.push(record);
            if begins {
                records.extend(strangers(at_ns));
            }
        }
        self.history.records = records;
        self
    }
}
