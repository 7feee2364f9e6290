//! What runs without any violation leave open.

use serde::Serialize;

use crate::risk::model::question::{ByCause, Share};

/// How often causes may violate a property of which no run does. It says how few runs there are, and nothing about
/// the lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Violations per grant that the runs of these causes cannot exclude, at 95 %: as many as of the cause that leaves
    /// most open ([`Number::sum`](crate::risk::model::Number::sum)). Grants that nothing strikes are not in it.
    pub per_grant: f64,
    /// The cause whose runs leave so much open.
    pub from: String,
    /// How many runs of that cause there are, and in how many of them the property could have been violated.
    pub runs: [u64; 2],
    /// The same of grants that nothing strikes.
    pub undisturbed: [u64; 2],
}

impl ByCause {
    /// What the causes leave open whose runs violate a property never; `None` if there is none, or arithmetic excludes
    /// each.
    pub fn bound(&self, property: usize) -> Option<Bound> {
        let open = |share: &Share| share.per_grant(property).not_excluded();
        let counts = |share: &Share| {
            let chances = &share.runs.chances[property];
            [chances.runs, chances.violated]
        };
        let causes = self.shares.iter().filter(|share| !share.cause.is_empty());
        let most = causes.max_by(|a, b| open(a).total_cmp(&open(b)))?;
        let undisturbed = self.shares.iter().find(|share| share.cause.is_empty());
        let bound = Bound {
            per_grant: open(most),
            from: most.cause.clone(),
            runs: counts(most),
            undisturbed: undisturbed.map_or([0; 2], counts),
        };
        Some(bound).filter(|bound| bound.per_grant > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::model::estimate::Runs;
    use crate::risk::model::grant::{Outcome, Says};

    /// So many runs of a cause, each with this weight, the first of which may violate the lease.
    fn share(cause: &str, runs: u64, weight: f64, is_violated: bool) -> Share {
        let mut all = Runs::default();
        for nth in 0..runs {
            all.add(Outcome {
                says: [is_violated && nth == 0, false].map(|violated| match violated {
                    true => Says::Violated,
                    false => Says::Nothing,
                }),
                weight,
            });
        }
        Share {
            cause: cause.into(),
            rate: 1.0,
            runs: all,
            excluded: None,
        }
    }

    fn by_cause(shares: Vec<Share>) -> ByCause {
        ByCause {
            shares,
            left_out: vec![],
        }
    }

    #[test]
    fn bound_comes_from_the_runs_that_leave_most_open() {
        let answer = by_cause(vec![
            share("", 500, 1.0, false),
            share("gc", 1000, 0.01, true),
            share("rack", 1000, 0.1, false),
        ]);
        for property in [0, 1] {
            let bound = answer.bound(property).expect("no run of rack violates it");
            assert_eq!((&*bound.from, bound.runs), ("rack", [1000, 0]));
            assert_eq!(bound.undisturbed, [500, 0]);
            assert!((bound.per_grant - 0.0003).abs() < 1e-12, "{bound:?}");
        }
        let seen = by_cause(vec![share("gc", 1000, 0.01, true)]);
        assert_eq!(seen.bound(0), None, "a run violates it");
    }

    #[test]
    fn grants_that_nothing_strikes_do_not_widen_the_sum() {
        let struck = || share("gc", 1000, 0.01, true);
        let sum = |shares| by_cause(shares).sum(0);
        let beside = |is_violated| sum(vec![share("", 500, 1.0, is_violated), struck()]);
        assert_eq!(beside(false), sum(vec![struck()]));
        assert_eq!(beside(true).violated, 2);
    }

    #[test]
    fn ten_times_as_many_runs_make_it_a_tenth() {
        let of = |runs| by_cause(vec![share("gc", runs, 1.0, false)]).bound(1);
        let [few, many] = [100, 1000].map(|runs| of(runs).expect("none is violated").per_grant);
        assert!((few / many - 10.0).abs() < 1e-9, "{few} {many}");
    }
}
