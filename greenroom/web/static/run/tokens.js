// Tokens and cost up to the moment: by agent, own and with what it spawned, by model and definition, and over time.

import { h, setText, svg } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { makeRows } from "./rows.js";
import { makeHead } from "./sorting.js";
import { costOf, dollars, seconds, tokens } from "./words.js";

const KINDS = ["input", "output", "cache_write", "cache_read"];
const COUNTED = [...KINDS, "requests", "failed_requests"];
const AGENTS = [["actor", "Agent"], ["definition", "Definition"], ["input", "Input"], ["output", "Output"], ["cache_read", "From cache"], ["cache_write", "To cache"], ["all", "With spawned"], ["requests", "Requests"], ["usd", "Cost"]];
const MODELS = ["Model", "Definition", "Agents", "Input", "Output", "From cache", "Requests", "Cost"];
const ROW = 33;
const POINTS = 800;

export function makeTokens({ model, seen, go }) {
  const tiles = h("div.tiles");
  const picture = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", class: "over-time", role: "img" });
  const area = picture.appendChild(svg("path", { class: "sum" }));
  const now = picture.appendChild(svg("path", { class: "now" }));
  const under = h("figcaption.muted");
  const byModel = h("tbody");
  const byAgent = h("tbody");
  const head = makeHead(AGENTS, () => rows.draw(sorted()), 2);
  const shares = h("div", {}, h("figure", {}, picture, under), h("h2", {}, "By model and definition"), table(h("thead", {}, h("tr", {}, ...MODELS.map((title, number) => h("th", { scope: "col", class: number > 1 ? "right" : "" }, title)))), byModel), h("h2", {}, "By agent"), table(head.node, byAgent));
  const blank = h("p.blank", {}, "No model was asked yet.");
  const node = h("section.view-tokens", { "aria-label": "Tokens and cost" }, blank, tiles, shares);
  const rows = makeRows(node, byAgent, ROW, ({ actor }) => actor, ({ actor }) => h("tr", { "data-actor": model.lists.actors[actor] }, h("th", { scope: "row" }, h("button.link", { onclick: () => go({ actor }) })), ...AGENTS.slice(1).map((_, number) => h(number > 0 ? "td.right" : "td"))), update);
  let shown = "";
  let pictured = -1;
  let sums = new Map();
  let found = [];

  function own(at) {
    const { usage } = model.tables;
    const found = [];
    for (let actor = 1; actor < model.actors; actor += 1) {
      const row = model.row("usage", actor, at);
      if (row < 0) continue;
      const used = Object.fromEntries(COUNTED.map((name) => [name, usage[name][row]]));
      found.push({ actor, usage: used, usd: costOf(model, actor, used) });
    }
    return found;
  }

  const all = (usage) => usage.input + usage.output + usage.cache_write + usage.cache_read;

  function draw() {
    const mark = `${seen.at}/${model.tables.usage?.rows}/${seen.actor}`;
    if (mark === shown) return;
    shown = mark;
    found = own(seen.at);
    blank.hidden = found.length > 0;
    tiles.hidden = shares.hidden = !found.length;
    sums = new Map(found.map(({ actor, usage }) => [actor, all(usage)]));
    for (const { actor, usage } of found)
      for (let above = parentOf(actor), steps = 0; above && steps < 50; above = parentOf(above), steps += 1) if (sums.has(above)) sums.set(above, sums.get(above) + all(usage));
    const total = sumOf(found);
    showTiles([
      ["Input", tokens(total.input)],
      ["Output", tokens(total.output)],
      ["Read from cache", tokens(total.cache_read)],
      ["Written to cache", tokens(total.cache_write)],
      ["Requests", total.requests.toLocaleString("en"), total.failed_requests ? `${total.failed_requests} failed` : ""],
      ["Cost", priced(found), found.some(({ usd }) => usd !== null) ? "estimate, by list prices" : "of these models"],
    ]);
    showPicture();
    byModel.replaceChildren(...groups(found));
    rows.draw(sorted());
  }

  /** Return the agents in the order that the head of the table says. */
  function sorted() {
    return head.sorted(found.map((row) => ({ ...row.usage, ...row, definition: model.card(row.actor).definition ?? "", all: sums.get(row.actor) })));
  }

  function parentOf(actor) {
    const { descent } = model.card(actor);
    return descent ? (model.numberOf.get(descent) ?? 0) : 0;
  }

  function sumOf(rows) {
    const sum = Object.fromEntries(COUNTED.map((name) => [name, 0]));
    for (const { usage } of rows) for (const name of COUNTED) sum[name] += usage[name];
    return sum;
  }

  function priced(rows) {
    const known = rows.filter(({ usd }) => usd !== null);
    if (!known.length) return "no price";
    return `${dollars(known.reduce((sum, { usd }) => sum + usd, 0))}${known.length < rows.length ? " or more" : ""}`;
  }

  function showTiles(said) {
    if (!tiles.children.length) tiles.append(...said.map(() => h("div.tile", {}, h("span"), h("strong"), h("small"))));
    said.forEach((texts, number) => [0, 1, 2].forEach((part) => setText(tiles.children[number].children[part], texts[part] ?? "")));
  }

  function update(line, { actor, usage, usd }) {
    const card = model.card(actor);
    line.classList.toggle("is-chosen", actor === seen.actor);
    line.dataset.used = COUNTED.map((name) => usage[name]).join(" ");
    const counts = [usage.input, usage.output, usage.cache_read, usage.cache_write, sums.get(actor)].map(tokens);
    const said = [visible(card.definition ?? ""), ...counts, `${usage.requests}${usage.failed_requests ? ` ▲${usage.failed_requests}` : ""}`, usd === null ? "–" : dollars(usd)];
    setText(line.firstElementChild.firstElementChild, visible(model.name(actor)));
    said.forEach((text, number) => setText(line.children[number + 1], text));
  }

  function groups(rows) {
    const found = new Map();
    for (const row of rows) {
      const { model: name = "", definition = "" } = model.card(row.actor);
      const key = JSON.stringify([name, definition]);
      if (found.has(key)) found.get(key).push(row);
      else found.set(key, [row]);
    }
    return [...found].map(([key, group]) => {
      const [name, definition] = JSON.parse(key);
      const sum = sumOf(group);
      return h("tr", {}, h("th", { scope: "row" }, visible(name)), h("td", {}, visible(definition)), h("td.right", {}, String(group.length)), h("td.right", {}, tokens(sum.input)), h("td.right", {}, tokens(sum.output)), h("td.right", {}, tokens(sum.cache_read)), h("td.right", {}, String(sum.requests)), h("td.right", {}, priced(group)));
    });
  }

  function table(head, body) {
    return h("div.wide", { tabindex: "0" }, h("table.list.of-rows", {}, head, body));
  }

  /** Show the sum of all tokens over time, with the moment. */
  function showPicture() {
    const { usage } = model.tables;
    const lasted = model.since(model.count - 1) || 1;
    const x = (model.since(Math.max(0, seen.at - 1)) / lasted) * 1000;
    now.setAttribute("d", `M${x} 0 V100`);
    if (pictured === usage.rows) return;
    pictured = usage.rows;
    const last = new Float64Array(model.actors);
    const points = [];
    const every = Math.ceil(usage.rows / POINTS);
    let sum = 0;
    for (let row = 0; row < usage.rows; row += 1) {
      const used = usage.input[row] + usage.output[row] + usage.cache_write[row] + usage.cache_read[row];
      sum += used - last[usage.actor[row]];
      last[usage.actor[row]] = used;
      if (row % every === 0 || row === usage.rows - 1) points.push([model.since(usage.event[row]), sum]);
    }
    const path = points.map(([t, value], number) => `${number ? "H" : "M0 100 H"}${((t / lasted) * 1000).toFixed(1)} V${(100 - (value / (sum || 1)) * 96).toFixed(1)}`).join(" ");
    area.setAttribute("d", `${path} H1000 V100 Z`);
    picture.setAttribute("aria-label", `Tokens over time: ${tokens(sum)} after ${seconds(lasted)}`);
    setText(under, `${tokens(sum)} tokens in ${seconds(lasted)}`);
  }

  return { node, draw };
}
