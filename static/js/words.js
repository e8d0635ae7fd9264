// The texts of the page in the reader's language. The server puts the catalogue into the page
// (templates/_words.html); English needs none, since the words of the source are English.

const element = globalThis.document?.getElementById("page-words");
/** @type {Record<string, string>} */
const catalogue = element ? JSON.parse(element.textContent ?? "{}") : {};

/**
 * Return a text in the reader's language; `{name}` stands for a value of that name.
 * @param {string} text
 * @param {Record<string, unknown>} [values]
 */
export function t(text, values = {}) {
  return (catalogue[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}

/**
 * Return the singular or plural text; `{n}` stands for the number.
 * @param {string} one
 * @param {string} several
 * @param {number} n
 * @param {Record<string, unknown>} [values]
 */
export function tn(one, several, n, values = {}) {
  return t(n === 1 ? one : several, { n, ...values });
}
