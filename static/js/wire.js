// Speaking to the server: a payload as form fields, and the answer as one of a few outcomes.

// A connection that says nothing for so long is given up; the same key makes sending again safe.
const PATIENCE = 20_000;
const LONGEST_REST = 120; // seconds: no server is believed that wants a longer pause

export function uuid() {
  // crypto.randomUUID exists only on secure origins, and a lab's server may be plain http.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function fields(payload, more) {
  const form = new URLSearchParams(more);
  Object.entries(payload.units).forEach(([name, answer], number) => {
    const prefix = `unit-${number}`;
    form.append(prefix, name);
    for (const [key, value] of Object.entries(answer)) {
      if (Array.isArray(value)) form.append(`${prefix}-${key}`, JSON.stringify(value));
      else if (key === "written") {
        if (!value) continue;
        form.append(`${prefix}-answer`, value.text);
        for (const source of value.citations) form.append(`${prefix}-citations`, source);
      } else if (value !== null) form.append(`${prefix}-${key}`, value);
    }
  });
  if (payload.comment) form.append("comment", payload.comment);
  return form;
}

// An entry of the outbox as it is sent, each time the same.
export function answerFields({ payload, key, version, seen, seconds, basis = "" }) {
  return fields(payload, { key, version, seen, seconds, basis });
}

// Read at each sending: another tab may have logged in again and got a new one.
export function token() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
}

// {user: id or null, name}, and with it a fresh CSRF token; null where the server does not answer.
export async function whoIsHere() {
  try {
    const response = await fetch(document.body.dataset.who, {
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(PATIENCE),
    });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

// Whatever else comes, from a busy or broken server or none, is sent again.
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

// {kind, body, rest}: kind is done, conflict, changed, refused, login, other, forbidden, gone or
// lost; rest is the pause in milliseconds that the server asks for.
export async function post(url, form, keepalive = false) {
  const answer = await once(url, form, keepalive);
  const doubtful = ["login", "forbidden", "gone"].includes(answer.kind) && !keepalive;
  return doubtful ? understood(answer, () => once(url, form, false)) : answer;
}

// Nobody may be logged in by now, or somebody else; or only the CSRF token was an old one.
async function understood(answer, again) {
  const here = await whoIsHere();
  if (!here) return lost();
  if (here.user === null) return { kind: "login", body: {} };
  if (String(here.user) !== document.body.dataset.user) return { kind: "other", body: here };
  return answer.kind === "gone" ? answer : again();
}

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
    return await told(response);
  } catch {
    return lost();
  }
}

function lost(rest = 0) {
  return { kind: "lost", body: {}, rest };
}

async function told(response) {
  const kind = kindOf(response);
  if (kind === "lost") return lost(restOf(response));
  const body = WITH_BODY.includes(kind) ? await response.json() : {};
  // What is refused as a whole, for its size say, has a sentence and no unit.
  if (body.error && !body.problems?.length) body.problems = [{ unit: "", message: body.error }];
  return { kind: body.changed ? "changed" : kind, body };
}

function kindOf(response) {
  if (response.ok) return "done";
  if (response.type === "opaqueredirect") return "login";
  return KINDS[response.status] ?? "lost";
}

function restOf(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  return seconds > 0 ? 1000 * Math.min(seconds, LONGEST_REST) : 0;
}
