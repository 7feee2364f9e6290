"use strict";
/* Hands and keys, and the first picture. */

/* Selects an item of the list, shows it, and brings picture and list to it. */
function choose(item) {
  listed.chosen = item;
  Object.assign(selection, { type: items.type[item], ref: items.ref[item] });
  describe(selection);
  reveal(items.at[item]);
  scrollToItem(item);
  requestDraw();
}

function chooseTarget({ type, ref }) {
  for (let item = 0; item < items.count; item++) {
    if (items.type[item] === type && items.ref[item] === ref) return choose(item);
  }
  Object.assign(selection, { type, ref });
  describe(selection);
  requestDraw();
}

function showFirstViolation() {
  const [first] = [...violations].sort((a, b) => a.at - b.at);
  if (first) showVerdict(first);
}

/* Pointers on the picture: one drags, two pinch, a click selects. */
const pointers = new Map();
let moved = 0;
const place2 = (event) => {
  const box = picture.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};
picture.addEventListener("pointerdown", (event) => {
  picture.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, place2(event));
  if (pointers.size === 1) moved = 0;
});
picture.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const now = place2(event);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    const spread = (a) => Math.max(Math.abs(a.x - other.x), 20);
    zoom(spread(before) / spread(now), uOfX((now.x + other.x) / 2));
  } else {
    pan((before.x - now.x) / (lanes.width - lanes.left));
    element("lanes").scrollTop += before.y - now.y;
  }
  moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
  pointers.set(event.pointerId, place2(event));
});
for (const over of ["pointerup", "pointercancel"]) {
  picture.addEventListener(over, (event) => {
    const { x, y } = place2(event);
    if (over === "pointerup" && pointers.size === 1 && moved < 5) {
      const target = targetAt(x, y);
      if (target) chooseTarget(target);
    }
    pointers.delete(event.pointerId);
  });
}
picture.addEventListener("wheel", (event) => {
  if (event.shiftKey) return;
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / lanes.width);
  else zoom(1.0016 ** event.deltaY, uOfX(place2(event).x));
}, { passive: false });

const KEYS = {
  ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
  "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5), "−": () => zoom(1.5),
  0: showWhole, v: showFirstViolation, n: () => step(1), p: () => step(-1),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT" && event.target.type === "search") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
for (const [id, act] of Object.entries({
  violation: showFirstViolation, previous: () => step(-1), next: () => step(1),
  in: KEYS["+"], out: KEYS["-"], whole: showWhole,
})) element(id).addEventListener("click", act);

/* Keeps the same true time in view while the way from time to place changes. */
function rebuild() {
  const [from, to] = [view.from, view.to].map(toT);
  buildWarp();
  strip.still = null;
  show(toU(from), toU(to));
}
for (const option of ["shorten", "background"]) {
  element(option).addEventListener("change", (event) => {
    view[option] = event.target.checked;
    rebuild();
    filter();
  });
}

/* `auto` follows the system until somebody chooses. */
const dark = matchMedia("(prefers-color-scheme: dark)");
let theme = /theme=(dark|light)/.exec(location.hash)?.[1] ?? null;
function paint() {
  document.documentElement.dataset.theme = theme ?? (dark.matches ? "dark" : "light");
  readColours();
  strip.still = null;
  requestDraw();
}
dark.addEventListener("change", paint);
element("theme").addEventListener("click", () => {
  theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  paint();
});
/* Paper is light. */
const printed = matchMedia("print");
printed.addEventListener("change", () => {
  if (printed.matches) document.documentElement.dataset.theme = "light";
  else paint();
  readColours();
  strip.still = null;
  painters.forEach((paint) => paint());
});
new ResizeObserver(requestDraw).observe(element("lanes"));
addEventListener("resize", () => { requestDraw(); drawRows(); });

element("violation").disabled = violations.length === 0;
if (!run.messages.background.includes(1)) element("background").parentElement.hidden = true;
picture.setAttribute("aria-label", `${run.hosts.length} hosts, ${items.count} events, ${violations.length} violated properties`);
element("selection").append(node("p", "Click on anything in the picture or in the list."));
writeHeader();
writeVerdicts();
writeLegend();
buildWarp();
filter();
paint();
if (violations.length) showVerdict(violations[0]); else showWhole();
