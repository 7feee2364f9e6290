//! CLIENT: names, lists, kills, pauses and unblocks connections (`src/networking.c`).
//! Its subcommands for client-side caching are in `tracking`.

use bytes::Bytes;

use super::blocking::integer_timeout;
use super::{SYNTAX, integer, subcommand_syntax};
use crate::Imitated;
use crate::engine::blocking::{Unblock, unblock_by_command};
use crate::engine::command::Call;
use crate::engine::pause::{Pause, Whom};
use crate::engine::state::State;
use crate::engine::state::session::valid_name;
use crate::engine::state::session::{Addresses, Closing, Peer, Session};
use crate::wire::reply::{Answer, Error, Reply, Resp};

/// `CLIENT ID`.
pub(in crate::engine) fn id(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(call.client as i64))
}

/// `CLIENT GETNAME`.
pub(in crate::engine) fn getname(call: &mut Call<'_>) -> Answer {
    let name = &call.session().name;
    Ok(Reply::bulk_or_nil((!name.is_empty()).then(|| name.clone())))
}

/// `CLIENT SETNAME name`; an empty name removes it.
pub(in crate::engine) fn setname(call: &mut Call<'_>) -> Answer {
    call.session().name = valid_name("Client names", call.args[2])?;
    Ok(Reply::OK)
}

/// `CLIENT SETINFO LIB-NAME name | LIB-VER version`: what CLIENT LIST shows of the client's library.
pub(in crate::engine) fn setinfo(call: &mut Call<'_>) -> Answer {
    let (option, value) = (call.args[2], call.args[3]);
    let library = &mut call.session().library;
    let (name, place) = match option.to_ascii_lowercase().as_slice() {
        b"lib-name" => ("LIB-NAME", &mut library.name),
        b"lib-ver" => ("LIB-VER", &mut library.version),
        _ => {
            let text = [b"ERR Unrecognized option '", option, b"'"].concat();
            return Err(Error::new(text));
        }
    };
    *place = valid_name(name, value)?;
    Ok(Reply::OK)
}

/// `CLIENT INFO`: this client's line of CLIENT LIST.
pub(in crate::engine) fn info(call: &mut Call<'_>) -> Answer {
    let session = &call.state.clients[&call.client];
    Ok(Reply::text(describe(call.state, session, call.wall_us)))
}

/// `CLIENT LIST [TYPE type | ID id [id …]]`.
pub(in crate::engine) fn list(call: &mut Call<'_>) -> Answer {
    let mut filter = Filter::default();
    let mut ids = None;
    match &call.args[2..] {
        [] => {}
        [word, name] if word.eq_ignore_ascii_case(b"type") => {
            filter.kind = Some(ClientType::parse(name)?)
        }
        [word, words @ ..] if word.eq_ignore_ascii_case(b"id") && !words.is_empty() => {
            let invalid = |_| Error::of("ERR Invalid client ID");
            let parsed: Result<Vec<i64>, Error> = words
                .iter()
                .map(|word| integer(word).map_err(invalid))
                .collect();
            ids = Some(parsed?);
        }
        _ => return Err(SYNTAX),
    }
    let clients = &call.state.clients;
    let listed: Vec<&Session> = match ids {
        Some(ids) => ids
            .iter()
            .filter_map(|id| clients.get(&u64::try_from(*id).ok()?))
            .collect(),
        None => clients.values().filter(|c| filter.matches(c)).collect(),
    };
    let lines = listed
        .into_iter()
        .map(|session| describe(call.state, session, call.wall_us));
    Ok(Reply::text(lines.collect::<String>()))
}

/// `CLIENT KILL address`, or `CLIENT KILL filter value [filter value …]` with ID, TYPE, ADDR,
/// LADDR, USER and SKIPME: returns the number of clients killed.
pub(in crate::engine) fn kill(call: &mut Call<'_>) -> Answer {
    if let [_, _, address] = call.args {
        let filter = Filter {
            address: Some(Bytes::copy_from_slice(address)),
            ..Filter::default()
        };
        return match kill_matching(call, &filter) {
            0 => Err(Error::of("ERR No such client")),
            _ => Ok(Reply::OK),
        };
    }
    let mut filter = Filter {
        but: Some(call.client),
        ..Filter::default()
    };
    let pairs = call.args[2..].chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    for pair in pairs {
        filter.add(pair[0], pair[1], call.client)?;
    }
    if odd {
        return Err(SYNTAX);
    }
    Ok(Reply::Integer(kill_matching(call, &filter)))
}

fn kill_matching(call: &mut Call<'_>, filter: &Filter) -> i64 {
    let clients = call.state.clients.values();
    let doomed: Vec<u64> = clients
        .filter(|c| filter.matches(c))
        .map(|c| c.id)
        .collect();
    for id in &doomed {
        if *id == call.client {
            call.state.close(*id, Closing::AfterReplies);
        } else {
            call.state.kill(*id);
        }
    }
    doomed.len() as i64
}

/// `CLIENT PAUSE timeout [WRITE | ALL]`.
pub(in crate::engine) fn pause(call: &mut Call<'_>) -> Answer {
    let whom = match &call.args[3..] {
        [] => Whom::All,
        [mode] if mode.eq_ignore_ascii_case(b"all") => Whom::All,
        [mode] if mode.eq_ignore_ascii_case(b"write") => Whom::Writers,
        [_] => return Err(Error::of("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(subcommand_syntax(call.args)),
    };
    let timeout_ms = integer_timeout(call.args[2])?;
    let until_ms = call
        .live_ms()
        .checked_add(timeout_ms)
        .ok_or(Error::of("ERR timeout is out of range"))?;
    let pause = Pause { until_ms, whom };
    call.state.pause = Some(match call.state.pause {
        // A pause in progress is not made shorter or weaker.
        Some(old) => Pause {
            until_ms: old.until_ms.max(until_ms),
            whom: old.whom.max(whom),
        },
        None => pause,
    });
    Ok(Reply::OK)
}

/// `CLIENT UNPAUSE`.
pub(in crate::engine) fn unpause(call: &mut Call<'_>) -> Answer {
    call.state.end_pause();
    Ok(Reply::OK)
}

/// `CLIENT UNBLOCK id [TIMEOUT | ERROR]`: 1 if the client was blocked.
pub(in crate::engine) fn unblock(call: &mut Call<'_>) -> Answer {
    let how = match &call.args[3..] {
        [] => Unblock::TimedOut,
        [word] if word.eq_ignore_ascii_case(b"timeout") => Unblock::TimedOut,
        [word] if word.eq_ignore_ascii_case(b"error") => Unblock::Failed,
        [_] => {
            return Err(Error::of(
                "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
        _ => return Err(subcommand_syntax(call.args)),
    };
    let id = u64::try_from(integer(call.args[2])?).unwrap_or(0);
    let waited = unblock_by_command(call.state, id, how);
    Ok(Reply::Integer(waited.into()))
}

/// Selects the clients that CLIENT LIST shows, or CLIENT KILL kills.
#[derive(Default)]
struct Filter {
    id: Option<u64>,
    kind: Option<ClientType>,
    address: Option<Bytes>,
    local_address: Option<Bytes>,
    /// A client to exclude.
    but: Option<u64>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum ClientType {
    Normal,
    PubSub,
    Master,
    Replica,
}

impl ClientType {
    fn parse(name: &[u8]) -> Result<Self, Error> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(ClientType::Normal),
            b"pubsub" => Ok(ClientType::PubSub),
            b"master" => Ok(ClientType::Master),
            b"replica" | b"slave" => Ok(ClientType::Replica),
            _ => {
                let text = [b"ERR Unknown client type '", name, b"'"].concat();
                Err(Error::new(text))
            }
        }
    }

    fn of(session: &Session) -> Self {
        match session.peer {
            Peer::Master => ClientType::Master,
            Peer::Replica => ClientType::Replica,
            Peer::Client if session.subscriptions.any() => ClientType::PubSub,
            Peer::Client => ClientType::Normal,
        }
    }
}

impl Filter {
    fn add(&mut self, name: &[u8], value: &[u8], own: u64) -> Result<(), Error> {
        match name.to_ascii_lowercase().as_slice() {
            b"id" => {
                let id = integer(value).ok().and_then(|id| u64::try_from(id).ok());
                let id = id.filter(|id| *id > 0);
                self.id = Some(id.ok_or(Error::of("ERR client-id should be greater than 0"))?);
            }
            b"type" => self.kind = Some(ClientType::parse(value)?),
            b"addr" => self.address = Some(Bytes::copy_from_slice(value)),
            b"laddr" => self.local_address = Some(Bytes::copy_from_slice(value)),
            b"user" if value == b"default" => {}
            b"user" => return Err(Error::new([b"ERR No such user '", value, b"'"].concat())),
            b"skipme" => match value.to_ascii_lowercase().as_slice() {
                b"yes" => self.but = Some(own),
                b"no" => self.but = None,
                _ => return Err(SYNTAX),
            },
            _ => return Err(SYNTAX),
        }
        Ok(())
    }

    fn matches(&self, session: &Session) -> bool {
        let Addresses { peer, local } = session.addresses;
        let same = |wanted: &Option<Bytes>, address: std::net::SocketAddr| {
            let is = |wanted: &Bytes| *wanted == address.to_string();
            wanted.as_ref().is_none_or(is)
        };
        self.id.is_none_or(|id| id == session.id)
            && self.kind.is_none_or(|kind| kind == ClientType::of(session))
            && same(&self.address, peer)
            && same(&self.local_address, local)
            && self.but != Some(session.id)
    }
}

/// A client's line (`catClientInfoString`). A fake node has no values for memory and file
/// descriptors.
fn describe(state: &State, session: &Session, wall_us: u64) -> String {
    let Addresses { peer, local } = session.addresses;
    let age_s = wall_us.saturating_sub(session.since_us) / 1_000_000;
    let idle_s = wall_us.saturating_sub(session.active_us) / 1_000_000;
    let queue = session.transaction.as_ref().map(|it| it.queue.len());
    let queued = queue.or(session.executing).map_or(-1, |len| len as i64);
    let redirect = if session.tracking.is_some() { 0 } else { -1 };
    let protocol = match session.resp {
        Resp::V2 => 2,
        Resp::V3 => 3,
    };
    let (watched, library) = match state.imitated {
        Imitated::Redis7_0 => (String::new(), String::new()),
        _ => (
            format!(" watch={}", session.watched.len()),
            session.library.to_string(),
        ),
    };
    format!(
        "id={} addr={peer} laddr={local} fd=8 name={} age={age_s} idle={idle_s} flags={} db={} \
         sub={} psub={} ssub=0 multi={queued}{watched} qbuf={} qbuf-free=0 argv-mem=0 multi-mem=0 \
         rbs=1024 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user=default \
         redir={redirect} resp={protocol}{library}\n",
        session.id,
        String::from_utf8_lossy(&session.name),
        flags(state, session),
        session.db,
        session.subscriptions.channels.len(),
        session.subscriptions.patterns.len(),
        session.query_bytes,
        session.last_command,
    )
}

fn flags(state: &State, session: &Session) -> String {
    let is_in_transaction = session.transaction.is_some() || session.executing.is_some();
    let is_touched = |(db, key): &(usize, Bytes)| {
        let space = state.db.space(*db);
        space.touched_since_watch(key, session.id)
    };
    let letters = [
        ('O', state.monitors.contains(session.id)),
        ('S', session.peer == Peer::Replica),
        ('M', session.peer == Peer::Master),
        ('P', session.subscriptions.any()),
        ('x', is_in_transaction),
        ('b', session.blocked.is_some() || session.postponed),
        ('t', session.tracking.is_some()),
        ('d', session.watched.iter().any(is_touched)),
        ('c', session.closing.is_some()),
    ];
    let set = letters
        .iter()
        .filter(|(_, set)| *set)
        .map(|(letter, _)| letter);
    match set.collect::<String>() {
        none if none.is_empty() => "N".to_owned(),
        some => some,
    }
}
