// Tokens and cost up to the moment: by agent, own and with what it spawned, by model and definition, and over time.

import { h } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { dollars, seconds, tokens } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const KINDS = ["input", "output", "cache_write", "cache_read"];

export function makeTokens({ model, seen, go }) {
  const node = h("section.view-tokens", { "aria-label": "Tokens and cost" });
  let shown = "";

  function own(at) {
    const rows = [];
    for (let actor = 1; actor < model.actors; actor += 1) {
      const usage = model.usage(actor, at);
      if (usage) rows.push({ actor, usage, usd: cost(actor, usage) });
    }
    return rows;
  }

  function cost(actor, usage) {
    const prices = model.run.prices?.[model.card(actor).model];
    return prices ? KINDS.reduce((sum, kind, number) => sum + (usage[kind] * prices[number]) / 1e6, 0) : null;
  }

  function draw() {
    const mark = `${seen.at}/${model.tables.usage?.rows}/${seen.actor}`;
    if (mark === shown) return;
    shown = mark;
    const rows = own(seen.at);
    if (!rows.length) {
      node.replaceChildren(h("p.blank", {}, "No model was asked up to this moment."));
      return;
    }
    const byDescent = new Map(rows.map((row) => [row.actor, { ...row.usage }]));
    for (const { actor, usage } of rows)
      for (let above = parentOf(actor), steps = 0; above && steps < 50; above = parentOf(above), steps += 1) {
        const sum = byDescent.get(above);
        if (sum) for (const kind of KINDS) sum[kind] += usage[kind];
      }
    const total = sumOf(rows);
    node.replaceChildren(
      h("div.tiles", {}, tile("Input", tokens(total.input)), tile("Output", tokens(total.output)), tile("Read from cache", tokens(total.cache_read)), tile("Written to cache", tokens(total.cache_write)), tile("Requests", total.requests.toLocaleString("en"), total.failed_requests ? `${total.failed_requests} failed` : ""), tile("Cost", priced(rows), "estimate, by list prices")),
      picture(),
      h("h2", {}, "By agent"),
      table(["Agent", "Definition", "Model", "Input", "Output", "Cache read", "Cache write", "With spawned", "Requests", "Cost"], rows.map((row) => agentRow(row, byDescent.get(row.actor)))),
      h("h2", {}, "By model and definition"),
      table(["Model", "Definition", "Agents", "Input", "Output", "Cache read", "Requests", "Cost"], groups(rows)),
    );
  }

  function parentOf(actor) {
    const { descent } = model.card(actor);
    return descent ? (model.numberOf.get(descent) ?? 0) : 0;
  }

  function sumOf(rows) {
    const sum = { input: 0, output: 0, cache_read: 0, cache_write: 0, requests: 0, failed_requests: 0 };
    for (const { usage } of rows) for (const name of Object.keys(sum)) sum[name] += usage[name];
    return sum;
  }

  function priced(rows) {
    const known = rows.filter(({ usd }) => usd !== null);
    if (!known.length) return "no price";
    return `${dollars(known.reduce((sum, { usd }) => sum + usd, 0))}${known.length < rows.length ? " or more" : ""}`;
  }

  function tile(name, value, more = "") {
    return h("div.tile", {}, h("span", {}, name), h("strong", {}, value), h("small", {}, more));
  }

  function agentRow({ actor, usage, usd }, whole) {
    const card = model.card(actor);
    return h("tr", { class: actor === seen.actor ? "is-chosen" : "" }, h("th", { scope: "row" }, h("button.link", { type: "button", onclick: () => go({ actor }) }, visible(model.name(actor)))), h("td", {}, visible(card.definition ?? "")), h("td", {}, visible(card.model ?? "")), ...KINDS.toSpliced(2, 2, "cache_read", "cache_write").map((kind) => h("td.right", {}, tokens(usage[kind]))), h("td.right", {}, tokens(KINDS.reduce((sum, kind) => sum + whole[kind], 0))), h("td.right", {}, `${usage.requests}${usage.failed_requests ? ` (${usage.failed_requests} failed)` : ""}`), h("td.right", {}, usd === null ? "–" : dollars(usd)));
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

  function table(titles, rows) {
    return h("div.wide", { tabindex: "0" }, h("table.list", {}, h("thead", {}, h("tr", {}, ...titles.map((title, number) => h("th", { scope: "col", class: number > 2 || title === "Agents" ? "right" : "" }, title)))), h("tbody", {}, ...rows)));
  }

  /** Return the sum of all tokens over time, with the moment. */
  function picture() {
    const { usage } = model.tables;
    const last = new Map();
    const points = [];
    let sum = 0;
    for (let row = 0; row < usage.rows; row += 1) {
      const now = KINDS.reduce((all, kind) => all + usage[kind][row], 0);
      sum += now - (last.get(usage.actor[row]) ?? 0);
      last.set(usage.actor[row], now);
      points.push([model.since(usage.event[row]), sum]);
    }
    const lasted = model.since(model.count - 1) || 1;
    const every = Math.ceil(points.length / 800);
    const kept = points.filter((_, number) => number % every === 0 || number === points.length - 1);
    const path = kept.map(([t, value], number) => `${number ? "H" : "M0 100 H"}${((t / lasted) * 1000).toFixed(1)} V${(100 - (value / (sum || 1)) * 96).toFixed(1)}`).join(" ");
    const svg = draw_("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", class: "over-time", role: "img", "aria-label": `Tokens over time: ${tokens(sum)} after ${seconds(lasted)}` });
    const x = (model.since(Math.max(0, seen.at - 1)) / lasted) * 1000;
    svg.append(draw_("path", { d: `${path} H1000 V100 Z`, class: "sum" }), draw_("path", { d: `M${x} 0 V100`, class: "now" }));
    return h("figure", {}, svg, h("figcaption.muted", {}, `${tokens(sum)} tokens in ${seconds(lasted)}`));
  }

  return { node, draw };
}

function draw_(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
