//! How long a lost packet may be late.

use super::retransmission_ns;
use crate::history_builder::MS;

#[test]
fn lossy_link_is_late_by_its_one_in_a_million_delay() {
    for (probability, expected_s) in [(0.0, 0), (1e-6, 1), (0.001, 3), (0.01, 7), (0.1, 63)] {
        assert_eq!(
            retransmission_ns(probability),
            expected_s * 1_000 * MS,
            "{probability}"
        );
    }
    assert_eq!(retransmission_ns(1.0), u64::MAX);
}
