// Tells why the live parts of a page cannot be updated: the site does not answer, the person has been
// logged out, or may no longer see them.

const AWAY = "The site cannot be reached. This page goes on asking.";
const BROKEN = "The site could not answer. This page asks again.";
const OUT = "You have been logged out, so this page is not updated any more.";
const GONE = "A part of this page is gone, or your account may not see it any more.";

/** @param {number} status */
function words(status) {
  if (status === 401) return { text: OUT, link: "Log in" };
  if (status === 403 || status === 404) return { text: GONE, link: "Reload" };
  return status >= 500 ? { text: BROKEN, link: "" } : null;
}

export function setUpFollowing() {
  const place = document.getElementById("following-notice");
  if (!place) return;
  /** @param {{text: string, link: string} | null} told */
  const tell = (told) => {
    place.hidden = !told;
    place.replaceChildren();
    if (!told) return;
    const line = document.createElement("p");
    line.append(`${told.text} `);
    // A person who is logged out gets to the log-in page from here, and back.
    if (told.link)
      line.append(Object.assign(document.createElement("a"), { href: location.href, textContent: told.link }));
    place.append(line);
  };
  document.body.addEventListener("htmx:sendError", () => tell({ text: AWAY, link: "" }));
  document.body.addEventListener("htmx:responseError", (event) => {
    const told = words(/** @type {CustomEvent} */ (event).detail.xhr.status);
    if (told) tell(told);
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (/** @type {CustomEvent} */ (event).detail.successful && !place.hidden) tell(null);
  });
}
