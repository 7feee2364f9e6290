"use strict";
/* The labels of the picture. They are written when everything else is drawn, over it, and where
   they cover no bar, no other label, and as few lines as possible. */

/* A label of a message that crosses more lines than this is left out: its owner would be unclear. */
const MAX_LINES_CROSSED = 2;
/* From one label to the next. */
const LABELS_APART = 4;

class Labels {
  constructor(g) { Object.assign(this, { g, wanted: [], taken: [], lines: [] }); }

  /* No label covers this area: `[left, top, right, bottom]`. */
  reserve(area) { this.taken.push(area); }

  /* Labels avoid this line: `[x0, y0, x1, y1]`. */
  avoid(line) { this.lines.push(line); }

  /* Asks for the first of the texts that has a place; labels of a lower rank choose first. */
  put(texts, x, y, fill, rank, places = [[0, 0]]) {
    this.wanted.push({ texts: [texts].flat(), x, y, fill, rank, places, font: this.g.font });
  }

  write() {
    const { g } = this;
    for (const label of [...this.wanted].sort((a, b) => a.rank - b.rank)) {
      g.font = label.font;
      let text = null, box = null;
      for (text of label.texts) {
        box = this.choose(label, g.measureText(text).width);
        // A text that is cut off gives way to a shorter one.
        if (box && (box[2] <= lanes.width || text === label.texts.at(-1))) break;
      }
      if (!box) continue;
      this.taken.push(box);
      g.fillStyle = colour.page;
      g.globalAlpha = 0.75;
      g.fillRect(box[0] - 2, box[1], box[2] - box[0] + 4, box[3] - box[1]);
      g.globalAlpha = 1;
      g.fillStyle = label.fill;
      g.fillText(text, box[0], box[3] - 3);
    }
  }

  /* The area of the label, or null if it has no place. */
  choose({ x, y, rank, places }, width) {
    let best = null, fewest = rank === RANK.message ? MAX_LINES_CROSSED + 1 : Infinity;
    for (const [dx, dy] of places) {
      // On the other side if there is no room on the right.
      const wished = x + dx + width > lanes.width - 2 ? x - Math.abs(dx) - width - 10 : x + dx;
      const left = Math.max(wished, lanes.left + 3);
      const box = [left, y + dy - 11, left + width, y + dy + 3];
      if (this.taken.some((other) => areOverlapping(box, other, LABELS_APART))) continue;
      const crossed = this.lines.filter((line) => isCrossed(box, line)).length;
      if (crossed < fewest) { best = box; fewest = crossed; }
    }
    return best;
  }
}

/* Which labels choose their places first. */
const RANK = { violation: 0, belief: 1, lease: 2, fault: 3, message: 4 };

const areOverlapping = (a, b, apart = 0) =>
  a[0] < b[2] + apart && b[0] < a[2] + apart && a[1] < b[3] && b[1] < a[3];

/* Whether a line runs through an area (Liang and Barsky 1984). */
function isCrossed([left, top, right, bottom], [x0, y0, x1, y1]) {
  let enter = 0, leave = 1;
  for (const [towards, room] of [[x0 - x1, x0 - left], [x1 - x0, right - x0], [y0 - y1, y0 - top], [y1 - y0, bottom - y0]]) {
    if (towards === 0) { if (room < 0) return false; }
    else if (towards < 0) enter = Math.max(enter, room / towards);
    else leave = Math.min(leave, room / towards);
  }
  return enter <= leave;
}
