// The page that the modules under test find themselves on: a document, this browser's storage, a clock
// that only tests move, and a server that answers what a test says. Import it before any module of
// static/js, since some of them read the document when they are loaded.
import { afterEach, beforeEach, mock } from "node:test";
import { JSDOM } from "jsdom";

export const USER = "7";
const { window } = new JSDOM(
  `<!doctype html><body data-user="${USER}" data-who="/who/"><p data-several data-quotes></p></body>`,
  {
    url: "https://tandem.test/tasks/1/",
    pretendToBeVisual: true,
  },
);
const names = ["document", "Event", "getComputedStyle", "localStorage", "location", "Node", "NodeFilter"];
for (const name of names) globalThis[name] = window[name];
let online = true;
const navigator = {
  get onLine() {
    return online;
  },
};
Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });

// A page is closed with its test, and what listened on it hears nothing more.
let open = new window.AbortController();
for (const [target, owner] of [
  [globalThis, window],
  [document, document],
]) {
  const listen = owner.addEventListener.bind(owner);
  const until = (options) => ({ ...(typeof options === "object" ? options : {}), signal: open.signal });
  target.addEventListener = (name, act, options) => listen(name, act, until(options));
}

export const go = (state) => {
  online = state === "online";
  window.dispatchEvent(new window.Event(state));
};
export const fire = (event, more = {}) => window.dispatchEvent(Object.assign(new window.Event(event), more));

// What was sent to the server: [{url, form, headers, keepalive}].
export const requests = [];
let responses = [];
let now = 0;

// The next responses of the server, in order: {status, body, headers}, or "lost" for a broken connection.
export function answers(...next) {
  responses.push(...next);
}

async function respond(url, { body, headers = {}, keepalive = false } = {}) {
  requests.push({ url, form: new URLSearchParams(body), headers, keepalive });
  const next = responses.shift() ?? "lost";
  if (next === "lost") throw new TypeError("fetch failed");
  if (next.hold) await next.hold;
  if (next.type) return { ok: false, status: 0, type: next.type, headers: new Headers() };
  return new Response(JSON.stringify(next.body ?? {}), { status: next.status ?? 200, headers: next.headers });
}

// Lets the promises that are due run on.
export async function settled() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((go) => setImmediate(go));
}

// Moves the clock on, and lets what is due then happen.
export async function pass(milliseconds) {
  now += milliseconds;
  mock.timers.tick(milliseconds);
  await settled();
}

// A storage that takes nothing more.
export const fillStorage = () =>
  mock.method(window.Storage.prototype, "setItem", () => {
    throw new window.DOMException("full", "QuotaExceededError");
  });

export function element(html) {
  document.body.innerHTML = html;
  return document.body.firstElementChild;
}

beforeEach(() => {
  open = new window.AbortController();
  localStorage.clear();
  document.body.innerHTML = "";
  requests.length = 0;
  responses = [];
  online = true;
  now = 1_000_000;
  globalThis.fetch = respond;
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  mock.method(performance, "now", () => now);
});

afterEach(() => {
  open.abort();
  mock.timers.reset();
  mock.restoreAll();
});
