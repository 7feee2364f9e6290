//! The answer of `locklab study risk` in words, as JSON and as a table.

use crate::risk::model::{
    ByCause, Cause, Change, Demand, Excluded, Guess, Number, PROPERTIES, Setup, Share, Time,
    Variant,
};
use locklab_evidence::thousands;
use locklab_results::csv::Csv;
use serde_json::{Value, json};

use super::bound;
use super::words::{cell, count, data, figures, overrides, range, term, work};
use locklab_lab::layout;

/// Everything that is known.
pub(super) struct Answer<'s> {
    pub setup: &'s Setup,
    /// The mean time between two grants.
    pub every: Time,
    /// Runs for each cause.
    pub runs: u64,
    pub by_cause: ByCause,
    /// All causes together, per grant; if that was asked.
    pub together: Option<[Number; 2]>,
    pub variants: Vec<Variant>,
}

/// What happens when a property is violated, as the subject and the verb of a sentence.
const HAPPENS: [&str; 2] = [
    "Two clients could rely on the lock at once",
    "The resource is corrupted",
];

/// The row of what goes wrong without any cause.
const NO_CAUSE: &str = "(none)";

/// Changes by less than this factor are not printed.
const LEAST_EFFECT: f64 = 1.2;

impl Answer<'_> {
    fn grants_per_year(&self) -> f64 {
        self.every.per_year()
    }

    fn per_year(&self, number: Number) -> Number {
        number.times(self.grants_per_year())
    }

    /// The property that the changes are about: the resource, if it is ever corrupted.
    fn headline(&self) -> usize {
        usize::from(self.by_cause.sum(1).mean > 0.0)
    }

    pub(super) fn text(&self) -> String {
        let mut parts = vec![self.about(), self.sentences(), self.table()];
        parts.extend(self.sums());
        parts.extend(self.agreement());
        parts.extend(self.changes());
        parts.join("\n\n")
    }

    /// What the numbers are of. Nothing is printed without it.
    fn about(&self) -> String {
        let setup = self.setup;
        let next = match setup.demand {
            Demand::Contended => "another client always waits".to_owned(),
            Demand::Poisson { .. } => "by many clients, independently".to_owned(),
        };
        let environment = &setup.environment;
        let keys = match setup.demand {
            Demand::Poisson { every_ms } if every_ms > self.every.0 => {
                let keys = thousands((every_ms / self.every.0).round() as u64);
                format!(" over {keys} locks, each once in {}", Time(every_ms))
            }
            _ => String::new(),
        };
        let delays_ms = setup.retry_delays_ms().unwrap_or_default();
        let attempts = match &delays_ms[..] {
            [usual_ms, .., most_ms] => format!(
                "; who waits tries again after {} to {}, as far apart as makes no difference",
                Time(*usual_ms as f64),
                Time(*most_ms as f64)
            ),
            _ => String::new(),
        };
        let rows = [
            [
                "lock",
                &format!(
                    "{}, {} {}{}",
                    setup.lock,
                    term(setup),
                    setup.lease,
                    overrides(setup)
                ),
            ],
            ["work", &work(setup)],
            [
                "how often",
                &format!(
                    "once in {}{keys}, {} grants a year; {next}{attempts}",
                    self.every,
                    thousands(self.grants_per_year().round() as u64)
                ),
            ],
            [
                "environment",
                &format!("{}: {}", environment.name, environment.title),
            ],
        ];
        let rows = rows.map(|row| row.map(str::to_owned));
        layout::rows(&rows)
    }

    /// How often each property is violated.
    fn sentences(&self) -> String {
        let sentence = |property: usize| {
            let number = self.by_cause.sum(property);
            let year = self.per_year(number);
            let happens = HAPPENS[property];
            let bound = self.by_cause.bound(property);
            let Some(interval) = year.interval() else {
                let told = bound.map(|it| bound::told(&it, self.grants_per_year(), self.runs));
                let told = told.unwrap_or_else(|| match self.excluded().next() {
                    Some(_) => {
                        "No fault that strikes once can do it, as the sums below say.".into()
                    }
                    None => String::new(),
                });
                return format!("{happens} in none of the runs. {told}");
            };
            let more = bound
                .and_then(|it| bound::beside(&it, &year))
                .unwrap_or_default();
            let rough = match number.is_rough || !more.is_empty() {
                true => " More --runs narrow it.",
                false => "",
            };
            format!(
                "{happens} {} times a year ({}{more}), that is once in {} grants.{rough}",
                figures(year.mean),
                range(year.seen().unwrap_or(interval)),
                count(1.0 / number.mean),
            )
        };
        let sentences = [0, 1].map(|property| layout::fold(&sentence(property)));
        sentences.join("\n")
    }

    fn cause(&self, share: &Share) -> Option<&Cause> {
        self.setup.environment.cause.get(&share.cause)
    }

    fn title<'t>(&'t self, share: &'t Share) -> &'t str {
        self.cause(share)
            .map_or("without any of these", |cause| &cause.title)
    }

    /// The shares, the greatest first.
    fn sorted(&self) -> Vec<&Share> {
        let mut shares: Vec<&Share> = self.by_cause.shares.iter().collect();
        let weight = |share: &Share| {
            let of = |property| share.per_grant(property);
            (
                of(self.headline()).mean,
                of(0).mean + of(1).mean,
                share.rate,
            )
        };
        shares.sort_by(|a, b| {
            let (a, b) = (weight(a), weight(b));
            b.0.total_cmp(&a.0)
                .then(b.1.total_cmp(&a.1))
                .then(b.2.total_cmp(&a.2))
        });
        shares
    }

    fn table(&self) -> String {
        let sums = [0, 1].map(|property| self.by_cause.sum(property).mean);
        let head = ["cause", "share", "at once, a year", "corrupted, a year"];
        let mut rows = vec![head.map(str::to_owned)];
        for share in self.sorted() {
            let numbers = [0, 1].map(|property| {
                let year = self.per_year(share.per_grant(property));
                match share.excluded {
                    Some(_) => "none (excluded)".into(),
                    None => cell(&year),
                }
            });
            let headline = self.headline();
            let part = share.per_grant(headline).mean / sums[headline];
            let part = match part > 0.0 {
                true => format!("{:.0} %", part * 100.0),
                false => "–".to_owned(),
            };
            let [at_once, corrupted] = numbers;
            if share.cause.is_empty() && !share.runs.has_violation() {
                continue;
            }
            let name = match share.cause.is_empty() {
                true => NO_CAUSE,
                false => &share.cause,
            };
            rows.push([name.to_owned(), part, at_once, corrupted]);
        }
        let mut text = layout::rows(&rows);
        let has = |mark: char| {
            let mut cells = rows.iter().flat_map(|row| &row[1..]);
            cells.any(|cell| cell.contains(mark))
        };
        let runs = thousands(self.runs);
        if rows.iter().all(|row| row[0] != NO_CAUSE) {
            text += &format!("\n  without any cause, none of {runs} grants is violated");
        }
        if has('≤') {
            text += &format!(
                "\n  none: no violation in {runs} runs; ≤ how many a year these cannot exclude"
            );
        }
        if has('~') {
            text += "\n  ~ few violations decide it; more --runs narrow it";
        }
        if !self.by_cause.left_out.is_empty() {
            let names = self.by_cause.left_out.join(", ");
            text += &format!("\n  not counted, because this lock has no such host: {names}");
        }
        text
    }

    /// The causes that arithmetic excludes, with their sums.
    fn excluded(&self) -> impl Iterator<Item = (&Share, Excluded)> {
        let shares = self.by_cause.shares.iter();
        shares.filter_map(|share| Some((share, share.excluded?)))
    }

    /// Why a cause cannot do anything, and what it would take.
    fn sums(&self) -> Option<String> {
        let line = |(share, sum): (&Share, Excluded)| {
            let time = |ms: f64| match ms < 1.0 {
                true => format!("{} ms", figures(ms)),
                false => Time(ms).to_string(),
            };
            let work = match sum.is_renewed {
                true => "from one renewal to the next",
                false => "the longest work",
            };
            layout::fold(&format!(
                "{} cannot: its longest, {}, {work}, {}, and the messages, {}, are less than the {} of {}. It would have \
                 to last {}. Longer ones than the environment has are not counted.",
                share.cause,
                time(sum.longest_ms),
                time(sum.work_ms),
                time(sum.messages_ms),
                term(self.setup),
                time(sum.lease_ms),
                time(sum.needed_ms()),
            ))
        };
        let lines: Vec<String> = self.excluded().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Whether the causes together come to the sum of each alone.
    fn agreement(&self) -> Option<String> {
        let together = self.together?;
        let lines = [0, 1].map(|property| {
            let sum = self.by_cause.sum(property);
            let whole = together[property];
            let year = self.per_year(whole);
            let Some(interval) = year.interval() else {
                return format!("All causes together: {} in none of the runs.", HAPPENS[property]);
            };
            let verdict = match sum.agrees(&whole) {
                true => "which agrees with the sum of the causes",
                false => {
                    "which differs from the sum of the causes: they interact, or there were too few runs"
                }
            };
            format!(
                "All causes together: {} {} times a year ({}{}), {verdict}.",
                lower(HAPPENS[property]),
                figures(year.mean),
                range(interval),
                if year.is_rough { ", rough" } else { "" },
            )
        });
        Some(lines.map(|line| layout::fold(&line)).join("\n"))
    }

    /// What changes the answer, the greatest effect first.
    fn changes(&self) -> Option<String> {
        let property = self.headline();
        let sum = self.by_cause.sum(property).mean;
        if self.variants.is_empty() || sum == 0.0 {
            return None;
        }
        let size = |effect: f64| effect.max(1e-30).ln().abs();
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for variant in &self.variants {
            match variant.effect(property) {
                Some(effect) if size(effect) > LEAST_EFFECT.ln() => seen.push((effect, variant)),
                Some(_) => {}
                None if matches!(variant.change, Change::Often(..) | Change::Long(..)) => {}
                None => unseen.push(self.change(&variant.change)),
            }
        }
        seen.sort_by(|a, b| size(b.0).total_cmp(&size(a.0)));
        let line = |(effect, variant): &(f64, &Variant)| {
            let times = match effect {
                0.0 => "none in these runs".to_owned(),
                effect => format!("{} times as many", figures(*effect)),
            };
            [self.change(&variant.change), times]
        };
        let subject = [
            "times at which two clients could rely on the lock",
            "corruptions",
        ][property];
        let rows: Vec<[String; 2]> = seen.iter().map(line).collect();
        let text = format!("What would change the number of {subject} most:");
        let mut text = format!("{}\n{}", layout::fold(&text), layout::rows(&rows));
        if !unseen.is_empty() {
            let unseen = format!(
                "\n  no difference that these runs can show: {}",
                unseen.join("; ")
            );
            text += &layout::fold(&unseen);
        }
        Some(text)
    }

    /// A change in words.
    fn change(&self, change: &Change) -> String {
        let by = |factor: f64| match factor > 1.0 {
            true => format!("{factor} times as"),
            false => format!("a {} as", if factor == 0.5 { "half" } else { "tenth" }),
        };
        match change {
            Change::Lease(factor) if *factor > 1.0 => format!("twice the {}", term(self.setup)),
            Change::Lease(_) => format!("half the {}", term(self.setup)),
            Change::Fencing => "a fencing token, which the resource compares".into(),
            Change::Deadline => "checking the clock before the write".into(),
            Change::Renewal => "renewing the lease at each third of it".into(),
            Change::Often(cause, factor) => format!("{cause} {} often (a guess)", by(*factor)),
            Change::Long(cause, factor) => format!("{cause} {} long (a guess)", by(*factor)),
        }
    }

    /// Where each number comes from.
    pub(super) fn sources(&self) -> String {
        let network = &self.setup.environment.network;
        let mut lines = vec!["Where the numbers come from:".to_owned()];
        let of_network = [
            network.source.clone(),
            network.guess.as_ref().map(|it| format!("a guess: {it}")),
        ];
        lines.push(source_line("network", of_network));
        for share in self.sorted() {
            if let Some(cause) = self.cause(share) {
                let name = format!("{} ({}, each {})", share.cause, cause.title, cause.every);
                lines.push(source_line(&name, [cause.source.clone(), guess(cause)]));
            }
        }
        lines.join("\n")
    }

    pub(super) fn json(&self) -> Value {
        let both = |numbers: [Number; 2]| {
            let named = PROPERTIES.iter().zip(numbers);
            let named = named.map(|(property, per_grant)| {
                let of = json!({ "per_grant": data(&per_grant), "per_year": data(&self.per_year(per_grant)) });
                (property.name().to_owned(), of)
            });
            Value::Object(named.collect())
        };
        let setup = self.setup;
        let causes = self.by_cause.shares.iter().map(|share| {
            let cause = self.cause(share);
            json!({
                "cause": share.cause,
                "title": self.title(share),
                "strikes_per_ms": share.rate,
                "source": cause.and_then(|it| it.source.clone()),
                "guess": cause.and_then(guess),
                "excluded": share.excluded,
                "violations": both([0, 1].map(|property| share.per_grant(property))),
            })
        });
        let changes = self.variants.iter().map(|variant| {
            json!({ "change": self.change(&variant.change), "violations": both(variant.per_grant) })
        });
        json!({
            "lock": setup.lock,
            "lease_ms": setup.lease.0,
            "term": term(setup),
            "work_ms": setup.work_ms,
            "every_ms": self.every.0,
            "contended": setup.demand == Demand::Contended,
            "overrides": setup.sets,
            "environment": setup.environment.name,
            "parameters": setup.environment.parameters(),
            "grants_per_year": self.grants_per_year(),
            "runs_per_cause": self.runs,
            "violations": both([0, 1].map(|property| self.by_cause.sum(property))),
            "bounds": self.bounds(),
            "together": self.together.map(both),
            "causes": causes.collect::<Vec<_>>(),
            "left_out": self.by_cause.left_out,
            "changes": changes.collect::<Vec<_>>(),
        })
    }

    /// By property: what runs without a violation leave open.
    fn bounds(&self) -> Value {
        let of = |place: usize| {
            let bound = self.by_cause.bound(place);
            bound::data(bound.as_ref(), self.grants_per_year())
        };
        let named = PROPERTIES.iter().enumerate();
        let named = named.map(|(place, property)| (property.name().to_owned(), of(place)));
        Value::Object(named.collect())
    }

    pub(super) fn csv(&self) -> Csv {
        let mut csv = Csv::new([
            "environment",
            "lock",
            "lease_ms",
            "cause",
            "property",
            "per_grant",
            "per_year",
            "low",
            "high",
            "not_excluded",
            "source",
        ]);
        for share in &self.by_cause.shares {
            for (place, property) in PROPERTIES.iter().enumerate() {
                let per_grant = share.per_grant(place);
                let year = self.per_year(per_grant);
                let interval = year.interval();
                let cause = self.cause(share);
                csv.push(vec![
                    self.setup.environment.name.clone(),
                    self.setup.lock.clone(),
                    self.setup.lease.0.to_string(),
                    share.cause.clone(),
                    property.name().to_owned(),
                    per_grant.mean.to_string(),
                    year.mean.to_string(),
                    interval.map(|it| it.low.to_string()).unwrap_or_default(),
                    interval.map(|it| it.high.to_string()).unwrap_or_default(),
                    year.not_excluded().to_string(),
                    cause.and_then(|it| it.source.clone()).unwrap_or_default(),
                ]);
            }
        }
        csv
    }
}

fn source_line(name: &str, parts: [Option<String>; 2]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    layout::fold(&format!("  {name}: {}", parts.join("; ")))
}

/// Which numbers of a cause are guesses, and why.
fn guess(cause: &Cause) -> Option<String> {
    let names = cause.guess.iter().map(|guess| match guess {
        Guess::HowOften => "how often",
        Guess::HowLong => "how long",
    });
    let names: Vec<&str> = names.collect();
    let why = cause
        .why
        .as_ref()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    (!names.is_empty()).then(|| format!("a guess: {}{why}", names.join(" and ")))
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|it| it.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
