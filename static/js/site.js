// What every page does.
import { setUpResending } from "./resend.js";
import { setUpTheme } from "./toggle.js";

setUpTheme();
setUpResending();
