"use strict";
/* How likely the run was to violate a property, along its time: of the runs that draw anew from there on,
   the share that does. */

const chance = { canvas: element("chance"), height: 58, top: 6, bottom: 52 };

function drawChance() {
  const { canvas, height, top, bottom } = chance;
  const width = canvas.clientWidth;
  const g = prepare(canvas, width, height);
  const y = (share) => bottom - share * (bottom - top);
  g.font = "11px system-ui, sans-serif";
  g.fillStyle = colour.muted;
  g.strokeStyle = colour.line;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const share of [0, 0.5, 1]) {
    g.fillText(`${100 * share} %`, lanes.left - 8, y(share));
    g.beginPath();
    g.moveTo(lanes.left, Math.round(y(share)) + 0.5); g.lineTo(width, Math.round(y(share)) + 0.5);
    g.stroke();
  }
  g.save();
  g.beginPath();
  g.rect(lanes.left, 0, width - lanes.left, height);
  g.clip();
  // What is drawn at a time shows at once.
  const line = new Path2D();
  run.lost.points.forEach(([t, share], i, { length }) => {
    const x = xOfU(toU(t));
    if (i === 0) line.moveTo(x, y(share));
    line.lineTo(x, y(share));
    if (i + 1 < length) line.lineTo(x, y(run.lost.points[i + 1][1]));
  });
  const [end, last] = run.lost.points[run.lost.points.length - 1];
  line.lineTo(xOfU(toU(Math.max(end, run.end))), y(last));
  g.strokeStyle = colour.violation;
  g.lineWidth = 2;
  g.stroke(line);
  g.restore();
}

function writeLost() {
  if (!run.lost) return;
  chance.canvas.hidden = false;
  chance.canvas.setAttribute("aria-label", run.lost.sentence);
  element("lost").hidden = false;
  element("lost").append(node("h2", "When it was lost"), node("p", `${run.lost.sentence}.`));
  painters.push(drawChance);
}
