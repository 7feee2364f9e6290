//! Why a lock cannot be asked about.

use locklab_model::scenario::ScenarioError;

/// Why a lock cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no such lock.
    #[error("unknown lock \"{name}\"{meant}")]
    Unknown {
        /// As it was written.
        name: String,
        /// The nearest name, or where the names are.
        meant: String,
    },
    /// The lock's lease has a name or a form that is not known here.
    #[error("the parameters of \"{name}\" are not valid: {what}")]
    Parameters {
        /// The lock.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}
