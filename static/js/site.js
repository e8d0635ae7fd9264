// The behaviour of every page.
import { setUpFocus } from "./focus.js";
import { setUpFollowing } from "./following.js";
import { setUpNotices } from "./notices.js";
import { setUpResending } from "./resend.js";
import { setUpSiteKeys } from "./site_keys.js";

setUpResending();
setUpSiteKeys();
setUpNotices();
setUpFollowing();
setUpFocus();
// A form that was returned with errors starts at the first one, however long it is.
document.querySelector("form [aria-invalid='true']")?.focus();
