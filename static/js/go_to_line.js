// Goes to a line of a text field.

/**
 * @param {HTMLTextAreaElement} field
 * @param {number} line from 1
 */
export function goTo(field, line) {
  const rows = field.value.split("\n");
  const start = rows.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  field.focus();
  field.setSelectionRange(start, start + (rows[line - 1] ?? "").length);
  const height = field.scrollHeight / Math.max(1, rows.length);
  field.scrollTop = Math.max(0, (line - 1) * height - field.clientHeight / 2);
}
