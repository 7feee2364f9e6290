//! The page in a headless Chromium and in a headless Firefox, opened from the file system. Without ChromeDriver or without
//! Firefox these tests say so and do nothing.

use serde_json::{Value, json};

use crate::driver::{Browser, Window};
use crate::engines::runs;
use crate::firefox::Firefox;
use crate::{answer, page};

fn open(browser: &dyn Window, address: &str) {
    let file = page().canonicalize().expect("it is published");
    browser.open(&format!("file://{}{address}", file.display()));
    browser.run(READY);
}

/// Waits until the run is shown, and all runs are made.
const READY: &str = r##"
  const shown = () => document.getElementById("picture").contentDocument?.getElementById("outcome")?.textContent
    || !document.getElementById("problem").hidden || !document.getElementById("curtain").hidden;
  await until(() => document.getElementById("state").hidden || document.getElementById("state").className === "problem");
  if (document.getElementById("state").className === "problem") throw new Error(document.getElementById("state").textContent);
  await until(shown);
  await until(() => document.getElementById("stop").disabled);"##;

/// Moves a slider, and waits until the page shows the new run and its rate.
fn slide(browser: &Browser, path: &str, value: u32) -> Value {
    browser.run(&format!(
        r##"
  const slider = document.getElementById("number-{path}"), before = document.getElementById("terminal").textContent;
  slider.value = {value};
  slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
  await until(() => document.getElementById("terminal").textContent !== before);
  await until(() => document.getElementById("stop").disabled && document.getElementById("rate-words").textContent.includes("of 1,000"));
  return {{ words: document.getElementById("rate-words").textContent, hash: location.hash }};"##
    ))
}

#[test]
fn a_reader_slides_steps_and_finds_it_again_by_the_address() {
    let Some(browser) = Browser::of_size(1300, 1000) else {
        return;
    };
    open(&browser, "");
    let found = browser.run(r##"
  await until(() => document.getElementById("rate-words").textContent.includes("of 1,000"));
  const inner = document.getElementById("picture").contentDocument;
  const first = document.getElementById("caption").textContent;
  document.getElementById("step-after").click();
  await until(() => document.getElementById("caption").textContent !== first);
  const second = document.getElementById("caption").textContent;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "p", bubbles: true }));
  await until(() => document.getElementById("caption").textContent !== second);
  return { outcome: inner.getElementById("outcome").textContent, words: document.getElementById("rate-words").textContent,
    second, known: inner.getElementById("known").textContent, bytes: document.getElementById("bytes").textContent,
    seeds: document.querySelectorAll("#seeds button").length, curve: document.querySelectorAll("#chart polyline").length,
    wide: document.documentElement.scrollWidth <= innerWidth };"##);
    browser.picture("k1");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert!(
        text(&found["outcome"]).contains("c1 wrote version 2"),
        "{found}"
    );
    assert!(
        text(&found["words"])
            .contains("1,000 of 1,000 runs (at least 99.62 %); predicted: violated (95–100 %)"),
        "{found}"
    );
    assert!(
        text(&found["second"]).contains("c1: ") && text(&found["second"]).contains("resource: "),
        "{found}"
    );
    assert!(text(&found["known"]).contains("Who knows what"), "{found}");
    assert_eq!((&found["seeds"], &found["curve"]), (&24.into(), &1.into()));
    assert_eq!(found["wide"], true, "nothing is cut off");
    // The browser's run is this build's.
    let ours = answer(&json!({ "ask": "run", "name": "kleppmann/k1", "seed": 0 }));
    assert!(
        text(&found["bytes"]).contains(ours[0]["sha1"].as_str().expect("text")),
        "{found}"
    );

    let slid = slide(&browser, "fault.gc.duration_ms", 600);
    assert!(text(&slid["words"]).contains("0 of 1,000 runs"), "{slid}");
    assert_eq!(
        slid["hash"],
        "#scenario=kleppmann/k1&set=fault.gc.duration_ms=600&seed=0"
    );
    browser.open("about:blank");
    open(
        &browser,
        "#scenario=kleppmann/k1-exponential&set=lock.ttl_ms=500&seed=5",
    );
    let again = browser.run(r##"
  const violating = [...document.querySelectorAll("#seeds button")][2];
  violating.click();
  await until(() => document.getElementById("terminal").textContent.includes(`--seed ${violating.textContent}\n`));
  await until(() => document.getElementById("picture").contentDocument?.getElementById("origin")?.textContent.includes(`seed ${violating.textContent},`));
  return { lease: document.getElementById("number-lock.ttl_ms").value, seed: violating.textContent, hash: location.hash,
    outcome: document.getElementById("picture").contentDocument.getElementById("outcome").className };"##);
    assert_eq!(
        (&again["lease"], &again["outcome"]),
        (&"500".into(), &"violated".into())
    );
    assert!(
        text(&again["hash"]).ends_with(&format!("seed={}", text(&again["seed"]))),
        "{again}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

/// In the worker of the page, which compiles the module as a browser does.
#[test]
fn every_run_has_the_same_bytes_in_chromium() {
    let Some(browser) = Browser::of_size(1300, 1000) else {
        return;
    };
    check_runs(&browser);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn every_run_has_the_same_bytes_in_firefox_and_is_shown() {
    let Some(browser) = Firefox::start() else {
        return;
    };
    check_runs(&browser);
    open(&browser, "#scenario=kleppmann/k10&seed=0");
    let found = browser.run(
        r##"
  const inner = document.getElementById("picture").contentDocument;
  document.getElementById("step-after").click();
  await until(() => document.getElementById("caption").textContent.includes("resource: "));
  document.getElementById("shrink").click();
  await until(() => document.getElementById("text").value.startsWith("# The smallest"));
  return { outcome: inner.getElementById("outcome").className, curve: document.querySelectorAll("#chart polyline").length,
    wide: document.documentElement.scrollWidth <= innerWidth, text: document.getElementById("text").value.length };"##,
    );
    let shrunk = answer(&json!({ "ask": "shrink", "name": "kleppmann/k10", "seed": 0 }));
    let text = shrunk.last().and_then(|found| found["text"].as_str());
    let length = text.map_or(0, str::len);
    assert_eq!(
        found,
        json!({ "outcome": "violated", "curve": 1, "wide": true, "text": length })
    );
}

fn check_runs(browser: &dyn Window) {
    open(browser, "#claim=A1&seed=3");
    let requests = runs();
    let theirs = browser.run(&format!(
        "const digests = [];
         for (const request of {}) digests.push((await engines.run.answer(request)).sha1);
         return digests;",
        json!(requests)
    ));
    let ours = requests
        .iter()
        .map(|request| answer(request)[0]["sha1"].clone());
    let ours: Vec<Value> = ours.collect();
    assert_eq!(ours.len(), 240);
    for (place, digest) in ours.iter().enumerate() {
        assert_eq!(theirs[place], *digest, "{}", requests[place]);
    }
}

/// Of a claim whose first scenario is that of another claim.
#[test]
fn the_address_of_a_claim_shows_its_words_and_where_it_stands() {
    let Some(browser) = Browser::of_size(1300, 1000) else {
        return;
    };
    open(&browser, "#claim=A1");
    let found = browser.run(
        r##"
  const text = (id) => document.getElementById(id).textContent;
  const before = [text("claim"), text("standing"), text("terminal")];
  document.getElementById("seed-after").click();
  await until(() => text("terminal") !== before[2]);
  const hash = location.hash;
  const list = document.getElementById("scenario");
  list.value = "kleppmann/k13";
  list.dispatchEvent(new Event("change", { bubbles: true }));
  await until(() => text("terminal").includes("k13"));
  return { before, hash, claim: text("claim"), standing: text("standing") };"##,
    );
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert!(text(&found["before"][0]).starts_with("A1: "), "{found}");
    assert_eq!(found["before"][1], "Supported.");
    assert!(text(&found["before"][2]).starts_with("locklab view kleppmann/k1 --seed 0\n"));
    assert_eq!(found["hash"], "#scenario=kleppmann/k1&seed=1&claim=A1");
    assert!(text(&found["claim"]).starts_with("K13: "), "{found}");
    let standing = text(&found["standing"]);
    assert!(
        standing.starts_with("Supported with conditions: "),
        "{standing}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_text_of_ones_own_runs_and_a_mistake_in_it_is_shown() {
    let Some(browser) = Browser::of_size(1300, 1000) else {
        return;
    };
    open(&browser, "#scenario=kleppmann/k10&seed=1");
    let found = browser.run(r##"
  const text = document.getElementById("text"), before = document.getElementById("terminal").textContent;
  const use = () => document.getElementById("use").click();
  const sound = text.value;
  text.value = sound.replace("ttl_ms", "tttl_ms");
  use();
  await until(() => !document.getElementById("problem").hidden);
  const problem = document.getElementById("problem").textContent, marked = text.value.slice(text.selectionStart, text.selectionEnd);
  text.value = sound.replace("step_ms = 2000", "step_ms = 0.5");
  use();
  await until(() => document.getElementById("problem").hidden && document.getElementById("terminal").textContent !== before);
  return { problem, marked, terminal: document.getElementById("terminal").textContent, hash: location.hash };"##);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert!(
        text(&found["problem"]).starts_with("Line 17, column 1: unknown key \"tttl_ms\""),
        "{found}"
    );
    assert!(text(&found["marked"]).starts_with("tttl_ms"), "{found}");
    assert!(
        text(&found["terminal"]).starts_with("locklab view - --seed 1 <<'SCENARIO'"),
        "{found}"
    );
    let hash = text(&found["hash"]);
    assert!(hash.starts_with("#text="), "{hash}");
    browser.open("about:blank");
    open(&browser, &hash);
    let again = browser.run("return document.getElementById('terminal').textContent;");
    assert_eq!(again, found["terminal"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_counterexample_is_shrunk_as_by_the_command() {
    let Some(browser) = Browser::of_size(1300, 1000) else {
        return;
    };
    open(&browser, "#scenario=kleppmann/k10&seed=0");
    let found = browser.run(r##"
  const button = document.getElementById("shrink"), words = document.getElementById("shrink-words");
  const text = document.getElementById("text"), before = text.value;
  const label = button.textContent;
  // At the first word of it: on a busy machine it could end before another look.
  const during = await new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!words.textContent.includes("so far")) return;
      observer.disconnect();
      resolve([button.textContent, words.textContent]);
      button.click();
    });
    observer.observe(words, { childList: true });
    button.click();
  });
  const stopped = button.textContent === label && words.textContent === "" && text.value === before;
  button.focus();
  button.click();
  await until(() => words.textContent.includes("smallest"));
  await until(() => document.getElementById("terminal").textContent.startsWith("locklab view - "));
  const inner = () => document.getElementById("picture").contentDocument;
  await until(() => inner()?.getElementById("origin")?.textContent.startsWith("a text of your own"));
  return { during, stopped, words: words.textContent, text: text.value, hash: location.hash,
    isKept: document.activeElement === button, outcome: inner().getElementById("outcome").className };"##);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert_eq!(found["during"][0], "Stop");
    assert!(
        text(&found["during"][1]).starts_with("Shrinking… "),
        "{found}"
    );
    assert_eq!(found["stopped"], true, "what is shown stays");
    let ours = answer(&json!({ "ask": "shrink", "name": "kleppmann/k10", "seed": 0 }));
    let ours = ours.last().expect("it says something");
    assert_eq!(found["text"], ours["text"]);
    assert!(
        text(&found["words"]).contains(": 2 of 3 faults, 2 clients, 3 of 5 servers, 2 rounds in "),
        "{found}"
    );
    assert_eq!(
        (&found["outcome"], &found["isKept"]),
        (&"violated".into(), &true.into())
    );
    assert!(text(&found["hash"]).starts_with("#text="), "{found}");
    // A run that violates nothing cannot be shrunk.
    open(
        &browser,
        "#scenario=kleppmann/k1&set=fault.gc.duration_ms=500&seed=0",
    );
    let hidden = browser.run("return document.getElementById('shrinking').hidden;");
    assert_eq!(hidden, true);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// On a phone a lesson is followed to its end: a question hides the run until it is answered.
#[test]
fn a_lesson_is_followed_on_a_phone() {
    let Some(browser) = Browser::of_size(390, 844) else {
        return;
    };
    open(&browser, "");
    let found = browser.run(r##"
  document.querySelector("#lessons button").click();
  const seen = [];
  await until(() => !document.getElementById("curtain").hidden);
  const hidden = document.getElementById("lesson-next").disabled
    && ["picture", "claim", "standing", "commands", "shrinking"].every((id) => document.getElementById(id).hidden);
  for (;;) {
    const title = document.getElementById("lesson-title").textContent;
    const guesses = document.querySelectorAll("#lesson-question input");
    if (!document.getElementById("lesson-question").hidden) guesses[0].click();
    await until(() => !document.getElementById("picture").hidden && !document.getElementById("lesson-next").disabled);
    await until(() => document.getElementById("rate").hidden || document.getElementById("rate-words").textContent.includes("of 1,000"));
    seen.push([title, document.getElementById("lesson-because").textContent !== "", document.querySelectorAll(".right").length,
      document.documentElement.scrollWidth <= innerWidth, location.hash]);
    if (document.getElementById("lesson-next").textContent === "Done") break;
    document.getElementById("lesson-next").click();
    await until(() => document.getElementById("lesson-title").textContent !== title);
    await new Promise((next) => setTimeout(next, 300));
  }
  return { hidden, seen, width: innerWidth };"##);
    browser.picture("phone");
    assert_eq!(
        (&found["hidden"], &found["width"]),
        (&true.into(), &390.into())
    );
    let seen = found["seen"].as_array().expect("a list");
    assert_eq!(seen.len(), 5, "{found}");
    for (place, step) in seen.iter().enumerate() {
        let asks = place == 0 || place == 3;
        assert_eq!(
            (&step[1], &step[2]),
            (&asks.into(), &u64::from(asks).into()),
            "{step}"
        );
        assert_eq!(step[3], true, "nothing is cut off: {step}");
        let address = step[4].as_str().expect("text");
        assert!(
            address.ends_with(&format!("&lesson=K1&step={}", place + 1)),
            "{address}"
        );
    }
    assert_eq!(browser.complaints(), [""; 0]);
}
