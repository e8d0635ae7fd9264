import { answers, element, fire, go, pass, requests, settled } from "./page.js";
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { Saver } from "../../static/js/saving.js";
import { Status } from "../../static/js/status.js";
import { outbox, setAside, unsaved } from "../../static/js/store.js";

const UID = "item";
const payload = (code) => ({ units: { "q:0": { code } }, comment: null });
const saved = (version) => ({ body: { version, saved_at: "2026-01-01T10:00:00Z" } });
const stored = (revision, next = null) => ({ body: { revision, next, saved_at: "2026-01-01T10:00:00Z" } });
const conflict = (theirs, version, revision = 0) => ({ status: 409, body: { theirs, version, revision } });
const savers = [];

// A saver on a page whose sheet holds one code; `page.calls` are what it asked of the page.
function open({ code = null, version = 0, seen = 0, drafts = true, closed = false } = {}) {
  const notices = { login: {}, changed: {}, late: {}, full: {} };
  const form = element(`<form data-uid="${UID}" data-basis="b1" data-submit="/submit/" data-version="${version}"
    data-seen="${seen}" ${drafts ? 'data-draft="/draft/"' : ""} ${closed ? "data-closed" : ""}></form>`);
  document.body.insertAdjacentHTML(
    "beforeend",
    '<p id="state"><b class="state-word"></b><i class="state-more"></i></p>',
  );
  const sheet = { code, found: [], payload: () => payload(sheet.code), problems: () => sheet.found };
  const calls = [];
  const page = { calls, apply: ({ units }) => (sheet.code = units["q:0"].code) };
  for (const name of ["problems", "conflict", "left", "login", "stranger", "welcome", "late"]) {
    page[name] = (...values) => calls.push([name, ...values]);
  }
  const timer = { seconds: () => 12.5, finish: () => calls.push(["finish"]) };
  const saver = new Saver({ form, sheet, timer, page, status: new Status(document.getElementById("state"), notices) });
  savers.push(saver);
  const write = (next) => {
    sheet.code = next;
    saver.changed();
  };
  return { saver, sheet, page, write, state: () => saver.status.state };
}

const codes = () => requests.map(({ url, form }) => [url, form.get("unit-0-code")]);
const sends = () => requests.filter(({ url }) => url === "/submit/").map(({ form }) => form.get("key"));

afterEach(() => {
  for (const saver of savers.splice(0)) saver.stopped = true;
});

describe("a draft", () => {
  test("leaves when the person pauses", async () => {
    const { write, state } = open();
    answers(saved(1));
    write("yes");
    await pass(800);
    assert.deepEqual(codes(), []);
    assert.equal(state(), "saving");
    await pass(100);
    assert.deepEqual(codes(), [["/draft/", "yes"]]);
    assert.equal(state(), "saved");
    assert.equal(unsaved.get(UID), null);
  });

  test("leaves within two seconds though the person types on", async () => {
    const { write } = open();
    answers(saved(1));
    for (let n = 0; n < 4; n += 1) {
      write(`yes${n}`);
      await pass(450);
    }
    assert.equal(requests.length, 1);
  });

  test("names the draft and the revision that it replaces", async () => {
    const { write } = open({ version: 3, seen: 2 });
    answers(saved(4), saved(5));
    write("yes");
    await pass(900);
    write("no");
    await pass(900);
    assert.deepEqual(
      requests.map(({ form }) => [form.get("version"), form.get("seen"), form.get("basis")]),
      [
        ["3", "2", "b1"],
        ["4", "2", "b1"],
      ],
    );
  });

  test("follows for what changed while one was on its way", async () => {
    const { write } = open();
    let arrive;
    answers({ ...saved(1), hold: new Promise((done) => (arrive = done)) }, saved(2));
    write("yes");
    await pass(900);
    write("no");
    arrive();
    await settled();
    await pass(900);
    assert.deepEqual(codes(), [
      ["/draft/", "yes"],
      ["/draft/", "no"],
    ]);
  });

  test("stays in this browser until the server has it", async () => {
    const { write } = open();
    write("yes");
    assert.deepEqual(unsaved.get(UID).payload, payload("yes"));
    await pass(900);
    assert.deepEqual(unsaved.get(UID).payload, payload("yes"));
  });

  test("leaves with the page, by the browser's own hand", async () => {
    const { write } = open();
    write("yes");
    fire("pagehide");
    assert.equal(requests[0].keepalive, true);
    assert.deepEqual(codes(), [["/draft/", "yes"]]);
  });

  test("is not sent by a page that keeps its work until it is submitted", async () => {
    const { write, state } = open({ drafts: false });
    write("yes");
    await pass(5_000);
    assert.deepEqual(requests, []);
    assert.equal(state(), "kept");
    assert.deepEqual(unsaved.get(UID).payload, payload("yes"));
  });

  test("is not sent from a closed item", async () => {
    const { saver, write, state } = open({ closed: true });
    saver.resume();
    write("yes");
    await pass(5_000);
    assert.deepEqual(requests, []);
    assert.equal(state(), "closed");
  });
});

describe("a message that the network loses", () => {
  test("is sent again, later each time", async () => {
    const { write, state } = open();
    write("yes");
    await pass(900);
    assert.equal(state(), "unsaved");
    await pass(700); // a second, give or take a fifth
    assert.equal(requests.length, 1);
    await pass(600);
    assert.equal(requests.length, 2);
    await pass(1_500);
    assert.equal(requests.length, 2);
    answers(saved(1));
    await pass(1_000);
    assert.equal(requests.length, 3);
    assert.equal(state(), "saved");
  });

  test("is never tried less than once in 72 seconds", async () => {
    const { saver, write } = open();
    saver.failures = 30;
    write("yes");
    await pass(900);
    await pass(72_000);
    assert.equal(requests.length, 2);
  });

  test("rests as long as a busy server asks for, even when the window is looked at", async () => {
    const { write } = open();
    answers({ status: 503, headers: { "Retry-After": "30" } }, saved(1));
    write("yes");
    await pass(900);
    fire("focus");
    await pass(29_000);
    assert.equal(requests.length, 1);
    await pass(1_000);
    assert.equal(requests.length, 2);
  });

  test("goes at once when the network is back", async () => {
    const { write, state } = open();
    go("offline");
    write("yes");
    await pass(900);
    assert.equal(state(), "offline");
    answers(saved(1));
    go("online");
    await settled();
    assert.equal(state(), "saved");
  });

  test("shows soon that no response comes", async () => {
    const { write, state, saver } = open();
    answers({ ...saved(1), hold: new Promise(() => {}) });
    write("yes");
    await pass(900);
    await pass(900);
    assert.equal(state(), "saving");
    assert.match(saver.status.more.textContent, /no answer yet/);
  });
});

describe("an answer", () => {
  test("is in the outbox before it is sent, and leaves it when it is stored", async () => {
    const { saver, page } = open({ code: "yes" });
    let arrive;
    answers({ ...stored(1, "/next/"), hold: new Promise((done) => (arrive = done)) });
    saver.submit();
    await settled();
    assert.equal(outbox.of(UID).length, 1);
    arrive();
    await settled();
    assert.equal(outbox.of(UID).length, 0);
    assert.deepEqual(page.calls, [["finish"], ["left", "/next/"]]);
    assert.equal(requests[0].form.get("seconds"), "12.5");
  });

  test("is sent again under the same key, though the person presses the button again", async () => {
    const { saver } = open({ code: "yes" });
    saver.submit();
    await settled();
    saver.submit();
    await settled();
    answers(stored(1));
    await pass(2_400);
    assert.equal(new Set(sends()).size, 1);
    assert.ok(sends().length > 1);
    assert.equal(outbox.of(UID).length, 0);
  });

  test("that was changed meanwhile goes after the first one, as its revision", async () => {
    const { saver, sheet } = open({ code: "yes" });
    saver.submit();
    await settled();
    sheet.code = "no";
    answers(stored(1), stored(2));
    saver.submit();
    await pass(2_000);
    const answered = requests.slice(-2).map(({ form }) => [form.get("unit-0-code"), form.get("seen")]);
    assert.deepEqual(answered, [
      ["yes", "0"],
      ["no", "1"],
    ]);
  });

  test("with problems is not sent, and says so until something changes", async () => {
    const { saver, sheet, page, state, write } = open();
    sheet.found = [{ unit: "q:0", message: "Choose an answer." }];
    saver.submit();
    await settled();
    assert.deepEqual(requests, []);
    assert.equal(state(), "refused");
    assert.equal(page.calls[0][0], "problems");
    answers(saved(1));
    write("yes");
    assert.equal(state(), "saving");
  });

  test("that the server refuses leaves the outbox, with the server's problems on the page", async () => {
    const { saver, page, state } = open({ code: "yes" });
    answers({ status: 422, body: { problems: [{ unit: "q:0", message: "no such code" }] } });
    saver.submit();
    await settled();
    assert.deepEqual(outbox.of(UID), []);
    assert.equal(state(), "refused");
    assert.deepEqual(page.calls, [["problems", [{ unit: "q:0", message: "no such code" }]]]);
  });

  test("that comes too late is a draft on the server", async () => {
    const { saver, page, state } = open({ code: "yes" });
    answers({ status: 422, body: { problems: [{ unit: "", message: "closed" }], kept: { version: 2 } } });
    saver.submit();
    await settled();
    assert.deepEqual(outbox.of(UID), []);
    assert.equal(state(), "late");
    assert.deepEqual(page.calls, [["late", "closed"]]);
    assert.equal(saver.version, 2);
  });

  test("waits in this browser while nobody is logged in, and goes when the account is back", async () => {
    const { saver, page, state } = open({ code: "yes" });
    answers({ type: "opaqueredirect" }, { body: { user: null, name: "" } });
    saver.submit();
    await settled();
    assert.equal(state(), "login");
    assert.deepEqual(page.calls.at(-1), ["login"]);
    assert.equal(outbox.of(UID).length, 1);
    answers(stored(1));
    saver.goOn();
    await settled();
    assert.equal(outbox.of(UID).length, 0);
    assert.ok(page.calls.some(([name]) => name === "welcome"));
  });

  test("is not sent for another person who logged in", async () => {
    const { saver, page } = open({ code: "yes" });
    answers({ status: 403 }, { body: { user: 8, name: "Ben" } });
    saver.submit();
    await settled();
    assert.deepEqual(page.calls, [["stranger", { user: 8, name: "Ben" }]]);
    const before = requests.length;
    fire("focus");
    await pass(100_000);
    assert.equal(requests.length, before);
    assert.equal(outbox.of(UID).length, 1);
  });

  test("to an item whose texts have changed is kept and not sent again", async () => {
    const { saver, state } = open({ code: "yes" });
    answers({ status: 409, body: { changed: true } });
    saver.submit();
    await settled();
    assert.equal(state(), "changed");
    assert.deepEqual(unsaved.get(UID).payload, payload("yes"));
    await pass(100_000);
    assert.equal(requests.length, 1);
  });
});

describe("a conflict", () => {
  async function conflicting() {
    const opened = open({ version: 1 });
    answers(conflict(payload("theirs"), 5));
    opened.write("mine");
    await pass(900);
    return opened;
  }

  test("with a draft of this tab's own, whose response was lost, is none", async () => {
    const { write, page, state } = open();
    write("yes"); // the server stores this as version 1, and its response is lost
    await pass(900);
    answers(conflict(payload("yes"), 1), saved(2));
    write("no");
    await pass(1_300);
    assert.deepEqual(
      page.calls.filter(([name]) => name === "conflict"),
      [],
    );
    assert.equal(requests.at(-1).form.get("version"), "1");
    assert.equal(state(), "saved");
  });

  test("with another's draft is shown, and nothing is sent before the person decides", async () => {
    const { write, page, state } = await conflicting();
    assert.equal(state(), "conflict");
    assert.equal(page.calls[0][0], "conflict");
    write("mine, longer");
    await pass(100_000);
    assert.equal(requests.length, 1);
    assert.deepEqual(unsaved.get(UID).payload, payload("mine, longer"));
  });

  test("settled for one's own version sends it over the other, which is set aside", async () => {
    const { saver, state } = await conflicting();
    answers(saved(6));
    saver.settle(true);
    await settled();
    assert.equal(requests.at(-1).form.get("version"), "5");
    assert.deepEqual(codes().at(-1), ["/draft/", "mine"]);
    assert.deepEqual(setAside.get(UID), payload("theirs"));
    assert.equal(state(), "saved");
  });

  test("settled for the other version shows it and sets one's own aside", async () => {
    const { saver, sheet } = await conflicting();
    saver.settle(false);
    await pass(5_000);
    assert.equal(sheet.code, "theirs");
    assert.deepEqual(setAside.get(UID), payload("mine"));
    assert.equal(requests.length, 1);
    assert.equal(unsaved.get(UID), null);
  });

  test("of a submitted answer takes it out of the outbox", async () => {
    const { saver, page } = open({ code: "mine" });
    answers(conflict(payload("theirs"), 0, 3));
    saver.submit();
    await settled();
    assert.deepEqual(outbox.of(UID), []);
    assert.equal(page.calls[0][0], "conflict");
    saver.submit();
    assert.equal(page.calls.length, 2);
  });

  test("of an answer with this tab's own lost draft sends it on, over that draft", async () => {
    const { saver, write, page } = open();
    write("yes");
    await pass(900);
    answers(conflict(payload("yes"), 1), stored(1));
    saver.submit();
    await settled();
    const [first, second] = requests.slice(-2).map(({ form }) => [form.get("version"), form.get("key")]);
    assert.deepEqual([first[0], second[0]], ["0", "1"]);
    assert.equal(first[1], second[1]);
    assert.deepEqual(page.calls.at(-1)[0], "left");
  });
});

describe("a page that is opened again", () => {
  const work = (code, more) => ({ payload: payload(code), version: 1, seen: 0, basis: "b1", tab: "old", ...more });

  test("goes on with what an earlier visit left in this browser", async () => {
    unsaved.set(UID, work("yes"));
    answers(saved(2));
    const { saver, sheet } = open({ version: 1 });
    saver.resume();
    await settled();
    assert.equal(sheet.code, "yes");
    assert.deepEqual(codes(), [["/draft/", "yes"]]);
  });

  test("forgets it if the server has the same", async () => {
    unsaved.set(UID, work("yes"));
    const { saver } = open({ code: "yes", version: 1 });
    saver.resume();
    await settled();
    assert.deepEqual(requests, []);
    assert.equal(unsaved.get(UID), null);
  });

  test("asks which version holds if the server's is a newer one", async () => {
    unsaved.set(UID, work("mine"));
    const { saver, page } = open({ code: "theirs", version: 2 });
    saver.resume();
    await settled();
    assert.equal(page.calls[0][0], "conflict");
    assert.deepEqual(requests, []);
  });

  test("does not ask if the server's version is a draft that this browser sent", async () => {
    unsaved.set(UID, work("mine", { sent: [payload("earlier")] }));
    answers(saved(3));
    const { saver, page } = open({ code: "earlier", version: 2 });
    saver.resume();
    await settled();
    assert.deepEqual(page.calls, []);
    assert.deepEqual(codes(), [["/draft/", "mine"]]);
  });

  test("sends the answer that is still in the outbox", async () => {
    const entry = { key: "k", uid: UID, url: "/submit/", page: "/", payload: payload("yes"), seconds: 1 };
    outbox.add({ ...entry, version: 0, seen: 0, basis: "b1" });
    answers(stored(1));
    const { saver } = open();
    saver.resume();
    await settled();
    assert.deepEqual(sends(), ["k"]);
    assert.deepEqual(outbox.of(UID), []);
  });

  test("does not send an answer to other texts: a copy is set aside and the work is a draft", async () => {
    const entry = { key: "k", uid: UID, url: "/submit/", page: "/", payload: payload("yes"), seconds: 1 };
    outbox.add({ ...entry, version: 0, seen: 0, basis: "b0" });
    answers(saved(1));
    const { saver } = open();
    saver.resume();
    await settled();
    assert.deepEqual(codes(), [["/draft/", "yes"]]);
    assert.deepEqual(
      setAside.all(UID).map((one) => one.payload),
      [payload("yes")],
    );
  });
});

describe("two tabs of one item", () => {
  test("do not overwrite each other's unsaved work: the earlier one is set aside", () => {
    const first = open();
    const second = open();
    first.write("one");
    second.write("two");
    assert.deepEqual(unsaved.get(UID).payload, payload("two"));
    assert.deepEqual(
      setAside.all(UID).map((one) => one.payload),
      [payload("one")],
    );
  });

  test("leave nothing set aside once each has saved", async () => {
    const first = open();
    const second = open();
    first.write("one");
    second.write("two");
    answers(saved(1), saved(2));
    await pass(900);
    await pass(900);
    assert.equal(setAside.get(UID), null);
    assert.equal(unsaved.get(UID), null);
  });
});
