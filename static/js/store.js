// What this browser keeps for one account: answers on their way, and unsaved work. Keys hold the
// account, so that another person who logs in here neither sees nor sends them.

const user = document.body.dataset.user;
const memory = new Map(); // where the browser's store is full or switched off

function read(key, otherwise) {
  if (memory.has(key)) return memory.get(key) ?? otherwise;
  try {
    return JSON.parse(localStorage.getItem(`tandem.${user}.${key}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(`tandem.${user}.${key}`);
    else localStorage.setItem(`tandem.${user}.${key}`, JSON.stringify(value));
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
}

// Answers that the server has not acknowledged, oldest first.
export const outbox = {
  all: () => read("outbox", []),
  of: (uid) => outbox.all().filter((entry) => entry.uid === uid),
  add: (entry) => write("outbox", [...outbox.all(), entry]),
  remove: (key) => write("outbox", outbox.all().filter((entry) => entry.key !== key)),
  change: (test, changes) =>
    write("outbox", outbox.all().map((entry) => (test(entry) ? { ...entry, ...changes } : entry))),
};

// Work on one item that is not yet in a draft on the server.
export const unsaved = {
  get: (uid) => read(`unsaved.${uid}`, null),
  set: (uid, value) => write(`unsaved.${uid}`, value),
};

// The version that was not chosen in a conflict.
export const setAside = {
  get: (uid) => read(`aside.${uid}`, null),
  set: (uid, value) => write(`aside.${uid}`, value),
};

export const spent = {
  get: (uid) => read(`seconds.${uid}`, 0),
  set: (uid, value) => write(`seconds.${uid}`, value),
};
