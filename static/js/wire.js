// Messages to the server: a payload as form fields, and the response as one of a few outcomes.

// Milliseconds after which a silent connection is abandoned. The key makes it safe to send again.
const PATIENCE = 20_000;
const LONGEST_REST = 120; // seconds: a server that asks for a longer pause is not believed

export function uuid() {
  // crypto.randomUUID exists only on secure origins, and a laboratory's server may use plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Return a payload as the fields of a form.
 * @param {Payload} payload
 * @param {Record<string, string | number | undefined>} more  fields beside the payload
 */
export function fields(payload, more) {
  const form = new URLSearchParams(Object.entries(more).map(([name, value]) => [name, String(value)]));
  Object.entries(payload.units).forEach(([name, answer], number) => {
    const prefix = `unit-${number}`;
    form.append(prefix, name);
    for (const [key, value] of Object.entries(answer)) {
      if (Array.isArray(value)) form.append(`${prefix}-${key}`, JSON.stringify(value));
      else if (key === "written") {
        const written = /** @type {Written | null} */ (value);
        if (!written) continue;
        form.append(`${prefix}-answer`, written.text);
        for (const source of written.citations) form.append(`${prefix}-citations`, source);
      } else if (value !== null) form.append(`${prefix}-${key}`, String(value));
    }
  });
  if (payload.comment) form.append("comment", payload.comment);
  return form;
}

/**
 * Return an entry of the outbox as the fields of a form, the same at each sending.
 * @param {OutboxEntry} entry
 */
export function answerFields({ payload, key, version, seen, seconds, basis = "" }) {
  return fields(payload, { key, version, seen, seconds, basis });
}

/** Return the CSRF token. It is read at each sending, since another tab may have got a new one. */
export function token() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
}

/**
 * Return who is logged in, or null if the server does not answer. A fresh CSRF token comes with it.
 * @returns {Promise<{user: number | null, name: string} | null>}
 */
export async function whoIsHere() {
  try {
    const response = await fetch(document.body.dataset.who ?? "", {
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(PATIENCE),
    });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/**
 * The meaning of a status. After any other status, from a busy or broken server, the message is sent
 * again.
 * @type {Record<number, string>}
 */
const KINDS = {
  400: "refused",
  401: "login",
  403: "forbidden",
  404: "gone",
  409: "conflict",
  411: "refused",
  413: "refused",
  415: "refused",
  422: "refused",
};
const WITH_BODY = ["done", "conflict", "changed", "refused"];

/**
 * Send a form and return the outcome. Its kind is done, conflict, changed, refused, login, other,
 * forbidden, gone or lost.
 * @param {string} url
 * @param {URLSearchParams} form
 * @returns {Promise<Outcome>}
 */
export async function post(url, form, keepalive = false) {
  const answer = await once(url, form, keepalive);
  const doubtful = ["login", "forbidden", "gone"].includes(answer.kind) && !keepalive;
  return doubtful ? understood(answer, () => once(url, form, false)) : answer;
}

/**
 * Find out why a message was rejected: nobody is logged in any more, another person is, or only the
 * CSRF token was out of date. In the last case the message is sent again.
 * @param {Outcome} answer
 * @param {() => Promise<Outcome>} again
 * @returns {Promise<Outcome>}
 */
async function understood(answer, again) {
  const here = await whoIsHere();
  if (!here) return lost();
  if (here.user === null) return { kind: "login", body: {} };
  if (String(here.user) !== document.body.dataset.user) return { kind: "other", body: here };
  return answer.kind === "gone" ? answer : again();
}

/**
 * @param {string} url
 * @param {URLSearchParams} form
 * @param {boolean} keepalive
 */
async function once(url, form, keepalive) {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: form,
      keepalive,
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE),
      headers: { Accept: "application/json", "X-CSRFToken": token() },
    });
    return await outcomeOf(response);
  } catch {
    return lost();
  }
}

/** @returns {Outcome} */
function lost(rest = 0) {
  return { kind: "lost", body: {}, rest };
}

/**
 * @param {Response} response
 * @returns {Promise<Outcome>}
 */
async function outcomeOf(response) {
  const kind = kindOf(response);
  if (kind === "lost") return lost(restOf(response));
  const body = WITH_BODY.includes(kind) ? await response.json() : {};
  // A form that is refused as a whole, such as for its size, has one message and no unit.
  if (body.error && !body.problems?.length) body.problems = [{ unit: "", message: body.error }];
  return { kind: body.changed ? "changed" : kind, body };
}

/** @param {Response} response */
function kindOf(response) {
  if (response.ok) return "done";
  if (response.type === "opaqueredirect") return "login";
  return KINDS[response.status] ?? "lost";
}

/** @param {Response} response */
function restOf(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  return seconds > 0 ? 1000 * Math.min(seconds, LONGEST_REST) : 0;
}
