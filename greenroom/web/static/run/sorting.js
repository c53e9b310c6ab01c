// The head of a table whose columns sort it: the first as it came, the others with the highest values first, and once more the lowest.

import { h } from "../base/dom.js";

/**
 * Make the head of a table.
 * @param {string[][]} columns The field and the title of each column; a column without a field sorts nothing.
 * @param {() => void} onSort Called when another column was chosen.
 * @param {number} left Number of columns, from the first, that are aligned to the left.
 * @returns {{node: Element, sorted: (rows: any[]) => any[]}}
 */
export function makeHead(columns, onSort, left) {
  let chosen = { place: 0, isDown: false };
  const cells = columns.map(([field, title], place) => h("th", { scope: "col", class: place < left ? "" : "right" }, field ? h("button.sort", { onclick: () => choose(place) }, title) : title));
  const node = h("thead", {}, h("tr", {}, ...cells));
  mark();

  function choose(place) {
    chosen = { place, isDown: chosen.place === place ? !chosen.isDown : place > 0 };
    mark();
    onSort();
  }

  function mark() {
    cells.forEach((cell, place) => {
      if (place === chosen.place) cell.setAttribute("aria-sort", chosen.isDown ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
  }

  /** Return rows in the chosen order; equal ones stay in theirs. */
  function sorted(rows) {
    const [field] = columns[chosen.place];
    const step = chosen.isDown ? -1 : 1;
    return [...rows].sort((a, b) => step * (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0));
  }

  return { node, sorted };
}
