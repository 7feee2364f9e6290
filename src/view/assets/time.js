"use strict";
/* From true time to places in the picture. Idle time may be shortened: `u` is a time in which a
   gap between two events that is longer than three times a message's way grows with its logarithm
   only. Everything is drawn by `u`; what does not change with the zoom is computed once. */

const view = { from: 0, to: 1, shorten: true, background: false };

const warp = { t: new Float64Array(2), u: new Float64Array(2), gaps: [], end: 1 };

function interpolate(x, xs, ys) {
  const last = xs.length - 1;
  const right = Math.min(Math.max(lowerBound(xs, x), 1), last);
  const span = xs[right] - xs[right - 1];
  const share = span > 0 ? (x - xs[right - 1]) / span : 0;
  return ys[right - 1] + share * (ys[right] - ys[right - 1]);
}
const toU = (t) => interpolate(t, warp.t, warp.u);
const toT = (u) => interpolate(u, warp.u, warp.t);

function instants() {
  const { messages, records } = run;
  const all = [0, run.end];
  messages.sent.forEach((sent, ref) => {
    if (messages.background[ref] && !view.background) return;
    all.push(sent);
    if (messages.arrived[ref] !== null) all.push(messages.arrived[ref]);
  });
  records.at.forEach((at) => all.push(at));
  for (const span of [...run.beliefs, ...run.leases, ...run.faults]) all.push(span.from, span.until);
  for (const belief of run.beliefs) if (belief.deadline !== null) all.push(belief.deadline);
  for (const verdict of violations) all.push(verdict.at, verdict.until);
  const sorted = Float64Array.from(all.filter((t) => t <= run.end)).sort();
  return sorted.filter((t, place) => place === 0 || t !== sorted[place - 1]);
}

function buildWarp() {
  const t = instants();
  const idle = usualFlight > 0 ? 3 * usualFlight : run.end / 12;
  const u = new Float64Array(t.length);
  warp.gaps = [];
  for (let place = 1; place < t.length; place++) {
    const gap = t[place] - t[place - 1];
    const short = view.shorten && gap > idle;
    u[place] = u[place - 1] + (short ? idle * (1 + 0.5 * Math.log2(gap / idle)) : gap);
    if (short && gap > 2 * idle) warp.gaps.push({ from: u[place - 1], to: u[place], ns: gap });
  }
  if (t.length === 1) { warp.t = Float64Array.of(0, 1); warp.u = Float64Array.of(0, 1); } else { warp.t = t; warp.u = u; }
  warp.end = warp.u[warp.u.length - 1];
  place();
}

/* Columns of `u`, and what makes it fast to find those in view. */
const placed = {};

function spans(list, from = (span) => span.from, until = (span) => span.until) {
  const left = Float64Array.from(list, (span) => toU(from(span)));
  const right = Float64Array.from(list, (span) => toU(until(span)));
  // The furthest end of all spans up to this one: it only grows.
  const reach = new Float64Array(list.length);
  for (let i = 0; i < list.length; i++) reach[i] = Math.max(right[i], i ? reach[i - 1] : 0);
  return { list, left, right, reach };
}

/* Calls `act` with the place of each span in view. */
function inView({ left, right, reach }, act) {
  const end = lowerBound(left, view.to);
  for (let i = lowerBound(reach, view.from); i < end; i++) if (right[i] >= view.from) act(i);
}

function place() {
  const { messages } = run;
  // A message that never arrived is drawn for half the usual time.
  const arrival = (ref) => (isLost(ref) ? messages.sent[ref] + usualFlight / 2 : messages.arrived[ref]);
  // Few messages take long; apart from the others, they do not keep those from being culled.
  const refs = messages.sent.map((_, ref) => ref).filter((ref) => view.background || !messages.background[ref]);
  const column = (list) => spans(list, (ref) => messages.sent[ref], arrival);
  placed.usual = column(refs.filter((ref) => !isLate(ref)));
  placed.late = column(refs.filter(isLate));
  placed.records = Float64Array.from(run.records.at, toU);
  placed.gaps = { left: warp.gaps.map((gap) => gap.from), right: warp.gaps.map((gap) => gap.to) };
  placed.gaps.reach = placed.gaps.right;
  for (const kind of ["beliefs", "overlaps", "leases", "faults"]) placed[kind] = spans(run[kind]);
}

/* Shows a part of the run; `u` beyond its ends is empty. */
function show(from, to) {
  const shortest = Math.max(warp.end * 1e-7, 2000);
  const longest = warp.end * 1.04;
  const span = Math.min(Math.max(to - from, shortest), longest);
  const middle = (from + to) / 2;
  const margin = 0.02 * warp.end + 0.05 * span;
  view.from = Math.min(Math.max(middle - span / 2, -margin), Math.max(warp.end + margin - span, -margin));
  view.to = view.from + span;
  requestDraw();
  moved();
}
const showWhole = () => show(-0.02 * warp.end, 1.02 * warp.end);
const zoom = (factor, around = (view.from + view.to) / 2) =>
  show(around - (around - view.from) * factor, around + (view.to - around) * factor);
const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

/* Moves the view so that a time is in it, with some room on both sides. */
function reveal(t) {
  const u = toU(t), span = view.to - view.from;
  if (u < view.from + 0.05 * span || u > view.to - 0.05 * span) show(u - span / 2, u + span / 2);
}

let drawRequested = false;
const painters = [];
function requestDraw() {
  if (drawRequested) return;
  drawRequested = true;
  requestAnimationFrame(() => {
    drawRequested = false;
    painters.forEach((paint) => paint());
  });
}
