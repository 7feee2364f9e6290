//! The rate errors of one host's clocks. Several may be in effect at a time.

/// The rate errors of one host, each with the fault that brought it. The clocks go with the most
/// recent one still in force, and without any as they did at the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    /// The host's own error, in parts per million.
    own_ppm: i64,
    /// The rate errors of faults, by the fault's index in the schedule, the most recent last.
    faults: Vec<(usize, i64)>,
}

impl Rates {
    /// Clocks whose own rate error is this, in parts per million.
    pub fn new(own_ppm: i64) -> Self {
        Self {
            own_ppm,
            faults: Vec::new(),
        }
    }

    /// A fault begins that brings this error.
    pub fn begin(&mut self, fault: usize, drift_ppm: i64) {
        self.faults.push((fault, drift_ppm));
    }

    /// That fault ends.
    pub fn end(&mut self, fault: usize) {
        self.faults.retain(|(begun, _)| *begun != fault);
    }

    /// The error of the clocks now, in parts per million.
    pub fn now_ppm(&self) -> i64 {
        self.faults.last().map_or(self.own_ppm, |(_, ppm)| *ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_to_begin_may_end_first() {
        let mut rates = Rates::new(5);
        rates.begin(0, 100);
        rates.begin(1, 500);
        assert_eq!(rates.now_ppm(), 500);
        rates.end(0);
        assert_eq!(rates.now_ppm(), 500);
        rates.end(1);
        assert_eq!(rates.now_ppm(), 5);
    }
}
