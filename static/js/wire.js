// Speaking to the server: a payload as form fields, and the answer as one of a few outcomes.

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
      if (key === "evidence") form.append(`${prefix}-evidence`, JSON.stringify(value));
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

// Read at each sending: another tab may have logged in again and got a new one.
function token() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
}

// {kind: "done" | "conflict" | "refused" | "login" | "gone" | "lost", body}
export async function post(url, form, keepalive = false) {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: form,
      keepalive,
      redirect: "manual",
      headers: { Accept: "application/json", "X-CSRFToken": token() },
    });
    const kind = kindOf(response);
    const body = ["done", "conflict", "refused"].includes(kind) ? await response.json() : {};
    return { kind, body };
  } catch {
    return { kind: "lost", body: {} };
  }
}

function kindOf(response) {
  if (response.ok) return "done";
  if (response.type === "opaqueredirect") return "login";
  return { 401: "login", 403: "login", 404: "gone", 409: "conflict", 422: "refused" }[response.status] ?? "lost";
}
