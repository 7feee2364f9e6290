//! Checks the `[campaign]` table.

use super::{Problem, drift, probability, require};
use crate::scenario::campaign::why_not_drawn;
use crate::scenario::{Campaign, Scenario};

pub(super) fn validate(scenario: &Scenario) -> Result<(), Problem> {
    let Some(campaign) = &scenario.campaign else {
        return Ok(());
    };
    require(
        scenario.fault.is_empty(),
        &["fault"],
        "a campaign draws its faults; a scenario has either [campaign] or [fault.NAME]",
    )?;
    require(
        scenario.topology.clients >= 2,
        &["topology", "clients"],
        "a campaign draws two clients or more",
    )?;
    require(
        scenario.settle_ms.is_some(),
        &["campaign"],
        "a campaign judges whether the lock recovers: write \"settle_ms\" above all tables",
    )?;
    kinds(campaign)?;
    times(campaign, scenario.horizon_ms)?;
    amounts(campaign)
}

fn kinds(campaign: &Campaign) -> Result<(), Problem> {
    require(
        !campaign.faults.is_empty(),
        &["campaign", "faults"],
        "without any kind of fault a campaign has nothing to draw",
    )?;
    let mut kinds = campaign.faults.iter();
    let ordered = kinds.find_map(|kind| Some((kind, why_not_drawn(*kind)?)));
    ordered.map_or(Ok(()), |(kind, why)| {
        let text = format!("a campaign cannot draw a {}: {why}", kind.noun());
        Err(Problem::at(&["campaign", "faults"], text))
    })
}

fn times(campaign: &Campaign, horizon_ms: u64) -> Result<(), Problem> {
    let Campaign {
        begins_ms,
        heals_ms,
        ..
    } = *campaign;
    require(
        begins_ms < heals_ms,
        &["campaign", "heals_ms"],
        format!("faults strike from {begins_ms} ms on, so they cannot be over at {heals_ms} ms"),
    )?;
    require(
        heals_ms < horizon_ms,
        &["campaign", "heals_ms"],
        format!("the run ends at {horizon_ms} ms, so nothing comes after {heals_ms} ms"),
    )
}

fn amounts(campaign: &Campaign) -> Result<(), Problem> {
    probability(campaign.loss, &["campaign", "loss"])?;
    drift(i64::from(campaign.drift_ppm), &["campaign", "drift_ppm"])?;
    drift(-i64::from(campaign.drift_ppm), &["campaign", "drift_ppm"])?;
    let is_time = |ms: &f64| ms.is_finite() && *ms >= 0.0;
    require(
        !campaign.latency_ms.is_empty() && campaign.latency_ms.iter().all(is_time),
        &["campaign", "latency_ms"],
        "\"latency_ms\" lists medians in milliseconds, such as [0.5, 5]",
    )
}
