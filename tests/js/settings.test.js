import { element, fillStorage, fire, pass } from "./page.js";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clock, Status } from "../../static/js/status.js";
import { spent } from "../../static/js/store.js";
import { Timer } from "../../static/js/timer.js";

describe("the setting that snaps a selection", () => {
  const open = async (n) => import(`../../static/js/snap.js?of=${n}`);
  const button = () => element("<button>Snap: <b data-snap></b></button>");

  test("is words, turns to sentences, to off and to words again, and says so", async () => {
    const { setUpSnap, snap } = await open(1);
    const said = [];
    const turn = setUpSnap(button(), (words) => said.push(words));
    assert.equal(snap.kind, "word");
    for (let n = 0; n < 3; n += 1) turn();
    assert.deepEqual(said, ["Snap: sentences", "Snap: off", "Snap: words"]);
  });

  test("stays switched off at the next visit", async () => {
    localStorage.setItem("tandem.snap", "exact");
    const { setUpSnap, snap } = await open(2);
    const shown = button();
    setUpSnap(shown, () => {});
    assert.equal(snap.kind, "exact");
    assert.equal(shown.textContent, "Snap: off");
  });

  test("is words where something else is stored, and works where nothing can be", async () => {
    localStorage.setItem("tandem.snap", "everything");
    const { setUpSnap, snap } = await open(3);
    assert.equal(snap.kind, "word");
    fillStorage();
    setUpSnap(button(), () => {})();
    assert.equal(snap.kind, "sentence");
  });
});

describe("time on task", () => {
  test("counts while the person does something", async () => {
    const timer = new Timer("item", 10);
    for (let n = 0; n < 6; n += 1) {
      await pass(10_000);
      fire("keydown");
    }
    assert.equal(timer.seconds(), 70);
  });

  test("stops two minutes after the last sign of a person", async () => {
    const timer = new Timer("item", 0);
    await pass(3_600_000);
    assert.equal(timer.seconds(), 120);
    fire("pointermove");
    await pass(30_000);
    assert.equal(timer.seconds(), 150);
  });

  test("goes on from what the server or another tab has counted, whichever is more", () => {
    spent.set("item", 40);
    assert.equal(new Timer("item", 25).seconds(), 40);
    assert.equal(new Timer("item", 55).seconds(), 55);
  });

  test("is kept when the page closes, and forgotten once the answer is stored", async () => {
    const timer = new Timer("item", 0);
    await pass(8_000);
    fire("pagehide");
    assert.equal(spent.get("item"), 8);
    timer.finish();
    assert.equal(spent.get("item"), 0);
  });
});

describe("the state of the work", () => {
  const PLACE = '<p><b class="state-word"></b> <i class="state-more"></i></p>';
  const notices = () => ({ login: {}, changed: {}, late: {}, full: {} });

  test("is a word with what it means, and each notice belongs to one state", () => {
    const shown = notices();
    const status = new Status(element(PLACE), shown);
    status.show("login");
    assert.equal(document.body.textContent.trim(), "Not saved log in again");
    assert.deepEqual([shown.login.hidden, shown.changed.hidden, shown.late.hidden], [false, true, true]);
    assert.equal(status.state, "login");
  });

  test("warns of a full storage while something is unsaved", async () => {
    const shown = notices();
    const status = new Status(element(PLACE), shown);
    const full = fillStorage();
    spent.set("another", 1);
    status.show("unsaved");
    assert.equal(shown.full.hidden, false);
    status.show("saved");
    assert.equal(shown.full.hidden, true);
    full.mock.restore();
    spent.set("another", null);
  });

  test("has the time of a day, with the date if it is another day", () => {
    const today = new Date();
    today.setHours(9, 5);
    assert.match(clock(today.toISOString()), /^09:05/);
    assert.match(clock("2020-02-03T10:00:00Z"), /Feb.*, \d\d:\d\d/);
    document.documentElement.lang = "de"; // as the page is written, whatever the browser prefers
    assert.match(clock("2020-05-03T10:00:00Z"), /^3\. Mai, \d\d:\d\d/);
    document.documentElement.lang = "en";
  });
});
