//! The data of the page: a run as columns of numbers and a table of texts.
//!
//! Times are true time in nanoseconds since the run began. A host is its place in `Page::hosts`, a
//! text its place in `Page::texts`: a hundred thousand messages have few different texts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::role::role;
use super::{Lost, Subject, Without, resp, sentences};
use locklab_check::{Property, Verdict};
use locklab_history::leases;
use locklab_history::timeline::Timeline;
use locklab_history::{Access, Event, Family, FaultyLinks, Message, PacketFault};
use locklab_report::spacetime::chatter::is_idle;
use locklab_report::spacetime::duration;
use locklab_report::spacetime::faults::faults;
use locklab_report::spacetime::holds::{holds, overlaps};
use locklab_report::spacetime::window::Window;
use locklab_results::recording::{Environment, server_name};

/// A run, for the page.
#[derive(Debug, Serialize)]
pub struct Page<'a> {
    run: About<'a>,
    end: u64,
    hosts: Vec<Host>,
    texts: Vec<String>,
    records: Records,
    messages: Messages,
    beliefs: Vec<Belief>,
    overlaps: Vec<Overlap>,
    leases: Vec<Lease<'a>>,
    faults: Vec<Fault>,
    verdicts: Vec<Judgement<'a>>,
    without: Option<&'a Without>,
    lost: Option<&'a Lost>,
}

#[derive(Debug, Serialize)]
struct About<'a> {
    title: String,
    scenario: &'a str,
    about: &'a str,
    seed: u64,
    place: String,
    locklab: &'a str,
    remark: &'a str,
}

#[derive(Debug, Serialize)]
struct Host {
    name: String,
    role: &'static str,
}

/// The records, one entry in each column.
#[derive(Debug, Default, Serialize)]
struct Records {
    at: Vec<u64>,
    host: Vec<usize>,
    kind: Vec<&'static str>,
    text: Vec<usize>,
    /// The client of an access to the resource.
    client: Vec<Option<usize>>,
    /// 1 for a write.
    writes: Vec<u8>,
}

/// The messages, one entry in each column, in sending order.
#[derive(Debug, Default, Serialize)]
struct Messages {
    sent: Vec<u64>,
    /// `None` if it never arrived.
    arrived: Vec<Option<u64>>,
    from: Vec<usize>,
    to: Vec<usize>,
    label: Vec<usize>,
    /// The decoded content; empty if only the labels are known.
    text: Vec<usize>,
    /// 1 for background messages between servers.
    background: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct Belief {
    host: usize,
    from: u64,
    until: u64,
    /// When the client's own clock reached its deadline, if that was before the end.
    deadline: Option<u64>,
    token: Option<u64>,
    shared: bool,
}

#[derive(Debug, Serialize)]
struct Overlap {
    hosts: [usize; 2],
    from: u64,
    until: u64,
    /// Whether one of the two is past its own deadline.
    past: bool,
}

#[derive(Debug, Serialize)]
struct Lease<'a> {
    host: usize,
    owner: Option<usize>,
    from: u64,
    until: u64,
    key: &'a str,
    value: &'a str,
    end: &'static str,
    timed: bool,
}

#[derive(Debug, Serialize)]
struct Fault {
    host: usize,
    from: u64,
    until: u64,
    family: &'static str,
    label: String,
    links: Option<String>,
}

#[derive(Debug, Serialize)]
struct Judgement<'a> {
    property: &'static str,
    promises: &'static str,
    verdict: &'static str,
    /// The violation, or why there is no verdict.
    what: &'a str,
    at: Option<u64>,
    until: Option<u64>,
    clients: Vec<usize>,
    /// The part of the run that led to the violation.
    focus: Option<[u64; 2]>,
}

/// The data of the page for this run.
pub fn page<'a>(subject: &Subject<'a>) -> Page<'a> {
    let Subject {
        topology,
        recording,
        contents,
        ..
    } = *subject;
    let history = &recording.history;
    let mut places = Places::new(topology.hosts());
    let mut texts = Texts::default();

    let mut records = Records::default();
    for record in &history.records {
        records.at.push(record.at_ns);
        records.host.push(places.of(&record.host));
        records.kind.push(sentences::kind(&record.event));
        records.text.push(texts.place(sentences::text(record)));
        let (client, writes) = match &record.event {
            Event::Access { client, access, .. } => (
                Some(places.of(client)),
                matches!(access, Access::Write { .. }),
            ),
            _ => (None, false),
        };
        records.client.push(client);
        records.writes.push(u8::from(writes));
    }

    let servers: BTreeSet<String> = (topology.servers().into_iter())
        .map(|server| server.name)
        .collect();
    let mut messages = Messages::default();
    for message in &history.messages {
        let between_servers = servers.contains(&*message.from) && servers.contains(&*message.to);
        messages.sent.push(message.sent_ns);
        messages.arrived.push(message.arrived_ns);
        messages.from.push(places.of(&message.from));
        messages.to.push(places.of(&message.to));
        messages.label.push(texts.place(message.label.clone()));
        messages
            .background
            .push(u8::from(between_servers && is_idle(&message.label)));
    }
    if let Some(contents) = contents {
        let said = decode_contents(&history.messages, &contents.payloads);
        messages.text = said.into_iter().map(|text| texts.place(text)).collect();
    }

    let timeline = Timeline::of(history);
    let holds = holds(&timeline);
    let overlaps = overlaps(&holds).into_iter().map(|overlap| Overlap {
        hosts: overlap.clients.map(|client| places.of(client)),
        from: overlap.from_ns,
        until: overlap.until_ns,
        past: overlap.past_deadline,
    });
    let mut overlaps: Vec<Overlap> = overlaps.collect();
    overlaps.sort_by_key(|overlap| overlap.from);
    let beliefs = holds.iter().map(|hold| Belief {
        host: places.of(hold.client),
        from: hold.from_ns,
        until: hold.until_ns,
        deadline: hold.deadline_ns,
        token: hold.token,
        shared: hold.shared,
    });
    let beliefs = beliefs.collect();
    let leases = contents.map_or(Vec::new(), |contents| {
        leases::leases(history, contents, topology)
    });
    let leases = leases.into_iter().map(|lease| Lease {
        host: places.of(lease.node),
        owner: lease.owner.map(|owner| places.of(owner)),
        from: lease.from_ns,
        until: lease.until_ns,
        key: lease.key,
        value: lease.value,
        end: lease.end.name(),
        timed: lease.lives.is_some(),
    });
    let leases = leases.collect();
    let faults = faults(history).into_iter().map(|fault| Fault {
        host: places.of(fault.host),
        from: fault.from_ns,
        until: fault.until_ns,
        family: family(fault.family),
        label: fault.label,
        links: fault.links.map(links),
    });
    let faults = faults.collect();
    let mut properties = Property::ALL.to_vec();
    // The sort is stable: the headline's verdict comes first, the others in their order.
    properties.sort_by_key(|property| *property != subject.headline);
    let verdicts = properties.iter().filter_map(|property| {
        let verdict = recording.footer.verdicts.get(property)?;
        Some(judgement(*property, verdict, subject, &mut places))
    });
    let verdicts = verdicts.collect();
    Page {
        run: about(subject),
        end: history.end_ns,
        hosts: (places.names.into_iter())
            .map(|name| Host {
                role: role(topology, &name),
                name,
            })
            .collect(),
        texts: texts.all,
        records,
        messages,
        beliefs,
        overlaps,
        leases,
        faults,
        verdicts,
        without: subject.without,
        lost: subject.lost,
    }
}

/// The decoded content of each message. A request in several segments is decoded as a whole, at the
/// first of them.
fn decode_contents(messages: &[Message], payloads: &[Vec<u8>]) -> Vec<String> {
    let way = |message: &Message| (message.sent_ns, message.from.clone(), message.to.clone());
    let mut said = Vec::new();
    while let Some(payload) = payloads.get(said.len()) {
        let first = said.len();
        let mut whole = payload.clone();
        let mut segments = 1;
        while !resp::is_whole(&whole)
            && let Some(next) = messages.get(first + segments)
            && way(next) == way(&messages[first])
        {
            whole.extend(&payloads[first + segments]);
            segments += 1;
        }
        said.push(resp::text(&whole));
        said.extend((1..segments).map(|_| "(the rest of the message before)".to_owned()));
    }
    said
}

/// The title of the run, with its claim.
pub(super) fn title(subject: &Subject) -> String {
    match subject.claim {
        Some(claim) => format!("{claim}: {}", subject.title),
        None => subject.title.to_owned(),
    }
}

fn about<'a>(subject: &Subject<'a>) -> About<'a> {
    let header = &subject.recording.header;
    About {
        title: title(subject),
        scenario: subject.scenario,
        about: subject.about,
        seed: header.seed,
        place: match (header.environment, &header.redis) {
            (Environment::World, _) => "simulated world".to_owned(),
            (Environment::Redis, None) => "real Redis".to_owned(),
            (Environment::Redis, Some(version)) => {
                format!("real {}", server_name(version))
            }
        },
        locklab: &header.locklab,
        remark: subject.remark,
    }
}

fn judgement<'a>(
    property: Property,
    verdict: &'a Verdict,
    subject: &Subject,
    places: &mut Places,
) -> Judgement<'a> {
    let judgement = Judgement {
        property: property.name(),
        promises: property.describes(),
        verdict: "holds",
        what: "",
        at: None,
        until: None,
        clients: Vec::new(),
        focus: None,
    };
    match verdict {
        Verdict::Holds => judgement,
        Verdict::Inconclusive { why } => Judgement {
            verdict: "inconclusive",
            what: why,
            ..judgement
        },
        Verdict::Violated(violation) => Judgement {
            verdict: "violated",
            what: &violation.what,
            at: Some(violation.at_ns),
            until: Some(violation.until_ns),
            clients: violation
                .clients
                .iter()
                .map(|name| places.of(name))
                .collect(),
            focus: Window::of(&subject.recording.history, Some(violation))
                .map(|window| [window.from_ns, window.to_ns]),
            ..judgement
        },
    }
}

fn family(family: Family) -> &'static str {
    match family {
        Family::Process => "process",
        Family::Network => "network",
        Family::Clock => "clock",
    }
}

/// The affected links in words: `c1 ⇄ n4, n5: nothing gets through`.
fn links(links: &FaultyLinks) -> String {
    let arrow = if links.both_ways { "⇄" } else { "→" };
    let effect = match links.packets {
        PacketFault::Cut => "nothing gets through".to_owned(),
        PacketFault::Slow { extra_ns } => format!("{} slower", duration(extra_ns)),
        PacketFault::Lossy { probability } => format!("{} % lost", 100.0 * probability),
    };
    format!(
        "{} {arrow} {}: {effect}",
        links.from.join(", "),
        links.to.join(", ")
    )
}

/// The places of the hosts. A recording may have been edited: a host that its topology does not
/// know gets a place when it appears.
pub(super) struct Places {
    pub(super) names: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Places {
    pub(super) fn new(names: Vec<String>) -> Self {
        let known = names.iter().cloned().enumerate();
        Places {
            known: known.map(|(place, name)| (name, place)).collect(),
            names,
        }
    }

    pub(super) fn of(&mut self, name: &str) -> usize {
        if let Some(place) = self.known.get(name) {
            return *place;
        }
        let place = self.names.len();
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }
}

#[derive(Default)]
struct Texts {
    all: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Texts {
    fn place(&mut self, text: String) -> usize {
        if let Some(place) = self.known.get(&text) {
            return *place;
        }
        let place = self.all.len();
        self.all.push(text.clone());
        self.known.insert(text, place);
        place
    }
}
