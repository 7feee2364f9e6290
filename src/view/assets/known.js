"use strict";
/* What everybody knows and believes at a time: each client, the servers, and the resource. */

const during = (t) => ({ from, until }) => from <= t && t < until;

/* The text of the last record of a host until then that has one of these kinds; null if there is none. */
function lastText(place, t, kinds) {
  const { at, host, kind, text } = run.records;
  for (let ref = lowerBound(at, t + 1) - 1; ref >= 0; ref--) {
    if (host[ref] === place && kinds.includes(kind[ref])) return { kind: kind[ref], text: run.texts[text[ref]] };
  }
  return null;
}

function clientKnows(place, t) {
  const belief = run.beliefs.find((belief) => belief.host === place && during(t)(belief));
  const stopped = run.faults.find((fault) => fault.host === place && fault.family === "process" && during(t)(fault));
  const still = stopped ? `; it is stopped (${stopped.label}), and knows nothing of what happens` : "";
  if (belief) {
    const token = belief.token === null ? "" : `, with token ${belief.token}`;
    const { deadline } = belief;
    const time = deadline === null ? "" : deadline > t ? `, by its own clock for ${duration(deadline - t)} more` : `, although its own deadline was ${duration(t - deadline)} ago`;
    return `believes that it holds the lock${token}${time}${still}`;
  }
  const last = lastText(place, t, ["call", "return"]);
  const asks = last?.kind === "call" && last.text.includes("acquire");
  return `${asks ? "asks for the lock" : "does not believe that it holds the lock"}${still}`;
}

function serverKnows(place, t) {
  const lease = run.leases.find((lease) => lease.host === place && lease.key === lockKey && during(t)(lease));
  const owner = lease ? (lease.owner === null ? "somebody" : hostName(lease.owner)) : null;
  return owner === null ? "without the lock's key" : `with the lock's key for ${owner}`;
}

/* Sentences, each with the names of those that it is true of, in the order of the lanes. */
function knownAt(t) {
  const said = new Map();
  const say = (name, words) => said.set(words, [...(said.get(words) ?? []), name]);
  run.hosts.forEach(({ name, role }, place) => {
    if (role === "client") say(name, clientKnows(place, t));
    else if (role === "resource") say(name, lastText(place, t, ["access", "refusal"])?.text ?? "was not used yet");
    else if (role !== "sentinel" && lockKey !== undefined) say(name, serverKnows(place, t));
  });
  const lines = [...said].map(([words, names]) => `${names.join(", ")}: ${words}`);
  const both = run.overlaps.find(during(t));
  return both ? [`${both.hosts.map(hostName).join(" and ")} both believe that they hold the lock`, ...lines] : lines;
}

function writeKnown(t) {
  const lines = t === null ? [] : knownAt(t);
  element("known").hidden = lines.length === 0;
  element("known").replaceChildren(node("h2", "Who knows what"), node("ul", null, ...lines.map((line) => node("li", line))));
}
