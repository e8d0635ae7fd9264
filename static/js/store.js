// The data that this browser stores for one account: unacknowledged answers and unsaved work. Keys
// contain the account, so another person who logs in here neither sees nor sends them.

const user = document.body.dataset.user;
const PREFIX = `tandem.${user}.`;
const HERE = "tandem.here";
/**
 * Values that the browser's storage refuses, because it is full or switched off.
 * @type {Map<string, unknown>}
 */
const memory = new Map();

/** Whether the browser's storage refuses values, so that closing the tab loses work. */
export const overflow = {
  get now() {
    return [...memory.values()].some((value) => value !== null);
  },
};

/**
 * @template T
 * @param {string} key
 * @param {T} otherwise
 * @returns {T}
 */
function read(key, otherwise) {
  if (memory.has(key)) return /** @type {T} */ (memory.get(key) ?? otherwise);
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key) ?? "null") ?? otherwise;
  } catch {
    return otherwise;
  }
}

/**
 * @param {string} key
 * @param {unknown} value  null removes the key
 */
function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(value));
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
}

/** @param {string} start */
function keys(start) {
  try {
    const stored = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX + start));
    return [...new Set([...stored.map((key) => key.slice(PREFIX.length)), ...memory.keys()])].filter((key) =>
      key.startsWith(start),
    );
  } catch {
    return [...memory.keys()].filter((key) => key.startsWith(start));
  }
}

// Answers that the server has not acknowledged, oldest first. Each is stored under a separate key, so
// that tabs that write at the same time do not overwrite each other. `place` keeps the order, since
// clocks may be set back.
export const outbox = {
  all: () =>
    keys("outbox.")
      .map((key) => read(key, /** @type {OutboxEntry | null} */ (null)))
      .filter((entry) => entry !== null)
      .sort((one, other) => Number(one.place) - Number(other.place)),
  /** @param {string} uid */
  of: (uid) => outbox.all().filter((entry) => entry.uid === uid),
  /** @param {OutboxEntry} entry */
  add(entry) {
    const last = Math.max(0, ...outbox.all().map(({ place }) => Number(place)));
    write(`outbox.${entry.key}`, { place: last + 1, ...entry });
  },
  /** @param {string} key */
  remove: (key) => write(`outbox.${key}`, null),
  /**
   * @param {(entry: OutboxEntry) => boolean} test
   * @param {Partial<OutboxEntry>} changes
   */
  change(test, changes) {
    for (const entry of outbox.all().filter(test)) write(`outbox.${entry.key}`, { ...entry, ...changes });
  },
};

// Work on one item that is not yet in a draft on the server. Pages with other forms store other data
// than answers, under separate keys.
export const unsaved = {
  /**
   * @param {string} uid
   * @returns {any}
   */
  get: (uid) => read(`unsaved.${uid}`, null),
  /**
   * @param {string} uid
   * @param {object | null} value
   */
  set: (uid, value) => write(`unsaved.${uid}`, value),
};

/** @typedef {{payload: Payload, of?: string | null}} Aside */

// Versions of one item that were not chosen, newest last. `of` identifies the tab whose unfinished work
// it was; a tab has at most one version.
export const setAside = {
  /** @param {string} uid */
  all: (uid) => read(`aside.${uid}`, /** @type {Aside[]} */ ([])),
  /** @param {string} uid */
  get: (uid) => setAside.all(uid).at(-1)?.payload ?? null,
  /**
   * @param {string} uid
   * @param {Payload} payload
   * @param {string | null} [of]
   */
  push(uid, payload, of = null) {
    const others = setAside.all(uid).filter((one) => !of || one.of !== of);
    write(`aside.${uid}`, [...others, { payload, of }]);
  },
  /** @param {string} uid */
  pop(uid) {
    const all = setAside.all(uid);
    write(`aside.${uid}`, all.length > 1 ? all.slice(0, -1) : null);
    return all.at(-1)?.payload ?? null;
  },
  /**
   * @param {string} uid
   * @param {string} of
   */
  forget(uid, of) {
    const left = setAside.all(uid).filter((one) => one.of !== of);
    if (setAside.all(uid).length) write(`aside.${uid}`, left.length ? left : null);
  },
};

/** The seconds that a person has spent on one item. */
export const spent = {
  /** @param {string} uid */
  get: (uid) => read(`seconds.${uid}`, 0),
  /**
   * @param {string} uid
   * @param {number | null} value
   */
  set: (uid, value) => write(`seconds.${uid}`, value),
};

// Tells the other tabs of this browser whose page was opened last.
try {
  localStorage.setItem(HERE, user ?? "");
} catch {
  /* the server will tell them */
}

/** @param {() => void} then */
export function whenAccountsChange(then) {
  addEventListener("storage", ({ key, newValue }) => key === HERE && newValue !== user && then());
  addEventListener("pageshow", ({ persisted }) => persisted && then());
}
