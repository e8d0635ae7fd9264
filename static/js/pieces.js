// Small elements that modules create.

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
