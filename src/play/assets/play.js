/* The page: what is chosen, the run of it, and many runs of it. The engine answers every question on scenarios, runs and
   rates; here is nothing that it could know. */

const element = (id) => document.getElementById(id);
const node = (tag, text, ...children) => {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
};
const SEEDS = 1000, EVERY = 20;

/* What the address says. `sets` are overrides by their paths, in the order in which they were made. */
const chosen = { name: "kleppmann/k1", text: null, sets: new Map(), seed: 0, lesson: null, step: 0, claim: null };
const known = { contents: null, scenario: null, violating: [], runs: 0, answered: new Set() };

/* An engine in a worker. A new question takes the place of the one before. */
class Engine {
  constructor(module, source) { Object.assign(this, { module, source, id: 0, worker: null, busy: false }); }

  /* Asks, calls `tell` with each line, and resolves when all is said; never if another question came between. */
  ask(request, tell) {
    this.stop();
    if (!this.worker) {
      this.worker = new Worker(this.source);
      this.worker.postMessage({ module: this.module });
    }
    const id = ++this.id;
    this.busy = true;
    return new Promise((resolve) => {
      this.worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if (data.done) { this.busy = false; resolve(); } else tell(data.line);
      };
      this.worker.postMessage({ id, request });
    });
  }

  /* A program cannot be told to stop: its worker ends. */
  stop() {
    if (!this.busy) return;
    this.worker.terminate();
    Object.assign(this, { worker: null, busy: false });
  }

  async answer(request) {
    let answer = null;
    await this.ask(request, (line) => { answer = line; });
    return answer;
  }
}
const engines = {};

const subject = () => ({ name: chosen.text === null ? chosen.name : "stdin", text: chosen.text, sets: [...chosen.sets].map(([path, value]) => `${path}=${value}`) });
const lesson = () => known.contents.lessons.find(({ claim }) => claim === chosen.lesson) ?? null;
const lessonStep = () => lesson()?.step[chosen.step] ?? null;
/* Whether the run is not to be seen before the reader has guessed. */
const isCurtained = () => Boolean(lessonStep()?.question) && !known.answered.has(`${chosen.lesson} ${chosen.step}`);

/* Shows everything anew: the scenario, its run, and unless told otherwise many runs. */
let turn = 0;
async function show({ keepsRate = false, isQuiet = false } = {}) {
  const mine = ++turn;
  stopShrinking();
  if (!isQuiet) writeAddress();
  writeLesson();
  const scenario = await engines.run.answer({ ask: "scenario", ...subject() });
  if (mine !== turn) return;
  complain(scenario.error ? scenario : null);
  if (scenario.error) { stopMany(); return; }
  known.scenario = scenario;
  writeKnobs(scenario);
  element("seed").value = chosen.seed;
  const curtained = isCurtained();
  element("curtain").hidden = !curtained;
  // They would answer the question.
  for (const id of ["picture", "claim", "standing", "commands"]) element(id).hidden = curtained;
  element("rate").hidden = curtained || Boolean(lessonStep() && !lessonStep().many);
  for (const id of ["step-before", "step-after"]) element(id).disabled = curtained;
  element("caption").textContent = "";
  if (curtained) {
    element("shrinking").hidden = true;
    stopMany();
    Object.assign(element("picture"), { onload: null, srcdoc: "" });
    return;
  }
  const run = await engines.run.answer({ ask: "run", ...subject(), seed: chosen.seed });
  if (mine !== turn) return;
  complain(run.error ? run : null);
  if (run.error) return;
  writeRun(run);
  if (!keepsRate && !element("rate").hidden) many();
}

function complain(problem) {
  const place = problem?.line ? `Line ${problem.line}, column ${problem.column}: ` : "";
  element("problem").hidden = problem === null;
  element("problem").textContent = problem === null ? "" : place + problem.error;
  if (!problem?.line) return;
  const text = element("text"), lines = text.value.split("\n");
  const start = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  element("own").open = true;
  text.setSelectionRange(start, start + (lines[problem.line - 1] ?? "").length);
  text.scrollTop = (problem.line - 4) * (text.scrollHeight / Math.max(lines.length, 1));
}

/* The experiment. */
function writeKnobs(scenario) {
  const list = element("scenario");
  const own = list.querySelector("[value='']");
  if (chosen.text !== null && !own) list.prepend(new Option("a text of your own", ""));
  if (chosen.text === null) own?.remove();
  list.value = chosen.text === null ? chosen.name : "";
  const claim = known.contents.claims.find(({ id }) => id === (chosen.claim ?? scenario.claim));
  element("claim").textContent = claim ? `${claim.id}: ${claim.says} Predicted: ${claim.prediction}` : scenario.title;
  element("standing").textContent = claim?.standing ?? "";
  if (document.activeElement !== element("text")) element("text").value = scenario.text;
  const focused = document.activeElement?.id;
  element("choices").replaceChildren(...scenario.choices.map((choice, place) => {
    const select = Object.assign(node("select", null), { id: `choice-${place}` });
    select.append(...choice.options.map(({ label, chosen }, place) => new Option(label, place, chosen, chosen)));
    if (choice.options.every((option) => !option.chosen)) select.prepend(new Option("as it is", "", true, true));
    select.addEventListener("change", () => { if (select.value !== "") change(choice.options[select.value].sets); });
    const label = Object.assign(node("label", choice.name), { htmlFor: select.id });
    const line = node("div", null, label, select);
    line.classList.toggle("changed", choice.options.some(({ sets }) => sets.some((set) => chosen.sets.has(set.split("=")[0]))));
    return line;
  }));
  element("numbers").replaceChildren(...scenario.numbers.map((number) => {
    const slider = Object.assign(node("input", null), { type: "range", id: `number-${number.path}`, min: number.least, max: number.most, step: number.step, value: number.value });
    const shown = node("output", measure(number, number.value));
    const label = node("label", null, node("span", number.name), shown);
    label.htmlFor = slider.id;
    slider.addEventListener("input", () => {
      shown.textContent = measure(number, Number(slider.value));
      slider.setAttribute("aria-valuetext", shown.textContent);
      later(() => change([`${number.path}=${slider.value}`]));
    });
    slider.setAttribute("aria-valuetext", shown.textContent);
    const line = node("div", null, label, slider);
    line.classList.toggle("changed", chosen.sets.has(number.path));
    return line;
  }));
  element("reset").disabled = chosen.sets.size === 0;
  if (focused) element(focused)?.focus();
}

/* A number in its true unit: 1500 ms as "1,500 ms", a probability in percent. */
function measure({ path, unit }, value) {
  if (/(probability|loss)$/.test(path)) return `${(100 * value).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
  return `${value.toLocaleString("en", { maximumFractionDigits: 3 })} ${unit}`;
}

let timer = 0;
function later(act) {
  clearTimeout(timer);
  timer = setTimeout(act, 120);
}

function change(sets) {
  for (const set of sets) {
    const [path, ...value] = set.split("=");
    chosen.sets.delete(path);
    chosen.sets.set(path, value.join("="));
  }
  show();
}

function choose(name) {
  Object.assign(chosen, { name, text: null, sets: new Map(), seed: 0, lesson: null, step: 0, claim: null });
  show();
}

/* The run: the viewer's page in a frame, which is as high as what is in it on a phone and on paper. */
let fit = () => {};
function writeRun(run) {
  element("terminal").textContent = `${run.view}\n${run.record}`;
  element("bytes").textContent = `The second command writes the recording of this run, seed-${chosen.seed}.jsonl: ${run.bytes.toLocaleString("en")} bytes, whose SHA-1 is ${run.sha1}, as here.`;
  const frame = element("picture");
  frame.onload = () => {
    const { document: inner } = frame.contentWindow;
    performance.mark("run");
    // The page around it says these.
    inner.querySelector("h1").hidden = true;
    inner.getElementById("about").hidden = true;
    fit = () => { frame.style.height = matchMedia("(max-width: 56rem)").matches ? `${inner.body.scrollHeight + 4}px` : ""; };
    new ResizeObserver(fit).observe(inner.body);
    const caption = () => {
      const words = [inner.getElementById("selection"), inner.getElementById("known")].map((part) => part && !part.hidden ? sentences(part) : "");
      element("caption").textContent = words.filter(Boolean).join(" · ");
    };
    new MutationObserver(caption).observe(inner.getElementById("selection"), { childList: true, subtree: true, characterData: true });
    caption();
  };
  frame.srcdoc = run.page;
  // A lesson has a scenario of its own.
  element("shrinking").hidden = run.violated === null || lesson() !== null;
  markSeeds();
}

/* The words of a part of the viewer, as one line. */
function sentences(part) {
  const title = part.querySelector("h2")?.textContent;
  if (part.id === "selection") {
    const quoted = part.querySelector("pre")?.textContent;
    return title ? `${title}${quoted ? `: ${quoted.split("\n")[0]}` : ""}` : "Step through the run, or click on anything in the picture.";
  }
  return [...part.querySelectorAll("li")].map((line) => line.textContent).join("; ");
}

function step(direction) {
  element("picture").contentWindow?.step?.(direction);
}

/* Many runs. */
function many() {
  Object.assign(known, { violating: [], runs: 0 });
  const curve = [];
  element("stop").disabled = false;
  element("rate-words").textContent = "Running…";
  element("seeds").replaceChildren();
  engines.batch.ask({ ask: "batch", ...subject(), seeds: SEEDS, every: EVERY }, (line) => {
    if (line.error) { element("rate-words").textContent = line.error; return; }
    known.runs = line.runs;
    known.violating.push(...line.violating);
    const headline = line.properties.find(({ property }) => property === line.headline) ?? line.properties[0];
    curve.push({ runs: line.runs, of: line.of, ...headline });
    writeRate(headline, line);
    drawRate(curve, headline);
  }).then(() => { element("stop").disabled = true; });
}

function stopMany() {
  engines.batch.stop();
  element("stop").disabled = true;
}

const JUDGED = { "as-predicted": ["✓ as predicted", "good"], differs: ["✗ otherwise than predicted", "bad"], inconclusive: ["too few runs yet", "open"], unpredicted: ["", ""] };

function writeRate(headline, { runs, of, properties }) {
  const { property, words, predicted } = headline;
  const beside = predicted === null ? "" : chosen.sets.size ? `; with its own values the scenario predicts: ${predicted}` : `; predicted: ${predicted}`;
  element("rate-words").textContent = `${property} violated: ${words}${beside}`;
  element("properties").tBodies[0].replaceChildren(...properties.map((row) => {
    const [judged, look] = JUDGED[row.judgement];
    const name = Object.assign(node("td", row.property), { title: row.promises });
    return node("tr", null, name, node("td", row.predicted ?? "–"), node("td", row.words), Object.assign(node("td", judged), { className: look }));
  }));
  const most = 24, { violating } = known;
  const holding = firstOthers(violating, runs, 5);
  const buttons = (seeds) => seeds.map((seed) => {
    const button = Object.assign(node("button", `${seed}`), { type: "button" });
    button.addEventListener("click", () => { chosen.seed = seed; show({ keepsRate: true }); });
    return button;
  });
  // While the runs go on, nobody wants to lose what is in focus.
  if (runs !== of && element("seeds").childElementCount > 0) return;
  element("seeds-words").textContent = violating.length
    ? `Seeds whose run violates ${property}${violating.length > most ? `: the first ${most} of ${violating.length.toLocaleString("en")}` : ""}. Choose one to see it.`
    : `No seed so far violates ${property}. Choose one to see its run.`;
  element("seeds").replaceChildren(...buttons(violating.slice(0, most)),
    ...(holding.length && violating.length ? [node("span", "and some that do not:")] : []), ...buttons(holding));
  markSeeds();
}

/* The first seeds that are not in a sorted list. */
function firstOthers(sorted, end, count) {
  const others = [], has = new Set(sorted);
  for (let seed = 0; seed < end && others.length < count; seed++) if (!has.has(seed)) others.push(seed);
  return others;
}

function markSeeds() {
  for (const button of element("seeds").querySelectorAll("button")) {
    if (button.textContent === `${chosen.seed}`) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/* The rate so far, with its interval, and the range that was predicted. */
function drawRate(curve, { range }) {
  const [left, right, top, bottom] = [46, 630, 12, 190];
  const { of } = curve[0];
  const x = (runs) => left + (runs / of) * (right - left), y = (share) => bottom - share * (bottom - top);
  const make = (tag, attributes, text = null) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== null) made.textContent = text;
    return made;
  };
  const parts = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(make("line", { x1: left, x2: right, y1: y(share), y2: y(share), stroke: "var(--line)" }));
    parts.push(make("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`));
  }
  for (const runs of [0, of / 2, of]) {
    parts.push(make("text", { x: x(runs), y: bottom + 16, "text-anchor": runs === 0 ? "start" : runs === of ? "end" : "middle" }, `${runs.toLocaleString("en")} runs`));
  }
  if (range && chosen.sets.size === 0) {
    const height = Math.max(y(range[0]) - y(range[1]), 3);
    parts.push(make("rect", { x: left, width: right - left, y: y(range[1]), height, fill: "var(--good)", "fill-opacity": 0.18, stroke: "var(--good)", "stroke-dasharray": "5 4" }));
    parts.push(make("text", { x: right - 4, y: y((range[0] + range[1]) / 2) + (range[0] > 0.5 ? 22 : -10), "text-anchor": "end" }, "predicted"));
  }
  const points = (value) => curve.map((point) => `${x(point.runs)},${y(value(point))}`);
  parts.push(make("polygon", { points: [...points(({ high }) => high), ...points(({ low }) => low).reverse()].join(" "), fill: "var(--link)", "fill-opacity": 0.22 }));
  parts.push(make("polyline", { points: points(({ violated, runs }) => violated / runs).join(" "), fill: "none", stroke: "var(--link)", "stroke-width": 2 }));
  element("chart").replaceChildren(...parts);
}
