// Elements. Rule: a text from outside becomes a text node or the value of an attribute, never markup; nothing here can set markup.

const SVG = "http://www.w3.org/2000/svg";
const REFUSED = new Set(["style", "srcdoc", "href", "src", "innerHTML", "outerHTML"]);

/**
 * Make an element.
 * @param {string} tag Its name, with classes behind dots: `button.quiet`. A button submits nothing unless its `type` says so.
 * @param {Object<string, any>} props Attributes; functions are listeners (`onclick`); false, null and undefined are left out.
 * @param {...(Node|string|null|false)} children Nodes, or texts.
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  if (name === "button") node.type = "button";
  for (const [key, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (REFUSED.has(key)) throw new TypeError(`h() sets no ${key}`);
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = `${node.className} ${value}`.trim();
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return node;
}

/** Return a link to an http(s) address; other addresses become text. */
export function link(address) {
  if (!/^https?:\/\/[^\s]+$/i.test(address)) return document.createTextNode(address);
  const node = h("a", { target: "_blank", rel: "noreferrer noopener" }, address);
  node.href = address;
  return node;
}

const ICONS = {
  alert: "M8 1.8 14.6 13.4H1.4L8 1.8ZM8 6.2v3.4M8 11.5v.1",
  arrow: "M8 13.2V3M3.8 7 8 2.8 12.2 7",
  back: "M9.8 3.2 5 8l4.8 4.8",
  chat: "M2.4 3h11.2v7.8H7.2l-3 2.6v-2.6H2.4V3Z",
  check: "m3 8.6 3.2 3.2L13 4.6",
  chevron: "m6 3.4 4.6 4.6L6 12.6",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6",
  close: "m4 4 8 8m0-8-8 8",
  copy: "M5.6 5.6h7.6v7.6H5.6V5.6ZM10.4 5.2V2.8H2.8v7.6h2.4",
  half: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12M10 3v10M12 4.6v6.8",
  hand: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.2 6.2A1.9 1.9 0 1 1 8 8.4v.7M8 11.3v.1",
  moon: "M13.4 9.6A6 6 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7Z",
  open: "M6.4 3H3v10h10V9.6M9 3h4v4M13 3 7.4 8.6",
  panel: "M2.4 3h11.2v10H2.4V3ZM10 3v10",
  person: "M8 7.6a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2ZM2.8 13.6c.6-2.6 2.6-3.8 5.2-3.8s4.6 1.2 5.2 3.8",
  search: "M7 11.6A4.6 4.6 0 1 0 7 2.4a4.6 4.6 0 0 0 0 9.2ZM10.4 10.4l3.4 3.4",
  send: "M2.6 7.8 13.4 3 9.6 13.4 7.6 8.8 2.6 7.8Z",
  stop: "M4 4h8v8H4V4Z",
  sun: "M8 10.6a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2ZM8 1.6v1.6M8 12.8v1.6M1.6 8h1.6M12.8 8h1.6M3.5 3.5l1.1 1.1M11.4 11.4l1.1 1.1M12.5 3.5l-1.1 1.1M4.6 11.4l-1.1 1.1",
  tool: "M9.6 6.4 3 13M13.2 5.2a3 3 0 0 1-4.4 2.6 3 3 0 0 1 3.4-4.4L10.6 5l.4 1.4 1.4.4 .8-1.6Z",
  tree: "M3.4 2.4v8.2h4M3.4 5.4h4M9 3.6h4.4v3.6H9V3.6ZM9 8.8h4.4v3.6H9V8.8Z",
};

/** Return an icon of 16 x 16; it says nothing to a screen reader, so its neighbour or its button has to. */
export function icon(name) {
  const made = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: `icon icon-${name}` });
  made.append(svg("path", { d: ICONS[name] }));
  return made;
}

/** Return an element of a picture; `text` is what it says. */
export function svg(tag, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

/** Return a button that shows an icon, with its name for everybody else. */
export function iconButton(name, label, onclick, props = {}) {
  return h("button.ghost", { "aria-label": label, title: label, onclick, ...props }, icon(name));
}

/**
 * Have the children of a node be those of a list: nodes with the same key stay, and keep focus, selection and scroll.
 * @param {Element} parent
 * @param {any[]} items
 * @param {(item: any) => string} keyOf
 * @param {(item: any) => Element} make Makes the node of a new item.
 * @param {(node: Element, item: any) => void} update Called for each item that had a node.
 */
export function keyed(parent, items, keyOf, make, update) {
  const had = (parent.keyed ??= new Map());
  const kept = new Map();
  const wanted = new Set(items.map(keyOf));
  for (const [key, node] of had) if (!wanted.has(key)) node.remove();  // first of all: a node that is moved loses the focus
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = had.get(key);
    if (node === undefined) node = make(item);
    else update(node, item);
    kept.set(key, node);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  parent.keyed = kept;
}

const FOCUSABLE = "a[href], button, input, select, summary, [tabindex]";

/** Replace what a node shows; focus inside it goes to the part of the same name, to the one that is marked as current, or to the same place. */
export function swap(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...node.querySelectorAll(FOCUSABLE)].indexOf(focused) : -1;
  const { part } = focused?.dataset ?? {};
  node.replaceChildren(...children);
  if (!focused) return;
  const now = [...node.querySelectorAll(FOCUSABLE)];
  const next = now.find((each) => part && each.dataset.part === part) ?? now.find((each) => each.ariaCurrent) ?? now[place] ?? now.at(-1);
  next?.focus({ preventScroll: true });
}

/** Set a text if it has changed, so that a selection in it stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Replace what a node shows if `made from` has changed; compared as JSON. */
export function redraw(node, from, make) {
  const mark = JSON.stringify(from);
  if (node.madeFrom === mark) return;
  node.madeFrom = mark;
  node.replaceChildren(...[make()].flat().filter(Boolean));
}

/** Copy a text; returns false if the browser refuses. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copy a text and say so at the button that was pressed: to a reader of screens too. */
export async function copyFrom(button, text) {
  const isCopied = await copy(text);
  const said = h("span.said-copied", { role: "status" }, isCopied ? "Copied" : "Not allowed");
  button.classList.toggle("done", isCopied);
  button.after(said);
  setTimeout(() => {
    said.remove();
    button.classList.remove("done");
  }, 1600);
}
