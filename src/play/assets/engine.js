"use strict";
/* The engine is a program for WASI, compiled to WebAssembly: it reads one request and writes lines. This is all of WASI
   that it needs. It has no clock, no files and no chance of its own: each random byte is 0, and every time is 0. A worker of
   the page, and Node.js in the tests, run it through this file. */

const NOT_OPEN = 8, DONE = 0;

/* Runs the program with one request, and calls `tell` with each line of the answer as soon as it is written.
   Throws what stops the program: it is a mistake in Locklab. */
function ask(module, request, tell) {
  const input = new TextEncoder().encode(JSON.stringify(request));
  let read = 0, memory = null, complaint = "";
  const pending = { 1: [], 2: [] };
  const view = () => new DataView(memory.buffer);
  /* Calls `act` with each of the areas of memory that a list names; it returns how many bytes it has used. */
  const eachArea = (list, count, done, act) => {
    let used = 0;
    for (let place = 0; place < count; place++) {
      const at = view().getUint32(list + 8 * place, true), length = view().getUint32(list + 8 * place + 4, true);
      used += act(new Uint8Array(memory.buffer, at, length));
    }
    view().setUint32(done, used, true);
    return DONE;
  };
  const zeros = (...places) => { for (const place of places) view().setUint32(place, 0, true); return DONE; };
  const wasi = {
    fd_read: (fd, list, count, done) => eachArea(list, count, done, (area) => {
      const part = input.subarray(read, read + area.length);
      area.set(part);
      read += part.length;
      return part.length;
    }),
    fd_write: (fd, list, count, done) => eachArea(list, count, done, (area) => {
      const decode = (bytes) => new TextDecoder().decode(Uint8Array.from(bytes));
      let start = 0;
      for (let end; (end = area.indexOf(10, start)) >= 0; start = end + 1) {
        const begun = pending[fd].splice(0), rest = area.slice(start, end);
        const whole = new Uint8Array(begun.reduce((sum, part) => sum + part.length, 0) + rest.length);
        let at = 0;
        for (const part of [...begun, rest]) { whole.set(part, at); at += part.length; }
        const line = decode(whole);
        if (fd === 1) tell(line); else complaint += `${line}\n`;
      }
      pending[fd].push(area.slice(start));
      return area.length;
    }),
    environ_sizes_get: (count, size) => zeros(count, size), environ_get: () => DONE,
    args_sizes_get: (count, size) => zeros(count, size), args_get: () => DONE,
    random_get: (at, length) => { new Uint8Array(memory.buffer, at, length).fill(0); return DONE; },
    clock_time_get: (id, precision, at) => { view().setBigUint64(at, 0n, true); return DONE; },
    sched_yield: () => DONE,
    proc_exit: (code) => { throw new Error(`the engine ended with code ${code}`); },
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = wasi[name] ?? (() => NOT_OPEN);
  }
  const instance = new WebAssembly.Instance(module, imports);
  memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (error) {
    throw new Error(complaint || String(error));
  }
}

/* The module from its compressed bytes in base64. */
async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (char) => char.charCodeAt(0));
  const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return WebAssembly.compile(await new Response(whole).arrayBuffer());
}
