//! Differences between what a library and its port did, and which of them have a reason.

use crate::description::{Alike, Difference, Port};
use crate::exercise::{KEPT, Phase, WAITED};
use crate::rounds::same;

/// How much earlier than its shortest wait an attempt may seem to be, in milliseconds: the wait begins
/// with a reply, and both times are those of requests.
const EARLY_MS: u64 = 2;

/// How much later than its longest wait half of the attempts may be, in milliseconds: the machine is busy.
const LATE_MS: u64 = 150;

/// How much the mean times between renewals may differ, in milliseconds: Redisson's timers fire every
/// 100 ms, and the machine is busy.
const RENEWAL_MS: u64 = 250;

/// The differences without a reason, and the reasons without a difference.
pub fn unexplained(port: &Port, library: &[Phase], ported: &[Phase]) -> Vec<String> {
    let of = |phases: &[Phase]| {
        let phases = phases.iter().map(|it| (it.title, it.lines.clone()));
        phases.collect::<Vec<_>>()
    };
    let (mut library, mut ported) = (of(library), of(ported));
    for (title, lines) in library.iter_mut().chain(&mut ported) {
        if port.by_chance.iter().any(|it| it.phase == *title) {
            lines.drain(..lines.len() - 1);
        }
    }
    for ((title, of_library), (_, of_port)) in library.iter_mut().zip(&ported) {
        match title.starts_with(WAITED) {
            true => translate_polls(&port.alike, of_library, of_port),
            false => translate(&port.alike, of_library, of_port),
        }
    }
    compared(&port.differences, &library, &ported)
}

/// Replaces each line of the library that does the same as the port's line in its place, but in another way.
fn translate(alike: &[Alike], library: &mut [String], ported: &[String]) {
    for (line, of_port) in library.iter_mut().zip(ported) {
        let (own, other) = (same(line), same(of_port));
        if alike
            .iter()
            .any(|it| (&it.library, &it.port) == (&own, &other))
        {
            line.clone_from(of_port);
        }
    }
}

/// The same where polls are written once: a poll that fails and one that succeeds may be one line of the port.
fn translate_polls(alike: &[Alike], library: &mut Vec<String>, ported: &[String]) {
    for line in library.iter_mut().filter(|line| !ported.contains(line)) {
        let other = alike
            .iter()
            .find(|it| it.library == *line && ported.contains(&it.port));
        if let Some(other) = other {
            line.clone_from(&other.port);
        }
    }
    library.dedup();
}

fn compared(
    reasons: &[Difference],
    library: &[(&str, Vec<String>)],
    ported: &[(&str, Vec<String>)],
) -> Vec<String> {
    let mut unexplained = Vec::new();
    for ((title, of_library), (_, of_port)) in library.iter().zip(ported) {
        let reason = reasons.iter().find(|it| it.phase == *title);
        let is_explained = match reason {
            None => of_library == of_port,
            Some(it) => (&it.library, &it.port) == (of_library, of_port),
        };
        if !is_explained {
            unexplained.push(format!(
                "a difference without a reason, in the form of client.toml:\n\
                 [[ports.differences]]\nphase = {title:?}\n\
                 library = {of_library:#?}\nport = {of_port:#?}"
            ));
        }
    }
    if library.len() != ported.len() {
        let last = |phases: &[(&str, Vec<String>)]| phases.last().map(|it| it.1.join(", "));
        unexplained.push(format!(
            "one of them did not answer: the library's last phase is {:?}, and the port's {:?}",
            last(library),
            last(ported)
        ));
    }
    for it in reasons {
        let is_done = library.iter().any(|(title, _)| *title == it.phase);
        if !is_done {
            unexplained.push(format!("a reason for `{}`, which is no phase", it.phase));
        }
    }
    unexplained
}

/// Times between attempts that are not those of the description, and parameters of the port that are not.
pub fn wrong_gaps(port: &Port, library: &[Phase], ported: &[Phase]) -> Vec<String> {
    let Some(described) = port.retry_ms else {
        return wrong_renewals(port, library, ported);
    };
    let delay_ms = port.parameter("retry_delay_ms").unwrap_or(0);
    let longest_ms = delay_ms + port.parameter("retry_jitter_ms").unwrap_or(0);
    let mut wrong = wrong_renewals(port, library, ported);
    let parameters = [delay_ms, longest_ms];
    if (parameters == described) == port.other_retry.is_some() {
        wrong.push(format!(
            "between attempts the library waits {described:?} ms and the port {parameters:?} ms, and \
             other_retry has to say why where they differ"
        ));
    }
    for (side, phases, [shortest, longest]) in [
        ("the library", library, described),
        ("the port", ported, parameters),
    ] {
        let waited = phases.iter().filter(|it| it.title.starts_with(WAITED));
        let mut gaps_ms: Vec<u64> = waited
            .flat_map(|it| it.gaps_us.iter().map(|us| us / 1000))
            .collect();
        gaps_ms.sort_unstable();
        let (first, median) = (gaps_ms.first(), gaps_ms.get(gaps_ms.len() / 2));
        let is_early = first.is_some_and(|ms| ms + EARLY_MS < shortest);
        // One attempt may be as late as the machine is busy.
        let is_late = median.is_some_and(|ms| *ms > longest + LATE_MS);
        if is_early || is_late {
            wrong.push(format!(
                "{side} tried again after {gaps_ms:?} ms, and its description says {shortest} to {longest} ms"
            ));
        }
    }
    wrong
}

/// Times between renewals that differ.
fn wrong_renewals(port: &Port, library: &[Phase], ported: &[Phase]) -> Vec<String> {
    let mean_ms = |phases: &[Phase]| {
        let gaps = &phases.iter().find(|it| it.title == KEPT)?.gaps_us;
        (!gaps.is_empty()).then(|| gaps.iter().sum::<u64>() / 1000 / gaps.len() as u64)
    };
    let both = [mean_ms(library), mean_ms(ported)];
    let is_close = match both {
        [Some(one), Some(other)] if one < other && port.more_renewals.is_some() => true,
        [Some(one), Some(other)] => one.abs_diff(other) <= RENEWAL_MS,
        _ => both[0] == both[1],
    };
    match is_close {
        true => Vec::new(),
        false => vec![format!(
            "between renewals are {:?} ms and {:?} ms",
            both[0], both[1]
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(words: &str) -> Vec<String> {
        words.split(", ").map(String::from).collect()
    }

    /// How many things are not explained, of a phase `taken` with one reason or none.
    #[track_caller]
    fn check(library: &str, port: &str, reason: Option<(&str, &str, &str)>, expected: usize) {
        let reasons = reason.map(|(phase, library, port)| Difference {
            phase: phase.to_owned(),
            library: lines(library),
            port: lines(port),
            reason: String::new(),
        });
        let reasons: Vec<Difference> = reasons.into_iter().collect();
        let (library, port) = ([("taken", lines(library))], [("taken", lines(port))]);
        let seen = compared(&reasons, &library, &port);
        assert_eq!(seen.len(), expected, "{seen:?}");
    }

    #[test]
    fn a_difference_needs_its_own_reason() {
        check("set", "set", None, 0);
        check("set", "get, set", None, 1);
        check("set", "get, set", Some(("taken", "set", "get, set")), 0);
        check("set", "get, set", Some(("taken", "set", "del, set")), 1);
    }

    #[test]
    fn what_is_alike_in_its_place_is_translated() {
        let alike = [Alike {
            library: "script(set lock v* px)".to_owned(),
            port: "set lock v* nx px".to_owned(),
            reason: String::new(),
        }];
        let ported = lines("set lock v2 nx px, del lock");
        let mut library = lines("script(set lock v1 px), script(set lock v1 px)");
        translate(&alike, &mut library, &ported);
        assert_eq!(library, lines("set lock v2 nx px, script(set lock v1 px)"));

        let ported = lines("set lock v* nx px, del lock");
        let mut library = lines("set lock v* nx px, script(set lock v* px), del lock");
        translate_polls(&alike, &mut library, &ported);
        assert_eq!(library, ported);
    }

    #[test]
    fn a_reason_needs_its_difference() {
        check("set", "set", Some(("taken", "set", "get, set")), 1);
        check("set", "set", Some(("lost", "set", "get, set")), 1);
    }
}
