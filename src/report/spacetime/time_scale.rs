//! Maps true time to positions on the page, with idle time compressed.
//!
//! Events form bursts. Within a burst the scale is linear; a longer gap between two bursts is idle,
//! and has a fixed width for any duration.

/// The scale of one picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// From left to right without gaps.
    pub(super) stretches: Vec<Segment>,
}

/// A part of the page with a linear scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) pace: Pace,
}

/// Whether time is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Something happens here.
    Burst,
    /// Nothing happens here, and time is compressed.
    Idle,
}

/// The minimum width of a burst and the default width of an idle gap.
const BURST: f64 = 30.0;
const IDLE: f64 = 56.0;
/// The maximum share of the page for all idle gaps together.
const IDLE_SHARE: f64 = 0.45;

impl Scale {
    /// A scale over the sorted `instants` from `left` to `right` on the page. A gap longer than
    /// `idle_ns` is compressed to a fixed width, at least `room` if there is enough space.
    pub(super) fn new(
        instants: &[u64],
        idle_ns: u64,
        (left, right): (f64, f64),
        room: impl Fn(u64, u64) -> f64,
    ) -> Self {
        let bursts: Vec<&[u64]> = instants
            .chunk_by(|earlier, later| later - earlier <= idle_ns)
            .collect();
        let gaps = bursts.windows(2).map(|pair| {
            let (from_ns, to_ns) = (pair[0][pair[0].len() - 1], pair[1][0]);
            (from_ns, to_ns, room(from_ns, to_ns).max(IDLE))
        });
        let gaps: Vec<(u64, u64, f64)> = gaps.collect();
        let wanted: f64 = gaps.iter().map(|gap| gap.2).sum();
        let shrink = (IDLE_SHARE * (right - left) / wanted.max(1.0)).min(1.0);

        // The width of a burst depends on the number of its instants, not on its duration.
        let weight = |burst: &[u64]| 1.0 + burst.len() as f64;
        let weights: f64 = bursts.iter().map(|burst| weight(burst)).sum();
        let free = right - left - wanted * shrink;
        let least = BURST.min(free / (2.0 * bursts.len().max(1) as f64));
        let spare = free - least * bursts.len() as f64;

        let mut stretches = Vec::new();
        let mut x = left;
        for (index, burst) in bursts.iter().enumerate() {
            let width = least + spare * weight(burst) / weights;
            stretches.push(Segment {
                from_ns: burst[0],
                to_ns: burst[burst.len() - 1],
                left: x,
                right: x + width,
                pace: Pace::Burst,
            });
            x += width;
            if let Some(&(from_ns, to_ns, width)) = gaps.get(index) {
                stretches.push(Segment {
                    from_ns,
                    to_ns,
                    left: x,
                    right: x + width * shrink,
                    pace: Pace::Idle,
                });
                x += width * shrink;
            }
        }
        Scale { stretches }
    }

    /// The position of an instant; the nearer edge for one outside.
    pub(super) fn x(&self, at_ns: u64) -> f64 {
        let next = self.stretches.partition_point(|s| s.to_ns < at_ns);
        match self.stretches.get(next) {
            Some(stretch) => stretch.x(at_ns),
            None => self.stretches.last().map_or(0.0, |last| last.right),
        }
    }

    /// The segments with compressed time.
    pub(super) fn idle(&self) -> impl Iterator<Item = &Segment> {
        self.stretches.iter().filter(|s| s.pace == Pace::Idle)
    }
}

impl Segment {
    /// The position of an instant in this stretch. Instants of a burst keep a distance from its
    /// edges, so that a mark at the first one does not touch the idle gap.
    fn x(&self, at_ns: u64) -> f64 {
        let inset = match self.pace {
            Pace::Burst => (0.12 * (self.right - self.left)).min(12.0),
            Pace::Idle => 0.0,
        };
        let (left, right) = (self.left + inset, self.right - inset);
        let span = self.to_ns - self.from_ns;
        let share = match span {
            0 => 0.5,
            _ => at_ns.saturating_sub(self.from_ns) as f64 / span as f64,
        };
        left + share.min(1.0) * (right - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use locklab_values::units::NS_PER_MS as MS;

    fn scale(instants_ms: &[u64]) -> Scale {
        let instants: Vec<u64> = instants_ms.iter().map(|ms| ms * MS).collect();
        Scale::new(&instants, 10 * MS, (0.0, 1000.0), |_, _| 0.0)
    }

    #[test]
    fn time_never_runs_to_the_left() {
        let scale = scale(&[0, 1, 5, 15_000, 15_004, 90_000]);
        let places: Vec<f64> = (0..=90_000).step_by(7).map(|ms| scale.x(ms * MS)).collect();
        assert!(places.is_sorted());
        assert!(places[0] >= 0.0 && scale.x(90_000 * MS) <= 1000.0);
    }

    #[test]
    fn a_long_gap_is_no_wider_than_a_short_one() {
        let scale = scale(&[0, 5, 1000, 1005, 90_000, 90_005]);
        let widths: Vec<f64> = scale.idle().map(|gap| gap.right - gap.left).collect();
        assert_eq!(widths, [IDLE, IDLE]);
    }

    #[test]
    fn many_gaps_leave_room_for_what_happens() {
        let instants: Vec<u64> = (0..200).map(|n| n * 1000).collect();
        let scale = scale(&instants);
        let idle: f64 = scale.idle().map(|gap| gap.right - gap.left).sum();
        assert!((idle - 450.0).abs() < 1e-6);
        assert!((scale.stretches[scale.stretches.len() - 1].right - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn single_instant_is_centred() {
        assert_eq!(scale(&[3]).x(3 * MS), 500.0);
    }
}
