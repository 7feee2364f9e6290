/* A lesson: what is to be read and guessed, step by step, beside the runs. */

function writeLesson() {
  for (const button of element("lessons").querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.claim === chosen.lesson);
  const step = lessonStep();
  element("lesson").hidden = step === null;
  document.body.classList.toggle("in-lesson", step !== null);
  if (step === null) return;
  const steps = lesson().step;
  element("lesson-place").textContent = `${chosen.lesson}, step ${chosen.step + 1} of ${steps.length}`;
  element("lesson-title").textContent = step.title;
  element("lesson-text").textContent = step.text;
  const claim = known.contents.claims.find(({ id }) => id === step.quote);
  element("lesson-quote").hidden = claim === undefined;
  if (claim) {
    const source = known.contents.sources[claim.source];
    element("lesson-quote").querySelector("blockquote").replaceChildren(node("p", claim.quote));
    const link = Object.assign(node("a", source.title), { href: source.url });
    element("lesson-quote").querySelector("figcaption").replaceChildren(`${source.author}, `, link, `, ${source.date}`);
  }
  writeQuestion(step);
  element("lesson-back").disabled = chosen.step === 0;
  element("lesson-next").textContent = chosen.step + 1 < steps.length ? "Next" : "Done";
  element("lesson-next").disabled = isCurtained();
}

function writeQuestion({ question }) {
  const frame = element("lesson-question"), answered = `${chosen.lesson} ${chosen.step}`;
  frame.hidden = !question;
  element("lesson-because").textContent = "";
  frame.querySelector("div").replaceChildren();
  if (!question) return;
  frame.querySelector("legend").textContent = question.asks;
  const guess = known.answered.has(answered) ? known.guesses.get(answered) : null;
  frame.querySelector("div").replaceChildren(...question.options.map((option, place) => {
    const radio = Object.assign(node("input", null), { type: "radio", name: "guess", value: place, checked: guess === place });
    radio.addEventListener("change", () => {
      known.answered.add(answered);
      known.guesses.set(answered, place);
      show();
      frame.querySelectorAll("input")[place].focus();
    });
    const label = node("label", null, radio, option);
    if (guess !== null && place === question.right) label.className = "right";
    else if (guess === place) label.className = "wrong";
    return label;
  }));
  if (guess !== null) element("lesson-because").textContent = question.because;
}
known.guesses = new Map();

function goTo(claim, place) {
  const step = known.contents.lessons.find((lesson) => lesson.claim === claim).step[place];
  const sets = new Map(step.sets.map((set) => [set.slice(0, set.indexOf("=")), set.slice(set.indexOf("=") + 1)]));
  Object.assign(chosen, { name: step.scenario, text: null, sets, seed: step.seed, lesson: claim, step: place, claim: null });
  show();
  element("lesson-title").focus();
  element("lesson").scrollIntoView({ block: "start" });
}

element("lesson-back").addEventListener("click", () => goTo(chosen.lesson, chosen.step - 1));
element("lesson-next").addEventListener("click", () => {
  if (chosen.step + 1 < lesson().step.length) goTo(chosen.lesson, chosen.step + 1);
  else leaveLesson();
});
function leaveLesson() {
  Object.assign(chosen, { lesson: null, step: 0 });
  show();
  element("scenario").focus();
}
element("lesson-leave").addEventListener("click", leaveLesson);
