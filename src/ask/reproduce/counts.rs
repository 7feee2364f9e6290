//! The counts behind the page, for a spreadsheet: a row for each property of each scenario of a claim.

use locklab_evidence::Judgement;
use locklab_results::csv::{self, Csv};

use super::Observed;
use super::debate::Claim;
use super::standing::Standing;

/// The rows of these claims, each with the verdict on its predictions.
pub(super) fn list(claims: &[&Claim], verdicts: &[Option<Judgement>], observed: &Observed) -> Csv {
    let before = [
        "claim",
        "standing",
        "scenario",
        "property",
        "predicted",
        "observed",
        "judgement",
    ];
    let mut csv = Csv::new(before.into_iter().chain(csv::COUNTS));
    for (claim, verdict) in claims.iter().zip(verdicts) {
        let standing = Standing::of(claim, *verdict).map_or("", Standing::name);
        for name in &claim.scenarios {
            for found in &observed.shown[name].comparisons {
                let predicted = found.predicted.map_or(String::new(), |it| it.to_string());
                let mut row = vec![
                    claim.id.clone(),
                    standing.to_owned(),
                    name.clone(),
                    found.property.to_string(),
                    predicted,
                    found.observed.name().to_owned(),
                    found.judgement.name().to_owned(),
                ];
                row.extend(csv::counts(&found.tally));
                csv.push(row);
            }
        }
    }
    csv
}
