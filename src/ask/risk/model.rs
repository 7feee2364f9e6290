//! How often a lock fails in an environment, in violations a year.
//!
//! An [`Environment`] says what goes wrong, how often and for how long. One run is one grant of the lock:
//! a client takes it and works, another client asks for it. For each cause, one fault strikes at a time
//! that is uniform over the grant (`strike`), and the mean of the violations gives those per grant
//! ([`Causes`]). [`Whole`] lets all causes strike together, and [`Variants`] change something.
//!
//! [`Cost`] measures what a lease costs when nothing goes wrong but the holder's death.
//!
//! Nothing here makes many runs. Each of these plans [`Series`] of runs, and has the answer once somebody
//! has made them.

mod arrival;
mod attempts;
mod bound;
mod cost;
mod environment;
mod estimate;
mod excluded;
mod grant;
mod parameter;
mod question;
mod row;
mod series;
mod setup;
mod setup_error;
mod strike;
mod time;
mod together;
mod variants;
mod whole;

pub use arrival::Demand;
pub use bound::Bound;
pub use cost::{Cost, Costs};
pub use environment::{Cause, Environment, Guess, Role, SHIPPED};
pub use estimate::{Number, Runs};
pub use excluded::Excluded;
pub use grant::PROPERTIES;
pub use parameter::{Origin, Parameter};
pub use question::{ByCause, Causes, Share};
pub use row::{Term, without_replica};
pub use series::{Sampling, Series};
pub use setup::{Setup, inline};
pub use setup_error::SetupError;
pub use time::Time;
pub use variants::{Change, Variant, Variants};
pub use whole::Whole;
