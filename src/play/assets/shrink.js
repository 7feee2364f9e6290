/* The smallest counterexample of the run that is shown. It takes the place of the scenario, as a text of the reader's own. */

async function shrink() {
  if (engines.shrink.busy) { stopShrinking(); return; }
  const words = element("shrink-words");
  element("shrink").textContent = "Stop";
  words.textContent = "Shrinking…";
  let found = null;
  await engines.shrink.ask({ ask: "shrink", ...subject(), seed: chosen.seed }, (line) => {
    found = line;
    if (line.runs) words.textContent = `Shrinking… ${line.runs.toLocaleString("en")} runs so far`;
  });
  stopShrinking();
  if (found.error) { words.textContent = found.error; return; }
  useText(found.text, found.seed);
  element("own").open = true;
  words.textContent = `The smallest scenario found that violates the same property: ${found.words}. Its text stands in the experiment.`;
}

/* Without a result: what is shown stays. */
function stopShrinking() {
  engines.shrink.stop();
  element("shrink").textContent = "Shrink this counterexample";
  element("shrink-words").textContent = "";
}
