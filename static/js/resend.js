// Answers to other items that the network swallowed: sent again on every page of the same account.
import { outbox } from "./store.js";
import { fields, post } from "./wire.js";

const EVERY = 20_000;

export function setUpResending(except = null) {
  const others = () => outbox.all().filter((entry) => entry.uid !== except);
  const go = async () => {
    for (const entry of others().filter((one) => !one.stuck)) await send(entry);
    tell(others());
  };
  if (!document.body.dataset.user) return;
  addEventListener("online", go);
  setInterval(() => others().length && go(), EVERY);
  go();
}

async function send({ key, uid, url, payload, version, seen, seconds }) {
  const { kind, body } = await post(url, fields(payload, { key, version, seen, seconds }));
  const mine = (entry) => entry.uid === uid;
  if (kind === "done") {
    outbox.remove(key);
    outbox.change(mine, { version: 0, seen: body.revision });
  } else if (["conflict", "refused", "gone"].includes(kind)) outbox.change(mine, { stuck: true });
}

function tell(entries) {
  const notice = document.getElementById("outbox-notice");
  notice.hidden = !entries.length;
  if (!entries.length) return;
  const stuck = entries.find((entry) => entry.stuck);
  const count = entries.length === 1 ? "One answer is" : `${entries.length} answers are`;
  notice.textContent = stuck
    ? "An answer of yours could not be stored. "
    : `${count} not stored yet: kept in this browser, and sent again by itself.`;
  if (!stuck) return;
  const link = document.createElement("a");
  link.href = stuck.page;
  link.textContent = "Open the item and decide";
  notice.append(link);
}
