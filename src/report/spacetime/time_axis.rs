//! The time axis, and the columns with compressed time.

use locklab_values::units::fractional_ms_from_ns;

use super::{
    super::{
        drawing::{Anchor, Look, Stroke, TextStyle},
        font, palette,
    },
    duration,
    labels::Area,
    page::Page,
    scene::Scene,
    time_scale::{Pace, Segment},
};

/// The font size on the axis.
const SIZE: f64 = 11.0;
/// In a column narrower than this the axis is interrupted without a break mark.
const NARROW: f64 = 20.0;
/// The minimum distance between ticks.
const TICK_SPACING: f64 = 64.0;

/// The width that an idle gap needs for the text in it.
pub(super) fn room(scene: &Scene, from_ns: u64, to_ns: u64) -> f64 {
    let notes = (scene.hosts.iter())
        .filter_map(|host| waiting(scene, host.name, from_ns, to_ns))
        .map(|note| font::width(&note, SIZE) + 12.0);
    let label = font::width(&duration(to_ns - from_ns), SIZE) + 12.0;
    notes.fold(label, f64::max)
}

/// How often a client was refused in the gap, as text.
fn waiting(scene: &Scene, client: &str, from_ns: u64, to_ns: u64) -> Option<String> {
    let within = |from: u64| (from_ns..to_ns).contains(&from);
    let mine = scene.retries.iter().filter(|r| r.client == client);
    match mine.filter(|retry| within(retry.from_ns)).count() {
        0 => None,
        1 => Some("refused once".to_owned()),
        times => Some(format!("refused {times} times")),
    }
}

/// The columns, drawn below everything else.
pub(super) fn idle_columns(page: &mut Page) {
    let (top, bottom) = (page.lanes.top, page.lanes.bottom);
    for gap in page.scale.idle() {
        page.drawing.rect(
            (gap.left, top),
            (gap.right - gap.left, bottom - top),
            Look::filled(palette::IDLE),
        );
    }
}

/// The axis with its ticks, the breaks with their durations, and in each column how often the
/// waiting clients were refused.
pub(super) fn draw(page: &mut Page, scene: &Scene) {
    let y = page.lanes.bottom;
    let stroke = Look::hollow(Stroke::new(palette::INK, 1.2));
    let stretches = page.scale.stretches.clone();
    let title = (page.left - 14.0, y + 18.0);
    page.drawing.text(
        title,
        "time (ms)",
        TextStyle {
            size: SIZE,
            colour: palette::MUTED,
            anchor: Anchor::End,
        },
    );
    for gap in stretches.iter().filter(|s| s.pace == Pace::Idle) {
        break_mark(page, gap, &stroke);
        let middle = (gap.left + gap.right) / 2.0;
        let text = duration(gap.to_ns - gap.from_ns);
        let place = [(middle, y - 11.0, Anchor::Middle)];
        let look = (SIZE, palette::MUTED);
        page.labels.put(&mut page.drawing, &text, look, &place);

        for lane in &page.lanes.lanes {
            if let Some(note) = waiting(scene, lane.host.name, gap.from_ns, gap.to_ns) {
                let place = [(middle, lane.y - 8.0, Anchor::Middle)];
                page.labels.put(&mut page.drawing, &note, look, &place);
            }
        }
    }
    for burst in stretches.iter().filter(|s| s.pace == Pace::Burst) {
        page.drawing
            .line((burst.left, y), (burst.right, y), stroke.clone());
        ticks(page, burst, &stroke);
    }
}

/// A break of the axis, with a stroke on either side.
fn break_mark(page: &mut Page, gap: &Segment, stroke: &Look) {
    let y = page.lanes.bottom;
    if gap.right - gap.left < NARROW {
        return;
    }
    let middle = (gap.left + gap.right) / 2.0;
    let (end, start) = (middle - 5.0, middle + 5.0);
    page.drawing.line((gap.left, y), (end, y), stroke.clone());
    page.drawing
        .line((start, y), (gap.right, y), stroke.clone());
    for x in [end, start] {
        page.drawing
            .line((x - 3.0, y + 6.0), (x + 3.0, y - 6.0), stroke.clone());
    }
}

/// Ticks at round times; in a burst without any, one at the start.
fn ticks(page: &mut Page, burst: &Segment, stroke: &Look) {
    let y = page.lanes.bottom;
    let span = (burst.to_ns - burst.from_ns) as f64;
    let fitting = ((burst.right - burst.left) / TICK_SPACING).max(1.0);
    let step = round_step(span / fitting);
    let first = burst.from_ns.div_ceil(step).saturating_mul(step);
    let round: Vec<u64> = (0..)
        .map_while(|n: u64| first.checked_add(n.checked_mul(step)?))
        .take_while(|&at_ns| at_ns <= burst.to_ns)
        .collect();
    let at = if span == 0.0 || round.is_empty() {
        let text = milliseconds(burst.from_ns, 1);
        let text = text.strip_suffix(".0").unwrap_or(&text).to_owned();
        vec![(burst.from_ns, text)]
    } else {
        let text = |at_ns| milliseconds(at_ns, decimals(step));
        round
            .into_iter()
            .map(|at_ns| (at_ns, text(at_ns)))
            .collect()
    };
    for (at_ns, text) in at {
        let x = page.scale.x(at_ns);
        page.drawing.line((x, y), (x, y + 5.0), stroke.clone());
        let place = [(x, y + 18.0, Anchor::Middle)];
        let look = (SIZE, palette::INK);
        page.labels.put(&mut page.drawing, &text, look, &place);
    }
    page.labels.reserve(Area {
        left: burst.left,
        top: y - 2.0,
        right: burst.right,
        bottom: y + 6.0,
    });
}

/// The smallest value of at least `least_ns` that is 1, 2 or 5 times a power of ten
/// nanoseconds.
fn round_step(least_ns: f64) -> u64 {
    let powers = (0..=18).map(|exponent| 10_u64.pow(exponent));
    powers
        .flat_map(|power| [power, 2 * power, 5 * power])
        .find(|&step| step as f64 >= least_ns)
        .unwrap_or(u64::MAX)
}

/// The number of decimals of a millisecond needed to distinguish multiples of the step.
fn decimals(step_ns: u64) -> usize {
    match step_ns {
        0..10 => 6,
        10..100 => 5,
        100..1_000 => 4,
        1_000..10_000 => 3,
        10_000..100_000 => 2,
        100_000..1_000_000 => 1,
        _ => 0,
    }
}

/// Milliseconds with a thousands separator.
pub(super) fn milliseconds(at_ns: u64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", fractional_ms_from_ns(at_ns));
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.char_indices() {
        let left = whole.len() - index;
        if index > 0 && left % 3 == 0 && whole.len() > 4 {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_milliseconds() {
        assert_eq!(milliseconds(12_000_000, 0), "12");
        assert_eq!(milliseconds(1_512_340_000, 1), "1512.3");
        assert_eq!(milliseconds(15_512_000_000, 0), "15\u{a0}512");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.0), 1);
        assert_eq!(round_step(1_100_000.0), 2_000_000);
        assert_eq!(round_step(5_000_000.0), 5_000_000);
        assert_eq!(round_step(5_000_001.0), 10_000_000);
    }
}
