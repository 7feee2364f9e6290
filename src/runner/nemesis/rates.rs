//! The rate errors of one host's clocks. Several may be in effect at a time.

/// The rate errors of one host, each with its fault. The most recent one still in effect applies;
/// without any, the host's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    /// The host's own error, in parts per million.
    own_ppm: i64,
    /// The rate errors of faults, by the fault's index in the schedule, the most recent last.
    faults: Vec<(usize, i64)>,
}

impl Rates {
    /// Creates the rates of a host whose own error is this, in parts per million.
    pub fn new(own_ppm: i64) -> Self {
        Self {
            own_ppm,
            faults: Vec::new(),
        }
    }

    /// Begins a fault with this error.
    pub fn begin(&mut self, fault: usize, drift_ppm: i64) {
        self.faults.push((fault, drift_ppm));
    }

    /// Ends a fault.
    pub fn end(&mut self, fault: usize) {
        self.faults.retain(|(begun, _)| *begun != fault);
    }

    /// The current error of the clocks, in parts per million.
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
