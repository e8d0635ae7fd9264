// Upload by drag and drop, with its progress. Without this script the form uploads by itself.

const form = document.forms.namedItem("upload-form");
const input = document.getElementById("files");
const drop = document.getElementById("drop");
const problem = document.getElementById("upload-problem");
const sending = document.getElementById("sending");
const sent = document.getElementById("sent");
const button = form.querySelector("[type=submit]");
let under = null;

const megabytes = (bytes) => `${(bytes / 1048576).toFixed(1)} MB`;

function tell(reason) {
  problem.hidden = !reason;
  problem.firstElementChild.textContent = reason;
}

function list() {
  const names = [...input.files].map((file) => {
    const line = document.createElement("li");
    line.textContent = `${file.name}, ${megabytes(file.size)}`;
    return line;
  });
  document.getElementById("chosen").replaceChildren(...names);
}

function over(event) {
  if (![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  drop.classList.add("over");
}

function dropped(event) {
  drop.classList.remove("over");
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  input.files = event.dataTransfer.files;
  list();
}

function ended() {
  under = null;
  sending.hidden = true;
  button.disabled = false;
}

function answered(request) {
  let told = {};
  try {
    told = JSON.parse(request.responseText);
  } catch {
    // The response may be a page of a proxy in front of the site.
  }
  if (request.status === 201 && told.address) {
    sent.textContent = "All sent";
    location.assign(told.address);
    return;
  }
  ended();
  tell(told.error || told.message || `The server answered ${request.status}; try again.`);
}

function send(event) {
  event.preventDefault();
  if (under) return;
  const request = (under = new XMLHttpRequest());
  tell("");
  button.disabled = true;
  sending.hidden = false;
  const bar = sending.querySelector("progress");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.setAttribute("value", String(loaded / total));
    sent.textContent = `${megabytes(loaded)} of ${megabytes(total)} sent`;
  });
  request.addEventListener("load", () => answered(request));
  request.addEventListener("error", () => {
    ended();
    tell("The files were not sent: the connection was lost. Try again.");
  });
  request.addEventListener("abort", ended);
  request.open("POST", location.pathname);
  request.setRequestHeader("Accept", "application/json");
  request.send(new FormData(form));
}

document.getElementById("drop-hint").hidden = false;
// Otherwise a file dropped beside the field would replace the page.
document.body.addEventListener("dragover", over);
document.body.addEventListener("drop", dropped);
document.body.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("over");
});
input.addEventListener("change", list);
form.addEventListener("submit", send);
document.getElementById("stop").addEventListener("click", () => under?.abort());
list();
