"use strict";
/* Hands and keys, and the first picture. */

/* Selects an item or a span, shows it, and brings picture and list to it. */
function select({ type, ref }) {
  let item = 0;
  while (item < items.count && !(items.type[item] === type && items.ref[item] === ref)) item++;
  const isItem = item < items.count;
  if (isItem) listed.chosen = item;
  Object.assign(selection, { type, ref, name: null });
  describe(selection);
  const t = isItem ? items.at[item] : (type === BELIEF ? run.beliefs : run.faults)[ref].from;
  writeKnown(t);
  reveal(t);
  if (isItem) scrollToItem(item); else drawRows();
  requestDraw();
}

function clearSelection() {
  Object.assign(selection, { type: -1, ref: -1, name: null });
  Object.assign(listed, { chosen: -1, at: null });
  element("selection").replaceChildren(node("p", "Click on anything in the picture or in the list."));
  writeKnown(null);
  drawRows();
}

/* What a click on an item of the list does, or a key that steps to it. */
function choose(item, kind = "click") {
  select({ type: items.type[item], ref: items.ref[item] });
  jumped(kind);
}

function showFirstViolation() {
  const [first] = [...violations].sort((a, b) => a.at - b.at);
  if (!first) return;
  showVerdict(first);
  jumped("verdict");
}

/* Pointers on the picture: one drags, two pinch, a click selects. */
const pointers = new Map();
let dragged = 0;
const place2 = (event) => {
  const box = picture.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};
picture.addEventListener("pointerdown", (event) => {
  picture.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, place2(event));
  if (pointers.size === 1) dragged = 0;
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
  dragged += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
  pointers.set(event.pointerId, place2(event));
});
for (const over of ["pointerup", "pointercancel"]) {
  picture.addEventListener(over, (event) => {
    const { x, y } = place2(event);
    if (over === "pointerup" && pointers.size === 1 && dragged < 5) {
      const target = targetAt(x, y);
      if (target) { select(target); jumped("click"); }
    }
    pointers.delete(event.pointerId);
  });
}
picture.addEventListener("wheel", (event) => {
  // In a frame the wheel moves the page around it.
  if (event.shiftKey || (isEmbedded && !event.ctrlKey)) return;
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / lanes.width);
  else zoom(1.0016 ** event.deltaY, uOfX(place2(event).x));
}, { passive: false });

const KEYS = {
  ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
  "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5), "−": () => zoom(1.5),
  0: () => { showWhole(); jumped("whole"); }, v: showFirstViolation, n: () => step(1), p: () => step(-1),
  "/": () => { element("query").focus(); element("query").select(); }, "?": () => toggleHelp(),
};

function toggleHelp() {
  const help = element("help");
  if (help.open) help.close(); else help.showModal();
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === element("query")) {
    if (event.key === "Escape") picture.focus();
    return;
  }
  // Of the keys only that for the help works in it; the browser closes it on Escape.
  if (element("help").open && event.key !== "?") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
for (const [id, act] of Object.entries({
  violation: showFirstViolation, previous: () => step(-1), next: () => step(1),
  in: KEYS["+"], out: KEYS["-"], whole: KEYS[0], keys: toggleHelp, fields: toggleHelp, close: toggleHelp,
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
let theme = null;
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
  moved();
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
writeHeader();
writeVerdicts();
writeLost();
writeWithout();
writeLegend();
readAddress();
