"use strict";
/* What is shown, in the address of the page: `#t=184.7&span=60&select=message-12`. Whoever opens
   the address sees the same. A jump is a step back of the browser; moving around is not. */

const KINDS = ["record", "message", "lease", "lease-end", "belief", "fault"];
/* A frame of another page (`src/play`) has no address of its own. */
const isEmbedded = location.protocol === "about:";
const address = { jumped: null, timer: 0, opening: null };

const milliseconds = (ns) => `${+(ns / 1e6).toFixed(6)}`;

/* `t` is the middle of the picture, `span` its length; both are milliseconds, and the length is
   that of the picture, in which idle time may be shortened. */
function addressOf() {
  const parts = [`t=${milliseconds(toT((view.from + view.to) / 2))}`, `span=${milliseconds(view.to - view.from)}`];
  const query = element("query").value.trim();
  if (selection.name) parts.push(`select=${selection.name}`);
  else if (selection.type >= 0) parts.push(`select=${KINDS[selection.type]}-${selection.ref}`);
  if (query) parts.push(`search=${encodeURIComponent(query)}`);
  if (!view.shorten) parts.push("idle=full");
  if (view.background) parts.push("heartbeats=shown");
  if (theme) parts.push(`theme=${theme}`);
  return `#${parts.join("&")}`;
}

function writeAddress() {
  clearTimeout(address.timer);
  address.timer = 0;
  const now = addressOf();
  if (isEmbedded || now === location.hash) return;
  // The page as it opened needs no address.
  if (location.hash === "" && now === address.opening) return;
  history.replaceState(null, "", now);
}

/* The view moved: the address follows when it rests, since browsers limit how often it changes. */
function moved() {
  if (address.timer === 0) address.timer = setTimeout(writeAddress, 250);
}

/* Something else is shown: one can go back. A row of such steps of one kind is a single one. */
function jumped(kind) {
  if (address.timer !== 0) writeAddress();
  const now = addressOf();
  if (isEmbedded) return;
  if (now !== location.hash && !(kind === "step" && address.jumped === "step")) history.pushState(null, "", now);
  else writeAddress();
  address.jumped = kind;
}

/* Selects what a link names; false if the run has no such thing. */
function selectNamed(name) {
  const verdict = violations.find((verdict) => verdict.property === name);
  if (verdict) return showVerdict(verdict), true;
  const [, kind, number] = /^([a-z-]+)-([0-9]+)$/.exec(name) ?? [];
  const type = KINDS.indexOf(kind), ref = Number(number);
  const all = [run.records.at, run.messages.sent, run.leases, run.leases, run.beliefs, run.faults][type];
  if (!all || !(ref < all.length)) return false;
  select({ type, ref });
  return true;
}

/* Shows what the address says; without one what the page shows first. */
function readAddress() {
  clearTimeout(address.timer);
  address.timer = 0;
  address.jumped = null;
  const parts = new Map(location.hash.slice(1).split("&").map((part) => {
    const [name, ...value] = part.split("=");
    return [name, value.join("=")];
  }));
  theme = /^(dark|light)$/.exec(parts.get("theme"))?.[0] ?? theme;
  element("query").value = unescaped(parts.get("search") ?? "");
  element("shorten").checked = view.shorten = parts.get("idle") !== "full";
  element("background").checked = view.background = parts.get("heartbeats") === "shown";
  buildWarp();
  strip.still = null;
  filter();
  clearSelection();
  if (violations.length) showVerdict(violations[0]); else showWhole();
  if (!address.opening) address.opening = addressOf();
  if (parts.has("t") && !parts.has("select")) clearSelection();
  if (parts.has("select") && !selectNamed(parts.get("select"))) clearSelection();
  const t = timeOf(parts.get("t") ?? "");
  if (t !== null) {
    const span = timeOf(parts.get("span") ?? "") ?? view.to - view.from, u = toU(t);
    show(u - span / 2, u + span / 2);
    if (!parts.has("select")) { listed.at = t; scrollToItem(lowerBound(items.at, t)); }
  }
  paint();
}

function unescaped(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

addEventListener("hashchange", readAddress);
