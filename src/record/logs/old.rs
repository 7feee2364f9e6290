//! Collections in the logs of HotSpot up to JDK 8, as `-verbose:gc` and `-XX:+PrintGCDetails` write them.
//!
//! `[GC (Allocation Failure) [PSYoungGen: 5K->1K(9K)] 5K->2K(20K), 0.0543 secs]`: what ends with the last of its
//! times is a collection, and those within are its parts. Another thread may write between its begin and its end,
//! and then it goes on in a later line. What is called concurrent stops nothing.

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Old {
    /// Whether a collection has begun of which the time has not come.
    is_open: bool,
}

/// What begins a pause.
const BEGINS: [&str; 2] = ["[GC", "[Full GC"];

impl Old {
    /// The time of a collection that ends in this line, in milliseconds.
    pub(super) fn collection_ms(&mut self, line: &str) -> Option<f64> {
        let concurrent = ["[GC concurrent", "[CMS-concurrent", "[Rescan", "[weak refs"];
        let begins = BEGINS.iter().any(|it| {
            let mut places = line.match_indices(it);
            places.any(|(place, _)| !concurrent.iter().any(|it| line[place..].starts_with(it)))
        });
        self.is_open |= begins;
        if !self.is_open {
            return None;
        }
        let ms = last_secs(line).map(|secs| secs * 1e3)?;
        self.is_open = false;
        Some(ms)
    }
}

/// The last `, 0.0543 secs]`, which is not the time of something concurrent: `: 0.1/0.2 secs]`.
fn last_secs(line: &str) -> Option<f64> {
    let ends = line.match_indices(" secs]").map(|(end, _)| end);
    let secs = ends.filter_map(|end| {
        let (before, number) = line[..end].rsplit_once(' ')?;
        let is_end = before.ends_with(',');
        let is_concurrent = before.rfind('[').is_some_and(|from| {
            ["[GC concurrent", "[CMS-concurrent"]
                .iter()
                .any(|it| before[from..].starts_with(it))
        });
        // Of `[Times: user=0.43 sys=0.12, real=0.31 secs]` it is the parameter of something else.
        let number = number.replace(',', ".").parse().ok()?;
        (is_end && !is_concurrent).then_some(number)
    });
    secs.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_a_collection_is_its_own() {
        for (lines, expected) in [
            // JDK 8, parallel.
            (
                "1.000: [GC (Allocation Failure) [PSYoungGen: 5K->1K(9K)] 5K->2K(20K), 0.0543270 secs] [Times: user=0.1 sys=0.0, real=0.05 secs]",
                &[54.327][..],
            ),
            (
                "601.0: [Full GC (Ergonomics) [PSYoungGen: 1K->0K(1K)] [ParOldGen: 9K->9K(9K)] 9K->9K(9K), [Metaspace: 3K->3K(9K)], 2.3000000 secs] [Times: user=2.1 sys=0.2, real=2.30 secs]",
                &[2300.0],
            ),
            // ParNew: the part has a time of its own.
            (
                "1.0: [GC 1.0: [ParNew: 629120K->69888K(629120K), 0.0542050 secs] 1000K->900K(2027264K), 0.0543270 secs] [Times: user=0.1 sys=0.0, real=0.05 secs]",
                &[54.327],
            ),
            // G1, with details in lines of their own.
            (
                "0.1: [GC pause (G1 Evacuation Pause) (young), 0.0026460 secs]\n   [Parallel Time: 2.1 ms, GC Workers: 2]\n [Times: user=0.01 sys=0.00, real=0.00 secs]\n\
                 0.2: [GC concurrent-root-region-scan-start]\n0.3: [GC concurrent-root-region-scan-end, 0.0100000 secs]\n\
                 0.4: [GC remark, 0.0012000 secs]",
                &[2.646, 1.2],
            ),
            // G1, with its ergonomics between.
            (
                "0.1: [GC pause (young) 0.1: [G1Ergonomics (CSet Construction) start]\n, 0.0500000 secs]",
                &[50.0],
            ),
            // CMS: a failure that another thread writes into.
            (
                "9.0: [Full GC 9.0: [CMS9.1: [CMS-concurrent-mark: 0.100/0.200 secs] [Times: user=0.2 sys=0.0, real=0.20 secs]\n\
                 \u{20}(concurrent mode failure): 5K->4K(9K), 1.5000000 secs] 7K->4K(9K), [CMS Perm : 1K->1K(2K)], 1.6000000 secs] [Times: user=1.6 sys=0.0, real=1.60 secs]",
                &[1600.0],
            ),
            (
                "3.0: [CMS-concurrent-sweep: 0.5/0.6 secs] [Times: user=0.5 sys=0.0, real=0.60 secs]",
                &[],
            ),
            (
                "668.8: [GC 328070K->55019K(503808K), 0,3100000 secs]",
                &[310.0],
            ),
        ] {
            let mut old = Old::default();
            let read: Vec<f64> = lines
                .lines()
                .filter_map(|line| old.collection_ms(line))
                .collect();
            assert_eq!(read.len(), expected.len(), "{lines}: {read:?}");
            for (read, expected) in read.iter().zip(expected) {
                assert!((read - expected).abs() < 1e-9, "{lines}: {read}");
            }
        }
    }
}
