//! Whole numbers as options take them.

use std::ops::RangeInclusive;

/// Reads a number of this range.
pub(super) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    move |text| {
        let (least, most) = (range.start(), range.end());
        let number = text.parse().ok().filter(|number| range.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| match text.parse::<i64>() {
                Ok(..0) => {
                    format!("{text} is negative; write a whole number from {least} to {most}")
                }
                _ => format!("write a whole number from {least} to {most}"),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn what_is_outside_the_range_is_told_the_range() {
        let number = whole::<u16>(1..=64);
        assert_eq!((number("1"), number("64")), (Ok(1), Ok(64)));
        let told = "write a whole number from 1 to 64";
        for text in ["0", "65", "99999999999999999999", "1.5", "x", ""] {
            assert_eq!(number(text), Err(told.into()), "{text}");
        }
        assert_eq!(number("-3"), Err(format!("-3 is negative; {told}")));
    }
}
