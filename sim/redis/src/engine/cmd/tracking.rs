//! CLIENT TRACKING, CACHING, TRACKINGINFO, GETREDIR.

use bytes::Bytes;
use locklab_vecmap::VecSet;

use super::prefixes::check_overlaps;
use super::{SYNTAX, integer};
use crate::engine::command::Call;
use crate::engine::state::session::copy_bytes;
use crate::engine::tracking::{Mode, OwnChanges, Tracking};
use crate::wire::reply::{Answer, Error, Reply};

/// `CLIENT TRACKING ON | OFF [REDIRECT id] [PREFIX prefix …] [BCAST] [OPTIN]
/// [OPTOUT] [NOLOOP]`.
pub(in crate::engine) fn tracking(call: &mut Call<'_>) -> Answer {
    let options = Options::parse(call)?;
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

/// `CLIENT GETREDIR`: the client that receives this client's invalidations; 0 for itself, -1
/// without tracking.
pub(in crate::engine) fn getredir(call: &mut Call<'_>) -> Answer {
    let tracking = call.session().tracking.as_ref();
    Ok(Reply::Integer(tracking.map_or(-1, |t| t.redirect as i64)))
}

/// `CLIENT TRACKINGINFO`.
pub(in crate::engine) fn trackinginfo(call: &mut Call<'_>) -> Answer {
    let tracking = call.session().tracking.clone();
    let flags = match &tracking {
        None => vec!["off"],
        Some(tracking) => tracking.flags(),
    };
    let redirect = tracking.as_ref().map_or(-1, |t| t.redirect as i64);
    let prefixes = match tracking.map(|t| t.mode) {
        Some(Mode::Broadcast(prefixes)) => prefixes.into_iter().map(Reply::Bulk).collect(),
        _ => Vec::new(),
    };
    Ok(Reply::Map(vec![
        (
            Reply::bulk("flags"),
            Reply::Set(flags.into_iter().map(Reply::bulk).collect()),
        ),
        (Reply::bulk("redirect"), Reply::Integer(redirect)),
        (Reply::bulk("prefixes"), Reply::Array(prefixes)),
    ]))
}

impl Tracking {
    fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec!["on"];
        match self.mode {
            Mode::Default => {}
            Mode::Broadcast(_) => flags.push("bcast"),
            Mode::OptIn => flags.push("optin"),
            Mode::OptOut => flags.push("optout"),
        }
        match self.mode {
            Mode::OptIn if self.caching => flags.push("caching-yes"),
            Mode::OptOut if self.caching => flags.push("caching-no"),
            _ => {}
        }
        if self.own_changes == OwnChanges::Untold {
            flags.push("noloop");
        }
        if self.broken {
            flags.push("broken_redirect");
        }
        flags
    }
}

#[derive(Default)]
struct Options {
    redirect: u64,
    prefixes: Vec<Bytes>,
    bcast: bool,
    optin: bool,
    optout: bool,
    noloop: bool,
}

impl Options {
    fn parse(call: &Call<'_>) -> Result<Self, Error> {
        let mut options = Options::default();
        let mut words = &call.args[3..];
        while let [word, rest @ ..] = words {
            words = rest;
            match (word.to_ascii_lowercase().as_slice(), rest) {
                (b"redirect", [id, rest @ ..]) => {
                    words = rest;
                    if options.redirect != 0 {
                        return Err(Error::of(
                            "ERR A client can only redirect to a single other client",
                        ));
                    }
                    let id = u64::try_from(integer(id)?).unwrap_or(0);
                    if !call.state.clients.contains_key(&id) {
                        return Err(Error::of(
                            "ERR The client ID you want redirect to does not exist",
                        ));
                    }
                    options.redirect = id;
                }
                (b"prefix", [prefix, rest @ ..]) => {
                    words = rest;
                    options.prefixes.push(Bytes::copy_from_slice(prefix));
                }
                (b"bcast", _) => options.bcast = true,
                (b"optin", _) => options.optin = true,
                (b"optout", _) => options.optout = true,
                (b"noloop", _) => options.noloop = true,
                _ => return Err(SYNTAX),
            }
        }
        Ok(options)
    }

    /// Sets the new tracking settings; errors are checked in Redis's order.
    fn apply(self, call: &mut Call<'_>) -> Result<(), Error> {
        let old = call.session().tracking.as_ref();
        self.check(old)?;
        let own_changes = match self.noloop {
            true => OwnChanges::Untold,
            false => OwnChanges::Told,
        };
        let redirect = self.redirect;
        let mode = if self.bcast {
            let added = match self.prefixes.is_empty() {
                true => vec![Bytes::new()],
                false => self.prefixes,
            };
            // Kept, as there may be many.
            let session = call.session();
            if let Some(tracking) = &mut session.tracking
                && let Mode::Broadcast(prefixes) = &mut tracking.mode
            {
                for prefix in added {
                    let bytes = copy_bytes(&prefix);
                    session.prefixes_bytes += match prefixes.insert(prefix) {
                        true => bytes,
                        false => 0,
                    };
                }
                (tracking.redirect, tracking.own_changes) = (redirect, own_changes);
                (tracking.broken, tracking.caching) = (false, false);
                return Ok(());
            }
            Mode::Broadcast(added.into_iter().collect())
        } else if self.optin {
            Mode::OptIn
        } else if self.optout {
            Mode::OptOut
        } else {
            Mode::Default
        };
        let tracking = Tracking {
            redirect,
            broken: false,
            mode,
            own_changes,
            caching: false,
        };
        call.state.track(call.client, Some(tracking));
        Ok(())
    }

    fn check(&self, old: Option<&Tracking>) -> Result<(), Error> {
        if !self.bcast && !self.prefixes.is_empty() {
            return Err(Error::of(
                "ERR PREFIX option requires BCAST mode to be enabled",
            ));
        }
        let old_prefixes = match old.map(|old| &old.mode) {
            Some(Mode::Broadcast(prefixes)) => Some(prefixes),
            _ => None,
        };
        if old.is_some() && old_prefixes.is_some() != self.bcast {
            return Err(Error::of(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this \
                 client, and then re-enabling it with a different mode.",
            ));
        }
        if self.bcast && (self.optin || self.optout) {
            return Err(Error::of(
                "ERR OPTIN and OPTOUT are not compatible with BCAST",
            ));
        }
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
        match old_prefixes {
            Some(old) => check_overlaps(&self.prefixes, old),
            None => check_overlaps(&self.prefixes, &VecSet::new()),
        }
    }
}
