//! Collections in the logs of HotSpot up to JDK 8, as `-verbose:gc` and `-XX:+PrintGCDetails` write them.
//!
//! `[GC (Allocation Failure) [PSYoungGen: 5K->1K(9K)] 5K->2K(20K), 0.0543 secs]`: a collection is what these brackets
//! hold, however many lines that takes, and its time stands before the last of them. Its parts have brackets of their
//! own, and another thread may write between. What is called concurrent stops nothing.

/// What the lines so far said.
#[derive(Debug, Default)]
pub(super) struct Old {
    /// The collection that has not ended.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// How many brackets have not been closed.
    depth: u32,
    /// Where it began.
    number: u64,
    line: String,
    /// Its text since the last bracket.
    said: String,
}

/// What begins a pause; the last is of Shenandoah.
const BEGINS: [&str; 3] = ["[GC", "[Full GC", "[Pause "];

/// The lines after which a collection has no end: with all that can be printed within, it has some hundred.
const LONGEST: u64 = 500;

impl Old {
    /// Calls with the time of every collection that ends in this line, in milliseconds.
    pub(super) fn add(&mut self, number: u64, line: &str, mut ends: impl FnMut(f64)) {
        let mut rest = line;
        loop {
            if self.open.is_none() {
                let Some(place) = begin(rest) else { return };
                rest = &rest[place..];
            }
            let open = self.open.get_or_insert_with(|| Open {
                depth: 0,
                number,
                line: line.to_owned(),
                said: String::new(),
            });
            let Some(end) = open.end(rest) else { return };
            if let Some(ms) = time_ms(&open.said) {
                ends(ms);
            }
            self.open = None;
            rest = &rest[end..];
        }
    }

    /// The begin of a collection that should have ended before this line, which is then given up: its number, and itself.
    pub(super) fn lost(&mut self, number: u64) -> Option<(u64, String)> {
        let open = self.open.take_if(|open| open.number + LONGEST < number)?;
        Some((open.number, open.line))
    }
}

impl Open {
    /// The place behind the bracket with which it ends, if it ends in this text.
    fn end(&mut self, text: &str) -> Option<usize> {
        for (place, c) in text.char_indices() {
            match c {
                // A range of addresses, `[0x0, 0x5)`.
                '[' if text[place..].starts_with("[0x") => {}
                '[' => {
                    self.depth += 1;
                    self.said.clear();
                }
                ']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(place + 1);
                    }
                    self.said.clear();
                }
                c => self.said.push(c),
            }
        }
        self.said.push(' ');
        None
    }
}

/// Where a pause begins.
fn begin(text: &str) -> Option<usize> {
    let places = BEGINS.iter().flat_map(|it| text.match_indices(it));
    let pauses = places.filter(|(place, _)| !text[*place..].starts_with("[GC concurrent"));
    pauses.map(|(place, _)| place).min()
}

/// `…, 0.0543 secs` or `…, 3.341 ms`. Some write the decimal comma of their locale.
fn time_ms(said: &str) -> Option<f64> {
    let (number, unit) = said.trim_end().rsplit_once(' ')?;
    let per_unit = match unit {
        "secs" => 1e3,
        "ms" => 1.0,
        _ => return None,
    };
    let (before, number) = number.rsplit_once(' ')?;
    let number: f64 = number.replace(',', ".").parse().ok()?;
    before.ends_with(',').then_some(number * per_unit)
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
            // Parts of their own, in lines of their own.
            (
                "1.0: [Full GC (GCLocker Initiated GC) 1.0: [Heap Dump: , 177.2 secs]178.2: [CMS\n\
                 \u{20}(concurrent mode failure): 9K->1K(9K), 17.6 secs]195.8: [Heap Dump: , 23.6 secs] 9K->1K(9K), 218.6 secs]",
                &[218_600.0],
            ),
            // A collection before the remark, with the heap before it.
            (
                "1.1: [GC (CMS Final Remark) [YG occupancy: 1 K (4 K)]{Heap before GC invocations=22 (full 13):\n\
                 \u{20} eden space 4K,  12% used [0x00, 0x06, 0x08)\n\
                 1.1: [GC (CMS Final Remark) 1.1: [ParNew: 1K->1K(4K), 0.0000303 secs] 1K->1K(1K), 0.0000778 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]\n\
                 1.1: [Rescan (parallel) , 0.0002732 secs][1 CMS-remark: 1K(1K)] 1K(1K), 0.0019970 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]",
                &[1.997],
            ),
            // Statistics of free lists between.
            (
                "0.5: [GCBefore GC:\nTotal Free Space: 1252704256\n0.5: [ParNew: 1K->1K(4K), 0.0028687 secs] 6K->6K(9K)After GC:\n, 0.0030039 secs]",
                &[3.0039],
            ),
            (
                "0.1: [GC 1K->1K(2K), 0.1 secs]0.3: [GC 1K->1K(2K), 0.2 secs]",
                &[100.0, 200.0],
            ),
            // G1's own lines.
            (
                "      [GC Worker Start (ms): Min: 172.4, Avg: 172.4, Max: 172.4, Diff: 0.0]",
                &[],
            ),
            // Shenandoah in JDK 8.
            (
                "2.4: [Pause Init Mark (process weakrefs), start]\n    Using 2 workers\n2.5: [Pause Init Mark (process weakrefs), 3.341 ms]",
                &[3.341],
            ),
        ] {
            let mut old = Old::default();
            let mut read = Vec::new();
            for (number, line) in (1..).zip(lines.lines()) {
                old.add(number, line, |ms| read.push(ms));
            }
            assert_eq!(read.len(), expected.len(), "{lines}: {read:?}");
            for (read, expected) in read.iter().zip(expected) {
                assert!((read - expected).abs() < 1e-9, "{lines}: {read}");
            }
        }
    }

    #[test]
    fn a_collection_that_does_not_end_is_given_up() {
        let mut old = Old::default();
        old.add(3, "0.1: [GC 1K->", |_| panic!("it ends"));
        assert_eq!(old.lost(3 + LONGEST), None);
        let lost = old.lost(4 + LONGEST);
        assert_eq!(lost, Some((3, "0.1: [GC 1K->".to_owned())));
        let mut read = Vec::new();
        old.add(900, "9.0: [GC 1K->1K(2K), 0.1 secs]", |ms| read.push(ms));
        assert_eq!(read, [100.0]);
    }
}
