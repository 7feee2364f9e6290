//! Moving in the page: from event to event, by search, by links and by keys; in a headless Chromium
//! as in `browser`.

use serde_json::{Value, json};

use crate::browser::{opened, page};
use crate::shown::Shown;

/// What the script finds in the page of a run that violates `lease`.
fn found(test: &str, script: &str) -> Option<Value> {
    opened(test, &page(&Shown::of("kleppmann/k10", 179)), script)
}

#[test]
fn next_event_after_opening_follows_the_violation() {
    let script = r#"
function result() {
  const at = violations[0].at;
  step(1);
  const next = items.at[listed.chosen];
  const between = Array.from(items.at).filter((t) => at < t && t < next).length;
  showVerdict(violations[0]);
  step(-1);
  return { later: next > at, between, before: items.at[listed.chosen] <= at, last: items.at[listed.chosen + 1] > at };
}"#;
    let Some(found) = found("next", script) else {
        return;
    };
    assert_eq!(
        found,
        json!({ "later": true, "between": 0, "before": true, "last": true })
    );
}

/// Text over text, over a bar, or among many lines cannot be read.
#[test]
fn labels_of_the_whole_run_cover_no_label_and_no_bar() {
    let script = r#"
function result() {
  showWhole();
  const boxes = [], write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const width = this.measureText(text).width;
    if (this.canvas === picture && this.textAlign !== "right") boxes.push({ text, box: [x, y - 9, x + width, y + 2] });
    write.call(this, text, x, y);
  };
  drawPicture();
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const isBar = ({ type, box }) => box && (type === LEASE || type === BELIEF) && box[2] - box[0] > 8;
  // A target has a margin of two pixels.
  const bars = targets.filter(isBar).map(({ box: [left, top, right, bottom] }) => [left + 2, top + 2, right - 2, bottom - 2]);
  const covered = [];
  boxes.forEach(({ text, box }, i) => {
    for (const other of boxes.slice(i + 1)) if (meet(box, other.box)) covered.push(`${text} on ${other.text}`);
    for (const bar of bars) if (meet(box, bar)) covered.push(`${text} on a bar`);
  });
  const texts = boxes.map(({ text }) => text);
  return { covered, all: texts.includes("holds the lock") && texts.includes("lock → c2") && texts.some((text) => text.includes("SET")) };
}"#;
    let Some(found) = found("labels", script) else {
        return;
    };
    assert_eq!(found["covered"], json!([]));
    assert_eq!(found["all"], true, "there are labels of each kind");
}

#[test]
fn search_has_fields_that_combine_and_exclude() {
    let script = r#"
function result() {
  const listedBy = (query) => {
    element("query").value = query;
    element("query").dispatchEvent(new Event("input"));
    return Array.from(listed.items);
  };
  const times = (query) => listedBy(query).map((item) => items.at[item] / 1e6);
  const hosts = (query) => listedBy(query).map(itemHost);
  const c1 = hosts("host:c1");
  const between = times("after:180ms before:1.05s host:c2");
  listedBy("after:noon SET");
  return {
    c1: c1.length > 0 && c1.every((host) => host.split(" → ").includes("c1")) && c1.some((host) => host.startsWith("n")),
    between: between.length > 0 && between.every((t) => 180 < t && t < 1050),
    bare: times("after:180").length === times("after:180ms").length,
    without: listedBy("set -c2").length > 0 && listedBy("set -c2").every((item) => !textOf(item).includes("c2")),
    excluded: listedBy("-host:c2").length === items.count - listedBy("host:c2").length,
    parts: listedBy("after:180ms").length < items.count,
    unknown: (listedBy("after:noon set"), element("count").textContent.includes("not understood: after:noon")),
  };
}"#;
    let Some(found) = found("search", script) else {
        return;
    };
    for (what, is_true) in found.as_object().expect("an object") {
        assert_eq!(is_true, true, "{what}");
    }
}

#[test]
fn link_restores_what_was_shown_and_back_goes_to_the_last_jump() {
    let script = r##"
const near = (a, b) => Math.abs(a - b) < 100;
const gone = () => new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
async function result() {
  const opened = { hash: location.hash, from: view.from };
  choose(40);
  zoom(0.5);
  element("query").value = "host:c1 -n2";
  filter();
  writeAddress();
  const link = location.hash, shown = [view.from, view.to];
  const entries = history.length;
  pan(0.2);
  writeAddress();
  step(1);
  step(1);
  step(1);
  const steps = history.length - entries;
  let went = gone();
  history.back();
  await went;
  const back = listed.chosen;
  went = gone();
  location.hash = "#t=300";
  await went;
  const plain = toT((view.from + view.to) / 2) / 1e6;
  went = gone();
  location.hash = link;
  await went;
  const restored = near(view.from, shown[0]) && near(view.to, shown[1]);
  const chosen = listed.chosen, query = element("query").value;
  went = gone();
  location.hash = "#select=lost-update";
  await went;
  return { opened: opened.hash, steps, back, plain: Math.round(plain), restored, chosen, query,
    verdict: element("selection").textContent.startsWith("✗ lost-update") };
}"##;
    let Some(found) = found("link", script) else {
        return;
    };
    let expected = json!({
        "opened": "", "steps": 1, "back": 40, "plain": 300, "restored": true, "chosen": 40,
        "query": "host:c1 -n2", "verdict": true,
    });
    assert_eq!(found, expected);
}

#[test]
fn keys_focus_the_search_and_open_the_help() {
    let script = r#"
function result() {
  const press = (key, on = document.body) => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  press("/");
  const focused = document.activeElement.id;
  const chosen = listed.chosen;
  press("n", element("query"));
  const typed = listed.chosen === chosen;
  press("Escape", element("query"));
  const left = document.activeElement.id;
  press("?");
  const help = element("help").open && element("help").innerText;
  press("n");
  const still = listed.chosen === chosen;
  press("?");
  return { focused, typed, left, help, still, closed: !element("help").open };
}"#;
    let Some(found) = found("keys", script) else {
        return;
    };
    assert_eq!(
        (&found["focused"], &found["left"]),
        (&"query".into(), &"picture".into())
    );
    for what in ["typed", "still", "closed"] {
        assert_eq!(found[what], true, "{what}");
    }
    let help = found["help"].as_str().expect("it is open");
    for part in ["host:c1", "after:180ms", "before:", "-c2", "n", "?", "/"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn request_to_the_resource_is_explained() {
    let script = r#"
function result() {
  const told = (start) => {
    const ref = run.messages.label.findIndex((label) => run.texts[label].startsWith(start));
    select({ type: MESSAGE, ref });
    return element("selection").textContent;
  };
  return [told("READ"), told("WRITE"), told("SET"), accessText("WRITE c2 3 7 4")];
}"#;
    let Some(found) = found("resource", script) else {
        return;
    };
    let told = |place: usize| found[place].as_str().expect("text");
    assert!(
        told(0).contains("reads, under its grant 1, with no fencing token"),
        "{found}"
    );
    assert!(
        told(1)
            .contains("writes, under its grant 1, with no fencing token; computed from version 0")
    );
    assert!(
        !told(2).contains("means"),
        "only the resource has this protocol"
    );
    assert!(told(3).contains("fencing token 7; computed from version 4"));
}
