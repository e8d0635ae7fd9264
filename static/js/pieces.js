// Small things that modules do with elements.

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
 * Focus a field to write on in it. Without a place of its own the cursor goes to the end: a browser puts
 * it before what is there already.
 * @param {PageElement} field
 */
export function writeOn(field) {
  field.focus();
  if (!field.selectionEnd) field.setSelectionRange(field.value.length, field.value.length);
}
