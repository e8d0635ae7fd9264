// What this browser keeps for one account: answers on their way, and unsaved work. Keys hold the
// account, so that another person who logs in here neither sees nor sends them.

const user = document.body.dataset.user;
const START = `tandem.${user}.`;
const memory = new Map(); // where the browser's store is full or switched off
const HERE = "tandem.here";

// Whether the browser's own store takes nothing more, so that all ends with this tab.
export const overflow = {
  get now() {
    return [...memory.values()].some((value) => value !== null);
  },
};

function read(key, otherwise) {
  if (memory.has(key)) return memory.get(key) ?? otherwise;
  try {
    return JSON.parse(localStorage.getItem(START + key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(START + key);
    else localStorage.setItem(START + key, JSON.stringify(value));
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
}

function keys(start) {
  try {
    const stored = Object.keys(localStorage).filter((key) => key.startsWith(START + start));
    return [...new Set([...stored.map((key) => key.slice(START.length)), ...memory.keys()])].filter((key) =>
      key.startsWith(start),
    );
  } catch {
    return [...memory.keys()].filter((key) => key.startsWith(start));
  }
}

// Answers that the server has not acknowledged, oldest first. Each has a key of its own, so that
// tabs which write at once do not write over each other; `place` keeps their order, since clocks
// may be set back.
export const outbox = {
  all: () =>
    keys("outbox.")
      .map((key) => read(key, null))
      .filter(Boolean)
      .sort((one, other) => one.place - other.place),
  of: (uid) => outbox.all().filter((entry) => entry.uid === uid),
  add(entry) {
    const last = Math.max(0, ...outbox.all().map(({ place }) => place));
    write(`outbox.${entry.key}`, { place: last + 1, ...entry });
  },
  remove: (key) => write(`outbox.${key}`, null),
  change(test, changes) {
    for (const entry of outbox.all().filter(test)) write(`outbox.${entry.key}`, { ...entry, ...changes });
  },
};

// Work on one item that is not yet in a draft on the server.
export const unsaved = {
  get: (uid) => read(`unsaved.${uid}`, null),
  set: (uid, value) => write(`unsaved.${uid}`, value),
};

// Versions of one item that were not chosen, newest last. `of` says whose unfinished work one was:
// a tab has at the most one.
export const setAside = {
  all: (uid) => read(`aside.${uid}`, []),
  get: (uid) => setAside.all(uid).at(-1)?.payload ?? null,
  push(uid, payload, of = null) {
    const others = setAside.all(uid).filter((one) => !of || one.of !== of);
    write(`aside.${uid}`, [...others, { payload, of }]);
  },
  pop(uid) {
    const all = setAside.all(uid);
    write(`aside.${uid}`, all.length > 1 ? all.slice(0, -1) : null);
    return all.at(-1)?.payload ?? null;
  },
  forget(uid, of) {
    const left = setAside.all(uid).filter((one) => one.of !== of);
    if (setAside.all(uid).length) write(`aside.${uid}`, left.length ? left : null);
  },
};

export const spent = {
  get: (uid) => read(`seconds.${uid}`, 0),
  set: (uid, value) => write(`seconds.${uid}`, value),
};

// Tells the other tabs of this browser whose page was opened last.
try {
  localStorage.setItem(HERE, user ?? "");
} catch {
  /* they will hear it from the server */
}

export function whenAccountsChange(then) {
  addEventListener("storage", ({ key, newValue }) => key === HERE && newValue !== user && then());
  addEventListener("pageshow", ({ persisted }) => persisted && then());
}
