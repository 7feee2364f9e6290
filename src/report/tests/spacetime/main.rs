//! The space-time diagram, from hand-made histories after Kleppmann's examples.

use roxmltree::Document;

use locklab_check::Violation;
use locklab_history::{
    Access, ClockKind, Deadline, Event, Failpoint, FaultKind, History, Message, Name, Op, Outcome,
    Phase, Record,
    leases::{End, Lease},
};
use locklab_report::{Error, Sheet, pdf, png, spacetime, svg as written};

mod stories;

use stories::{HistoryBuilder, jump, late_replies, late_write, pause};

fn svg(history: &History, title: &str, violation: Option<&Violation>) -> String {
    let drawing = spacetime::draw(history, title, violation, &[], &Sheet::SCREEN);
    written(&drawing.expect("the history is not empty"))
}

#[test]
fn a_pause_longer_than_the_lease() {
    let (history, violation) = pause(false);
    insta::assert_snapshot!(svg(
        &history,
        "The holder is paused for longer than its lease",
        Some(&violation)
    ));
}

#[test]
fn the_same_with_fencing() {
    let (history, _) = pause(true);
    insta::assert_snapshot!(svg(&history, "The same pause, with fencing", None));
}

#[test]
fn a_clock_jumps() {
    let (history, violation) = jump();
    insta::assert_snapshot!(svg(
        &history,
        "Redlock: the clock of one node jumps forward",
        Some(&violation)
    ));
}

#[test]
fn a_write_that_is_held_up() {
    let (history, violation) = late_write();
    insta::assert_snapshot!(svg(
        &history,
        "The write is held up in the network",
        Some(&violation)
    ));
}

#[test]
fn replies_that_waited() {
    let (history, violation) = late_replies();
    insta::assert_snapshot!(svg(
        &history,
        "Redlock without its time check: the replies wait for a paused client",
        Some(&violation)
    ));
}

#[test]
fn every_picture_is_painted() {
    for (history, violation) in [
        pause(false),
        pause(true),
        jump(),
        late_write(),
        late_replies(),
    ] {
        let drawing = spacetime::draw(&history, "Painted", Some(&violation), &[], &Sheet::SCREEN)
            .expect("not empty");
        let (png, pdf) = (png(&drawing).expect("a PNG"), pdf(&drawing).expect("a PDF"));
        assert!(png.len() > 20_000, "{} bytes", png.len());
        assert!(pdf.len() > 10_000, "{} bytes", pdf.len());
    }
}

fn check_says(picture: &str, expected: &[&str]) {
    for text in expected {
        assert!(picture.contains(text), "no {text:?} in {picture}");
    }
}

#[test]
fn picture_shows_the_events_of_the_run() {
    let (history, violation) = pause(false);
    let told = [
        "From 9.00 ms to 1.52 s of a run of 30.0 s",
        "gc: pause 1.50 s",
        "refused 4 times",
        "deadline",
        "993 ms",
        "c1 writes v2",
        "violation at 1516.9 ms",
    ];
    check_says(&svg(&history, "", Some(&violation)), &told);

    let (history, violation) = jump();
    let told = ["jump: clock-step +11.0 s", "message lost", "two at once"];
    check_says(&svg(&history, "", Some(&violation)), &told);

    let (history, _) = pause(true);
    let told = ["holds the lock, token 34", "c1: write refused, token 33"];
    check_says(&svg(&history, "", None), &told);
}

#[test]
fn a_wait_in_vain_is_shown_from_its_first_attempt() {
    let mut story = HistoryBuilder::default();
    story.fault(5.0, "c1", "death", "kill", Phase::Begins);
    for at_ms in [50.0, 250.0, 450.0, 650.0] {
        story.invoke(at_ms, "c2", Op::Acquire);
        story.exchange(at_ms, 5.0, ("c2", "n1"), ["SETNX lock", "0"]);
        story.complete(at_ms + 10.0, "c2", Op::Acquire, Outcome::Failed);
    }
    story.invoke(850.0, "c2", Op::Acquire);
    story.exchange(850.0, 5.0, ("c2", "n1"), ["SETNX lock", "1"]);
    story.holds(860.0, "c2", None, None);
    story.releases(900.0, "c2");
    let violation = Violation {
        at_ns: 550_000_000,
        until_ns: 860_000_000,
        clients: vec!["c2".into()],
        what: "c2 tried in vain to acquire the lock".into(),
    };
    let picture = svg(&story.end(2000.0), "", Some(&violation));
    check_says(&picture, &["From 50.0 ms to 900 ms of a run of 2.00 s"]);
}

/// A run without recorded messages still shows holds, faults and accesses.
#[test]
fn messages_are_not_needed() {
    let (mut history, violation) = pause(false);
    history.messages.clear();
    let told = ["gc: pause 1.50 s", "c1 writes v2", "violation at 1516.9 ms"];
    check_says(&svg(&history, "", Some(&violation)), &told);
}

/// Pseudo-random numbers, the same each time (Knuth's MMIX generator).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = product.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// An inconsistent history: any order, any clock, any name.
fn nonsense(seed: u64) -> (History, Violation) {
    let mut draws = Draws(seed);
    let hosts = ["c1", "c2", "c10", "n1", "n2", "resource", "<&\"\u{1}>"];
    let times = [
        0,
        1,
        999,
        1_000_000,
        1_500_000_000,
        90_000_000_000,
        u64::MAX,
    ];
    let mut history = History::default();
    for _ in 0..draws.below(40) {
        let mut pick = |from: &[&'static str]| from[draws.below(from.len() as u64) as usize];
        let (host, other) = (pick(&hosts), pick(&hosts));
        let kind = FaultKind::ALL[draws.below(FaultKind::ALL.len() as u64) as usize];
        let mut time = || times[draws.below(times.len() as u64) as usize];
        let (at_ns, wall_ns, mono_ns, at) = (time(), time(), time(), time());
        let (grant, version) = (draws.below(2) as u32, draws.below(3));
        let token = (version > 0).then_some(version);
        let deadline = Deadline {
            clock: ClockKind::Wall,
            at_ns: at,
        };
        let fault = |phase| Event::Fault {
            fault: "fault".into(),
            kind,
            phase,
            links: None,
        };
        let op = Op::Acquire;
        let event = match draws.below(9) {
            0 => Event::Invoke { call: grant, op },
            1 => Event::Complete {
                call: grant,
                op,
                outcome: Outcome::Failed,
                detail: String::new(),
            },
            2 => Event::BeliefBegins {
                grant,
                deadline: Some(deadline),
                token,
                shared: false,
            },
            3 => Event::BeliefEnds { grant },
            4 => Event::Access {
                client: other.into(),
                grant,
                access: Access::Read { version },
                token,
                accepted: version == 1,
            },
            5 => fault(Phase::Before),
            6 => fault(Phase::Begins),
            7 => fault(Phase::Ends),
            _ => Event::reached(Failpoint::Checked),
        };
        history.records.push(Record {
            at_ns,
            host: host.into(),
            wall_ns,
            mono_ns,
            event,
        });
        history.messages.push(Message {
            sent_ns: at,
            arrived_ns: (version > 0).then_some(wall_ns),
            from: host.into(),
            to: other.into(),
            label: "SET lock <x> NX PX 1000 and more than fits".to_owned(),
        });
    }
    history.end_ns = times[draws.below(times.len() as u64) as usize];
    let until_ns = times[draws.below(times.len() as u64) as usize];
    let at_ns = times[draws.below(times.len() as u64) as usize];
    let violation = Violation {
        at_ns,
        until_ns,
        clients: vec!["c1".into(), "c2".into()],
        what: "any".to_owned(),
    };
    (history, violation)
}

#[test]
fn any_history_makes_a_well_formed_picture() {
    let histories = match std::env::var_os("LOCKLAB_LONG") {
        Some(_) => 300,
        None => 100,
    };
    for seed in 0..histories {
        let (history, violation) = nonsense(seed);
        let violation = (seed % 2 == 0).then_some(&violation);
        match spacetime::draw(&history, "Nonsense", violation, &[], &Sheet::SCREEN) {
            Ok(drawing) => {
                let text = written(&drawing);
                assert!(
                    !text.contains("NaN") && !text.contains("inf"),
                    "seed {seed}"
                );
                let well_formed = Document::parse(&text);
                well_formed.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
            Err(error) => assert!(history.records.is_empty(), "seed {seed}: {error}"),
        }
    }
}

/// A watchdog that renews every 10 s for minutes: many bursts, many idle gaps.
#[test]
fn a_long_run_without_a_violation_still_fits_the_page() {
    let mut story = HistoryBuilder::default();
    story.holds(3.0, "c1", None, None);
    for renewal in 0..200 {
        let at_ms = 10_000.0 * f64::from(renewal + 1);
        story.exchange(
            at_ms,
            1.0,
            ("c1", "n1"),
            ["EVAL if get == 5f2e then pexpire", "1"],
        );
    }
    let drawn = svg(&story.end(3e6), "A watchdog renews", None);
    let shown = drawn.matches("<polyline").count();
    assert!((70..=90).contains(&shown), "{shown} arrow heads");
    assert!(drawn.contains("of a run of 3000 s"), "{drawn}");
}

#[test]
fn an_empty_history_is_an_error() {
    let drawn = spacetime::draw(&History::default(), "Nothing", None, &[], &Sheet::SCREEN);
    assert!(matches!(drawn, Err(Error::EmptyHistory)));
}

fn lease<'a>(
    node: &'a Name,
    owner: &'a Name,
    (from_ns, until_ns): (u64, u64),
    end: End,
) -> Lease<'a> {
    Lease {
        node,
        key: "lock",
        value: "0011223344556677",
        owner: Some(owner),
        from_ns,
        until_ns,
        end,
        ended_by: None,
        lives: None,
    }
}

/// How the key of a node ended is drawn as a stroke or a cross, and said.
#[test]
fn lanes_of_nodes_show_what_they_hold_and_how_it_ended() {
    let (history, violation) = jump();
    let (node, owner) = (Name::from("n3"), Name::from("c1"));
    let (begin_ns, end_ns) = (violation.at_ns - 5_000_000, violation.at_ns - 1_000_000);
    let drawn = |end| {
        let leases = [lease(&node, &owner, (begin_ns, end_ns), end)];
        let drawing = spacetime::draw(
            &history,
            "Redlock",
            Some(&violation),
            &leases,
            &Sheet::SCREEN,
        );
        written(&drawing.expect("the history is not empty"))
    };
    let says = |drawn: &str, text: &str| drawn.contains(&format!(">{text}<"));
    let expired = drawn(End::Expired);
    assert!(
        says(&expired, "expired") && !says(&expired, "lost"),
        "{expired}"
    );
    let lost = drawn(End::Lost);
    assert!(says(&lost, "lost") && !says(&lost, "expired"), "{lost}");
    for one in [&expired, &lost, &drawn(End::Deleted)] {
        assert!(says(one, "lock → c1"), "{one}");
        assert!(says(one, "a node holds the key for the client"), "{one}");
    }
    let unknown = svg(&history, "Redlock", Some(&violation));
    assert!(!unknown.contains("holds the key"), "{unknown}");
}

/// A lock's other keys, such as a queue, have its name in theirs.
#[test]
fn only_the_locks_own_key_has_a_bar() {
    let (history, violation) = jump();
    let (node, owner) = (Name::from("n3"), Name::from("c1"));
    let span = (violation.at_ns - 5_000_000, violation.at_ns);
    let own = lease(&node, &owner, span, End::Run);
    let queue = Lease {
        key: "lock:queue",
        ..own.clone()
    };
    let drawing = spacetime::draw(
        &history,
        "Redlock",
        Some(&violation),
        &[queue, own],
        &Sheet::SCREEN,
    );
    let drawn = written(&drawing.expect("the history is not empty"));
    assert!(
        drawn.contains(">lock → c1<") && !drawn.contains("queue"),
        "{drawn}"
    );
}

/// Printed in grey, the red of an overlap and the colour of a client look alike.
#[test]
fn overlap_is_told_by_its_stripes_and_not_by_colour_alone() {
    let (history, violation) = jump();
    let drawn = svg(&history, "Redlock", Some(&violation));
    let turn = |id: &str| {
        let (_, rest) = drawn
            .split_once(&format!("id=\"{id}\""))
            .expect("it is defined");
        let (tag, _) = rest.split_once('>').expect("a tag");
        let (_, turn) = tag.split_once("rotate(").expect("it is turned");
        turn.split_once(')').expect("an angle").0.to_owned()
    };
    assert!(
        drawn.contains("url(#both)"),
        "two hold the lock within their leases"
    );
    assert_ne!(turn("both"), turn("past0"));
    assert_ne!(turn("both-past"), turn("past0"));
}
