"use strict";
/* The whole run in a strip: how many messages, which faults, which violations, and the part that
   the picture shows. */

const overview = element("overview");
const strip = { width: 0, height: 46, still: null };

const stripX = (u) => ((u + 0.02 * warp.end) / (1.04 * warp.end)) * strip.width;
const stripU = (x) => (x / strip.width) * 1.04 * warp.end - 0.02 * warp.end;

/* What does not change with the view is drawn once. */
function drawStill() {
  const still = document.createElement("canvas");
  const g = prepare(still, strip.width, strip.height);
  const counts = new Uint32Array(Math.ceil(strip.width) + 1);
  for (const column of [placed.usual, placed.late]) {
    for (let i = 0; i < column.left.length; i++) counts[stripX(column.left[i]) | 0]++;
  }
  const most = Math.log2(1 + counts.reduce((a, b) => Math.max(a, b), 1));
  g.fillStyle = colour.muted;
  g.globalAlpha = 0.5;
  counts.forEach((count, pixel) => {
    const height = (Math.log2(1 + count) / most) * 22;
    g.fillRect(pixel, strip.height - height, 1, height);
  });
  g.globalAlpha = 1;
  const bar = (kind, i, fill, y, height, least = 2) => {
    const left = stripX(placed[kind].left[i]);
    g.fillStyle = fill;
    g.fillRect(left, y, Math.max(stripX(placed[kind].right[i]) - left, least), height);
  };
  run.faults.forEach((fault, i) => bar("faults", i, colour[fault.family], 2 + 5 * ["process", "network", "clock"].indexOf(fault.family), 4));
  run.overlaps.forEach((overlap, i) => bar("overlaps", i, colour.violation, 17, 5));
  g.fillStyle = colour.violation;
  for (const verdict of violations) {
    const x = stripX(toU(verdict.at));
    g.beginPath();
    g.moveTo(x, 24); g.lineTo(x - 5, 14); g.lineTo(x + 5, 14);
    g.fill();
    g.fillRect(x - 0.75, 14, 1.5, 32);
  }
  strip.still = still;
}

function drawOverview() {
  // A frame that is not shown has no width.
  if (overview.clientWidth === 0) return;
  if (strip.width !== overview.clientWidth) { strip.width = overview.clientWidth; strip.still = null; }
  if (!strip.still) drawStill();
  const g = prepare(overview, strip.width, strip.height);
  g.drawImage(strip.still, 0, 0, strip.width, strip.height);
  const left = stripX(view.from), right = stripX(view.to);
  g.fillStyle = colour.page;
  g.globalAlpha = 0.6;
  g.fillRect(0, 0, left, strip.height);
  g.fillRect(right, 0, strip.width - right, strip.height);
  g.globalAlpha = 1;
  g.strokeStyle = colour.accent;
  g.lineWidth = 2;
  g.strokeRect(left, 1, Math.max(right - left, 3), strip.height - 2);
}
painters.push(drawOverview);

function dragOverview(event) {
  if (event.buttons !== 1) return;
  const middle = stripU(event.clientX - overview.getBoundingClientRect().left);
  const half = (view.to - view.from) / 2;
  show(middle - half, middle + half);
}
overview.addEventListener("pointerdown", (event) => {
  overview.setPointerCapture(event.pointerId);
  dragOverview(event);
});
overview.addEventListener("pointermove", dragOverview);
