// What every page does.
import { setUpResending } from "./resend.js";

setUpResending();
