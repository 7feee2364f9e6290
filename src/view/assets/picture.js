"use strict";
/* The picture: a lane for each host, time to the right. Only what is in view is drawn; where
   messages are too dense to be told apart, their number is drawn instead. */

const picture = element("picture");
/* What is selected: an item, a span, or a violation by its name. */
const selection = { type: -1, ref: -1, name: null };
const lanes = { left: 80, width: 0, top: 48, height: 0, y: [], size: [] };
/* What was drawn and can be clicked, the uppermost last. */
let targets = [];

const WEIGHT = { client: 1.5, node: 1.1, replica: 1, sentinel: 0.7, resource: 1 };
const LEAST = { client: 48, node: 40, replica: 36, sentinel: 26, resource: 36 };
/* With more messages in view than this, their density is drawn. */
const MAX_ARROWS = 2500;
/* One label for so many pixels of the width; with more messages than labels, only what is lost or
   late has one. */
const LABEL_EVERY = 9;

let colour = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colour = {};
  for (const name of ["page", "panel", "ink", "muted", "line", "idle", "accent", "violation", "process", "network", "clock"]) {
    colour[name] = style.getPropertyValue(`--${name}`).trim();
  }
  colour.client = Array.from({ length: 7 }, (_, i) => style.getPropertyValue(`--client-${i}`).trim());
}
const ofClient = (number) => (number === undefined ? colour.muted : colour.client[number]);

/* A canvas with the device's pixels, cleared; returns what to draw with. */
function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

function layOut() {
  const frame = element("lanes");
  lanes.width = frame.clientWidth;
  const g = picture.getContext("2d");
  g.font = "600 13px system-ui, sans-serif";
  lanes.left = 16 + Math.max(...run.hosts.map((host) => g.measureText(host.name).width), 42);
  const roles = run.hosts.map((host) => host.role);
  const weight = roles.reduce((sum, role) => sum + WEIGHT[role], 0);
  const room = frame.clientHeight - lanes.top - 8;
  lanes.size = roles.map((role) => Math.min(Math.max(LEAST[role], (room * WEIGHT[role]) / weight), 150));
  let y = lanes.top;
  lanes.y = lanes.size.map((size) => (y += size) - size / 2);
  lanes.height = Math.max(y + 8, frame.clientHeight);
}

const scale = () => (lanes.width - lanes.left - 12) / (view.to - view.from);
const xOfU = (u) => lanes.left + (u - view.from) * scale();
const uOfX = (x) => view.from + (x - lanes.left) / scale();

function drawPicture() {
  layOut();
  const g = prepare(picture, lanes.width, lanes.height);
  targets = [];
  const k = scale();
  const x = (u) => Math.min(Math.max(lanes.left + (u - view.from) * k, -1e4), 1e5);
  g.font = "12px system-ui, sans-serif";
  g.save();
  g.beginPath();
  g.rect(lanes.left, 0, lanes.width - lanes.left, lanes.height);
  g.clip();
  const labels = new Labels(g);
  drawIdle(g, x);
  drawOverlaps(g, x);
  drawFaults(g, x, labels);
  drawLines(g);
  drawLeases(g, x, labels);
  drawBeliefs(g, x, labels);
  drawMessages(g, x, labels);
  drawRecords(g, x);
  drawViolations(g, x, labels);
  drawSelection(g, x);
  labels.write();
  drawAxis(g, x);
  g.restore();
  drawNames(g);
}

/* Calls `act` with the place of each span in view and where it is. Of those on one lane that are
   narrower than a pixel there is one in each pixel. */
function eachBar(kind, x, lane, act) {
  const taken = new Float64Array(run.hosts.length + 1).fill(-1e9);
  inView(placed[kind], (i) => {
    const left = x(placed[kind].left[i]), right = x(placed[kind].right[i]);
    const row = lane(run[kind][i]);
    if (right - left < 1) {
      if (right < taken[row] + 1) return;
      taken[row] = right;
    }
    act(run[kind][i], i, left, right);
  });
}

function hatch(g, fill) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = tile.getContext("2d");
  t.strokeStyle = fill;
  t.lineWidth = 1.6;
  t.beginPath();
  for (const shift of [-6, 0, 6]) { t.moveTo(shift, 6); t.lineTo(shift + 6, 0); }
  t.stroke();
  return g.createPattern(tile, "repeat");
}

/* The shortened gaps in view that are at least so many pixels wide. */
function gapsInView(pixels) {
  const shown = [];
  inView(placed.gaps, (i) => {
    if ((placed.gaps.right[i] - placed.gaps.left[i]) * scale() >= pixels) shown.push(warp.gaps[i]);
  });
  return shown;
}

function drawIdle(g, x) {
  g.fillStyle = colour.idle;
  for (const gap of gapsInView(0.7)) {
    g.fillRect(x(gap.from), lanes.top - 12, x(gap.to) - x(gap.from), lanes.height);
  }
}

function drawLines(g) {
  g.strokeStyle = colour.line;
  g.lineWidth = 1;
  g.beginPath();
  for (const y of lanes.y) { g.moveTo(lanes.left, y + 0.5); g.lineTo(lanes.width, y + 0.5); }
  g.stroke();
}

/* Two clients believe at once: the area between their lanes. */
function drawOverlaps(g, x) {
  eachBar("overlaps", x, (overlap) => overlap.hosts[0], (overlap, i, left, right) => {
    const [a, b] = overlap.hosts.map((host) => lanes.y[host]);
    const width = Math.max(right - left, 1);
    g.fillStyle = colour.violation;
    g.globalAlpha = overlap.past ? 0.1 : 0.22;
    g.fillRect(left, Math.min(a, b), width, Math.abs(a - b));
    g.globalAlpha = 1;
  });
}

function drawFaults(g, x, labels) {
  const fill = {};
  eachBar("faults", x, (fault) => fault.host, (fault, i, left, right) => {
    const y = lanes.y[fault.host], half = lanes.size[fault.host] * 0.44;
    const ink = colour[fault.family];
    const height = fault.family === "network" ? 9 : 2 * half;
    const top = y - half;
    if (right - left < 1 && fault.from === fault.until) {
      g.fillStyle = ink;
      g.beginPath();
      g.moveTo(left, y - 3); g.lineTo(left - 6, top + 2); g.lineTo(left + 6, top + 2);
      g.fill();
      g.fillRect(left - 1, top, 2, 2 * half);
      labels.put(fault.label, left + 8, top + 10, ink, RANK.fault, [[0, 0], [0, 2 * half - 14], [-16, 0]]);
      targets.push({ type: FAULT, ref: i, box: [left - 7, top, left + 7, y + half] });
      return;
    }
    g.fillStyle = fill[fault.family] ??= hatch(g, ink);
    g.globalAlpha = 0.35;
    g.fillRect(left, top, Math.max(right - left, 1), height);
    g.globalAlpha = 1;
    g.strokeStyle = ink;
    g.lineWidth = 1;
    g.strokeRect(left, top, Math.max(right - left, 1), height);
    const words = fault.links !== null && right - left > 330 ? `${fault.label} (${fault.links})` : fault.label;
    labels.put(words, Math.max(left, lanes.left) + 5, top + 11, ink, RANK.fault, [[0, 0], [0, 2 * half - 14], [0, -14]]);
    targets.push({ type: FAULT, ref: i, box: [left - 2, top, Math.max(right, left + 4), top + height] });
  });
}

/* What a node holds, in the colour of the client that it holds it for. */
function drawLeases(g, x, labels) {
  const ofLock = (lease) => (lease.key === lockKey ? lease.host : run.hosts.length);
  eachBar("leases", x, ofLock, (lease, i, left, end) => {
    const y = lanes.y[lease.host], right = Math.max(end, left + 1.5);
    const ink = ofClient(lease.owner === null ? undefined : clientNumber.get(lease.owner));
    g.fillStyle = ink;
    g.globalAlpha = 0.45;
    // The keys that some locks have beside the lock itself, such as a queue, are thin lines below.
    if (lease.key !== lockKey) {
      g.fillRect(left, y + 9, right - left, 2);
      g.globalAlpha = 1;
      targets.push({ type: LEASE, ref: i, box: [left - 2, y + 7, right + 2, y + 13] });
      return;
    }
    g.fillRect(left, y - 5, right - left, 10);
    labels.reserve([left, y - 5, right, y + 5]);
    g.globalAlpha = 1;
    if (lease.end.startsWith("expired")) {
      g.fillRect(right - 1.5, y - 9, 2.5, 18);
      if (right < lanes.width && right - left > 20) labels.put("expired", right + 4, y + 16, ink, RANK.lease, [[0, 0], [-54, 0], [0, -22]]);
    }
    if (right - left > 40) {
      const owner = lease.owner === null ? lease.key : `${lease.key} → ${hostName(lease.owner)}`;
      const start = Math.max(left, lanes.left) + 3;
      labels.put(owner, start, y + 17, ink, RANK.lease, [[0, 0], [0.3 * (right - start), 0], [0, -24]]);
    }
    targets.push({ type: LEASE, ref: i, box: [left - 2, y - 7, right + 2, y + 7] });
  });
}

/* When a client believes that it holds the lock: full until its own deadline, hatched after. */
function drawBeliefs(g, x, labels) {
  const past = {};
  eachBar("beliefs", x, (belief) => belief.host, (belief, i, left, end) => {
    const y = lanes.y[belief.host], right = Math.max(end, left + 1.5);
    const number = clientNumber.get(belief.host), ink = ofClient(number);
    const deadline = belief.deadline === null ? right : x(toU(belief.deadline));
    g.fillStyle = ink;
    g.fillRect(left, y - 8, deadline - left, 16);
    if (deadline < right) {
      g.fillStyle = colour.page;
      g.fillRect(deadline, y - 8, right - deadline, 16);
      g.fillStyle = past[number] ??= hatch(g, ink);
      g.fillRect(deadline, y - 8, right - deadline, 16);
    }
    g.strokeStyle = ink;
    g.lineWidth = 1.4;
    if (right - left > 3) g.strokeRect(left, y - 8, right - left, 16);
    if (belief.deadline !== null && right - left > 8) {
      g.fillStyle = ink;
      g.fillRect(deadline - 1.25, y - 14, 2.5, 28);
      if (right - left > 20) labels.put("deadline", deadline + 5, y - 12, ink, RANK.belief, [[0, 0], [-60, 0], [0, 34]]);
    }
    if (right - left > 30) {
      const token = belief.token === null ? "" : `, token ${belief.token}`;
      const text = `${belief.shared ? "holds it for reading" : "holds the lock"}${token}`;
      labels.put(text, Math.max(left, lanes.left) + 2, y - 12, ink, RANK.belief, [[0, 0], [0, 34]]);
    }
    labels.reserve([left, y - 8, right, y + 8]);
    targets.push({ type: BELIEF, ref: i, box: [left - 2, y - 9, right + 2, y + 9] });
  });
}

/* From where to where on the lanes: from the edge of one bar to that of the other. */
function ends(ref) {
  const from = lanes.y[run.messages.from[ref]], to = lanes.y[run.messages.to[ref]];
  const down = Math.sign(to - from);
  return [from + 8 * down, to - 8 * down];
}

function drawMessages(g, x, labels) {
  const { usual, late } = placed;
  // No usual message takes longer than three usual times: this is where the first in view begins.
  const end = lowerBound(usual.left, view.to);
  const start = lowerBound(usual.reach, view.from);
  if (end - start > MAX_ARROWS) drawDensity(g, x, usual, start, end);
  else drawArrows(g, x, usual, start, end, labels);
  const lateEnd = lowerBound(late.left, view.to);
  const lateStart = lowerBound(late.reach, view.from);
  if (lateEnd - lateStart > MAX_ARROWS) drawDensity(g, x, late, lateStart, lateEnd);
  else drawArrows(g, x, late, lateStart, lateEnd, labels);
}

/* The number of messages that leave a host, pixel by pixel, above its line. */
function drawDensity(g, x, column, start, end) {
  const width = Math.max(lanes.width - lanes.left, 1);
  const counts = new Map();
  const k = scale();
  for (let i = start; i < end; i++) {
    const pixel = ((column.left[i] - view.from) * k) | 0;
    if (pixel < 0 || pixel >= width) continue;
    const from = run.messages.from[column.list[i]];
    let row = counts.get(from);
    if (!row) counts.set(from, row = new Uint32Array(width));
    row[pixel]++;
  }
  for (const [host, row] of counts) {
    const most = Math.min(lanes.size[host] * 0.4, 26);
    g.fillStyle = ofClient(clientNumber.get(host));
    g.globalAlpha = 0.6;
    for (let pixel = 0; pixel < width; pixel++) {
      if (row[pixel] === 0) continue;
      const height = Math.min(2 + 4 * Math.log2(1 + row[pixel]), most);
      g.fillRect(lanes.left + pixel, lanes.y[host] + 9, 1, height);
    }
    g.globalAlpha = 1;
  }
}

function drawArrows(g, x, column, start, end, labels) {
  const few = end - start < 900;
  const labelled = end - start < (lanes.width - lanes.left) / LABEL_EVERY;
  const paths = new Map();
  for (let i = start; i < end; i++) {
    if (column.right[i] < view.from) continue;
    const ref = column.list[i];
    const [y0, y1] = ends(ref);
    const x0 = x(column.left[i]), x1 = x(column.right[i]);
    const lost = isLost(ref), late = isLate(ref);
    const y = lost ? (y0 + y1) / 2 : y1;
    const ink = ofClient(clientOf(ref));
    const style = `${ink} ${lost || late ? "dashed" : ""}`;
    let path = paths.get(style);
    if (!path) paths.set(style, path = { ink, lines: new Path2D(), heads: new Path2D(), dashed: lost || late });
    path.lines.moveTo(x0, y0);
    path.lines.lineTo(x1, y);
    if (lost) cross(path.lines, x1, y);
    else if (few) head(path.heads, x0, y0, x1, y);
    targets.push({ type: MESSAGE, ref, line: [x0, y0, x1, y] });
    if (few) labels.avoid([x0, y0, x1, y]);
    const words = run.texts[run.messages.label[ref]];
    if (words !== "" && (labelled || (few && (lost || late)))) {
      const shown = words.length > 26 ? `${words.slice(0, 25)}…` : words;
      const at = (share) => [share * (x1 - x0) + 6, share * (y - y0) + 4];
      // Without its arguments it may have room.
      labels.put([shown, words.split(" ")[0]], x0, y0, ink, RANK.message, [0.5, 0.3, 0.7, 0.15, 0.85, 0.4, 0.6].map(at));
    }
  }
  for (const { ink, lines, heads, dashed } of paths.values()) {
    g.strokeStyle = g.fillStyle = ink;
    g.lineWidth = dashed ? 1.8 : 1.1;
    g.setLineDash(dashed ? [6, 3] : []);
    g.stroke(lines);
    g.setLineDash([]);
    g.fill(heads);
  }
}

function head(path, x0, y0, x1, y1) {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  path.moveTo(x1, y1);
  path.lineTo(x1 - 8 * dx - 3 * dy, y1 - 8 * dy + 3 * dx);
  path.lineTo(x1 - 8 * dx + 3 * dy, y1 - 8 * dy - 3 * dx);
  path.closePath();
}

function cross(path, x, y) {
  path.moveTo(x - 5, y - 5); path.lineTo(x + 5, y + 5);
  path.moveTo(x - 5, y + 5); path.lineTo(x + 5, y - 5);
}

/* Records as ticks; what the resource accepts is a dot, what it refuses a cross. Two marks in the
   same pixel would look like one. */
function drawRecords(g, x) {
  const { host, kind } = run.records;
  const start = lowerBound(placed.records, view.from), end = lowerBound(placed.records, view.to);
  const taken = new Float64Array(run.hosts.length).fill(-1e9);
  for (let i = start; i < end; i++) {
    if (kind[i] === "fault" || kind[i] === "end") continue;
    const at = x(placed.records[i]), y = lanes.y[host[i]];
    if (at < taken[host[i]] + 1) continue;
    taken[host[i]] = at;
    const access = accesses.get(i);
    if (access) {
      g.strokeStyle = g.fillStyle = ofClient(access.client);
      g.lineWidth = 2;
      g.beginPath();
      if (kind[i] === "refusal") cross(g, at, y);
      else g.arc(at, y, access.writes ? 5.5 : 3.5, 0, 7);
      if (access.writes) g.fill();
      g.stroke();
    } else {
      g.fillStyle = colour.ink;
      g.fillRect(at - 0.5, y - 4, 1, 8);
    }
    targets.push({ type: RECORD, ref: i, box: [at - 5, y - 7, at + 5, y + 7] });
  }
}

function drawViolations(g, x, labels) {
  const at = new Map();
  for (const verdict of violations) at.set(verdict.at, [...(at.get(verdict.at) ?? []), verdict.property]);
  g.font = "600 12px system-ui, sans-serif";
  for (const [t, properties] of at) {
    const left = x(toU(t));
    g.fillStyle = colour.violation;
    g.fillRect(left - 1, lanes.top - 12, 2, lanes.height);
    const texts = properties.map((_, count) => `✗ ${properties.slice(0, properties.length - count).join(", ")}${count ? ", …" : ""}`);
    labels.put(texts, left + 5, lanes.top, colour.violation, RANK.violation, [[0, 0], [0, 14], [0, 28]]);
    labels.avoid([left, lanes.top, left, lanes.height]);
  }
  g.font = "12px system-ui, sans-serif";
}

function drawSelection(g, x) {
  const target = targets.find(({ type, ref }) => ref === selection.ref && (type === selection.type || (type === LEASE && selection.type === LEASE_END)));
  if (!target) return;
  g.strokeStyle = colour.accent;
  g.lineWidth = 3;
  g.beginPath();
  if (target.line) { g.moveTo(target.line[0], target.line[1]); g.lineTo(target.line[2], target.line[3]); }
  else g.rect(target.box[0] - 2, target.box[1] - 2, target.box[2] - target.box[0] + 4, target.box[3] - target.box[1] + 4);
  g.stroke();
}

/* Ticks at round times where time is not shortened; in a gap its length. */
function drawAxis(g, x) {
  g.fillStyle = colour.page;
  g.fillRect(lanes.left, 0, lanes.width, lanes.top - 12);
  g.fillStyle = colour.muted;
  const shown = gapsInView(30);
  const free = [lanes.left, lanes.left];
  const write = (text, at, row) => {
    const width = g.measureText(text).width, left = at - width / 2;
    if (left < free[row]) return;
    free[row] = left + width + 8;
    g.fillText(text, left, 12 + 15 * row);
  };
  g.font = "11px system-ui, sans-serif";
  let from = Math.max(view.from, 0);
  const bursts = [];
  for (const gap of shown) {
    bursts.push([from, gap.from]);
    from = gap.to;
    const [left, right] = [x(gap.from), x(gap.to)];
    write(`⋯ ${duration(gap.ns)}`, (left + right) / 2, 0);
  }
  bursts.push([from, Math.min(view.to, warp.end)]);
  for (const burst of bursts) {
    const [left, right] = burst.map(x), [t0, t1] = burst.map(toT);
    if (right < left) continue;
    if (t1 - t0 > 1.01 * (burst[1] - burst[0])) {
      // Shortened gaps too narrow to be named: no round times at equal distances.
      for (let at = left + 40; at < right; at += 90) {
        g.fillRect(at, 31, 1, 5);
        write(`${ms(toT(uOfX(at)), 0)} ms`, at, 1);
      }
      continue;
    }
    const step = roundStep(((t1 - t0) * 90) / (right - left));
    const digits = Math.min(Math.max(6 - Math.floor(Math.log10(step)), 0), 6);
    // A burst without a round time has one at its beginning.
    let round = Math.ceil(t0 / step) * step;
    if (!(round <= t1)) round = t0;
    for (let t = round; t <= t1; t += step) {
      const at = x(toU(t));
      g.fillRect(at, 31, 1, 5);
      write(`${ms(t, round === t0 ? 1 : digits)} ms`, at, 1);
    }
  }
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
}

function drawNames(g) {
  g.textAlign = "right";
  run.hosts.forEach((host, place) => {
    g.fillStyle = clientNumber.has(place) ? ofClient(clientNumber.get(place)) : colour.ink;
    g.font = "600 13px system-ui, sans-serif";
    g.fillText(host.name, lanes.left - 8, lanes.y[place] + 2);
    if (host.name !== host.role) {
      g.fillStyle = colour.muted;
      g.font = "10px system-ui, sans-serif";
      g.fillText(host.role, lanes.left - 8, lanes.y[place] + 14);
    }
  });
  g.textAlign = "left";
}

/* What is drawn at a place; the smallest and uppermost wins, and a line if it is near. */
function targetAt(px, py) {
  let best = null, distance = 7;
  for (let i = targets.length - 1; i >= 0; i--) {
    const { line, box, type } = targets[i];
    if (line) {
      const away = distanceToLine(px, py, line);
      if (away < distance) { best = targets[i]; distance = away; }
    } else if (type === RECORD && px >= box[0] && px <= box[2] && py >= box[1] && py <= box[3]) return targets[i];
  }
  if (best) return best;
  const inside = targets.filter(({ box }) => box && px >= box[0] && px <= box[2] && py >= box[1] && py <= box[3]);
  return inside.pop() ?? null;
}

function distanceToLine(px, py, [x0, y0, x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const share = Math.min(Math.max(((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(px - x0 - share * dx, py - y0 - share * dy);
}
painters.push(drawPicture);
