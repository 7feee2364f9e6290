/* Hands and keys, and the beginning. */

element("scenario").addEventListener("change", (event) => { if (event.target.value) choose(event.target.value); });
element("reset").addEventListener("click", () => { chosen.sets.clear(); show(); });
function useText(text, seed) {
  Object.assign(chosen, { text, seed, sets: new Map(), lesson: null, step: 0, claim: null });
  show();
}
element("use").addEventListener("click", () => useText(element("text").value, chosen.seed));
element("shrink").addEventListener("click", shrink);
element("knobs").addEventListener("submit", (event) => event.preventDefault());
function seedIs(seed) {
  if (!Number.isSafeInteger(seed) || seed < 0) return;
  chosen.seed = seed;
  show({ keepsRate: true });
}
element("seed").addEventListener("change", () => seedIs(Number(element("seed").value)));
element("seed-before").addEventListener("click", () => seedIs(chosen.seed - 1));
element("seed-after").addEventListener("click", () => seedIs(chosen.seed + 1));
element("step-before").addEventListener("click", () => step(-1));
element("step-after").addEventListener("click", () => step(1));
element("again").addEventListener("click", many);
element("stop").addEventListener("click", stopMany);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input:not([type=range], [type=radio]), select, textarea")) return;
  const act = { n: () => step(1), p: () => step(-1), r: many }[event.key];
  if (act) { event.preventDefault(); act(); }
});
addEventListener("beforeprint", () => {
  const frame = element("picture");
  frame.style.width = "700px";
  // Its list of events is not printed.
  const end = frame.contentDocument.getElementById("events")?.getBoundingClientRect().top ?? 0;
  frame.style.height = `${end + frame.contentWindow.scrollY}px`;
});
addEventListener("afterprint", () => { element("picture").style.width = ""; fit(); });
addEventListener("hashchange", async () => { await readAddress(); written = location.hash; show({ isQuiet: true }); });

function writeContents({ scenarios, lessons }) {
  const groups = new Map();
  for (const { name, title, claim } of scenarios) {
    const folder = name.split("/")[0];
    if (!groups.has(folder)) groups.set(folder, Object.assign(node("optgroup", null), { label: folder }));
    groups.get(folder).append(new Option(`${claim ? `${claim}: ` : ""}${title} (${name})`, name));
  }
  // Those of the debate come first.
  const first = ["kleppmann", "antirez", "redis-docs", "jepsen"];
  const rank = (folder) => (first.includes(folder) ? first.indexOf(folder) : first.length);
  const sorted = [...groups].sort(([a], [b]) => rank(a) - rank(b));
  element("scenario").replaceChildren(...sorted.map(([, group]) => group));
  element("lessons").append(node("strong", "Lessons:"), ...lessons.map(({ claim, title }) => {
    const button = Object.assign(node("button", `${claim}: ${title}`), { type: "button" });
    button.dataset.claim = claim;
    button.addEventListener("click", () => goTo(claim, 0));
    return button;
  }));
}

(async () => {
  try {
    const module = await unpack(element("module").textContent);
    const source = URL.createObjectURL(new Blob([element("engine").textContent, element("worker").textContent], { type: "text/javascript" }));
    for (const name of ["run", "batch", "shrink"]) engines[name] = new Engine(module, source);
    known.contents = await engines.run.answer({ ask: "contents" });
    if (known.contents.error) throw new Error(known.contents.error);
    writeContents(known.contents);
    await readAddress();
    written = location.hash;
    element("state").hidden = true;
    document.querySelector("main").hidden = false;
    await show({ isQuiet: true });
  } catch (error) {
    element("state").className = "problem";
    element("state").textContent = `This browser cannot run the simulator: it needs WebAssembly, workers and DecompressionStream, as browsers since 2023 have. (${error.message})`;
  }
})();
