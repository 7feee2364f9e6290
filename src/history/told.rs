//! How the times of a history are told.

use std::fmt;

use locklab_values::units::Ms;

/// How times are told, which a history has in nanoseconds since its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Told {
    /// As milliseconds since the beginning, to the nearest tenth.
    #[default]
    SinceBegin,
    /// As the file that the history was read from has them, so that they can be searched for.
    InFile {
        /// The time at the beginning of the history, in nanoseconds on the file's clock.
        origin_ns: u64,
        /// The symbol of the file's unit.
        unit: &'static str,
        /// The power of ten that the unit has nanoseconds.
        power: u32,
    },
}

impl Told {
    /// A time, to be displayed.
    pub fn at(self, at_ns: u64) -> At {
        At { told: self, at_ns }
    }
}

/// A time as it is told: `1534.2 ms`.
#[derive(Debug, Clone, Copy)]
pub struct At {
    told: Told,
    at_ns: u64,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told::InFile {
            origin_ns,
            unit,
            power,
        } = self.told
        else {
            return Ms(self.at_ns).fmt(f);
        };
        let ns = origin_ns.saturating_add(self.at_ns);
        let in_unit = 10_u64.pow(power);
        let digits = power as usize;
        let fraction = format!("{:0digits$}", ns % in_unit);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{} {unit}", ns / in_unit),
            fraction => write!(f, "{}.{fraction} {unit}", ns / in_unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_file_are_exact() {
        let in_file = |unit, power| Told::InFile {
            origin_ns: 1_772_366_400_100_000_000,
            unit,
            power,
        };
        for (unit, power, at_ns, expected) in [
            ("s", 9, 300_000_000, "1772366400.4 s"),
            ("s", 9, 900_000_000, "1772366401 s"),
            ("s", 9, 1, "1772366400.100000001 s"),
            ("ms", 6, 50_000, "1772366400100.05 ms"),
            ("ns", 0, 7, "1772366400100000007 ns"),
        ] {
            assert_eq!(in_file(unit, power).at(at_ns).to_string(), expected);
        }
        assert_eq!(Told::default().at(1_534_249_999).to_string(), "1534.2 ms");
    }
}
