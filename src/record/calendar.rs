//! Dates of the Gregorian calendar, and times of ISO 8601 as logs have them.

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Days from 1970-01-01 to a date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    146_097 * era + day_of_era - 719_468
}

/// The date of a time since 1970 in seconds, in UTC: `2026-11-25`.
pub(crate) fn date(since_1970_s: u64) -> String {
    let day = since_1970_s.cast_signed() / DAY_S;
    // The year of most days is this; of some in January the one before.
    let mut year = 1970 + day * 400 / 146_097;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    while days(year, 1, 1) > day {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day);
    let month = month.unwrap_or(1);
    format!("{year:04}-{month:02}-{:02}", day - days(year, month, 1) + 1)
}

/// Seconds since 1970 of a time such as `2026-11-25T15:24:13.123+0100`; without a zone it counts as UTC.
pub(crate) fn iso_s(text: &str) -> Option<f64> {
    let (date, time) = text.split_once('T')?;
    let zone_at = time.find(['+', '-', 'Z']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone_at);
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once(['.', ',']).unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    let fraction: f64 = format!("0.{}", unsigned(fraction)?).parse().ok()?;
    let whole_s = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    Some((whole_s - zone_s(zone)?) as f64 + fraction)
}

/// How far a zone is ahead of UTC, in seconds: `+0100`, `-02:30`, `Z`.
fn zone_s(zone: &str) -> Option<i64> {
    let Some(digits) = zone.strip_prefix(['+', '-']) else {
        return Some(0);
    };
    let number: i64 = unsigned(&digits.replace(':', ""))?.parse().ok()?;
    let ahead_s = number / 100 * 3600 + number % 100 * 60;
    match zone.starts_with('-') {
        true => Some(-ahead_s),
        false => Some(ahead_s),
    }
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let numbers = text.split(between).map(|part| unsigned(part)?.parse().ok());
    numbers.collect::<Option<Vec<i64>>>()?.try_into().ok()
}

/// The text, if it has digits and nothing else. `parse` accepts a sign.
fn unsigned(text: &str) -> Option<&str> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_convert_both_ways() {
        for (year, month, day, expected) in [
            (1970, 1, 1, 0),
            (2000, 2, 29, 11_016),
            (2026, 11, 25, 20_782),
            (2027, 1, 1, 20_819),
            (2100, 3, 1, 47_541),
        ] {
            assert_eq!(days(year, month, day), expected);
            let written = format!("{year}-{month:02}-{day:02}");
            assert_eq!(date((expected * DAY_S).cast_unsigned()), written);
            assert_eq!(date(((expected + 1) * DAY_S - 1).cast_unsigned()), written);
        }
    }

    #[test]
    fn a_time_is_read_with_its_zone() {
        for (text, expected) in [
            ("1970-01-01T00:00:01.5Z", Some(1.5)),
            ("1970-01-01T01:00:00.000+0100", Some(0.0)),
            ("1969-12-31T21:30:00-02:30", Some(0.0)),
            ("2026-11-25T00:00:00", Some(20_782.0 * 86_400.0)),
            ("2026-11-25", None),
            ("T", None),
            ("gc,start", None),
            ("2026-11-25T+0:00:00", None),
        ] {
            assert_eq!(iso_s(text), expected, "{text}");
        }
    }
}
