// The account that works on this page: a log-in layer covers the page when the session has ended, and
// the work is hidden when another person has logged in.
import { whenAccountsChange } from "./store.js";
import { token, whoIsHere } from "./wire.js";
import { t } from "./words.js";

const TYPING = 800; // what somebody is typing must not go on in the field for the password
const SAYS = {
  wrong: t("Name or password is wrong; try again."),
  locked: t(
    "Too many wrong passwords: wait a few minutes, or ask the administrator of this site. Your work stays in this browser.",
  ),
  away: t("The server cannot be reached right now. Your work stays in this browser; try again in a moment."),
};
const byId = (id) => document.getElementById(id);
const mine = (here) => String(here?.user) === document.body.dataset.user;

export class Account {
  // `back` is called when this page's account is logged in again, `left` when another account is.
  constructor({ back, left }) {
    this.back = back;
    this.left = left;
    this.layer = byId("log-in");
    this.veil = byId("veil");
    this.form = byId("log-in-form");
    this.typed = -TYPING;
    addEventListener("keydown", () => (this.typed = performance.now()), { capture: true });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.logIn();
    });
    byId("log-in-later").addEventListener("click", () => this.later());
    this.layer.addEventListener("cancel", () => (this.putOff = true));
    this.layer.addEventListener("close", () => {
      if (document.body.classList.contains("veiled") && !this.veil.open) this.veil.showModal();
    });
    byId("log-in-open").addEventListener("click", () => this.ask(true));
    byId("veil-log-out").addEventListener("click", () => this.logOut());
    for (const event of ["cancel", "close"]) this.veil.addEventListener(event, (it) => this.hold(it));
    whenAccountsChange(() => this.look());
  }

  // Opens the layer. After it was dismissed, it does not open again by itself.
  ask(now = false) {
    clearTimeout(this.waiting);
    if (this.layer.open || this.veil.open || (this.putOff && !now)) return;
    const still = performance.now() - this.typed;
    if (!now && (still < TYPING || document.querySelector("dialog[open]"))) {
      this.waiting = setTimeout(() => this.ask(), TYPING);
      return;
    }
    this.say("");
    this.layer.showModal();
    const { username, password } = this.form.elements;
    (username.value ? password : username).focus();
  }

  later() {
    this.putOff = true;
    this.layer.close();
  }

  close() {
    clearTimeout(this.waiting);
    if (this.layer.open) this.layer.close();
    this.putOff = false;
  }

  // Another tab may have logged in or out, so the server is asked.
  async look() {
    const here = await whoIsHere();
    if (here) this.met(here);
  }

  met(here) {
    if (mine(here)) this.welcome();
    else if (here.user !== null) this.stranger(here);
    else if (this.veil.open) this.askBehindVeil();
  }

  welcome() {
    const was = this.veil.open || this.layer.open || document.body.classList.contains("veiled");
    document.body.classList.remove("veiled");
    if (this.veil.open) this.veil.close();
    this.close();
    if (was) this.back();
  }

  stranger({ name }) {
    this.close();
    document.body.classList.add("veiled");
    for (const place of document.querySelectorAll("[data-stranger]")) place.textContent = name;
    if (!this.veil.open) this.veil.showModal();
    this.left();
  }

  hold(event) {
    if (event.type === "cancel") event.preventDefault();
    else if (document.body.classList.contains("veiled") && !this.layer.open) this.veil.showModal();
  }

  askBehindVeil() {
    this.putOff = false;
    this.say("");
    if (!this.layer.open) this.layer.showModal();
    if (this.veil.open) this.veil.close();
    this.form.elements.password.focus();
  }

  async logOut() {
    const here = await whoIsHere();
    if (here && here.user !== null) await send(this.form.dataset.logOut, {});
    await this.look();
  }

  async logIn() {
    if (this.busy) return;
    this.busy = true;
    this.say("");
    const outcome = await tried(this.form);
    this.busy = false;
    this.form.elements.password.value = "";
    if (typeof outcome !== "string") return this.met(outcome);
    this.say(SAYS[outcome]);
    this.form.elements.password.focus();
  }

  say(words) {
    const place = byId("log-in-problem");
    place.textContent = words;
    place.hidden = !words;
  }
}

// Returns who is logged in after an attempt, or why nobody is: "wrong", "locked" or "away".
async function tried(form) {
  const here = await whoIsHere(); // a token that holds comes with the answer
  if (!here) return "away";
  if (here.user !== null) return here;
  const response = await send(form.action, Object.fromEntries(new FormData(form)));
  if (response?.status === 429) return "locked";
  if (!response || response.status >= 500) return "away";
  const now = await whoIsHere();
  if (!now) return "away";
  return now.user === null ? "wrong" : now;
}

async function send(url, given) {
  try {
    return await fetch(url, {
      method: "POST",
      body: new URLSearchParams(given),
      redirect: "manual",
      headers: { "X-CSRFToken": token() },
    });
  } catch {
    return null;
  }
}
