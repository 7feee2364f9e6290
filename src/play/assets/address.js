/* What is chosen, in the address: `#scenario=kleppmann/k1&set=lock.ttl_ms=500&seed=3`. A text of one's own stands there
   compressed. `#claim=K1` is the first scenario of a claim; several claims may have the same. */

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
async function unpacked(word) {
  const bytes = Uint8Array.from(atob(word.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

async function addressOf() {
  const word = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%3D", "=");
  const parts = chosen.text === null ? [`scenario=${word(chosen.name)}`] : [`text=${await packed(chosen.text)}`];
  for (const [path, value] of chosen.sets) parts.push(`set=${word(`${path}=${value}`)}`);
  parts.push(`seed=${chosen.seed}`);
  if (chosen.claim) parts.push(`claim=${word(chosen.claim)}`);
  if (chosen.lesson) parts.push(`lesson=${word(chosen.lesson)}`, `step=${chosen.step + 1}`);
  return `#${parts.join("&")}`;
}

/* A step back of the browser goes to what was shown before; moving a slider is one such step. */
let written = null;
async function writeAddress() {
  const now = await addressOf();
  if (now === location.hash) return;
  const scenario = (address) => address?.split("&")[0];
  if (scenario(now) === scenario(written)) history.replaceState(null, "", now);
  else history.pushState(null, "", now);
  written = now;
}

async function readAddress() {
  const fresh = { name: null, text: null, sets: new Map(), seed: 0, lesson: null, step: 0, claim: null };
  for (const part of location.hash.slice(1).split("&")) {
    const [name, ...rest] = part.split("=");
    let value = rest.join("=");
    try { value = decodeURIComponent(value); } catch { /* It is taken as it stands. */ }
    if (name === "scenario") fresh.name = value;
    else if (name === "text") fresh.text = await unpacked(value).catch(() => "the text in the address is incomplete");
    else if (name === "set") { const at = value.indexOf("="); fresh.sets.set(value.slice(0, at), value.slice(at + 1)); }
    else if (name === "seed" && /^[0-9]{1,15}$/.test(value)) fresh.seed = Number(value);
    else if (name === "lesson" && known.contents.lessons.some(({ claim }) => claim === value)) fresh.lesson = value;
    else if (name === "claim" && known.contents.claims.some(({ id, scenarios }) => id === value && scenarios.length)) fresh.claim = value;
    else if (name === "step") fresh.step = Math.max(Number.parseInt(value, 10) - 1 || 0, 0);
  }
  fresh.name ??= known.contents.claims.find(({ id }) => id === fresh.claim)?.scenarios[0] ?? "kleppmann/k1";
  const steps = known.contents.lessons.find(({ claim }) => claim === fresh.lesson)?.step.length ?? 1;
  fresh.step = Math.min(fresh.step, steps - 1);
  Object.assign(chosen, fresh);
}
