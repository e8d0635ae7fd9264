// The person's own list of key points, then the extracted ones beside it. A campaign that asks for no
// list has plain choices.
import { desk } from "../item.js";

if (desk.sheet.units.some(({ element }) => element.dataset.list)) import("./own_list.js");
