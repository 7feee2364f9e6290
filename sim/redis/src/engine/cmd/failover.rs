//! FAILOVER.

use super::{SYNTAX, integer};
use crate::engine::command::Call;
use crate::engine::repl::handover::{self, find_replica};
use crate::engine::state::State;
use crate::engine::state::handover::{AtDeadline, Deadline, Handover};
use crate::wire::reply::{Answer, Error, Reply};

/// `FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]`: replies immediately; the
/// server does the rest, and INFO shows the progress.
pub(in crate::engine) fn failover(call: &mut Call<'_>) -> Answer {
    if let [_, word] = call.args
        && word.eq_ignore_ascii_case(b"abort")
    {
        if call.state.repl.handover.is_none() {
            return Err(Error::of("ERR No failover in progress."));
        }
        handover::abort(call.state);
        return Ok(Reply::OK);
    }
    let order = Order::read(&call.args[1..])?;
    let target = order.check(call.state)?;
    let then = match order.force {
        true => AtDeadline::Force,
        false => AtDeadline::GiveUp,
    };
    let now_ms = call.now_ms();
    let deadline = order.timeout_ms.map(|timeout_ms| Deadline {
        at_ms: now_ms.saturating_add(timeout_ms),
        then,
    });
    call.state.repl.handover = Some(Handover::new(target, deadline));
    Ok(Reply::OK)
}

/// The parsed arguments.
#[derive(Default)]
struct Order {
    target: Option<(String, i64)>,
    timeout_ms: Option<i64>,
    force: bool,
}

impl Order {
    fn read(mut words: &[&[u8]]) -> Result<Self, Error> {
        let mut order = Order::default();
        while let [word, rest @ ..] = words {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            words = match rest {
                [ms, rest @ ..] if is("timeout") && order.timeout_ms.is_none() => {
                    let ms = integer(ms)?;
                    if ms <= 0 {
                        return Err(Error::of("ERR FAILOVER timeout must be greater than 0"));
                    }
                    order.timeout_ms = Some(ms);
                    rest
                }
                [host, port, rest @ ..] if is("to") && order.target.is_none() => {
                    let host = String::from_utf8_lossy(host).into_owned();
                    order.target = Some((host, integer(port)?));
                    rest
                }
                rest if is("force") && !order.force => {
                    order.force = true;
                    rest
                }
                _ => return Err(SYNTAX),
            };
        }
        Ok(order)
    }

    /// Checks whether this is possible in the current state; returns the target, if one was
    /// given.
    fn check(&self, state: &State) -> Result<Option<(String, u16)>, Error> {
        if state.repl.handover.is_some() {
            return Err(Error::of("ERR FAILOVER already in progress."));
        }
        if state.repl.link().is_some() {
            return Err(Error::of(
                "ERR FAILOVER is not valid when server is a replica.",
            ));
        }
        if state.repl.replicas.is_empty() {
            return Err(Error::of("ERR FAILOVER requires connected replicas."));
        }
        if self.force && (self.timeout_ms.is_none() || self.target.is_none()) {
            return Err(Error::of(
                "ERR FAILOVER with force option requires both a timeout and target HOST and IP.",
            ));
        }
        let Some((host, port)) = &self.target else {
            return Ok(None);
        };
        const NOT_A_REPLICA: Error =
            Error::of("ERR FAILOVER target HOST and PORT is not a replica.");
        let port = u16::try_from(*port).map_err(|_| NOT_A_REPLICA)?;
        let found = find_replica(state, host, port);
        let found = found.and_then(|id| state.repl.replicas.get(&id));
        match found.ok_or(NOT_A_REPLICA)?.is_online() {
            true => Ok(Some((host.clone(), port))),
            false => Err(Error::of("ERR FAILOVER target replica is not online.")),
        }
    }
}
