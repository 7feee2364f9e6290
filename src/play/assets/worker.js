/* In a worker: answers one request after the other. */
let module = null;
onmessage = ({ data }) => {
  if (data.module) { module = data.module; return; }
  const { id, request } = data;
  try {
    ask(module, request, (line) => postMessage({ id, line: JSON.parse(line) }));
    postMessage({ id, done: true });
  } catch (error) {
    postMessage({ id, line: { error: `Locklab failed, which is a mistake in it: ${error.message}` } });
    postMessage({ id, done: true });
  }
};
