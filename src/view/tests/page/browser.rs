//! The page in a headless Chromium, opened from the file system. Without a Chromium on the machine
//! these tests say so and do nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use locklab_history::{Event, Message, Record};
use locklab_view::{Lost, Subject};
use serde_json::{Value, json};

use crate::shown::Shown;

/// The script that runs before the page: it collects errors, and stubs pointer capture, which
/// events made by a script do not support.
const BEFORE: &str = r#"<script>
"use strict";
const problems = [];
addEventListener("error", (event) => problems.push(event.message));
addEventListener("securitypolicyviolation", (event) => problems.push(event.violatedDirective));
Element.prototype.setPointerCapture = () => {};
</script>"#;

/// The page with a script after its own, whose function `result` returns what is to be found out,
/// or a promise of it.
fn with_script(page: &str, script: &str) -> String {
    let (head, rest) = page.split_once("<title>").expect("a head");
    let (body, end) = rest.rsplit_once("</body>").expect("a body");
    format!(
        "{head}{BEFORE}<title>{body}<script>
\"use strict\";
{script}
{{
  painters.forEach((paint) => paint());
  const found = document.createElement(\"pre\");
  found.id = \"found\";
  const write = (told) => {{
    found.textContent = JSON.stringify(told);
    document.body.append(found);
  }};
  Promise.resolve().then(result).then((result) => write({{ result, problems }}),
    (error) => write({{ problems: [String(error.stack)] }}));
}}
</script></body>{end}"
    )
}

/// The browser, unless there is none.
fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        eprintln!("SKIPPED: there is no Chromium on this machine, so the page was not opened");
    }
    found
}

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder among temporary ones does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The result of the script in the page; `None` without a browser.
pub(crate) fn opened(test: &str, page: &str, script: &str) -> Option<Value> {
    let chromium = chromium()?;
    let name = format!("locklab-view-{}-{test}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(&folder.0).expect("the temporary folder can be written");
    let file = folder.0.join("page.html");
    fs::write(&file, with_script(page, script)).expect("the folder can be written");
    let profile = folder.0.join("profile");
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1400,900",
        ])
        // The page is done when nothing more happens for so many milliseconds of its own time.
        .args(["--enable-logging=stderr", "--virtual-time-budget=3000"])
        .arg("--dump-dom")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser runs");
    let logged = String::from_utf8_lossy(&output.stderr);
    assert!(!logged.contains("CONSOLE"), "{logged}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom
        .rsplit_once("<pre id=\"found\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| panic!("the page ran into trouble: {logged}"));
    let found = found
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(found["problems"], Value::Array(vec![]), "{found}");
    Some(found["result"].clone())
}

pub(crate) fn page(shown: &Shown) -> String {
    locklab_view::html(&shown.subject())
}

#[test]
fn a_run_can_be_explored() {
    let shown = Shown::of("kleppmann/k1", 3);
    let script = r#"
function click(target) {
  const box = picture.getBoundingClientRect();
  const [x0, y0, x1, y1] = target.line ?? target.box;
  const at = { clientX: box.left + (x0 + x1) / 2, clientY: box.top + (y0 + y1) / 2, pointerId: 1, bubbles: true };
  picture.dispatchEvent(new PointerEvent("pointerdown", at));
  picture.dispatchEvent(new PointerEvent("pointerup", at));
}
function result() {
  const found = { lanes: lanes.y.length, events: items.count, first: [view.from, view.to] };
  // A request that stands alone: the first SET of c1.
  const isSet = ({ type, ref }) => type === MESSAGE && run.texts[run.messages.label[ref]].startsWith("SET");
  click(targets.find(isSet));
  found.words = element("selection").textContent;
  found.chosen = document.querySelector(".row[aria-selected=true]")?.textContent;
  element("next").click();
  found.next = document.querySelector(".row[aria-selected=true]")?.textContent;
  element("whole").click();
  zoom(0.05, 0);
  found.away = [view.from, view.to];
  element("violation").click();
  found.back = [view.from, view.to];
  const at = toU(Math.min(...violations.map((verdict) => verdict.at)));
  found.inView = view.from < at && at < view.to;
  element("query").value = "c2 believes";
  element("query").dispatchEvent(new Event("input"));
  found.listed = listed.items.length;
  found.rows = document.querySelectorAll(".row").length;
  found.outcome = element("outcome").textContent;
  return found;
}"#;
    let Some(found) = opened("explored", &page(&shown), script) else {
        return;
    };
    let history = &shown.recording.history;
    assert_eq!(found["lanes"], 4, "c1, c2, n1 and the resource");
    // Two ends of the run, which are no events; two leases, each with a beginning and an end.
    assert_eq!(
        found["events"],
        history.records.len() - 2 + history.messages.len() + 4
    );
    let words = found["words"].as_str().expect("text");
    assert!(
        words.contains("c1 → n1") && words.contains("SET lock "),
        "{words}"
    );
    assert!(
        words.contains("NX PX 1000") && !words.contains('…'),
        "{words}"
    );
    let chosen = found["chosen"].as_str().expect("a row");
    assert!(chosen.contains("c1 → n1SET lock"), "{chosen}");
    assert_ne!(found["next"], found["chosen"]);
    assert_ne!(found["away"], found["first"]);
    assert_ne!(found["away"], found["back"]);
    assert_eq!(found["inView"], true);
    // It begins, and it ends.
    assert_eq!((&found["listed"], &found["rows"]), (&2.into(), &2.into()));
    // The scenario is about the resource.
    let outcome = found["outcome"].as_str().expect("text");
    assert!(
        outcome.contains("c1 wrote version 2 at 1546.8 ms"),
        "{outcome}"
    );
}

#[test]
fn the_page_draws_when_a_run_was_lost() {
    let shown = Shown::of("kleppmann/k1", 3);
    let end_ns = shown.recording.history.end_ns;
    let lost = Lost {
        property: "resource",
        sentence: "resource: it was lost".into(),
        points: vec![(0, 0.0), (end_ns / 2, 0.0), (end_ns / 2 + 1, 1.0)],
    };
    let subject = Subject {
        lost: Some(&lost),
        ..shown.subject()
    };
    // Whether the line, which is red, is at the bottom and at the top where it should be.
    let script = r#"
function result() {
  showWhole();
  drawChance();
  const { canvas } = chance, ratio = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const red = (t, y) => {
    const pixel = Math.round(y * ratio) * canvas.width + Math.round(xOfU(toU(t)) * ratio);
    return data[4 * pixel] > 150 && data[4 * pixel + 1] < 90;
  };
  return { hidden: chance.canvas.hidden, told: element("lost").textContent,
    early: [red(run.end / 4, chance.bottom), red(run.end / 4, chance.top)],
    late: [red(run.end * 3 / 4, chance.bottom), red(run.end * 3 / 4, chance.top)] };
}"#;
    let Some(found) = opened("lost", &locklab_view::html(&subject), script) else {
        return;
    };
    assert_eq!(found["hidden"], false);
    assert_eq!(found["told"], "When it was lostresource: it was lost.");
    assert_eq!(found["early"], json!([true, false]));
    assert_eq!(found["late"], json!([false, true]));
}

#[test]
fn no_text_of_a_scenario_becomes_markup() {
    let mut shown = Shown::of("kleppmann/k1", 3);
    let evil = "</script><img src=x onerror=\"window.broken = 1\"><!--<script>{{ title }}";
    shown.scenario.title = evil.into();
    shown.scenario.about = format!("{evil}\n\n{evil}");
    shown.scenario.claim = None;
    for message in &mut shown.recording.history.messages {
        message.label = evil.into();
    }
    let script = r#"
function result() {
  choose(items.type.indexOf(MESSAGE));
  return { broken: window.broken ?? 0, images: document.images.length, title: document.querySelector("h1").textContent,
    scripts: document.scripts.length, rows: document.querySelector(".row[aria-selected=true] span").textContent };
}"#;
    let page = page(&shown);
    assert_eq!(
        page.matches("onerror").count(),
        page.matches("img src").count()
    );
    assert!(!page.contains("<img"), "it is escaped");
    let Some(found) = opened("markup", &page, script) else {
        return;
    };
    assert_eq!((&found["broken"], &found["images"]), (&0.into(), &0.into()));
    assert_eq!(
        (&found["title"], &found["rows"]),
        (&evil.into(), &evil.into())
    );
    // One with data, twelve of the page, and two of this test.
    assert_eq!(found["scripts"], 15);
}

/// How long a picture of a hundred thousand messages takes, at several zooms; nothing is asserted
/// about time: `LOCKLAB_LONG=1 cargo test --test view measure -- --nocapture`.
#[test]
fn measure_a_hundred_thousand_messages() {
    const MESSAGES: u64 = 100_000;
    if std::env::var_os("LOCKLAB_LONG").is_none() {
        return;
    }
    let mut shown = Shown::of("kleppmann/k10", 3);
    let history = &mut shown.recording.history;
    let (records, messages) = (history.records.clone(), history.messages.clone());
    let end_ns = history.end_ns;
    history.messages.clear();
    history.records.clear();
    let (per_round, mut round) = (messages.len() as u64, 0);
    while round * per_round < MESSAGES {
        let later = |at_ns: u64| at_ns + round * end_ns;
        history
            .messages
            .extend(messages.iter().map(|message| Message {
                sent_ns: later(message.sent_ns),
                arrived_ns: message.arrived_ns.map(later),
                ..message.clone()
            }));
        // A fault without an end would continue in all later rounds.
        let records = (records.iter()).filter(|r| !matches!(r.event, Event::Fault { .. }));
        history.records.extend(records.map(|record| Record {
            at_ns: later(record.at_ns),
            wall_ns: later(record.wall_ns),
            mono_ns: later(record.mono_ns),
            ..record.clone()
        }));
        round += 1;
    }
    history.messages.truncate(MESSAGES as usize);
    history.end_ns = round * end_ns;
    shown.contents.payloads = (history.messages.iter())
        .map(|m| m.label.clone().into())
        .collect();
    let script = r#"
function result() {
  const measured = {};
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  for (const share of [1, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001]) {
    const times = [];
    for (let turn = 0; turn < 20; turn++) {
      const from = (0.05 + 0.04 * turn) * warp.end * (1 - share);
      show(from, from + share * warp.end);
      const start = performance.now();
      painters.forEach((paint) => paint());
      // Reading what was drawn waits until it is drawn.
      probe.drawImage(picture, 0, 0, 1, 1, 0, 0, 1, 1);
      probe.getImageData(0, 0, 1, 1);
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    measured[share] = { median_ms: times[10], longest_ms: times[19], targets: targets.length };
  }
  let start = performance.now();
  buildWarp();
  measured.places_ms = performance.now() - start;
  start = performance.now();
  element("query").value = "evalsha";
  filter();
  measured.search_ms = performance.now() - start;
  measured.events = items.count;
  return measured;
}"#;
    let start = std::time::Instant::now();
    let page = page(&shown);
    println!("page {:?}", start.elapsed());
    let Some(found) = opened("measure", &page, script) else {
        return;
    };
    println!("{} MB, {found:#}", page.len() / 1_000_000);
    assert!(found["events"].as_u64() >= Some(MESSAGES));
}
