// What the type checker is told about our pages, beside the DOM's own types. No page loads this.

// A checker cannot see which tag a template gives an element, so an element that is looked up has
// what an element of any of these tags has. A misspelt property is still an error.
interface PageElement extends HTMLElement {
  checked: boolean;
  content: DocumentFragment;
  disabled: boolean;
  elements: HTMLFormControlsCollection & Record<string, PageElement>;
  files: FileList;
  form: HTMLFormElement;
  href: string;
  labels: NodeListOf<HTMLLabelElement>;
  max: string;
  name: string;
  onclick: ((event: Event) => void) | null;
  open: boolean;
  options: HTMLOptionsCollection;
  placeholder: string;
  readonly parentElement: PageElement;
  required: boolean;
  returnValue: string;
  readonly selectionEnd: number;
  type: string;
  value: string;
  close(value?: string): void;
  reset(): void;
  select(): void;
  setSelectionRange(start: number, end: number): void;
  showModal(): void;
  submit(): void;
}

// Templates and modules agree on ids, so an element of a given id exists.
interface Document {
  getElementById(id: string): PageElement;
  readonly activeElement: PageElement | null;
}

interface ParentNode {
  querySelector(selectors: string): PageElement | null;
  querySelectorAll(selectors: string): NodeListOf<PageElement>;
}

interface Element {
  closest(selectors: string): PageElement | null;
}

// The events that our pages listen to come from elements.
interface EventTarget {
  closest(selectors: string): PageElement | null;
}

interface Window {
  // Swagger UI, which the page of the API's description loads as a script.
  SwaggerUIBundle: ((options: object) => void) & { presets: { apis: unknown } };
}

// What the modules exchange.

// A range of a text in UTF-16 units. `field` names its text where an item shows several of a kind.
interface TextRange {
  start: number;
  end: number;
  field?: string;
}

// A quote as the server keeps it: `start` counts code points.
interface Quote {
  quote: string;
  start?: number | null;
  field?: string;
}

// A written answer and the sources that it cites.
interface Written {
  text: string;
  citations: string[];
}

// The answer to one unit: a code for each variable, and what else the protocol asks for.
interface Answer {
  [variable: string]: unknown;
  evidence?: Quote[];
  matches?: number[];
  points?: { text: string }[];
  written?: Written | null;
}

// The answer to one item.
interface Payload {
  units: Record<string, Answer>;
  comment: string | null;
}

// An answer on its way to the server. `version` and `seen` are the draft and the revision that it
// replaces; `basis` identifies the texts and questions that it answers.
interface OutboxEntry {
  key: string;
  uid: string;
  url: string;
  page: string;
  payload: Payload;
  version: number;
  seen: number;
  seconds: number;
  basis?: string;
  place?: number;
  stuck?: string;
  tab?: string;
  sent?: Payload[];
}

// Unfinished work on one item. `sent` holds the drafts that the server has not acknowledged.
interface Work {
  payload: Payload;
  version: number;
  seen: number;
  sent?: Payload[];
  basis?: string;
  tab?: string;
}

// What became of a message: one of the kinds in wire.js, the server's JSON, and the pause in
// milliseconds that the server asks for.
interface Outcome {
  kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the server sends depends on the address
  body: any;
  rest?: number;
}

// The attributes of a mark.
interface Wash {
  className: string;
  [data: string]: string | undefined;
}

// From, to, and the mark that covers the piece if any.
type MarkedPiece = [number, number, Wash | null];

// How a block is to look. Modules that import each other cannot be served under the hashes of their
// contents, so what blocks.js and highlighter.js share is declared here.
interface Plan {
  look: string;
  cuts: string;
  pieces: MarkedPiece[];
}

// A part of a text's layout.
interface Block {
  element: Element;
  start: number;
  end: number;
  look: string;
  cuts: string;
  sign: boolean;
  plan?: Plan;
}

// A text in its blocks; `later` draws the blocks that are not drawn yet.
interface Canvas {
  container: Element;
  text: string;
  blocks: Block[];
  later?: ReturnType<typeof setTimeout>;
}

// A module that the sheet imports cannot name it even in a comment: in the hashed files, each would
// wait for the other's name.
type SheetUnit = import("./sheet.js").Unit;
