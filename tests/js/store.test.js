import { fillStorage, fire, USER } from "./page.js";
import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { outbox, overflow, setAside, spent, unsaved, whenAccountsChange } from "../../static/js/store.js";

const payload = (code) => ({ units: { "q:0": { code } }, comment: null });
const entry = (key, uid = "item", more = {}) => ({
  ...{ key, uid, url: `/tasks/${uid}/submit/`, page: `/tasks/${uid}/`, payload: payload(key) },
  ...{ version: 0, seen: 0, seconds: 1, ...more },
});
const keys = (entries) => entries.map(({ key }) => key);

describe("the outbox", () => {
  test("keeps the order in which answers were given, whatever their keys are", () => {
    for (const key of ["c", "a", "b"]) outbox.add(entry(key));
    assert.deepEqual(keys(outbox.all()), ["c", "a", "b"]);
  });

  test("keeps an answer's turn when it is put back with a change", () => {
    outbox.add(entry("a"));
    outbox.add(entry("b"));
    const [first] = outbox.all();
    outbox.remove("a");
    outbox.add({ ...first, version: 5 });
    assert.deepEqual(keys(outbox.all()), ["a", "b"]);
    assert.equal(outbox.all()[0].version, 5);
  });

  test("loses nothing of two tabs that write at once: each answer has a key of its own", () => {
    outbox.add(entry("mine"));
    localStorage.setItem(`tandem.${USER}.outbox.theirs`, JSON.stringify(entry("theirs", "other", { place: 1 })));
    assert.deepEqual(keys(outbox.all()).sort(), ["mine", "theirs"]);
    assert.deepEqual(keys(outbox.of("other")), ["theirs"]);
  });

  test("changes only the answers that a test picks", () => {
    outbox.add(entry("a", "one"));
    outbox.add(entry("b", "two"));
    outbox.change(({ uid }) => uid === "two", { seen: 3 });
    assert.deepEqual(
      outbox.all().map(({ seen }) => seen),
      [0, 3],
    );
  });

  test("shows another account's answers to nobody", () => {
    localStorage.setItem("tandem.8.outbox.x", JSON.stringify(entry("x")));
    assert.deepEqual(outbox.all(), []);
  });

  test("passes over what is no JSON", () => {
    localStorage.setItem(`tandem.${USER}.outbox.broken`, "{");
    assert.deepEqual(outbox.all(), []);
  });
});

describe("a browser whose storage is full", () => {
  test("keeps everything while the tab lasts, and says that it does", () => {
    const full = fillStorage();
    outbox.add(entry("a"));
    unsaved.set("item", { payload: payload("yes") });
    assert.deepEqual(keys(outbox.all()), ["a"]);
    assert.deepEqual(unsaved.get("item").payload, payload("yes"));
    assert.equal(overflow.now, true);
    full.mock.restore();
    outbox.remove("a");
    unsaved.set("item", null);
    assert.equal(overflow.now, false);
    assert.deepEqual(outbox.all(), []);
  });

  test("stores for good what it holds once there is room again", () => {
    const full = fillStorage();
    unsaved.set("item", { payload: payload("no") });
    full.mock.restore();
    unsaved.set("item", { payload: payload("yes") });
    assert.match(localStorage.getItem(`tandem.${USER}.unsaved.item`), /yes/);
    assert.equal(overflow.now, false);
    unsaved.set("item", null);
  });
});

describe("a version that was set aside", () => {
  test("comes back last in, first out", () => {
    setAside.push("item", payload("one"));
    setAside.push("item", payload("two"));
    assert.deepEqual(setAside.get("item"), payload("two"));
    assert.deepEqual(setAside.pop("item"), payload("two"));
    assert.deepEqual(setAside.pop("item"), payload("one"));
    assert.equal(setAside.pop("item"), null);
    assert.equal(setAside.get("item"), null);
  });

  test("replaces the earlier one of the same tab", () => {
    setAside.push("item", payload("one"), "tab");
    setAside.push("item", payload("chosen"));
    setAside.push("item", payload("two"), "tab");
    assert.deepEqual(
      setAside.all("item").map((one) => one.payload),
      [payload("chosen"), payload("two")],
    );
  });

  test("is forgotten with its tab", () => {
    setAside.push("item", payload("one"), "tab");
    setAside.forget("item", "another");
    assert.equal(setAside.all("item").length, 1);
    setAside.forget("item", "tab");
    assert.equal(localStorage.getItem(`tandem.${USER}.aside.item`), null);
  });
});

test("seconds are kept by item, and forgotten by null", () => {
  assert.equal(spent.get("item"), 0);
  spent.set("item", 12.5);
  assert.equal(spent.get("item"), 12.5);
  spent.set("item", null);
  assert.equal(spent.get("item"), 0);
});

test("another account in another tab is noticed, the same one is not", () => {
  const noticed = mock.fn();
  whenAccountsChange(noticed);
  fire("storage", { key: "tandem.here", newValue: USER });
  fire("storage", { key: "tandem.keys", newValue: "8" });
  assert.equal(noticed.mock.callCount(), 0);
  fire("storage", { key: "tandem.here", newValue: "8" });
  fire("pageshow", { persisted: true });
  assert.equal(noticed.mock.callCount(), 2);
});
