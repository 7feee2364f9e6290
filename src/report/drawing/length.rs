//! Coordinates and shares as whole numbers, so that the bytes of a picture do not depend on the
//! last bits of a float.

use std::fmt;
use std::ops::Add;

/// A coordinate or a length, in whole tenths of a unit of the drawing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Length {
    tenths: i32,
}

/// A position: to the right and downwards from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Point {
    pub(in super::super) x: Length,
    pub(in super::super) y: Length,
}

/// A share, in whole percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Percent(pub(in super::super) u8);

impl Length {
    /// The nearest tenth.
    pub(in super::super) fn of(value: f64) -> Self {
        Length {
            tenths: nearest(value, 10.0) as i32,
        }
    }

    /// So many units.
    pub(in super::super) fn whole(units: i32) -> Self {
        Length {
            tenths: units.saturating_mul(10),
        }
    }

    /// In units.
    pub(in super::super) fn units(self) -> f64 {
        f64::from(self.tenths) / 10.0
    }

    /// In units, for painting.
    pub(in super::super) fn f32(self) -> f32 {
        self.units() as f32
    }
}

impl Point {
    /// The point with the nearest coordinates.
    pub(in super::super) fn of((x, y): (f64, f64)) -> Self {
        Point {
            x: Length::of(x),
            y: Length::of(y),
        }
    }

    /// The point at whole units.
    pub(in super::super) fn whole((x, y): (i32, i32)) -> Self {
        Point {
            x: Length::whole(x),
            y: Length::whole(y),
        }
    }
}

impl Percent {
    pub(in super::super) const ALL: Percent = Percent(100);

    /// The nearest whole percent of a share from 0 to 1.
    pub(in super::super) fn of(share: f64) -> Self {
        Percent(nearest(share, 100.0) as u8)
    }

    /// From 0 to 1.
    pub(in super::super) fn share(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl Add for Length {
    type Output = Length;

    fn add(self, other: Length) -> Length {
        Length {
            tenths: self.tenths.saturating_add(other.tenths),
        }
    }
}

/// With one decimal if it is not 0.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.tenths < 0 { "-" } else { "" };
        let (units, tenth) = (self.tenths.abs_diff(0) / 10, self.tenths.abs_diff(0) % 10);
        match tenth {
            0 => write!(f, "{sign}{units}"),
            tenth => write!(f, "{sign}{units}.{tenth}"),
        }
    }
}

/// The whole number nearest to `value * parts`; the even one of two. It is exact, as `{:.1}` is,
/// while the product alone would be rounded first.
fn nearest(value: f64, parts: f64) -> f64 {
    debug_assert!(value.is_finite(), "a picture with a coordinate {value}");
    let below = (value * parts).floor();
    let beyond_half = value.mul_add(parts, -(below + 0.5));
    match beyond_half {
        beyond if beyond > 0.0 => below + 1.0,
        0.0 => (below / 2.0).ceil() * 2.0,
        _ => below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_one_decimal() {
        assert_eq!(Length::of(1.0).to_string(), "1");
        assert_eq!(Length::of(1.26).to_string(), "1.3");
        assert_eq!(Length::of(-0.04).to_string(), "0");
        assert_eq!(Length::of(-0.4).to_string(), "-0.4");
        assert_eq!(Length::whole(-12).to_string(), "-12");
    }

    /// Values on both sides of each half, where the product with ten is rounded to the half itself.
    #[test]
    fn a_value_is_rounded_as_it_is_printed() {
        let check = |value: f64| {
            let printed: f64 = format!("{value:.1}").parse().expect("a number");
            assert_eq!(Length::of(value).units(), printed, "{value:e}");
            assert_eq!(Length::of(value).f32(), printed as f32, "{value:e}");
        };
        for step in -30_000..30_000 {
            let value = f64::from(step) / 20.0;
            for value in [value.next_down(), value, value.next_up()] {
                check(value);
            }
        }
        for step in 0..=100 {
            let share = 0.18 + 0.42 * f64::from(step) / 100.0;
            let printed: f64 = format!("{share:.2}").parse().expect("a number");
            assert_eq!(Percent::of(share).share(), printed, "{share:e}");
        }
    }
}
