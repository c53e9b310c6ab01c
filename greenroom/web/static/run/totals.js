// Totals of each actor up to the moment: how long it worked, on what, its longest step; a table that can be sorted.

import { h, setText } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { below } from "./model.js";
import { paced } from "./pace.js";
import { makeRows } from "./rows.js";
import { makeHead } from "./sorting.js";
import { seconds } from "./words.js";

const ROW = 33;
const PART_OF = { turn: "working", model: "model", permission: "waits", elicitation: "waits" };
const COLUMNS = [["actor", "Actor"], ["working", "Working"], ["model", "Model"], ["tools", "Tools"], ["waits", "Waits"], ["longest", "Longest step"], ["failed", "Failed"], ["restarts", "Restarts"]];

/**
 * Return the totals of the actors that did something before a moment, by actor: seconds, and numbers of failures and restarts.
 *
 * A step is a request, a call, or a wait; `step` is its row of slices. Open ones count up to the moment.
 */
export function totalsAt(model, at) {
  const { slices, ends, events } = model.tables;
  const found = new Map();
  if (!slices || !at) return found;
  const kinds = model.lists.kinds;
  const failed = kinds.indexOf("failed");
  const parts = kinds.map((kind) => (kind === "actor" || kind === "session" ? "" : (PART_OF[kind] ?? "tools")));
  const now = model.t(at - 1);
  const until = below(slices.event, at, undefined, slices.rows);
  for (let row = 0; row < until; row += 1) {
    const part = parts[slices.what[row]];
    const actor = slices.actor[row];
    if (!part || !actor) continue;
    let total = found.get(actor);
    if (!total) found.set(actor, (total = { actor, working: 0, model: 0, tools: 0, waits: 0, longest: 0, step: -1, failed: 0, restarts: 0 }));
    const end = model.ends[row];
    const isOver = end >= 0 && ends.event[end] < at;
    const took = (isOver ? events.t[ends.event[end]] : now) - events.t[slices.event[row]];
    total[part] += took;
    if (isOver && ends.outcome[end] === failed) total.failed += 1;
    if (part !== "working" && took > total.longest) Object.assign(total, { longest: took, step: row });
  }
  for (const total of found.values()) total.restarts = Math.max(0, (model.actor(total.actor, at)?.incarnation ?? 1) - 1);
  return found;
}

/** Return the words of a step: the name of a call, or what it was. */
export function stepName(model, row) {
  const { slices } = model.tables;
  return model.lists.labels[slices.name[row]] || model.lists.kinds[slices.what[row]];
}

export function makeTotals({ model, seen, go }) {
  const body = h("tbody");
  const head = makeHead(COLUMNS, () => draw(true), 1);
  const node = h("section.totals", { "aria-label": "Totals", tabindex: "0" }, h("table.list.of-rows", {}, head.node, body));
  const rows = makeRows(node, body, ROW, ({ actor }) => actor, make, update);
  let shown = "";

  const count = paced(() => rows.draw(head.sorted([...totalsAt(model, seen.at).values()])));

  function draw(isSorted = false) {
    const mark = [seen.at, model.count, seen.actor, model.taken.cards].join();
    if (node.hidden || (mark === shown && !isSorted)) return;
    shown = mark;
    count();
  }

  function make({ actor }) {
    const cells = COLUMNS.slice(1).map(([name]) => (name === "longest" ? h("td.right", {}, h("button.link.step-of", {})) : h("td.right")));
    const line = h("tr", { "data-actor": model.lists.actors[actor] }, h("th", { scope: "row" }, h("button.link", { onclick: () => go({ actor: actor === seen.actor ? 0 : actor }) })), ...cells);
    line.querySelector(".step-of").addEventListener("click", () => go({ at: model.tables.slices.event[line.step] + 1, actor }));
    return line;
  }

  function update(line, total) {
    line.step = total.step;
    line.querySelector(".step-of").hidden = total.step < 0;
    line.classList.toggle("is-chosen", total.actor === seen.actor);
    setText(line.firstElementChild.firstElementChild, visible(model.name(total.actor)));
    COLUMNS.slice(1).forEach(([name], place) => {
      const cell = line.children[place + 1];
      if (name === "longest") setText(cell.firstElementChild, total.step < 0 ? "" : `${visible(stepName(model, total.step))} ${seconds(total.longest)}`);
      else setText(cell, total[name] ? (name === "failed" || name === "restarts" ? String(total[name]) : seconds(total[name])) : "–");
      if (name === "failed" || name === "restarts") cell.className = total[name] ? "right some" : "right none";
    });
  }

  return { node, draw };
}
