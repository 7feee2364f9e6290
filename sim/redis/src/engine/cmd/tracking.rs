//! CLIENT TRACKING and CACHING.

use super::SYNTAX;
use crate::engine::command::Call;
use crate::engine::tracking::{Mode, OwnChanges, Tracking};
use crate::wire::reply::{Answer, Error, Reply};

/// `CLIENT TRACKING ON | OFF [OPTIN] [OPTOUT] [NOLOOP]`.
pub(in crate::engine) fn tracking(call: &mut Call<'_>) -> Answer {
    let options = Options::parse(&call.args[3..])?;
    match call.args[2].to_ascii_lowercase().as_slice() {
        b"on" => options.apply(call)?,
        b"off" => call.state.track(call.client, None),
        _ => return Err(SYNTAX),
    }
    Ok(Reply::OK)
}

/// `CLIENT CACHING YES | NO`: for the next command.
pub(in crate::engine) fn caching(call: &mut Call<'_>) -> Answer {
    let word = call.args[2].to_ascii_lowercase();
    let tracking = call.session().tracking.as_mut();
    let Some(tracking) = tracking.filter(|t| matches!(t.mode, Mode::OptIn | Mode::OptOut)) else {
        let on = call.session().tracking.is_some();
        return Err(match word.as_slice() {
            b"yes" if on => ONLY_OPTIN,
            b"no" if on => ONLY_OPTOUT,
            _ if on => SYNTAX,
            _ => Error::of(
                "ERR CLIENT CACHING can be called only when the client is in tracking mode \
                 with OPTIN or OPTOUT mode enabled",
            ),
        });
    };
    match (word.as_slice(), &tracking.mode) {
        (b"yes", Mode::OptIn) | (b"no", Mode::OptOut) => tracking.caching = true,
        (b"yes", _) => return Err(ONLY_OPTIN),
        (b"no", _) => return Err(ONLY_OPTOUT),
        _ => return Err(SYNTAX),
    }
    Ok(Reply::OK)
}

const ONLY_OPTIN: Error =
    Error::of("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
const ONLY_OPTOUT: Error =
    Error::of("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");

#[derive(Default)]
struct Options {
    optin: bool,
    optout: bool,
    noloop: bool,
}

impl Options {
    fn parse(words: &[&[u8]]) -> Result<Self, Error> {
        let mut options = Options::default();
        for word in words {
            match word.to_ascii_lowercase().as_slice() {
                b"optin" => options.optin = true,
                b"optout" => options.optout = true,
                b"noloop" => options.noloop = true,
                _ => return Err(SYNTAX),
            }
        }
        Ok(options)
    }

    /// Sets the new tracking settings; errors are checked in Redis's order.
    fn apply(self, call: &mut Call<'_>) -> Result<(), Error> {
        self.check(call.session().tracking.as_ref())?;
        let mode = match self {
            Options { optin: true, .. } => Mode::OptIn,
            Options { optout: true, .. } => Mode::OptOut,
            _ => Mode::Default,
        };
        let own_changes = match self.noloop {
            true => OwnChanges::Untold,
            false => OwnChanges::Told,
        };
        let tracking = Tracking {
            mode,
            own_changes,
            caching: false,
        };
        call.state.track(call.client, Some(tracking));
        Ok(())
    }

    fn check(&self, old: Option<&Tracking>) -> Result<(), Error> {
        if self.optin && self.optout {
            return Err(Error::of(
                "ERR You can't specify both OPTIN mode and OPTOUT mode",
            ));
        }
        let switches = match old.map(|old| &old.mode) {
            Some(Mode::OptIn) => self.optout,
            Some(Mode::OptOut) => self.optin,
            _ => false,
        };
        if switches {
            return Err(Error::of(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this \
                 client, and then re-enabling it with a different mode.",
            ));
        }
        Ok(())
    }
}
