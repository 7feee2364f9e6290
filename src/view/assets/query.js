"use strict";
/* The search: words and fields, combined by spaces. An event is listed if it has all of them. */

const UNITS = { "": 1e6, ms: 1e6, s: 1e9, us: 1e3, "µs": 1e3, ns: 1 };

/* "180ms", "1.5s" or "180" (milliseconds) in nanoseconds; null if it is no time. */
function timeOf(text) {
  const parts = /^([0-9][0-9,]*(?:\.[0-9]+)?)(ms|s|us|µs|ns|)$/.exec(text);
  return parts && Number(parts[1].replaceAll(",", "")) * UNITS[parts[2]];
}

const before = (text) => {
  const t = timeOf(text);
  return t === null ? null : (item) => items.at[item] < t;
};
const FIELDS = {
  host: (name) => (name === "" ? null : (item) => hostsOf(item).includes(name)),
  before,
  after: (text) => {
    const t = timeOf(text);
    return t === null ? null : (item) => items.at[item] > t;
  },
};

/* The hosts that an event involves: those of a message are its sender and its receiver. */
function hostsOf(item) {
  const ref = items.ref[item];
  switch (items.type[item]) {
    case RECORD: return [hostName(run.records.host[ref])];
    case MESSAGE: return [hostName(run.messages.from[ref]), hostName(run.messages.to[ref])];
    default: return [hostName(run.leases[ref].host)];
  }
}

/* The query as tests of an item and of its text, with the words that are not understood. */
function parseQuery(text) {
  const tests = [], unknown = [];
  for (const word of text.toLowerCase().split(/\s+/)) {
    const isExcluded = word.length > 1 && word.startsWith("-");
    const wanted = isExcluded ? word.slice(1) : word;
    if (wanted === "" || wanted === "-") continue;
    const [, name, value] = /^(host|after|before):(.*)$/.exec(wanted) ?? [];
    const test = name ? FIELDS[name](value) : (_, text) => text.includes(wanted);
    if (!test) unknown.push(word);
    else tests.push(isExcluded ? (item, text) => !test(item, text) : test);
  }
  return { tests, unknown };
}
