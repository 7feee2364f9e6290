// What the lock uses of Medusa's framework, which is large: a class of errors, and a `Promise.all` that waits for all.

class MedusaError extends Error {
  static Types = { CONFLICT: "conflict" };

  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

async function promiseAll(promises) {
  const states = await Promise.allSettled(promises);
  const rejected = states.find((state) => state.status === "rejected");
  if (rejected) throw rejected.reason;
  return states.map((state) => state.value);
}

module.exports = { MedusaError, promiseAll };
