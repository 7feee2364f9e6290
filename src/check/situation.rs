//! Situations of a run that strain its lock, by name. `locklab_situations` finds those of a run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Turns each entry into a variant of [`Situation`], with its name and its meaning.
macro_rules! situations {
    ($($Situation:ident = $name:literal => $meaning:literal,)*) => {
        /// Something that happens in a run and strains its lock.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Situation {
            $(#[doc = concat!("In the run ", $meaning, ".")] $Situation,)*
        }

        impl Situation {
            /// Every situation, in the order of tables.
            pub const ALL: [Situation; [$($name),*].len()] = [$(Situation::$Situation),*];

            /// The name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Situation::$Situation => $name,)*
                }
            }

            /// What happens, as a clause.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Situation::$Situation => $meaning,)*
                }
            }
        }
    };
}

situations! {
    LapsedWhileStopped = "lapsed-while-stopped" =>
        "a lease lapsed while its holder was paused or suspended",
    LapsedWhileCutOff = "lapsed-while-cut-off" =>
        "a lease lapsed while its holder was cut off from the server",
    ClockStepped = "clock-stepped" =>
        "the clock of a holder or of a server was stepped during a lease",
    HolderDied = "holder-died" =>
        "a client died while it held the lock",
    ForgottenGrant = "forgotten-grant" =>
        "a server that had forgotten a grant in a restart granted the lock again during it",
    FailedOver = "failed-over" =>
        "a replica became the master while a client held the lock",
    TokenAfterRestart = "token-after-restart" =>
        "a token was drawn after a failover or a restart of a server",
    SplitNodes = "split-nodes" =>
        "two clients each held some of the nodes at once",
    UntoldGrant = "untold-grant" =>
        "servers granted the lock to a client that was not told in time",
    ForeignKeyMet = "foreign-key-met" =>
        "a release reached a server that held the lock for another client",
    WaiterWoke = "waiter-woke" =>
        "a client that had listened for its turn was granted the lock",
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn situation_name_matches_the_file_format() {
        for situation in Situation::ALL {
            let json = serde_json::to_value(situation).expect("a name");
            assert_eq!(json, situation.name());
            assert_eq!(
                serde_json::from_value::<Situation>(json).expect("its own"),
                situation
            );
        }
    }
}
