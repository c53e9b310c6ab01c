// Lists and tables of which only the rows in sight are in the document. Rule: a list has one tab stop, and arrow keys lead from row to row, so
// that the tab key leaves a list however long it is. Rule: nothing here asks for a layout while something is drawn; sizes
// and places are those that an observer or a scroll has told.

import { keyed } from "../base/dom.js";

const AROUND = 8;

/**
 * Show rows of one height.
 * @param {Element} scroller What scrolls.
 * @param {Element} parent Holds the rows: a list, or the body of a table.
 * @param {number} height Pixels of a row.
 * @param {(item: any) => any} keyOf Rows with the same key stay the same element.
 * @param {(item: any) => Element} make Makes the row of an item.
 * @param {(row: Element, item: any, place: number) => void} update Called for each row in sight, a new one too.
 */
export function makeRows(scroller, parent, height, keyOf, make, update) {
  const isTable = parent.tagName === "TBODY";
  const spaces = isTable ? [spacer(parent, "before"), spacer(parent, "after")] : [];
  const had = [-1, -1];
  let items = [];
  let top = 0;
  let tall = innerHeight;
  let begin = 0;
  let firsts = 0;

  function measure() {
    top = scroller.scrollTop;
    tall = scroller.clientHeight || innerHeight;
    begin = parent.getBoundingClientRect().top - scroller.getBoundingClientRect().top + top - (isTable ? Math.max(0, had[0]) : 0);
  }

  function spread(number, pixels) {
    if (had[number] === pixels) return;
    had[number] = pixels;
    if (isTable) {
      spaces[number].hidden = !pixels;
      spaces[number].firstElementChild.firstElementChild.style.height = `${pixels}px`;
    } else parent.style[number ? "paddingBottom" : "paddingTop"] = `${pixels}px`;
  }

  function draw(next = items) {
    items = next;
    firsts = Math.max(0, Math.min(Math.floor((top - begin) / height) - AROUND, items.length));
    const last = Math.max(firsts, Math.min(items.length, Math.ceil((top - begin + tall) / height) + AROUND));
    spread(0, firsts * height);
    spread(1, (items.length - last) * height);
    let place = firsts;
    const show = (row, item) => update(row, item, place++);
    keyed(parent, items.slice(firsts, last), keyOf, (item) => {
      const row = make(item);
      show(row, item);
      return row;
    }, show);
    keepTabStop(parent, Math.ceil((top - begin) / height) - firsts);
  }

  function keyOn(event) {
    const page = Math.max(1, Math.floor(tall / height) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -items.length, End: items.length }[event.key];
    const place = firsts + [...parent.children].findIndex((row) => row.contains(event.target));
    if (!step || place < firsts) return;
    focusable(show(Math.max(0, Math.min(place + step, items.length - 1)))).focus({ preventScroll: true });
    event.preventDefault();
  }

  /** Scroll to an item, and return its row. */
  function show(place) {
    measure();
    const at = begin + place * height;
    if (at < top) scroller.scrollTop = at;
    else if (at + height > top + tall) scroller.scrollTop = at + height - tall;
    measure();
    draw();
    return parent.children[place - firsts];
  }

  parent.dataset.rows = "";
  parent.addEventListener("keydown", keyOn);
  new ResizeObserver(() => {
    measure();
    draw();
  }).observe(scroller);
  scroller.addEventListener("scroll", () => {
    measure();
    draw();
  }, { passive: true });
  return { draw, show, top: () => top };
}

/** Return what has the focus of a row: the row itself, or its button. */
function focusable(row) {
  return row.hasAttribute("tabindex") ? row : row.querySelector("button");
}

/** Have the tab key stop at one row: the one that has the focus, that is chosen, or the first in sight. */
export function keepTabStop(parent, first = 0) {
  const all = [...parent.children].map(focusable);
  const isChosen = (node) => node.ariaSelected === "true" || node.ariaPressed === "true" || node.ariaCurrent === "true" || node.closest(".is-chosen");
  const stop = all.find((node) => node === document.activeElement) ?? all.find(isChosen) ?? all[Math.max(0, Math.min(first, all.length - 1))];
  for (const node of all) node.tabIndex = node === stop ? 0 : -1;
}

function spacer(parent, where) {
  const body = document.createElement("tbody");
  body.setAttribute("aria-hidden", "true");
  body.hidden = true;
  body.insertRow().insertCell();
  parent[where](body);
  return body;
}
