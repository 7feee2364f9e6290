//! The observations in the form in which the page shows them.

use super::standing::Standing;
use super::{Observed, Real, Shown};
use crate::reproduce::debate::page::{
    ClaimView, Line, Mark, Page, Picture, Row, ScenarioView, SourceView,
};
use crate::reproduce::debate::{Claim, Critique};
use crate::sweep;
use locklab_check::Property;
use locklab_evidence::{Finding as Found, Interval, Judgement, Tally};
use locklab_lab::{describe, recordings};
use locklab_model::scenario::SHIPPED;
use locklab_real::comparison::{Finding, RateRow, WITHIN, equivalent};
use locklab_report::chart::{self, ChartOptions};
use locklab_report::{Error, Sheet, svg};
use locklab_runner::judged;
use locklab_runner::prediction::Comparison;
use locklab_values::shell::quoted;

/// The page.
///
/// # Errors
///
/// If a run cannot be repeated, or a picture not be drawn.
pub(super) fn page(
    critique: &Critique,
    claims: &[&Claim],
    verdicts: &[Option<Judgement>],
    observed: &Observed,
    play: Option<&str>,
    how: Vec<(&'static str, String)>,
) -> anyhow::Result<Page> {
    let mut lines = Vec::new();
    let mut sources: Vec<SourceView> = Vec::new();
    for (claim, verdict) in claims.iter().zip(verdicts) {
        lines.push(line(claim, *verdict, observed));
        if sources.last().is_none_or(|last| last.key != claim.source) {
            let source = &critique.sources[&claim.source];
            sources.push(SourceView {
                key: claim.source.clone(),
                title: source.title.clone(),
                author: source.author.clone(),
                date: source.date.clone(),
                url: source.url.clone(),
                claims: vec![],
            });
        }
        if let Some(source) = sources.last_mut() {
            source.claims.push(view(claim, *verdict, observed, play)?);
        }
    }
    Ok(Page {
        title: critique.title.clone(),
        about: critique.about.clone(),
        summary: summary(claims, verdicts),
        real: (observed.redis.as_ref()).map(|_| format!("{}.", equivalent(WITHIN))),
        claims: lines,
        sources,
        every_step: None,
        how,
    })
}

fn summary(claims: &[&Claim], verdicts: &[Option<Judgement>]) -> String {
    let standings = claims.iter().zip(verdicts);
    let standings: Vec<_> = standings
        .map(|(claim, verdict)| Standing::of(claim, *verdict))
        .collect();
    let count = |standing| standings.iter().filter(|it| **it == standing).count();
    let mut parts: Vec<String> = Standing::ALL
        .into_iter()
        .map(|standing| (count(Some(standing)), standing.name()))
        .filter(|(claims, _)| *claims > 0)
        .map(|(claims, name)| format!("{claims} {name}"))
        .collect();
    let elsewhere = count(None);
    if elsewhere > 0 {
        parts.push(format!("{elsewhere} demonstrated elsewhere"));
    }
    let of = |is: Judgement| verdicts.iter().filter(|it| **it == Some(is)).count();
    let (few, differ) = (of(Judgement::Inconclusive), of(Judgement::Differs));
    let executed = claims.len() - elsewhere;
    let mut summary = format!(
        "{} {}: {}. The runs of {} of {executed} came out as predicted",
        claims.len(),
        if claims.len() == 1 { "claim" } else { "claims" },
        parts.join(", "),
        executed - few - differ
    );
    if few > 0 {
        summary += &format!("; {few} had too few runs to say");
    }
    if differ > 0 {
        summary += &format!("; {differ} did not");
    }
    summary + "."
}

/// Where a claim stands, in words with the reason.
fn stands(claim: &Claim, verdict: Option<Judgement>) -> Mark {
    let Some(standing) = Standing::of(claim, verdict) else {
        return Mark::default();
    };
    let name = standing.name();
    Mark {
        text: name[..1].to_uppercase() + &name[1..],
        sentence: standing.because(claim).unwrap_or_default().into(),
        look: standing.look(),
    }
}

fn line(claim: &Claim, verdict: Option<Judgement>, observed: &Observed) -> Line {
    let first = claim.scenarios.first().map(|name| &observed.shown[name]);
    Line {
        id: claim.id.clone(),
        says: claim.says.clone(),
        prediction: claim.prediction.clone(),
        cells: first.map(cells).unwrap_or_default(),
        standing: stands(claim, verdict),
        verdict: mark(verdict),
        real: on_real_redis(claim, observed),
    }
}

/// The rates of `belief`, `lease` and `resource`, and of the headline if it is none of them.
fn cells(shown: &Shown) -> [String; 4] {
    let share = |property: Property| {
        let comparison = (shown.comparisons.iter())
            .find(|c| c.property == property)
            .filter(|c| is_in_question(c))?;
        Some(percent(&comparison.tally))
    };
    let headline = shown.scenario.headline();
    let three = [Property::Belief, Property::Lease, Property::Resource];
    let [belief, lease, resource] = three.map(|property| share(property).unwrap_or_default());
    let other = match three.contains(&headline) {
        true => String::new(),
        false => share(headline)
            .map(|share| format!("{}: {share}", headline.name()))
            .unwrap_or_default(),
    };
    [belief, lease, resource, other]
}

fn percent(tally: &Tally) -> String {
    match tally.rate().share() {
        None => String::new(),
        Some(share) if tally.violated == 0 || share == 1.0 => {
            format!("{:.0}\u{a0}%", 100.0 * share)
        }
        Some(share) => format!("{:.1}\u{a0}%", 100.0 * share),
    }
}

/// Whether a property was predicted, or violated.
fn is_in_question(comparison: &Comparison) -> bool {
    comparison.predicted.is_some() || comparison.observed == Found::Violated
}

fn mark(verdict: Option<Judgement>) -> Mark {
    let (text, sentence, look) = match verdict {
        None => ("see below", "", ""),
        Some(Judgement::AsPredicted | Judgement::Unpredicted) => {
            ("yes", "It came out as predicted.", "good")
        }
        Some(Judgement::Inconclusive) => {
            ("too few runs", "There were too few runs to say.", "open")
        }
        Some(Judgement::Differs) => ("no", "It did not come out as predicted.", "bad"),
    };
    Mark {
        text: text.into(),
        sentence: sentence.into(),
        look,
    }
}

fn view(
    claim: &Claim,
    verdict: Option<Judgement>,
    observed: &Observed,
    play: Option<&str>,
) -> anyhow::Result<ClaimView> {
    let scenarios = claim.scenarios.iter().map(|name| &observed.shown[name]);
    let picture = match claim.scenarios.first() {
        Some(name) => Some(picture(claim, name, &observed.shown[name])?),
        None => None,
    };
    let play = play.and_then(|page| address(claim, page, observed));
    let chart = match &claim.sweep {
        Some(name) => chart(claim, name, observed)?,
        None => None,
    };
    Ok(ClaimView {
        id: claim.id.clone(),
        says: claim.says.clone(),
        quote: claim.quote.clone(),
        section: claim.section.clone(),
        prediction: claim.prediction.clone(),
        standing: stands(claim, verdict),
        verdict: mark(verdict),
        elsewhere: claim.elsewhere.clone(),
        scenarios: scenarios.map(rows).collect(),
        play,
        picture,
        chart,
    })
}

fn rows(shown: &Shown) -> ScenarioView {
    let in_question = shown.comparisons.iter().filter(|c| is_in_question(c));
    ScenarioView {
        name: shown.scenario.name.clone(),
        title: shown.scenario.title.clone(),
        rows: in_question
            .map(|comparison| row(comparison, shown))
            .collect(),
        measured: (describe::measured(&shown.scenario, &shown.world).into_iter())
            .chain(known(shown))
            .collect(),
    }
}

/// Why real Redis differs, if it ran, and the scenario knows; and whether these runs show it.
fn known(shown: &Shown) -> Option<String> {
    let Some(Ok(real)) = &shown.real else {
        return None;
    };
    let known = shown.scenario.on_redis.as_ref()?;
    let has_only_no_bound = known.differs.is_empty() && known.durations.is_empty();
    let differs = match real.comparison.explanation(&shown.scenario) {
        _ if has_only_no_bound => "no bound is asked of real Redis.",
        Some(_) => "real Redis differs.",
        None => "these runs are too few to show it, but real Redis differs.",
    };
    Some(format!("{differs} {}", known.why.trim()))
}

fn row(comparison: &Comparison, shown: &Shown) -> Row {
    Row {
        property: comparison.property.name().into(),
        predicted: (comparison.predicted).map_or("–".into(), |predicted| predicted.to_string()),
        observed: comparison.observed.name().into(),
        look: match comparison.judgement {
            Judgement::Unpredicted => "",
            judgement => mark(Some(judgement)).look,
        },
        rate: comparison.tally.describe(),
        real: match &shown.real {
            None => Mark::default(),
            Some(Err(_)) => plain("–"),
            Some(Ok(real)) => on_redis(comparison.property, real),
        },
    }
}

fn plain(text: &str) -> Mark {
    Mark {
        text: text.into(),
        ..Mark::default()
    }
}

fn on_redis(property: Property, real: &Real) -> Mark {
    let tally = real.confirmed.real.tallies.get(&property);
    let Some(tally) = tally.filter(|tally| tally.runs() > 0) else {
        return plain("not judged");
    };
    let mut rows = real.comparison.rates.iter();
    let compared = rows.find(|row| row.property == property);
    Mark {
        text: format!("{} of {} runs", tally.violated, tally.runs()),
        sentence: compared.map_or(String::new(), said),
        look: compared.map_or("", |row| look_of(row.finding)),
    }
}

/// How far apart the rates may be.
fn said(row: &RateRow) -> String {
    let (Interval { low, high }, _) = row.decisive();
    format!(
        "Real Redis less the simulator: {:+.0} to {:+.0} points.",
        100.0 * low,
        100.0 * high
    )
}

fn look_of(finding: Finding) -> &'static str {
    match finding {
        Finding::Equivalent => "good",
        Finding::Unbounded | Finding::Explained => "open",
        Finding::Unclear => "open",
        Finding::Differ => "bad",
    }
}

/// Whether real Redis is like the simulator in all scenarios of a claim.
fn on_real_redis(claim: &Claim, observed: &Observed) -> Mark {
    let shown = claim.scenarios.iter().map(|name| &observed.shown[name]);
    let compared = shown.filter_map(|shown| match &shown.real {
        Some(Ok(real)) => Some(&real.comparison),
        _ => None,
    });
    let (mut worst, mut apart) = (None, 0.0_f64);
    for comparison in compared {
        worst = worst.max(Some(comparison.finding()));
        let bounded = { comparison.rates.iter() }.filter(|row| row.finding != Finding::Unbounded);
        apart = bounded.fold(apart, |apart, row| apart.max(row.apart()));
    }
    let Some(worst) = worst else {
        return plain("–");
    };
    let text = match worst {
        Finding::Equivalent => format!("equivalent within ±{:.0} points", 100.0 * apart),
        Finding::Unbounded => "equivalent, but for a rate without a bound".into(),
        Finding::Explained => "differs, as explained in the scenario".into(),
        Finding::Unclear => format!("unclear: within ±{:.0} points", 100.0 * apart),
        Finding::Differ => "DIFFERS".into(),
    };
    Mark {
        look: look_of(worst),
        ..plain(&text)
    }
}

/// The place of a claim that ships in the page to play with, and there the run that is pictured here.
fn address(claim: &Claim, page: &str, observed: &Observed) -> Option<String> {
    let name = claim.scenarios.first()?;
    let seed = pictured(&observed.shown[name]);
    SHIPPED
        .iter()
        .any(|(shipped, _)| shipped == name)
        .then(|| format!("{page}#scenario={name}&seed={seed}&claim={}", claim.id))
}

/// The seed of the run with the earliest violation of the headline, or of the first run.
fn pictured(shown: &Shown) -> u64 {
    let headline = shown.scenario.headline();
    let shortest = shown.world.shortest.get(&headline);
    shortest.map_or(0, |shortest| shortest.seed)
}

/// A run of what the claim names first.
fn picture(claim: &Claim, name: &str, shown: &Shown) -> anyhow::Result<Picture> {
    let scenario = &shown.scenario;
    let headline = scenario.headline();
    let seed = pictured(shown);
    let run = judged::record(scenario, seed)?;
    let (picture, provenance) = recordings::drawing(scenario, &run, headline, &Sheet::SCREEN)?;
    let name = quoted(name);
    let again = format!("locklab run {name} --seed {seed}");
    let (caption, commands) = match recordings::violation_of(&run, headline) {
        Some(violation) => (
            format!("Seed {seed}: {}.", violation.what),
            format!("{again}\nlocklab shrink {name} --seed {seed}"),
        ),
        None => (
            format!("Seed {seed}: a run in which {headline} is not violated."),
            again,
        ),
    };
    let svg = svg(&provenance.stamp(picture));
    Ok(Picture::new(&svg, &claim.id, caption, commands))
}

/// The chart of a sweep, if it was made and there is something to draw.
fn chart(claim: &Claim, name: &str, observed: &Observed) -> anyhow::Result<Option<Picture>> {
    let Some(swept) = observed.sweeps.get(name) else {
        return Ok(None);
    };
    let options = ChartOptions {
        properties: sweep::charted(&[], &observed.shown[name].scenario),
        ..ChartOptions::default()
    };
    let picture = match chart::draw(swept, &options, &Sheet::SCREEN) {
        Err(Error::NothingJudged { .. }) => return Ok(None),
        drawn => drawn?,
    };
    let drawn = svg(&sweep::provenance(swept).stamp(picture));
    let caption = format!(
        "{name}: the rate over what is varied, {} runs in each cell.",
        swept.seeds
    );
    let prefix = format!("{}-sweep", claim.id);
    let commands = format!("locklab study sweep {}", quoted(name));
    Ok(Some(Picture::new(&drawn, &prefix, caption, commands)))
}
