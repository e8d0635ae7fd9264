// Opens the result of a job as soon as the page that waits for it shows the link.

document.body.addEventListener("htmx:afterSwap", () => {
  const link = document.querySelector("a[data-open]");
  if (link instanceof HTMLAnchorElement) {
    window.location.assign(link.href);
  }
});
