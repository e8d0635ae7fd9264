// Notices at the end of long work. This tab remembers the jobs, uploads and runs whose status a page
// has shown, and polls until they have ended, on whatever page the person is by then.

const KEPT = "tandem.jobs";
const SECONDS = 5;

/** @returns {string[]} */
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  } catch {
    return [];
  }
}

/** @param {string[]} keys */
function remember(keys) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(keys));
  } catch {
    /* storage is switched off, so there are notices about this page's jobs only */
  }
}

export function setUpNotices() {
  const place = document.getElementById("jobs-notice");
  if (!place) return;
  let keys = remembered();
  let waits = false;
  const collect = () => {
    const shown = [...document.querySelectorAll("[data-job]")].map((each) => each.getAttribute("data-job") ?? "");
    keys = [...new Set([...keys, ...shown])];
    remember(keys);
    if (keys.length && !waits) {
      waits = true;
      setTimeout(ask, shown.length ? SECONDS * 1000 : 0);
    }
  };
  const ask = async () => {
    const answer = await fetch(`${place.dataset.notices}?${new URLSearchParams(keys.map((key) => ["job", key]))}`, {
      headers: { Accept: "application/json" },
    }).catch(() => null);
    if (answer?.ok) {
      const found = await answer.json();
      keys = found.active;
      remember(keys);
      for (const each of found.ended) show(place, each);
    } else if (answer) {
      keys = []; // the session has ended
    }
    waits = keys.length > 0;
    if (waits) setTimeout(ask, SECONDS * 1000);
  };
  collect();
  document.body.addEventListener("htmx:afterSettle", collect);
}

/**
 * @param {HTMLElement} place
 * @param {{text: string, address: string}} ended
 */
function show(place, ended) {
  // A page that shows the result itself updates in place, so it needs no notice.
  if (ended.address && ended.address.split("?")[0] === location.pathname) return;
  const line = document.createElement("p");
  line.append(`${ended.text} `);
  if (ended.address) {
    line.append(Object.assign(document.createElement("a"), { href: ended.address, textContent: "Open" }));
  }
  place.append(line);
  place.hidden = false;
}
