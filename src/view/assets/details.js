"use strict";
/* The words beside the picture: what the run is, its verdicts, and what is selected. Every text
   of the run becomes a text node, never markup. */

function node(tag, text, ...children) {
  const made = Object.assign(document.createElement(tag), text === null ? {} : { textContent: text });
  made.append(...children);
  return made;
}

function facts(title, pairs, text) {
  const entries = pairs.filter(([, value]) => value !== null).flatMap(([name, value]) => [node("dt", name), node("dd", value)]);
  element("selection").replaceChildren(node("h2", title), node("dl", null, ...entries), ...(text ? [node("pre", text)] : []));
}

/* A request to the resource in words: "READ c1 1 -", and a write has the version it was computed
   from at its end. */
function accessText(words) {
  const [verb, client, grant, token, version] = words.split(" ");
  const shown = token === "-" ? "no fencing token" : `fencing token ${token}`;
  if (verb === "TOKEN") return "asks for the next fencing token";
  if (verb === "READ") return `${client} reads, under its grant ${grant}, with ${shown}`;
  if (verb === "WRITE") return `${client} writes, under its grant ${grant}, with ${shown}; computed from version ${version}`;
  return null;
}

const at = (t) => `${ms(t, 6)} ms`;

function describe({ type, ref }) {
  if (type === MESSAGE) {
    const { sent, arrived, from, to, text, label } = run.messages;
    const took = isLost(ref) ? "never" : `${at(arrived[ref])}, after ${duration(arrived[ref] - sent[ref])}${isLate(ref) ? ": late" : ""}`;
    const meaning = hostName(to[ref]) === "resource" ? accessText(run.texts[label[ref]]) : null;
    facts(`${hostName(from[ref])} → ${hostName(to[ref])}`, [["sent", at(sent[ref])], ["arrived", took], ["means", meaning]],
      run.texts[text.length ? text[ref] : label[ref]]);
  } else if (type === RECORD) {
    facts(hostName(run.records.host[ref]), [["at", at(run.records.at[ref])]], run.texts[run.records.text[ref]]);
  } else if (type === LEASE || type === LEASE_END) {
    const lease = run.leases[ref];
    facts(`${hostName(lease.host)} holds ${lease.key}`, [
      ["for", lease.owner === null ? "–" : hostName(lease.owner)],
      ["from", at(lease.from)], ["until", `${at(lease.until)}: ${lease.end}`],
      ["lasted", duration(lease.until - lease.from)],
      ["lease", lease.timed ? "ends by the node's own clock" : "none: it has no time to live"]], lease.value);
  } else if (type === BELIEF) {
    const belief = run.beliefs[ref];
    facts(`${hostName(belief.host)} believes that it holds the lock`, [
      ["from", at(belief.from)], ["until", at(belief.until)],
      ["deadline", belief.deadline === null ? "not reached" : `${at(belief.deadline)}, by its own clock`],
      ["token", belief.token === null ? null : `${belief.token}`]]);
  } else if (type === FAULT) {
    const fault = run.faults[ref];
    facts(fault.label, [["host", hostName(fault.host)], ["from", at(fault.from)],
      ["until", fault.until > fault.from ? at(fault.until) : null], ["links", fault.links]]);
  }
}

const MARKS = { violated: "✗ violated", holds: "✓ holds", inconclusive: "? inconclusive" };

function writeVerdicts() {
  const order = ["violated", "inconclusive", "holds"];
  const sorted = [...run.verdicts].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  element("verdicts").replaceChildren(...sorted.map((verdict) => {
    const words = node("button", null, node("b", MARKS[verdict.verdict]), verdict.property,
      node("small", verdict.what || verdict.promises));
    words.type = "button";
    words.title = verdict.promises;
    words.disabled = verdict.at === null;
    words.addEventListener("click", () => { showVerdict(verdict); jumped("verdict"); });
    const line = node("li", null, words);
    line.className = verdict.verdict;
    return line;
  }));
}

/* What became of the violated property in the same run without each fault. */
function writeWithout() {
  if (!run.without) return;
  const { property, faults } = run.without;
  const line = ({ fault, kind, verdict, needed }) => node("tr", null,
    node("th", kind === fault ? fault : `${fault} (${kind})`),
    Object.assign(node("td", verdict), { className: needed ? "holds" : "violated" }));
  element("without").hidden = false;
  element("without").append(node("h2", `${property}, without each fault`),
    node("table", null, node("tbody", null, ...faults.map(line))));
}

/* The part of the run that led to a violation. */
function showVerdict(verdict) {
  const [from, until] = (verdict.focus ?? [verdict.at, verdict.until]).map(toU);
  const room = Math.max(0.06 * (until - from), 0.002 * warp.end);
  show(from - room, until + room);
  clearSelection();
  Object.assign(selection, { name: verdict.property });
  listed.at = verdict.at;
  scrollToItem(lowerBound(items.at, verdict.at));
  writeKnown(verdict.at);
  facts(`✗ ${verdict.property}`, [["from", at(verdict.at)],
    ["until", verdict.until > verdict.at ? at(verdict.until) : null],
    ["clients", verdict.clients.map(hostName).join(", ")]], verdict.what);
}

function writeHeader() {
  const { run: about } = run;
  element("origin").textContent = `${about.scenario}, seed ${about.seed}, ${about.place}, Locklab ${about.locklab}`;
  const outcome = element("outcome");
  const first = violations[0];
  outcome.className = first ? "violated" : "holds";
  const same = violations.filter((other) => first && other.what === first.what).map((other) => other.property);
  const others = violations.filter((other) => !same.includes(other.property)).map((other) => other.property);
  outcome.textContent = first ? `✗ ${same.join(", ")}: ${first.what}.${others.length ? ` Also violated: ${others.join(", ")}.` : ""}`
    : run.verdicts.some((verdict) => verdict.verdict === "holds") ? "✓ This run violates nothing." : "? This run could not be judged.";
  element("remark").textContent = about.remark;
  element("remark").hidden = about.remark === "";
  if (about.about) {
    element("about").append(node("h2", "What the scenario says"));
    about.about.trim().split(/\n\s*\n/).forEach((paragraph) => element("about").append(node("p", paragraph)));
  }
}

function writeLegend() {
  const entry = (style, text) => {
    const mark = node("i", null);
    mark.style.cssText = style;
    return node("li", null, mark, text);
  };
  const stripes = (name) => `repeating-linear-gradient(135deg,var(--${name}) 0 2px,transparent 2px 5px)`;
  element("legend").replaceChildren(
    entry("background:var(--client-0)", "a client believes that it holds the lock"),
    entry(`background:${stripes("client-0")};border:1px solid var(--client-0)`, "past its own deadline"),
    entry("background:var(--client-0);opacity:.45", "a node holds the key for the client"),
    entry("background:var(--violation);opacity:.3", "two clients believe at once"),
    entry(`background:${stripes("process")};border:1px solid var(--process)`, "process stopped"),
    entry(`background:${stripes("network")};border:1px solid var(--network)`, "links faulty"),
    entry("background:var(--clock);width:5px", "clock changed"),
    entry("border-top:2px dashed var(--client-0);height:0", "late message; ✕ never arrives"),
    entry("background:var(--idle);border:1px solid var(--line)", "shortened idle time"),
    ...(run.lost ? [entry("border-top:2px solid var(--violation);height:0", `violates ${run.lost.property} if all is drawn anew from there on`)] : []),
  );
}
