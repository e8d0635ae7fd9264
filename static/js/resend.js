// Resends answers to other items that the network has lost, from any page of the same account.
import { outbox } from "./store.js";
import { answerFields, post } from "./wire.js";
import { t, tn } from "./words.js";

const EVERY = 20_000;
const FOR_ITS_PAGE = ["conflict", "changed", "refused", "gone"];

/**
 * Send the outbox now, when the browser goes online, and every 20 seconds.
 * @param {string | null} [except]  the item whose own page sends its answers
 */
export function setUpResending(except = null) {
  const others = () => outbox.all().filter((entry) => entry.uid !== except);
  let busy = false;
  const go = async () => {
    if (busy) return;
    busy = true;
    await sendAll(others());
    busy = false;
    tell(others());
  };
  if (!document.body.dataset.user) return;
  addEventListener("online", go);
  setInterval(() => others().length && go(), EVERY);
  go();
}

/**
 * Send entries in order. An answer that must wait for its page holds up later ones to the same item. If
 * the server cannot accept one at the moment, the rest are not sent.
 * @param {OutboxEntry[]} entries
 */
export async function sendAll(entries) {
  const waiting = new Set();
  for (const entry of entries) {
    if (entry.stuck) waiting.add(entry.uid);
    if (waiting.has(entry.uid)) continue;
    const kind = await send(entry);
    if (FOR_ITS_PAGE.includes(kind)) waiting.add(entry.uid);
    else if (kind !== "done") return;
  }
}

/** @param {OutboxEntry} entry */
async function send(entry) {
  const { key, uid, url } = entry;
  const { kind, body } = await post(url, answerFields(entry));
  // An answer that is too late to count is stored by the server as a draft.
  const kept = kind === "refused" && body.kept;
  if (kind === "done" || kept) outbox.remove(key);
  if (kind === "done") outbox.change((one) => one.uid === uid, { version: 0, seen: body.revision });
  else if (kept) late = body.problems[0].message;
  else if (FOR_ITS_PAGE.includes(kind)) outbox.change((one) => one.key === key, { stuck: kind });
  return kept ? "done" : kind;
}

let late = "";

/** @param {OutboxEntry[]} entries  what is left in the outbox */
function tell(entries) {
  const notice = document.getElementById("outbox-notice");
  notice.hidden = !entries.length && !late;
  if (notice.hidden) return;
  const stuck = entries.find((entry) => entry.stuck);
  if (stuck) notice.textContent = `${t("One of your answers could not be stored; it is kept in this browser.")} `;
  else if (entries.length)
    notice.textContent = tn(
      "One answer is not stored yet: kept in this browser, and sent again automatically.",
      "{n} answers are not stored yet: kept in this browser, and sent again automatically.",
      entries.length,
    );
  else notice.textContent = t("An earlier answer was late: {why}.", { why: late });
  if (!stuck || stuck.stuck === "gone") return;
  const link = document.createElement("a");
  link.href = stuck.page;
  link.textContent = t("Open the item and decide");
  notice.append(link);
}
