import { answers, element, requests, settled, USER } from "./page.js";
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { sendAll } from "../../static/js/resend.js";
import { setUpResending } from "../../static/js/resend.js?of=a-page";
import { outbox } from "../../static/js/store.js";

const payload = (code) => ({ units: { "q:0": { code } }, comment: null });
const entry = (key, uid) => ({
  ...{ key, uid, url: `/tasks/${uid}/submit/`, page: `/tasks/${uid}/`, payload: payload(key) },
  ...{ version: 2, seen: 0, seconds: 1 },
});
const sent = () => requests.map(({ form }) => form.get("key"));
const left = () => outbox.all().map(({ key }) => key);
const SAME = { body: { user: Number(USER), name: "Ada" } };

function fill() {
  outbox.add(entry("a1", "a"));
  outbox.add(entry("b1", "b"));
  outbox.add(entry("a2", "a"));
}

describe("answers from the outbox", () => {
  beforeEach(fill);

  test("go in the order in which they were given, each under its own key", async () => {
    answers({ body: { revision: 1 } }, { body: { revision: 1 } }, { body: { revision: 2 } });
    await sendAll(outbox.all());
    assert.deepEqual(sent(), ["a1", "b1", "a2"]);
    assert.deepEqual(left(), []);
  });

  test("stay, all of them, when the server cannot be reached", async () => {
    await sendAll(outbox.all());
    assert.deepEqual(sent(), ["a1"]);
    assert.deepEqual(left(), ["a1", "b1", "a2"]);
  });

  test("replace the revision that the answer before them became", async () => {
    answers({ body: { revision: 4 } }, "lost");
    await sendAll(outbox.all());
    const { version, seen } = outbox.of("a")[0];
    assert.deepEqual({ version, seen }, { version: 0, seen: 4 });
    assert.equal(outbox.of("b")[0].version, 2);
  });

  test("wait for their page after a conflict, and others go on", async () => {
    answers({ status: 409, body: { theirs: payload("x"), version: 3, revision: 0 } }, { body: { revision: 1 } });
    await sendAll(outbox.all());
    assert.deepEqual(sent(), ["a1", "b1"]);
    assert.deepEqual(left(), ["a1", "a2"]);
    assert.equal(outbox.of("a")[0].stuck, "conflict");
  });

  test("that wait are not sent again", async () => {
    outbox.change(({ key }) => key === "a1", { stuck: "conflict" });
    answers({ body: { revision: 1 } });
    await sendAll(outbox.all());
    assert.deepEqual(sent(), ["b1"]);
  });

  test("that came too late are drafts on the server, and leave the outbox", async () => {
    const late = { problems: [{ unit: "", message: "the campaign is over" }], kept: { version: 3 } };
    answers({ status: 422, body: late }, { body: { revision: 1 } }, { body: { revision: 1 } });
    await sendAll(outbox.all());
    assert.deepEqual(left(), []);
  });

  test("are not sent for another person", async () => {
    answers({ status: 403 }, { body: { user: 8, name: "Ben" } });
    await sendAll(outbox.all());
    assert.deepEqual(left(), ["a1", "b1", "a2"]);
  });
});

describe("a page", () => {
  beforeEach(fill);

  test("sends what other items left and says how many are not stored yet", async () => {
    const notice = element('<p id="outbox-notice" hidden></p>');
    answers({ body: { revision: 1 } });
    setUpResending("a");
    await settled();
    assert.deepEqual(sent(), ["b1"]);
    assert.equal(notice.hidden, true);
  });

  test("links to the item whose answer waits for a decision", async () => {
    const notice = element('<p id="outbox-notice" hidden></p>');
    answers({ status: 409, body: { theirs: payload("x"), version: 3, revision: 0 } }, "lost");
    setUpResending();
    await settled();
    assert.equal(notice.hidden, false);
    assert.equal(notice.querySelector("a").getAttribute("href"), "/tasks/a/");
  });

  test("without a link says that an answer to a lost item is kept", async () => {
    const notice = element('<p id="outbox-notice" hidden></p>');
    answers({ status: 404 }, SAME, "lost");
    setUpResending();
    await settled();
    assert.match(notice.textContent, /could not be stored; it is kept in this browser/);
    assert.equal(notice.querySelector("a"), null);
  });
});
