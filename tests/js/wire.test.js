import { answers, requests, USER } from "./page.js";
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { answerFields, fields, post, token, uuid, whoIsHere } from "../../static/js/wire.js";

const form = new URLSearchParams({ key: "1" });
const SAME = { body: { user: Number(USER), name: "Ada" } };

describe("a payload", () => {
  test("goes as one group of fields for each unit, in order", () => {
    const payload = {
      units: {
        "q:0": { answerable: "yes", reason: null, evidence: [{ quote: "🛶 “left”", start: 2 }] },
        "q:1": { answerable: "no", evidence: [] },
      },
      comment: "שלום\r\nline two",
    };
    assert.deepEqual(
      [...fields(payload, { version: 3, seen: 0 })],
      [
        ["version", "3"],
        ["seen", "0"],
        ["unit-0", "q:0"],
        ["unit-0-answerable", "yes"],
        ["unit-0-evidence", '[{"quote":"🛶 “left”","start":2}]'],
        ["unit-1", "q:1"],
        ["unit-1-answerable", "no"],
        ["unit-1-evidence", "[]"],
        ["comment", "שלום\r\nline two"],
      ],
    );
  });

  test("holds a written answer with each source that it cites", () => {
    const units = { a: { written: { text: "As [1].", citations: ["p1", "p2"] } }, b: { written: null } };
    assert.deepEqual(
      [...fields({ units, comment: null }, {})],
      [
        ["unit-0", "a"],
        ["unit-0-answer", "As [1]."],
        ["unit-0-citations", "p1"],
        ["unit-0-citations", "p2"],
        ["unit-1", "b"],
      ],
    );
  });

  test("from the outbox is the same at each sending", () => {
    const payload = { units: { a: { code: "yes" } }, comment: null };
    const entry = { key: "k", uid: "u", url: "/", page: "/", payload, version: 1, seen: 2, seconds: 3.5 };
    assert.equal(String(answerFields(entry)), String(answerFields({ ...entry, place: 9, stuck: "conflict" })));
    assert.equal(answerFields(entry).get("basis"), "");
    assert.equal(answerFields(entry).get("seconds"), "3.5");
  });
});

test("a key is a random UUID of version 4, on pages without TLS too", () => {
  const keys = Array.from({ length: 50 }, uuid);
  assert.equal(new Set(keys).size, 50);
  for (const key of keys) assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

describe("a message", () => {
  beforeEach(() => {
    // biome-ignore lint/suspicious/noDocumentCookie: where the server puts the token
    document.cookie = "csrftoken=abc";
  });

  for (const [status, kind] of Object.entries({
    200: "done",
    201: "done",
    400: "refused",
    409: "conflict",
    422: "refused",
  })) {
    test(`with the status ${status} was ${kind}, and its JSON is handed on`, async () => {
      answers({ status: Number(status), body: { version: 4 } });
      assert.deepEqual(await post("/draft/", form), { kind, body: { version: 4 } });
    });
  }

  for (const status of [429, 500, 502, 503]) {
    test(`with the status ${status} is lost: it is to be sent again`, async () => {
      answers({ status });
      assert.equal((await post("/draft/", form)).kind, "lost");
    });
  }

  test("that reaches nobody is lost", async () =>
    assert.deepEqual(await post("/", form), { kind: "lost", body: {}, rest: 0 }));

  test("answered by something that is no JSON is lost", async () => {
    globalThis.fetch = async () => new Response("<h1>A proxy's page</h1>");
    assert.equal((await post("/", form)).kind, "lost");
  });

  test("waits as long as the server asks for, at most two minutes", async () => {
    answers({ status: 503, headers: { "Retry-After": "7" } }, { status: 503, headers: { "Retry-After": "86400" } });
    assert.equal((await post("/", form)).rest, 7_000);
    assert.equal((await post("/", form)).rest, 120_000);
  });

  test("to an item that has changed says so", async () => {
    answers({ status: 409, body: { changed: true } });
    assert.equal((await post("/", form)).kind, "changed");
  });

  test("refused as a whole has its reason as a problem without a unit", async () => {
    answers({ status: 413, body: { error: "Too large" } });
    const { body } = await post("/", form);
    assert.deepEqual(body.problems, [{ unit: "", message: "Too large" }]);
  });

  test("bears the token that the browser has at that moment", async () => {
    answers({}, {});
    await post("/", form);
    // biome-ignore lint/suspicious/noDocumentCookie: as another tab does that logs in again
    document.cookie = "csrftoken=fresh";
    await post("/", form);
    assert.deepEqual(
      requests.map(({ headers }) => headers["X-CSRFToken"]),
      ["abc", "fresh"],
    );
    assert.equal(token(), "fresh");
  });
});

describe("a message that was turned away", () => {
  test("is sent once more if the same person is logged in: only the token was old", async () => {
    answers({ status: 403 }, SAME, { body: { version: 1 } });
    assert.equal((await post("/draft/", form)).kind, "done");
    assert.deepEqual(
      requests.map(({ url }) => url),
      ["/draft/", "/who/", "/draft/"],
    );
  });

  test("is forbidden if it is turned away again", async () => {
    answers({ status: 403 }, SAME, { status: 403 });
    assert.equal((await post("/draft/", form)).kind, "forbidden");
  });

  test("asks for a login if nobody is logged in", async () => {
    answers({ type: "opaqueredirect" }, { body: { user: null, name: "" } });
    assert.equal((await post("/draft/", form)).kind, "login");
  });

  test("names the other person who is logged in", async () => {
    answers({ status: 404 }, { body: { user: 8, name: "Ben" } });
    assert.deepEqual(await post("/draft/", form), { kind: "other", body: { user: 8, name: "Ben" } });
  });

  test("is gone if the item is no longer this person's", async () => {
    answers({ status: 404 }, SAME);
    assert.equal((await post("/draft/", form)).kind, "gone");
    assert.equal(requests.length, 2);
  });

  test("is lost if the server does not say who is logged in", async () => {
    answers({ status: 403 }, "lost");
    assert.equal((await post("/draft/", form)).kind, "lost");
  });

  test("from a page that closes is not asked about", async () => {
    answers({ status: 403 });
    assert.equal((await post("/draft/", form, true)).kind, "forbidden");
    assert.equal(requests[0].keepalive, true);
  });
});

test("who is logged in is unknown while the server fails", async () => {
  answers({ status: 500 }, "lost", SAME);
  assert.equal(await whoIsHere(), null);
  assert.equal(await whoIsHere(), null);
  assert.deepEqual(await whoIsHere(), SAME.body);
});
