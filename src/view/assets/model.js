"use strict";
/* The run as the page got it, and what is derived from it once. Times are nanoseconds of true
   time; hosts and texts are places in `run.hosts` and `run.texts`. */

const run = JSON.parse(document.getElementById("run").textContent);
const element = (id) => document.getElementById(id);

const CLIENTS = run.hosts.map((host, place) => place).filter((place) => run.hosts[place].role === "client");
const clientNumber = new Map(CLIENTS.map((place, number) => [place, number % 7]));

/* Everything that can be selected. The first four kinds are in the list of events. */
const RECORD = 0, MESSAGE = 1, LEASE = 2, LEASE_END = 3, BELIEF = 4, FAULT = 5;

const items = (() => {
  const all = [];
  run.records.at.forEach((at, ref) => {
    if (run.records.kind[ref] !== "end") all.push([at, RECORD, ref]);
  });
  run.messages.sent.forEach((at, ref) => all.push([at, MESSAGE, ref]));
  run.leases.forEach((lease, ref) => {
    all.push([lease.from, LEASE, ref]);
    if (lease.until < run.end) all.push([lease.until, LEASE_END, ref]);
  });
  all.sort((a, b) => a[0] - b[0]);
  return {
    count: all.length,
    at: Float64Array.from(all, (item) => item[0]),
    type: Uint8Array.from(all, (item) => item[1]),
    ref: Uint32Array.from(all, (item) => item[2]),
  };
})();

/* The usual time that a message takes: the median. One that takes three times as long is late. */
const usualFlight = (() => {
  const flights = [];
  run.messages.sent.forEach((sent, ref) => {
    const arrived = run.messages.arrived[ref];
    if (arrived !== null) flights.push(arrived - sent);
  });
  flights.sort((a, b) => a - b);
  return flights.length ? flights[flights.length >> 1] : 0;
})();

const isLost = (ref) => run.messages.arrived[ref] === null;
const isLate = (ref) => !isLost(ref) && run.messages.arrived[ref] - run.messages.sent[ref] > 3 * usualFlight;
const hostName = (place) => run.hosts[place].name;
/* The lock's own key: other keys have its name in theirs. */
const lockKey = run.leases.map((lease) => lease.key).sort((a, b) => a.length - b.length)[0];
const violations = run.verdicts.filter((verdict) => verdict.verdict === "violated");

/* The client whose colour a message has: its sender or its receiver. */
const clientOf = (ref) => {
  const from = clientNumber.get(run.messages.from[ref]);
  return from !== undefined ? from : clientNumber.get(run.messages.to[ref]);
};

/* Whose access a record of the resource is, and whether it writes. */
const accesses = new Map();
run.records.client.forEach((client, ref) => {
  if (client === null) return;
  accesses.set(ref, { client: clientNumber.get(client), writes: run.records.writes[ref] === 1 });
});

function leaseText(lease) {
  const owner = lease.owner === null ? "" : ` for ${hostName(lease.owner)}`;
  return `${lease.key} = ${lease.value}${owner}`;
}

function itemHost(item) {
  const ref = items.ref[item];
  switch (items.type[item]) {
    case RECORD: return hostName(run.records.host[ref]);
    case MESSAGE: return `${hostName(run.messages.from[ref])} → ${hostName(run.messages.to[ref])}`;
    default: return hostName(run.leases[ref].host);
  }
}

function itemText(item) {
  const ref = items.ref[item];
  switch (items.type[item]) {
    case RECORD: return run.texts[run.records.text[ref]];
    case MESSAGE: {
      const fate = isLost(ref) ? " (never arrives)" : isLate(ref) ? " (late)" : "";
      return run.texts[run.messages.label[ref]] + fate;
    }
    case LEASE: return `holds ${leaseText(run.leases[ref])}`;
    default: return `${run.leases[ref].key}: ${run.leases[ref].end}`;
  }
}

/* 1534204117 as "1,534.204": milliseconds, as exact as the digits say. */
function ms(ns, digits = 3) {
  return (ns / 1e6).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function duration(ns) {
  if (ns < 1e6) return `${+(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${+(ns / 1e6).toPrecision(3)} ms`;
  return `${+(ns / 1e9).toPrecision(3)} s`;
}

/* The first place in a sorted array whose value is not below. */
function lowerBound(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}
