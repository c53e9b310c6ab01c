// Messages: who sent to whom before the moment, as a sequence diagram. An arrow begins at the actor of the event that led to the put.

import { copyFrom, h, svg, swap } from "../base/dom.js";
import { oneLine, visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { seconds } from "./words.js";

const MOST_ARROWS = 60;
const MOST_LIVES = 30;
const COLUMN = 116;
const NARROW = 76;
const STEP = 26;
const TOP = 16;
const BESIDE = 40;

export function makeMessages({ model, seen, source, go }) {
  const picture = h("div.sequence", { tabindex: "0" });
  const count = h("select", { "aria-label": "Number of messages", onchange: () => draw() }, ...[20, 60, 200].map((number) => h("option", { value: number, selected: number === MOST_ARROWS }, `last ${number}`)));
  count.value = String(MOST_ARROWS);
  const only = h("input", { type: "checkbox", onchange: () => draw() });
  const node = h("section.view-messages", { "aria-label": "Messages" }, h("div.tools", {}, count, h("label.check", {}, only, "only of the chosen actor"), h("button.outlined.small", { onclick: ({ currentTarget }) => copyFrom(currentTarget, mermaid()) }, "Copy as Mermaid"), h("span.muted", {}, "✕ died, with the reason")), picture);
  let shown = "";
  let arrows = [];

  function find() {
    const put = model.numberOfKind.get("message.put");
    const died = model.numberOfKind.get("message.died");
    const { kind, actor } = model.tables.events ?? {};
    const found = [];
    for (let at = seen.at - 1; at >= 0 && found.length < Number(count.value); at -= 1) {
      if (kind[at] !== put && kind[at] !== died) continue;
      const parent = model.parent(at);
      const from = parent >= 0 ? model.tables.events.actor[parent] : 0;
      if (only.checked && seen.actor && from !== seen.actor && actor[at] !== seen.actor) continue;
      found.push({ at, from, to: actor[at], isDead: kind[at] === died });
    }
    return found.reverse();
  }

  const askSoon = paced(() => ask());

  function draw() {
    const mark = [seen.at, seen.actor, picture.clientWidth, count.value, only.checked].join("/");
    if (mark === shown) return;
    shown = mark;
    askSoon();
  }

  async function ask() {
    const mark = shown;
    const drawn = { at: seen.at ? String(model.seq(seen.at - 1)) : "", most: count.value, only: String(only.checked) };
    const found = find();
    if (!found.length) {
      Object.assign(node.dataset, drawn);
      picture.replaceChildren(h("p.blank", {}, "No message was sent up to this moment, as far as it is on record."));
      return;
    }
    const events = await Promise.all(found.map(({ at }) => source.event(at).catch(() => null)));
    if (shown !== mark) return;
    arrows = found.map((arrow, number) => ({ ...arrow, type: events[number]?.type ?? "", reason: events[number]?.reason ?? "" }));
    const lives = livesOf(arrows);
    const places = lives.length + (arrows.some(({ from, to }) => !lives.includes(from) || !lives.includes(to)) ? 1 : 0);
    const column = Math.max(NARROW, Math.min(COLUMN, Math.floor((picture.clientWidth - 24 - BESIDE) / places)));
    picture.style.setProperty("--column", `${column}px`);
    swap(picture, heads(lives), sequence(arrows, lives, places, column));
    Object.assign(node.dataset, drawn);
    picture.scrollTop = picture.scrollHeight;
  }

  /** Return the actors of a picture in order of appearance; beyond 30 they share the last place. */
  function livesOf(found) {
    const often = new Map();
    for (const { from, to } of found) for (const actor of [from, to]) often.set(actor, (often.get(actor) ?? 0) + 1);
    return [...often].sort((a, b) => b[1] - a[1]).slice(0, MOST_LIVES).map(([actor]) => actor).sort((a, b) => a - b);
  }

  function heads(lives) {
    return h("div.heads", { "aria-hidden": "true" }, ...lives.map((actor) => h("span", { title: visible(model.card(actor).path ?? "") }, oneLine(model.name(actor), 40))), h("span", {}, ""));
  }

  function sequence(found, lives, places, column) {
    const width = Math.max(320, places * column + BESIDE);
    const height = TOP + found.length * STEP + 20;
    const drawn = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "list", "aria-label": "Messages" });
    const x = (actor) => ((lives.includes(actor) ? lives.indexOf(actor) : lives.length) + 0.5) * column;
    lives.forEach((actor) => {
      drawn.append(svg("path", { class: "life", d: `M${x(actor)} ${TOP - 10} V${height}` }));
    });
    found.forEach((arrow, number) => drawn.append(arrowOf(arrow, x(arrow.from), x(arrow.to), TOP + number * STEP + 8)));
    return drawn;
  }

  function arrowOf(arrow, from, to, y) {
    const side = to >= from ? -1 : 1;
    const group = svg("g", { class: arrow.isDead ? "arrow is-dead" : "arrow", role: "listitem", tabindex: "0", ...(arrow.at === seen.at - 1 ? { "aria-current": "true" } : {}), "data-seq": model.seq(arrow.at), "data-from": model.lists.actors[arrow.from], "data-to": model.lists.actors[arrow.to], "aria-label": `${model.name(arrow.from)} to ${model.name(arrow.to)}: ${arrow.type}${arrow.isDead ? `, died: ${arrow.reason}` : ""}` });
    const line = from === to ? `M${from} ${y - 4} h22 v9 h-20` : `M${from} ${y} H${to + side * 2}`;
    group.append(svg("path", { class: "hit", d: `M${Math.min(from, to) - 4} ${y} H${Math.max(from, to) + 26}` }), svg("path", { d: line }));
    const tip = from === to ? `M${from + 7} ${y + 1} l-5 4 l5 4` : `M${to + side * 7} ${y - 4} L${to + side * 2} ${y} L${to + side * 7} ${y + 4}`;
    group.append(svg("path", { d: arrow.isDead ? `M${to + side * 8 - 4} ${y - 4} l8 8 m0 -8 l-8 8` : tip }));
    const label = `${arrow.type}${arrow.isDead ? ` (${arrow.reason})` : ""}`;
    group.append(svg("text", { x: from === to ? from + 28 : (from + to) / 2, y: y - 4, class: "label", "text-anchor": from === to ? "start" : "middle" }, oneLine(label, 26)));
    group.append(svg("title", {}, visible(`${label} · event ${model.seq(arrow.at)} · ${seconds(model.since(arrow.at))}`)));
    const lead = () => go({ at: arrow.at + 1 });
    group.addEventListener("click", lead);
    group.addEventListener("keydown", (event) => event.key === "Enter" && lead());
    return group;
  }

  function mermaid() {
    const name = (actor) => visible(model.name(actor)).replace(/[^\p{L}\p{N}_.-]/gu, "_");
    return ["sequenceDiagram", ...arrows.map(({ from, to, type, isDead }) => `  ${name(from)}${isDead ? "-x" : "->>"}${name(to)}: ${visible(type).replace(/[;:#\n]/g, " ")}`)].join("\n");
  }

  return { node, draw: () => draw() };
}
