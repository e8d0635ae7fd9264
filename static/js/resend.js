// Answers to other items that the network swallowed: sent again on every page of the same account.
import { outbox } from "./store.js";
import { answerFields, post } from "./wire.js";

const EVERY = 20_000;
const FOR_ITS_PAGE = ["conflict", "changed", "refused", "gone"];

export function setUpResending(except = null) {
  const others = () => outbox.all().filter((entry) => entry.uid !== except);
  let under = false;
  const go = async () => {
    if (under) return;
    under = true;
    await sendAll(others());
    under = false;
    tell(others());
  };
  if (!document.body.dataset.user) return;
  addEventListener("online", go);
  setInterval(() => others().length && go(), EVERY);
  go();
}

// In order. An answer that must wait holds up the later ones to its own item, and a server that
// does not take one for the moment would take none.
async function sendAll(entries) {
  const waiting = new Set();
  for (const entry of entries) {
    if (entry.stuck) waiting.add(entry.uid);
    if (waiting.has(entry.uid)) continue;
    const kind = await send(entry);
    if (FOR_ITS_PAGE.includes(kind)) waiting.add(entry.uid);
    else if (kind !== "done") return;
  }
}

async function send(entry) {
  const { key, uid, url } = entry;
  const { kind, body } = await post(url, answerFields(entry));
  // The server has kept as a draft what came too late to count.
  const kept = kind === "refused" && body.kept;
  if (kind === "done" || kept) outbox.remove(key);
  if (kind === "done") outbox.change((one) => one.uid === uid, { version: 0, seen: body.revision });
  else if (kept) late = body.problems[0].message;
  else if (FOR_ITS_PAGE.includes(kind)) outbox.change((one) => one.key === key, { stuck: kind });
  return kept ? "done" : kind;
}

let late = "";

function tell(entries) {
  const notice = document.getElementById("outbox-notice");
  notice.hidden = !entries.length && !late;
  if (notice.hidden) return;
  const stuck = entries.find((entry) => entry.stuck);
  const count = entries.length === 1 ? "One answer is" : `${entries.length} answers are`;
  if (stuck) notice.textContent = "An answer of yours could not be stored; it is kept in this browser. ";
  else if (entries.length)
    notice.textContent = `${count} not stored yet: kept in this browser, and sent again by itself.`;
  else notice.textContent = `An earlier answer came too late: ${late}.`;
  if (!stuck || stuck.stuck === "gone") return;
  const link = document.createElement("a");
  link.href = stuck.page;
  link.textContent = "Open the item and decide";
  notice.append(link);
}
