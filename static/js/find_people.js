// The search for people: arrow keys move between the field and the buttons of the results. Without this
// script, Tab moves, and the form searches.

document.addEventListener("keydown", (event) => {
  const field = document.getElementById("find-person");
  if (!(field instanceof HTMLElement) || event.isComposing) return;
  const found = [...document.querySelectorAll("#found-people [data-found]")];
  const stops = [field, ...found].filter((e) => e instanceof HTMLElement);
  const here = document.activeElement;
  const at = here instanceof HTMLElement ? stops.indexOf(here) : -1;
  if (at < 0) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    stops[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    event.preventDefault();
  } else if (event.key === "Escape" && at > 0) {
    field.focus();
    event.preventDefault();
  }
});
