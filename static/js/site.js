// What every page does.
import { setUpResending } from "./resend.js";

setUpResending();
// A form that came back begins where it is to be mended, however long it is.
document.querySelector("form [aria-invalid='true']")?.focus();
