// What every page does.
import { setUpFollowing } from "./following.js";
import { setUpNotices } from "./notices.js";
import { setUpResending } from "./resend.js";
import { setUpSiteKeys } from "./site_keys.js";

setUpResending();
setUpSiteKeys();
setUpNotices();
setUpFollowing();
// A form that came back begins where it is to be mended, however long it is.
document.querySelector("form [aria-invalid='true']")?.focus();
