// The behaviour of every page.
import { setUpFollowing } from "./following.js";
import { setUpNotices } from "./notices.js";
import { setUpResending } from "./resend.js";
import { setUpSiteKeys } from "./site_keys.js";

setUpResending();
setUpSiteKeys();
setUpNotices();
setUpFollowing();
// A form that was returned with errors starts at the first one, however long it is.
document.querySelector("form [aria-invalid='true']")?.focus();
