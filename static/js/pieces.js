// Small helpers for elements.

/**
 * Create an element with a class and a text.
 * @param {string} className
 * @param {string} text
 */
export function piece(className, text, tag = "span") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * Focus a field to continue writing. If the field has not had a cursor yet, the cursor goes to the end,
 * since a browser would put it before the text.
 * @param {PageElement} field
 */
export function writeOn(field) {
  field.focus();
  if (!field.selectionEnd) field.setSelectionRange(field.value.length, field.value.length);
}
